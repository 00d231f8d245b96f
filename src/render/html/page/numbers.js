// Weights and shares as text: the scaler of src/profile/units.rs, written here once more and held
// against the same examples.

/** @import { About } from "./types.js" */

/** @typedef {[string, number][]} Scale suffixes, and the size of each in the smallest unit, ascending */

/** @type {Scale} */
const TIME = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 60e9], ["h", 3600e9], ["d", 86400e9]];
/** @type {Scale} */
const SIZE = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12], ["PB", 1e15]];
/** Numbers below a million are written out.
 * @type {Scale} */
const COUNT = [["", 1], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15], ["E", 1e18]];
/** The scale of each unit, and the size of one in its smallest unit.
 * @type {Map<string, [Scale, number]>} */
const UNITS = new Map([
  ...["ns", "nanoseconds"].map((unit) => /** @type {[string, [Scale, number]]} */ ([unit, [TIME, 1]])),
  ...["us", "µs", "μs", "microseconds"].map((unit) => /** @type {[string, [Scale, number]]} */ ([unit, [TIME, 1e3]])),
  ...["ms", "milliseconds"].map((unit) => /** @type {[string, [Scale, number]]} */ ([unit, [TIME, 1e6]])),
  ...["s", "seconds"].map((unit) => /** @type {[string, [Scale, number]]} */ ([unit, [TIME, 1e9]])),
  ...["B", "bytes"].map((unit) => /** @type {[string, [Scale, number]]} */ ([unit, [SIZE, 1]])),
  ["kB", [SIZE, 1e3]], ["KB", [SIZE, 1e3]], ["MB", [SIZE, 1e6]], ["GB", [SIZE, 1e9]],
  ["KiB", [SIZE, 1024]], ["MiB", [SIZE, 1024 ** 2]], ["GiB", [SIZE, 1024 ** 3]],
]);
const PLURALS = ["samples", "calls", "cycles", "threads", "objects", "instructions", "exceptions", "goroutines", "ticks", "events", "page-faults"];

/** The size of a unit of time in nanoseconds; 0 for all other units.
 * @param {string | null} unit */
export function nanosecondsIn(unit) {
  const [scale, size] = UNITS.get(unit ?? "") ?? [null, 0];
  return scale === TIME ? size : 0;
}

const SPEEDS = ["samples", "cycles", "instructions", "ticks"];

/** A weight in its unit, for people.
 * @param {number} value
 * @param {string | null} unit
 * @param {string} exact the value with all its digits, thousands apart */
export function amount(value, unit, exact) {
  if (unit === null) return exact;
  const known = UNITS.get(unit);
  if (known) return scaled(value * known[1], known[0]);
  const number = Math.abs(value) < 1e6 ? exact : scaled(value, COUNT);
  const word = number === "1" ? singular(unit) : unit;
  return word ? `${number} ${word}` : number;
}

/** @param {string} unit */
function singular(unit) {
  return PLURALS.includes(unit) ? unit.slice(0, -1) : unit;
}

/** @param {number} value
 * @param {Scale} scale */
function scaled(value, scale) {
  if (value === 0) return `0 ${scale[0][0]}`.trimEnd();
  let at = Math.max(scale.findLastIndex(([, size]) => Math.abs(value) >= size), 0);
  // A number that rounds up to the next suffix is shown in that: 999.9 ms are 1 s.
  const rounded = Number(digits(Math.abs(value) / scale[at][1]));
  if (at + 1 < scale.length && rounded * scale[at][1] >= scale[at + 1][1]) at++;
  const [suffix, size] = scale[at];
  return `${digits(value / size)} ${suffix}`.trimEnd();
}

/** Three digits, without zeros at the end of a fraction.
 * @param {number} value */
function digits(value) {
  const size = Math.abs(value);
  const text = rounded(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A number of decimals, half to even as Rust rounds; `toFixed` rounds half up.
 * @param {number} value
 * @param {number} decimals */
function rounded(value, decimals) {
  // A binary fraction lies in the middle of two decimals only if it ends this many bits behind the point.
  const halves = Math.abs(value) * 2 ** (decimals + 1);
  const isHalf = Number.isInteger(halves) && halves % 2 === 1;
  if (!isHalf) return value.toFixed(decimals);
  const below = Math.floor(Math.abs(value) * 10 ** decimals);
  return ((Math.sign(value) * (below + (below % 2))) / 10 ** decimals).toFixed(decimals);
}

/** A number in decimal, its whole part in groups of three.
 * @param {string} text */
export function grouped(text) {
  const [whole, fraction] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction ? "." + fraction : "");
}

/** Writes weights, which are whole numbers of some small step. */
export class Numbers {
  /** @param {Pick<About, "unit" | "scales" | "total" | "before" | "sampleWeight">} about */
  constructor({ unit, scales, total, before, sampleWeight }) {
    this.unit = unit;
    this.decimals = scales.length ? scales[scales.length - 1][1] : 0;
    // One goroutine or object is itself what was counted.
    const isCount = unit === null || unit === "samples" || Number(sampleWeight) === 1;
    /** The weight of a sample, in steps; 0 when it is not known. */
    this.sampleWeight = isCount ? 0 : Number(sampleWeight ?? 0) * 10 ** this.decimals;
    /** Larger sums are rounded. */
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
    return grouped(this.plain(weight));
  }

  /** In its unit, scaled: `325 ms`.
   * @param {number} weight */
  amount(weight) {
    return amount(weight / 10 ** this.decimals, this.unit, this.full(weight));
  }

  /** In its unit, with the samples where one weighs the same as the others: `325 ms (162 samples)`.
   * @param {number} weight */
  withSamples(weight) {
    const text = this.amount(weight);
    const samples = this.sampleWeight > 0 ? Math.round(weight / this.sampleWeight) : -1;
    if (samples < 0 || samples * this.sampleWeight !== weight) return text;
    return `${text} (${amount(samples, "samples", grouped(String(samples)))})`;
  }

  /** All digits, with the unit.
   * @param {number} weight */
  exactly(weight) {
    return `${this.exact ? "" : "≈ "}${this.full(weight)} ${this.unit ?? ""}`.trimEnd();
  }

  /** For a table whose head has the unit: without it where it is a count.
   * @param {number} weight */
  cell(weight) {
    if (weight === 0) return "0";
    const text = this.amount(weight);
    if (!this.isCount || this.unit === null) return text;
    const word = [this.unit, singular(this.unit)].find((one) => text.endsWith(` ${one}`));
    return word ? text.slice(0, -word.length - 1) : text;
  }

  /** True if the unit is of time, or of what takes time. */
  get isSpeed() {
    return this.unit === null || UNITS.get(this.unit)?.[0] === TIME || SPEEDS.includes(this.unit);
  }

  /** True if the unit counts things, as samples and cycles do. */
  get isCount() {
    return this.unit !== null && !UNITS.has(this.unit);
  }
}

/** @param {number} part
 * @param {number} whole */
export function percent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  return `${share.toFixed(2)}%`;
}

/** @param {number} value
 * @param {number} decimals */
export function signed(value, decimals) {
  const text = Math.abs(value).toFixed(decimals);
  if (Number(text) === 0) return text;
  return (value < 0 ? "−" : "+") + text;
}
