// The heat map of a time line: a column for each second, or minute, and in it a row for each offset.
// Perturbations that repeat show as lines.

/** @import { Times } from "./timeline_data.js" */

/** Offsets in a column. */
export const OFFSETS = 50;
/** The seconds of a column. */
const COLUMN_UNITS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600];

/** The columns of a heat map: the seconds of each, the start of the first, and their number.
 * @typedef {{ unit: number, start: number, count: number }} Columns */

/** Columns for a range of seconds, each wide enough to be told apart.
 * @param {[number, number]} span
 * @param {number} width in pixels
 * @returns {Columns} */
export function columnsFor([from, to], width) {
  const least = ((to - from) * 3) / Math.max(width, 1);
  // Parts of a second only where few seconds are in sight.
  const unit = COLUMN_UNITS.find((one) => one >= least && (one >= 1 || (to - from < 4 && (to - from) / one <= 100))) ?? 3600;
  const start = Math.floor(from / unit) * unit;
  return { unit, start, count: Math.max(Math.ceil((to - start) / unit), 1) };
}

/** The weight in each cell, column by column, and of that what is marked.
 * @param {Times} times
 * @param {Columns} columns
 * @param {number[]} threads
 * @param {Uint8Array | null} marked nodes */
export function cells(times, { unit, start, count }, threads, marked) {
  const all = new Float64Array(count * OFFSETS);
  const found = new Float64Array(marked ? all.length : 0);
  const scale = (times.step / 1e9 / unit) * OFFSETS;
  const zero = (start / unit) * OFFSETS;
  const [from, to] = times.steps([start, start + count * unit]);
  for (const n of threads) {
    times.each(times.threads[n], from, to, (i, share) => {
      const lasts = times.duration ? times.duration[i] : 0;
      const first = Math.max(Math.floor(times.at[i] * scale - zero), 0);
      const last = Math.min(Math.max(Math.ceil((times.at[i] + lasts) * scale - zero), first + 1), all.length);
      const weight = (times.weight[i] * share) / (last - first);
      for (let cell = first; cell < last; cell++) {
        all[cell] += weight;
        if (marked && marked[times.node[i]]) found[cell] += weight;
      }
    });
  }
  return { all, found };
}

/** The weight that is drawn in full colour: few cells weigh more.
 * @param {Float64Array} weights */
export function fullWeight(weights) {
  const sorted = weights.filter((weight) => weight > 0).sort();
  return sorted.length ? sorted[Math.min(Math.floor(sorted.length * 0.99), sorted.length - 1)] : 1;
}
