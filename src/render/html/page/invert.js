// Trees of callers, leaf first. Inverted stacks share little, and a tree of all of them would be
// several times as large as the profile. So a frame that is too light to be seen even after much
// stretching is not followed further; a zoom makes the tree anew, with more detail there.

/** @import { Names, Tree, Weights } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { changed } from "./merge.js";
import { STEP } from "./steps.js";
import { arrange, isStack, reordered } from "./tree.js";

/** The least share of the zoomed frame that is followed: a hundredth of a pixel. */
const FOLLOWED = 1 / 200_000;

/**
 * The frames at which stacks begin that are followed towards their roots, and their weights.
 * @typedef {{ nodes: Uint32Array, after: Weights, before: Weights | null }} Leaves
 */

/** Every stack, with the self weight of its leaf.
 * @param {Tree} tree
 * @returns {Leaves} */
export function allLeaves(tree) {
  let count = 0;
  for (let i = 1; i < tree.n; i++) if (isStack(tree, i)) count++;
  const nodes = new Uint32Array(count);
  for (let i = 1, at = 0; i < tree.n; i++) if (isStack(tree, i)) nodes[at++] = i;
  return { nodes, after: tree.self, before: tree.before };
}

/** Every call of a function that is in no other call of it, with all it weighs.
 * @param {Tree} tree
 * @param {number} id
 * @returns {Leaves} */
export function callsOf(tree, id) {
  const nodes = [];
  for (let i = 1; i < tree.n; ) {
    if (tree.name[i] === id) {
      nodes.push(i);
      i = tree.end[i];
    } else {
      i++;
    }
  }
  return { nodes: Uint32Array.from(nodes), after: tree.total, before: tree.totalBefore };
}

/** The callees of a function, the heaviest first. Of recursive calls only the outermost counts, so
 * that nothing is weighed twice.
 * @param {Tree} tree
 * @param {Names} names
 * @param {number} id
 * @returns {Steps<Tree>} */
export function* callees(tree, names, id) {
  return yield* reordered(yield* changed(tree, names, { roots: callsOf(tree, id).nodes }), null);
}

/** The tree of callers, the heaviest first.
 * @param {Tree} tree
 * @param {Names} names
 * @param {Leaves} leaves
 * @param {string[]} zoom keys of names, of the frame to show in detail
 * @returns {Steps<Tree>} */
export function* inverted(tree, names, { nodes, after, before }, zoom) {
  const weigh = (/** @type {number} */ leaf) => after[leaf] + (before ? before[leaf] : 0);
  // For each stack, the leaf with its weight and the frame it has come to.
  const leaves = nodes.slice();
  const places = nodes.slice();
  const spare = new Uint32Array(nodes.length);
  const sums = new Float64Array(names.texts.length);
  const counts = new Uint32Array(names.texts.length);
  /** @type {{ name: number[], parent: number[], self: number[], before: number[] }} the nodes made */
  const made = { name: [names.all], parent: [-1], self: [0], before: [0] };
  let whole = 0;
  for (const leaf of leaves) whole += weigh(leaf);
  // Stacks that are together so far: which, at what node, how much of the path led there (-1 is
  // beside it), and what is too light.
  const waiting = [{ from: 0, to: leaves.length, at: 0, path: 0, least: whole * FOLLOWED }];
  let looked = 0;
  for (let group = waiting.pop(); group; group = waiting.pop()) {
    const { from, at, path, least } = group;
    looked += group.to - from;
    if (looked > STEP) {
      looked = 0;
      yield;
    }
    const end = (/** @type {number} */ leaf) => {
      made.self[at] += after[leaf];
      if (before) made.before[at] += before[leaf];
    };
    let { to } = group;
    /** @type {number[]} */
    const callers = [];
    for (let k = from; k < to; ) {
      if (at > 0) places[k] = tree.parent[places[k]];
      if (places[k] > 0) {
        const name = tree.name[places[k]];
        if (counts[name]++ === 0) callers.push(name);
        sums[name] += weigh(leaves[k]);
        k++;
        continue;
      }
      // This one has come to its root.
      end(leaves[k]);
      to--;
      leaves[k] = leaves[to];
      places[k] = places[to];
    }
    if (callers.length > 1) bringTogether(from, to, callers);
    let start = from;
    for (const name of callers) {
      const stop = start + counts[name];
      const total = sums[name];
      counts[name] = sums[name] = 0;
      const node = made.name.push(name) - 1;
      made.parent.push(at);
      made.self.push(0);
      made.before.push(0);
      const next = path >= 0 && path < zoom.length && names.key(name) === zoom[path] ? path + 1 : -1;
      if (next >= 0 || total >= least) {
        waiting.push({ from: start, to: stop, at: node, path: next, least: next === zoom.length ? total * FOLLOWED : least });
      } else {
        for (let k = start; k < stop; k++) {
          made.self[node] += after[leaves[k]];
          if (before) made.before[node] += before[leaves[k]];
        }
      }
      start = stop;
    }
  }
  const { name, parent, self } = made;
  return yield* arrange(name.length, Uint32Array.from(name), Int32Array.from(parent), Float64Array.from(self), before && Float64Array.from(made.before), null);

  /** Sorts stacks by the names they have come to.
   * @param {number} from
   * @param {number} to
   * @param {number[]} order */
  function bringTogether(from, to, order) {
    const starts = new Map();
    let start = from;
    for (const name of order) {
      starts.set(name, start);
      start += counts[name];
    }
    const targets = new Uint32Array(to - from);
    for (let k = from; k < to; k++) {
      const name = tree.name[places[k]];
      const target = starts.get(name);
      starts.set(name, target + 1);
      targets[k - from] = target;
    }
    for (const column of [leaves, places]) {
      for (let k = from; k < to; k++) spare[targets[k - from]] = column[k];
      column.set(spare.subarray(from, to), from);
    }
  }
}
