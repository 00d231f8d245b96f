// The stack chart: a lane for each thread, its stacks in the order of time. What is below one column of pixels is shown as
// the stack that weighs most there, so that as much is seen of a day as of a millisecond.

/** @import { Names, Tree } from "./types.js" */
/** @import { Times } from "./timeline_data.js" */
/** @import { Steps } from "./steps.js" */

import { STEP, atOnce } from "./steps.js";
import { emptyTree, sumUp, trimmed } from "./tree.js";

/** The most lanes. */
const MOST_LANES = 100;

/** A stretch of time with one stack.
 * @typedef {{ start: number, end: number, node: number, weight: number }} Stretch */

/**
 * @typedef {object} Lane
 * @property {string} key what opens it
 * @property {string} label
 * @property {Tree} tree as wide as the time in sight, in steps
 * @property {number} skip the first row that is drawn: all stacks of the lane have those above it
 * @property {number} rows their number
 * @property {number} weight that of the time in sight
 * @property {boolean} isOpen
 * @property {boolean} isThread one thread of an open lane
 */

/**
 * @typedef {object} Chart
 * @property {Lane[]} lanes
 * @property {number} start the step at which it begins
 * @property {number} column the steps of a column of pixels
 */

/**
 * The part of the profile that is to be drawn, and the room for it.
 * @typedef {object} Wanted
 * @property {[number, number]} range in steps
 * @property {[number, number]} kept the steps that count, others are empty
 * @property {number} columns
 * @property {number} rows those that there is room for
 * @property {string[]} threads the keys of the chosen rows; none that are known are all
 * @property {string[]} open the keys of open lanes
 * @property {Uint8Array | null} nodes those that count; null is all
 */

/** @param {Times} times
 * @param {Tree} whole
 * @param {Names} names
 * @param {Wanted} wanted
 * @returns {Steps<Chart>} */
export function* chartOf(times, whole, names, wanted) {
  const { range, columns, threads, open } = wanted;
  // Threads that this value does not have choose nothing, as in the time line.
  const known = times.rows.filter(({ key }) => threads.includes(key));
  const chosen = known.length ? known : times.rows;
  const isAlone = chosen.length === 1;
  /** @type {{ key: string, label: string, threads: number[], isThread: boolean }[]} */
  const planned = [];
  for (const { key, label, threads: numbers } of chosen) {
    planned.push({ key, label, threads: numbers, isThread: false });
    if (numbers.length > 1 && open.includes(key) !== isAlone) {
      for (const n of numbers) planned.push({ key: times.threads[n].label, label: times.threads[n].label, threads: [n], isThread: true });
    }
  }
  const filled = [];
  for (const lane of planned) {
    const stretches = yield* stretchesOf(times, whole, lane.threads, wanted);
    const weight = stretches.reduce((sum, one) => sum + one.all, 0);
    if (weight > 0 || !lane.isThread) filled.push({ ...lane, stretches, weight });
  }
  // The heaviest threads of a pool stand first.
  for (let from = 0; from < filled.length; from++) {
    let to = from;
    while (to < filled.length && filled[to].isThread) to++;
    if (to > from) filled.splice(from, to - from, ...filled.slice(from, to).sort((a, b) => b.weight - a.weight));
    from = to;
  }
  const shown = filled.slice(0, MOST_LANES);
  const each = Math.max(Math.floor(wanted.rows / shown.length), 3);
  /** @type {Lane[]} */
  const lanes = [];
  for (const { key, label, threads: numbers, isThread, stretches, weight } of shown) {
    yield;
    const isOpen = (open.includes(key) !== (isAlone && !isThread)) || shown.length === 1;
    const { skip, deepest } = depthsOf(whole, stretches);
    const rows = isOpen && (numbers.length === 1 || isAlone) ? deepest - skip + 1 : Math.min(each, deepest - skip + 1);
    const cut = stretches.map((one) => {
      let { node } = one;
      while (whole.depth[node] >= skip + rows) node = whole.parent[node];
      return { ...one, node };
    });
    lanes.push({ key, label, isThread, isOpen, weight, skip, rows: Math.max(rows, 1), tree: arranged(whole, cut, names.all, range) });
  }
  return { lanes, start: range[0], column: (range[1] - range[0]) / columns };
}

