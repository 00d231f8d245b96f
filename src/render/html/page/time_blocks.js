// The spread within a range of time: its samples in blocks, as src/diff/blocks.rs cuts a recording, and the weights of functions
// in each, as src/significance/blocks.rs adds them up.

/** @import { Tree } from "./types.js" */
/** @import { Times } from "./timeline_data.js" */
/** @import { Spread } from "./significance.js" */
/** @import { Steps } from "./steps.js" */

/** The most blocks, the least samples of one, and the least blocks; two neighbours are one, as of one recording a side. */
const BLOCKS = 40;
const SAMPLES = 5;
const FEWEST = 16;
const PER_BLOCK = 2;

/** The spread of the self and total share of each name; null if there are too few samples.
 * @param {Times} times
 * @param {Tree} whole
 * @param {[number, number]} range of seconds
 * @param {number} names their number
 * @returns {Steps<((kind: number, name: number) => Spread) | null>} */
export function* spreadWithin(times, whole, range, names) {
  const [from, to] = times.steps(range);
  /** @type {number[]} */
  const found = [];
  for (const thread of times.threads) for (let i = times.first(thread, from), end = times.first(thread, to); i < end; i++) found.push(i);
  const samples = Uint32Array.from(found);
  yield;
  samples.sort((a, b) => times.at[a] - times.at[b] || a - b);
  yield;
  let instants = 0;
  let total = 0;
  samples.forEach((i, k) => {
    if (!k || times.at[i] !== times.at[samples[k - 1]]) instants++;
    total += times.weight[i];
  });
  const count = Math.min(BLOCKS, Math.floor(samples.length / SAMPLES), instants);
  if (count < FEWEST || times.duration || times.isCoarse) return null;
  /** @type {number[][]} */
  const blocks = Array.from({ length: count }, () => []);
  let sum = 0;
  for (let k = 0; k < samples.length; ) {
    let weight = 0;
    const first = k;
    for (; k < samples.length && times.at[samples[k]] === times.at[samples[first]]; k++) weight += times.weight[samples[k]];
    const block = Math.min(Math.floor(((sum + weight / 2) / total) * count), count - 1);
    sum += weight;
    for (let l = first; l < k; l++) blocks[block].push(samples[l]);
  }
  const filled = blocks.filter(({ length }) => length);
  const sums = [0, 1].map(() => ({ weight: new Float64Array(names), squares: new Float64Array(names), products: new Float64Array(names) }));
  let squares = 0;
  let used = 0;
  for (let k = 0; k < filled.length; k += PER_BLOCK) {
    yield;
    const self = new Float64Array(whole.n);
    let all = 0;
    for (const block of filled.slice(k, k + PER_BLOCK)) {
      for (const i of block) {
        self[times.node[i]] += times.weight[i];
        all += times.weight[i];
      }
    }
    const weights = byName(whole, self, names);
    used++;
    squares += all * all;
    weights.forEach((one, kind) => {
      const { weight, squares: own, products } = sums[kind];
      for (let id = 0; id < names; id++) {
        weight[id] += one[id];
        own[id] += one[id] * one[id];
        products[id] += one[id] * all;
      }
    });
  }
  return (kind, id) => {
    const share = sums[kind].weight[id] / total;
    const residue = sums[kind].squares[id] - 2 * share * sums[kind].products[id] + share * share * squares;
    return { variance: Math.max(((residue * used) / (used - 1)) / (total * total), 0), freedom: used - 1 };
  };
}

/** The self and total weights of names.
 * @param {Tree} whole
 * @param {Float64Array} self by node
 * @param {number} names */
function byName({ n, name, parent, end }, self, names) {
  const all = self.slice();
  for (let i = n - 1; i > 0; i--) all[parent[i]] += all[i];
  const [own, total] = [new Float64Array(names), new Float64Array(names)];
  const openUntil = new Uint32Array(names);
  for (let i = 1; i < n; i = all[i] ? i + 1 : end[i]) {
    const id = name[i];
    own[id] += self[i];
    if (i < openUntil[id]) continue;
    openUntil[id] = end[i];
    total[id] += all[i];
  }
  return [own, total];
}
