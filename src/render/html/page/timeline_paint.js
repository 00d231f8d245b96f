// Draws the rows of a time line, or its heat map, and the chosen ranges on them.

/** @import { Times } from "./timeline_data.js" */
/** @import { Strip } from "./timeline.js" */

import { OFFSETS, cells, columnsFor, fullWeight } from "./heatmap.js";
import { digitsFor } from "./timeline_data.js";

const AXIS_FONT = "11px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", sans-serif";
/** The opacity of waits, paler than what runs. */
const WAITS = 0.3;
/** Pixels between two times of the axis. */
const TICK = 90;

/**
 * @typedef {object} Canvas
 * @property {CanvasRenderingContext2D} context
 * @property {number} width
 * @property {Times} times
 * @property {[number, number]} span
 * @property {Strip[]} strips
 * @property {Uint8Array | null} marked nodes to be tinted
 * @property {[number, number][]} ranges
 * @property {string[]} chosen the keys of the chosen rows
 * @property {boolean} isHeat
 * @property {import("./memo.js").Memo} memo
 * @property {{ ink: string, line: string, bar: string, back: string, tint: string, dark: boolean }} colours
 */

/** @param {Canvas} canvas */
export function paintRows(canvas) {
  if (canvas.isHeat) paintHeat(canvas);
  else paintBars(canvas);
  paintAxis(canvas);
  if (canvas.isHeat) paintCells(canvas);
  else paintRanges(canvas);
}

/** @param {Canvas} canvas */
function paintBars({ context, width, times, span, strips, marked, chosen, memo, colours }) {
  const [from, to] = times.steps(span);
  const size = barWidth(times, span, width);
  const count = Math.ceil(width / size);
  const steps = ((to - from) * size) / width;
  const all = memo.get("bars", [strips, span.join(), width], () => strips.map((strip) => bars(times, strip, from, steps, count, null)));
  // Below the waits of a recording that has both, the time on the processor.
  const { duration, node } = times;
  const running = !marked && times.hasWaits && duration && memo.get("running bars", [strips, span.join(), width], () => strips.map((strip) => bars(times, strip, from, steps, count, (i) => !duration[i])));
  const tinted = marked && memo.get("tinted bars", [strips, span.join(), width, marked], () => strips.map((strip) => bars(times, strip, from, steps, count, (i) => marked[node[i]] > 0)));
  // A thread is either busy or not: rows of threads have one scale, and few bars are cut.
  const most = all.map(fullWeight);
  const ofThreads = Math.max(1e-9, ...most.filter((_, n) => strips[n].threads.length === 1 && n > 0));
  strips.forEach((strip, n) => {
    const scale = strip.height / (strip.threads.length === 1 && n > 0 ? ofThreads : most[n]);
    const isPale = chosen.length > 0 && !chosen.includes(strip.key) && n > 0;
    const base = strip.top + strip.height;
    context.fillStyle = colours.line;
    context.fillRect(0, base, width, 1);
    const paint = (/** @type {Float64Array} */ row, /** @type {string} */ colour, /** @type {number} */ alpha) => {
      context.fillStyle = colour;
      context.globalAlpha = isPale ? alpha * 0.45 : alpha;
      for (let k = 0; k < count; k++) {
        if (row[k] <= 0) continue;
        // The least that is there can be seen.
        const height = Math.min(Math.max(row[k] * scale, 1), strip.height);
        context.fillRect(k * size, base - height, size, height);
      }
    };
    paint(all[n], tinted ? (colours.dark ? "#5b5550" : "#d3c8bd") : colours.bar, tinted ? 1 : running ? WAITS : 0.78);
    if (running) paint(running[n], colours.bar, 0.78);
    if (tinted) paint(tinted[n], colours.tint, 1);
    context.globalAlpha = 1;
  });
}

/** The pixels of a bar: wide enough for some samples of a busy thread, so that it does not flicker.
 * @param {Times} times
 * @param {[number, number]} span
 * @param {number} width */
function barWidth(times, span, width) {
  if (times.lasts > 0) return 1;
  const busiest = times.rows[0].threads.reduce((sum, n) => sum + times.threads[n].to - times.threads[n].from, 0);
  const inSight = (busiest * (span[1] - span[0])) / times.all;
  return Math.min(Math.max(Math.round((2.5 * width) / Math.max(inSight, 1)), 1), 6);
}

/** The weight in each bar of a row.
 * @param {Times} times
 * @param {Strip} strip
 * @param {number} from the first step
 * @param {number} steps of a bar
 * @param {number} count
 * @param {((i: number) => boolean) | null} counts which samples do; null is all */
function bars(times, { threads }, from, steps, count, counts) {
  const { weight } = times;
  const row = new Float64Array(count);
  for (const n of threads) {
    times.eachSpan(n, from, from + steps * count, false, (i, at, until) => {
      if (counts && !counts(i)) return;
      const start = (at - from) / steps;
      const end = (until - from) / steps;
      const first = Math.floor(start);
      if (end <= first + 1) {
        if (first >= 0) row[first] += weight[i];
        return;
      }
      const density = weight[i] / (end - start);
      for (let k = Math.max(first, 0); k < Math.min(end, count); k++) row[k] += density * (Math.min(end, k + 1) - Math.max(start, k));
    });
  }
  return row;
}