/** The first depth at which stacks of a lane differ, and the deepest.
 * @param {Tree} whole
 * @param {Stretch[]} stretches */
function depthsOf({ depth, parent }, stretches) {
  let common = stretches[0]?.node ?? 0;
  let deepest = 1;
  for (const { node } of stretches) {
    deepest = Math.max(deepest, depth[node]);
    for (let other = node; common !== other; ) {
      if (depth[other] > depth[common]) other = parent[other];
      else common = parent[common];
    }
  }
  // Two rows above what differs tell where it is.
  return { skip: Math.max(Math.min(depth[common], deepest - 2), 1), deepest };
}

/** The heaviest stack of each column of pixels, neighbours with the same one as one stretch.
 * @param {Times} times
 * @param {Tree} whole
 * @param {number[]} threads
 * @param {Wanted} wanted
 * @returns {Steps<(Stretch & { all: number })[]>} */
function* stretchesOf(times, whole, threads, { range: [from, to], kept, columns, nodes }) {
  const steps = (to - from) / columns;
  /** @type {[number, number][][]} the nodes and weights in each column */
  const cells = Array.from({ length: columns }, () => []);
  const [first, last] = [Math.max(from, kept[0]), Math.min(to, kept[1])];
  let looked = 0;
  for (const n of threads) {
    if (looked > STEP) {
      looked = 0;
      yield;
    }
    times.eachSpan(n, first, last, true, (i, start, end) => {
      looked++;
      if (nodes && !nodes[times.node[i]]) return;
      const [left, right] = [(Math.max(start, first) - from) / steps, (Math.min(end, last) - from) / steps];
      const share = times.weight[i] / Math.max((end - start) / steps, 1e-9);
      const least = Math.floor(left);
      if (right <= least + 1) cells[Math.min(least, columns - 1)].push([times.node[i], end > start ? share * (right - left) : times.weight[i]]);
      else for (let k = least; k < Math.min(right, columns); k++) cells[k].push([times.node[i], share * (Math.min(right, k + 1) - Math.max(left, k))]);
    });
  }
  /** @type {(Stretch & { all: number })[]} */
  const stretches = [];
  for (let k = 0; k < columns; k++) {
    const cell = cells[k];
    if (!cell.length) continue;
    looked += cell.length;
    if (looked > STEP) {
      looked = 0;
      yield;
    }
    const { node, weight } = heaviestStack(whole, cell);
    const all = cell.reduce((sum, [, one]) => sum + one, 0);
    const before = stretches[stretches.length - 1];
    const [start, end] = [from + k * steps, from + (k + 1) * steps];
    if (before && before.node === node && before.end > start - steps / 2) {
      before.end = end;
      before.weight += weight;
      before.all += all;
    } else {
      stretches.push({ start, end, node, weight, all });
    }
  }
  return stretches;
}

/** The stack that is found by going from the root to the heaviest callee, and so on.
 * @param {Tree} whole
 * @param {[number, number][]} cell nodes and weights */
function heaviestStack({ depth, parent, end }, cell) {
  if (cell.length === 1) return { node: cell[0][0], weight: cell[0][1] };
  // Stacks that begin alike stand beside each other, and those that end in a node before all below it.
  cell.sort((a, b) => a[0] - b[0]);
  let [node, from, to] = [0, 0, cell.length];
  for (;;) {
    let own = 0;
    for (; from < to && cell[from][0] === node; from++) own += cell[from][1];
    let [best, weight, start, stop] = [-1, 0, 0, 0];
    for (let k = from; k < to; ) {
      let child = cell[k][0];
      while (parent[child] !== node && depth[child] > 0) child = parent[child];
      let sum = 0;
      const first = k;
      for (; k < to && cell[k][0] < end[child]; k++) sum += cell[k][1];
      if (sum > weight) [best, weight, start, stop] = [child, sum, first, k];
    }
    if (best < 0 || weight < own) return { node, weight: own + weight };
    [node, from, to] = [best, start, stop];
  }
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
