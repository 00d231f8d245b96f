// The flame chart of a thread: its stacks in the order of time, neighbours merged, as wide as the time
// they took. Where there are no samples is a gap.

/** @import { Names, Tree } from "./types.js" */
/** @import { Times } from "./timeline_data.js" */

import { atOnce } from "./steps.js";
import { emptyTree, sumUp, trimmed } from "./tree.js";

/** The most frames of a chart; with more, only the heaviest stack of each moment is drawn. */
const MOST_FRAMES = 1_200_000;
/** The moments of such a chart. */
const MOMENTS = 3000;

/** A stretch of time with one stack.
 * @typedef {{ start: number, end: number, node: number, weight: number }} Stretch */

/**
 * @typedef {object} Chart
 * @property {Tree} tree
 * @property {string} thread
 * @property {number} start the step at which it begins
 * @property {number} moment the steps of which the heaviest stack is drawn; 0 if all are
 */

/** @param {Times} times
 * @param {Tree} whole
 * @param {Names} names
 * @param {number} number of the thread
 * @param {[number, number]} range in steps
 * @returns {Chart} */
export function chartOf(times, whole, names, number, range) {
  const stretches = stretchesOf(times, number, range);
  let frames = 0;
  for (const { node } of stretches) frames += whole.depth[node] + 1;
  const moment = frames > MOST_FRAMES ? (range[1] - range[0]) / MOMENTS : 0;
  const tree = arranged(whole, moment ? heaviestOfMoments(stretches, moment) : stretches, names.all, range);
  return { tree, thread: times.threads[number].label, start: range[0], moment };
}

/** The time of each sample: where weights are time, that; else until the next one, or as long as most.
 * @param {Times} times
 * @param {number} number
 * @param {[number, number]} range
 * @returns {Stretch[]} */
function stretchesOf(times, number, [from, to]) {
  const { at, lasts, duration, node } = times;
  const thread = times.threads[number];
  const usual = lasts > 0 ? 0 : usualDistance(times, number);
  /** @type {Stretch[]} */
  const stretches = [];
  let free = from;
  times.each(thread, from, to, (i, share) => {
    const weight = times.weight[i] * share;
    const start = Math.max(at[i], free);
    const next = i + 1 < thread.to ? Math.max(at[i + 1], start) : Infinity;
    const long = duration && duration[i] > 0 ? at[i] + duration[i] - start : lasts > 0 ? weight * lasts : Math.min(next - start, usual);
    const end = Math.min(start + Math.max(long, 0), to);
    stretches.push({ start, end, node: node[i], weight });
    free = Math.max(end, free);
  });
  return stretches;
}

/** The median distance of two samples.
 * @param {Times} times
 * @param {number} number */
function usualDistance({ at, threads }, number) {
  const { from, to } = threads[number];
  const distances = new Float64Array(Math.max(to - from - 1, 0));
  for (let k = 0; k < distances.length; k++) distances[k] = at[from + k + 1] - at[from + k];
  distances.sort();
  return Math.max(distances[distances.length >> 1] ?? 1, 1);
}

/** The heaviest stack of each moment.
 * @param {Stretch[]} stretches
 * @param {number} moment in steps */
function heaviestOfMoments(stretches, moment) {
  /** @type {Stretch[]} */
  const kept = [];
  for (let k = 0; k < stretches.length; ) {
    const until = stretches[k].start + moment;
    let best = stretches[k];
    let weight = 0;
    const { start } = best;
    let end = start;
    for (; k < stretches.length && stretches[k].start < until; k++) {
      weight += stretches[k].weight;
      end = Math.max(end, stretches[k].end);
      if (stretches[k].weight > best.weight) best = stretches[k];
    }
    kept.push({ start, end, node: best.node, weight });
  }
  return kept;
}

/** Time is as wide as it was long. Where nothing was called, after something had been, stands a frame
 * that is not drawn: it has the name of the whole.
 * @param {Tree} whole
 * @param {Stretch[]} stretches
 * @param {number} all
 * @param {[number, number]} range
 * @returns {Tree} */
function arranged(whole, stretches, all, [from, to]) {
  let size = 2;
  for (const { node } of stretches) size += whole.depth[node] + 2;
  const made = emptyTree(size, 2 ** 53, false);
  const own = new Float64Array(size);
  const hasCallees = new Uint8Array(size);
  made.name[0] = all;
  made.parent[0] = -1;
  let at = 1;
  /** The open frames, and their nodes in the profile. */
  const open = [0];
  const names = [all];
  /** @type {number[]} */
  const path = [];
  const add = (/** @type {number} */ name, /** @type {number} */ parent) => {
    made.name[at] = name;
    made.parent[at] = parent;
    made.depth[at] = made.depth[parent] + 1;
    hasCallees[parent] = 1;
    return at++;
  };
  const spend = (/** @type {number} */ node, /** @type {number} */ steps) => {
    // The time of a frame itself stands before its callees.
    own[hasCallees[node] ? add(all, node) : node] += steps;
  };
  /** Less than a fraction of a pixel is no gap to see, but jitter. */
  const jitter = (to - from) / 50000;
  let free = from;
  for (const { start, end, node, weight } of stretches) {
    if (start - free > jitter) {
      open.length = names.length = 1;
      spend(0, start - free);
      free = start;
    }
    const depth = whole.depth[node];
    for (let k = node, d = depth; d > 0; d--, k = whole.parent[k]) path[d] = whole.name[k];
    let d = 1;
    while (d <= depth && d < open.length && names[d] === path[d]) d++;
    open.length = names.length = d;
    for (; d <= depth; d++) {
      names.push(path[d]);
      open.push(add(path[d], open[d - 1]));
    }
    made.self[open[depth]] += weight;
    if (end > free) spend(open[depth], end - free);
    free = Math.max(end, free);
  }
  if (to > free) spend(0, to - free);
  atOnce(sumUp(made, at));
  const tree = atOnce(trimmed(made, at));
  const width = new Float64Array(at);
  for (let i = at - 1; i >= 0; i--) {
    width[i] += own[i];
    if (i > 0) width[tree.parent[i]] += width[i];
  }
  return { ...tree, own: own.slice(0, at), width };
}