/** @param {Canvas} canvas */
function paintHeat({ context, width, times, span, strips, marked, memo, colours }) {
  const [{ threads, height }] = strips;
  const columns = columnsFor(span, width);
  const { all, found } = memo.get("cells", [strips, columns.unit, columns.start, columns.count, marked], () => cells(times, columns, threads, marked));
  const most = fullWeight(all);
  const wide = width / columns.count;
  const high = height / OFFSETS;
  context.fillStyle = colours.dark ? "#1f2024" : "#f3f0eb";
  context.fillRect(0, 0, width, height);
  for (let k = 0; k < all.length; k++) {
    if (all[k] <= 0) continue;
    const x = Math.floor(k / OFFSETS) * wide;
    const y = (k % OFFSETS) * high;
    const paint = (/** @type {string} */ colour, /** @type {number} */ weight) => {
      context.fillStyle = colour;
      context.globalAlpha = 0.12 + 0.88 * Math.min(weight / most, 1);
      context.fillRect(x, y, Math.max(wide - (wide > 5 ? 1 : 0), 1), high + 0.3);
    };
    paint(marked ? (colours.dark ? "#5b5550" : "#d3c8bd") : colours.bar, all[k]);
    if (marked && found[k] > 0) paint(colours.tint, found[k]);
  }
  context.globalAlpha = 1;
}

/** The times below the rows.
 * @param {Canvas} canvas */
function paintAxis({ context, width, span, strips, isHeat, colours }) {
  const last = strips[strips.length - 1];
  const y = last.top + last.height;
  let [from, to] = span;
  if (isHeat) {
    const { unit, start, count } = columnsFor(span, width);
    [from, to] = [start, start + unit * count];
  }
  const least = ((to - from) * TICK) / Math.max(width, 1);
  const step = niceStep(least);
  context.font = AXIS_FONT;
  context.textBaseline = "alphabetic";
  context.fillStyle = colours.ink;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const x = ((at - from) / (to - from)) * width;
    context.fillRect(x, y, 1, 4);
    const text = axisText(at, step);
    const room = context.measureText(text).width;
    context.fillText(text, Math.min(x + 3, width - room), y + 12);
  }
}

/** @param {number} least */
function niceStep(least) {
  if (least > 30) return [60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400].find((step) => step >= least) ?? Math.ceil(least / 86400) * 86400;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((one) => one * power >= least * 0.999) ?? 10) * power;
}

/** @param {number} at
 * @param {number} step */
function axisText(at, step) {
  if (step < 60) return `${at.toFixed(Math.max(digitsFor(step) - 1, 0))} s`;
  const pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(at / 3600), Math.floor(at / 60) % 60];
  return at >= 3600 || step >= 3600 ? `${hours}:${pad(minutes)} h` : `${minutes} min`;
}

/** @param {Canvas} canvas */
function paintRanges({ context, width, span: [from, to], strips, ranges, colours }) {
  const last = strips[strips.length - 1];
  const height = last.top + last.height;
  const scale = width / (to - from);
  ranges.forEach((range, n) => {
    const [left, right] = range.map((at) => Math.min(Math.max((at - from) * scale, 0), width));
    if (right <= 0 || left >= width) return;
    if (ranges.length === 1) {
      context.globalAlpha = 0.6;
      context.fillStyle = colours.back;
      context.fillRect(0, 0, left, height);
      context.fillRect(right, 0, width - right, height);
    }
    context.globalAlpha = 0.12;
    context.fillStyle = n === 0 && ranges.length > 1 ? "#3278dc" : colours.bar;
    context.fillRect(left, 0, right - left, height);
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(right - left - 1.5, 0.5), height - 1.5);
  });
}

/** The ranges on a heat map: parts of columns.
 * @param {Canvas} canvas */
function paintCells({ context, width, span, strips, ranges, colours }) {
  const [{ height }] = strips;
  const { unit, start, count } = columnsFor(span, width);
  const wide = width / count;
  ranges.forEach(([from, to], n) => {
    context.strokeStyle = n === 0 && ranges.length > 1 ? "#3278dc" : colours.bar;
    context.fillStyle = context.strokeStyle;
    const first = Math.max(Math.floor((from - start) / unit), 0);
    const last = Math.min(Math.floor((to - start) / unit), count - 1);
    for (let column = first; column <= last; column++) {
      const top = Math.max((from - start) / unit - column, 0) * height;
      const end = Math.min((to - start) / unit - column, 1) * height;
      context.globalAlpha = 0.3;
      context.fillRect(column * wide, top, wide, end - top);
      context.globalAlpha = 1;
      if (column === first) context.fillRect(column * wide - 1.5, top, 2, end - top);
      if (column === last) context.fillRect((column + 1) * wide - 0.5, top, 2, end - top);
      context.fillRect(column * wide, top, wide, 1.5);
      context.fillRect(column * wide, end - 1.5, wide, 1.5);
    }
  });
}
