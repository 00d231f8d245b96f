// Weights and shares as text.

/** @import { About } from "./types.js" */

const TIMES = { ns: 1, nanoseconds: 1, us: 1e3, "µs": 1e3, microseconds: 1e3, ms: 1e6, milliseconds: 1e6, s: 1e9, seconds: 1e9 };

/** Writes weights, which are whole numbers of some small step. */
export class Numbers {
  /** @param {About} about */
  constructor({ unit, scales, total, before }) {
    this.unit = unit;
    this.decimals = scales.length ? scales[scales.length - 1][1] : 0;
    /** Sums beyond this are rounded. */
    this.exact = Math.max(Number(total), Number(before)) * 10 ** this.decimals <= Number.MAX_SAFE_INTEGER;
  }

  /** Every digit, without separators.
   * @param {number} weight */
  plain(weight) {
    const text = BigInt(Math.round(Math.abs(weight))).toString().padStart(this.decimals + 1, "0");
    const whole = text.slice(0, text.length - this.decimals);
    const fraction = text.slice(text.length - this.decimals).replace(/0+$/, "");
    return (weight < 0 ? "-" : "") + whole + (fraction && "." + fraction);
  }

  /** Every digit, thousands apart.
   * @param {number} weight */
  full(weight) {
    const [whole, fraction] = this.plain(weight).split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction ? "." + fraction : "");
  }

  /** @param {number} weight */
  withUnit(weight) {
    const short = this.short(weight);
    const full = `${this.exact ? "" : "≈ "}${this.full(weight)} ${this.unitOf(weight)}`;
    return short ? `${full} (${short})` : full;
  }

  /** What weights count, of one of them in the singular.
   * @param {number} weight */
  unitOf(weight) {
    return this.unit === "samples" && weight === 10 ** this.decimals ? "sample" : this.unit;
  }

  /** For a table: handy, where there is a handier unit.
   * @param {number} weight */
  cell(weight) {
    const isHandy = this.unit === "bytes" || this.unit in TIMES;
    return weight === 0 || !isHandy ? this.full(weight) : this.short(weight) || `${this.full(weight)} ${this.unit === "bytes" ? "B" : this.unit}`;
  }

  /** In a handier unit, if there is one: 1.25 s, 3.4 MiB.
   * @param {number} weight */
  short(weight) {
    const value = weight / 10 ** this.decimals;
    const nanoseconds = TIMES[/** @type {keyof typeof TIMES} */ (this.unit)];
    if (nanoseconds && Math.abs(value) >= 1000) return scaled(value * nanoseconds, 1000, ["ns", "µs", "ms", "s", "ks"]);
    if (this.unit === "bytes" && Math.abs(value) >= 1024) return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
    return "";
  }

  /** For a heading.
   * @param {number} weight */
  brief(weight) {
    const short = this.short(weight);
    if (short) return short;
    const value = weight / 10 ** this.decimals;
    const brief = value >= 1e6 ? scaled(value, 1000, ["", "k", "M", "G", "T", "P"]) : this.full(weight);
    return `${brief} ${this.unitOf(weight)}`;
  }
}

/** @param {number} value
 * @param {number} step
 * @param {string[]} units */
function scaled(value, step, units) {
  let n = 0;
  while (Math.abs(value) >= step && n < units.length - 1) {
    value /= step;
    n++;
  }
  return `${value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0)} ${units[n]}`.trim();
}

/** @param {number} part
 * @param {number} whole */
export function percent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  return `${share.toFixed(2)}%`;
}

/** @param {number} value
 * @param {number} digits */
export function signed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value < 0 ? "−" : "+") + text;
}
