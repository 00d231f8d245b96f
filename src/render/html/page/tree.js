// Trees made from trees: parts of them, merged, turned round, reordered.

/** @import { Tree, Names, Weights, Widths } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { depthColumn, weightColumn } from "./decode.js";
import { STEP } from "./steps.js";

/** Puts nodes, each after the one above it, in the order of a tree.
 * @param {number} n
 * @param {Uint32Array} name
 * @param {Int32Array} parent
 * @param {Weights} self
 * @param {Weights | null} before
 * @param {Uint32Array | null} ranks of names; without them the heaviest goes first
 * @returns {Steps<Tree>} */
export function* arrange(n, name, parent, self, before, ranks) {
  const most = Math.max(yield* sumOf(self, n), before ? yield* sumOf(before, n) : 0);
  const total = weightColumn(n, most);
  const totalBefore = before && weightColumn(n, most);
  const first = new Int32Array(n);
  const next = new Int32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    if (i % STEP === 0) yield;
    total[i] += self[i];
    if (before && totalBefore) totalBefore[i] += before[i];
    const above = parent[i];
    if (above < 0) continue;
    total[above] += total[i];
    if (totalBefore) totalBefore[above] += totalBefore[i];
    next[i] = first[above];
    first[above] = i;
  }
  const weigh = (/** @type {number} */ i) => total[i] + (totalBefore ? totalBefore[i] : 0);
  /** @type {(a: number, b: number) => number} */
  const compare = ranks ? (a, b) => ranks[name[a]] - ranks[name[b]] : (a, b) => weigh(b) - weigh(a) || a - b;
  const made = emptyTree(n, most, Boolean(before));
  // A stack of nodes still to be placed, and where the one above was placed.
  const waiting = [0];
  const above = [-1];
  /** @type {number[]} */
  const children = [];
  let at = 0;
  while (waiting.length) {
    if (at % STEP === 0) yield;
    const node = /** @type {number} */ (waiting.pop());
    const placed = /** @type {number} */ (above.pop());
    made.name[at] = name[node];
    made.parent[at] = placed;
    made.depth[at] = placed < 0 ? 0 : made.depth[placed] + 1;
    made.self[at] = self[node];
    made.total[at] = total[node];
    if (before && totalBefore && made.before && made.totalBefore) {
      made.before[at] = before[node];
      made.totalBefore[at] = totalBefore[node];
    }
    let child = first[node];
    if (child && !next[child]) {
      waiting.push(child);
      above.push(at);
    } else if (child) {
      children.length = 0;
      for (; child; child = next[child]) children.push(child);
      children.sort(compare);
      for (let k = children.length - 1; k >= 0; k--) {
        waiting.push(children[k]);
        above.push(at);
      }
    }
    at++;
  }
  yield* setEnds(made);
  return made;
}

/** @param {Weights} weights
 * @param {number} n
 * @returns {Steps<number>} */
function* sumOf(weights, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) {
    if (i % STEP === 0) yield;
    sum += weights[i];
  }
  return sum;
}

/** @param {number} n
 * @param {number} most
 * @param {boolean} differential
 * @returns {Tree} */
export function emptyTree(n, most, differential) {
  const self = weightColumn(n, most);
  const total = weightColumn(n, most);
  return {
    n, self, total, own: self, width: total,
    name: new Uint32Array(n),
    depth: depthColumn(n),
    parent: new Int32Array(n),
    end: new Uint32Array(n),
    before: differential ? weightColumn(n, most) : null,
    totalBefore: differential ? weightColumn(n, most) : null,
  };
}

/** @param {Tree} tree
 * @param {number} [n] how many nodes it has so far
 * @returns {Steps<void>} */
function* setEnds({ end, parent }, n = end.length) {
  for (let i = n - 1; i >= 0; i--) {
    if (i % STEP === 0) yield;
    if (end[i] === 0) end[i] = i + 1;
    const above = parent[i];
    if (above >= 0 && end[above] < end[i]) end[above] = end[i];
  }
}

/** Totals and ends, from self weights and what is above what.
 * @param {Tree} tree
 * @param {number} n how many nodes it has so far
 * @returns {Steps<void>} */
export function* sumUp(tree, n) {
  const { self, total, before, totalBefore, parent } = tree;
  for (let i = n - 1; i >= 0; i--) {
    if (i % STEP === 0) yield;
    const above = parent[i];
    total[i] += self[i];
    if (above >= 0) total[above] += total[i];
    if (before && totalBefore) {
      totalBefore[i] += before[i];
      if (above >= 0) totalBefore[above] += totalBefore[i];
    }
  }
  yield* setEnds(tree, n);
}

/** Without the room that was not needed.
 * @param {Tree} tree
 * @param {number} n
 * @returns {Steps<Tree>} */
export function* trimmed(tree, n) {
  if (n === tree.n) return tree;
  /** @type {<C extends Uint16Array | Uint32Array | Int32Array | Float64Array>(column: C) => C} */
  const cut = (column) => /** @type {any} */ (column.slice(0, n));
  const self = cut(tree.self);
  yield;
  const total = cut(tree.total);
  yield;
  return {
    n, self, total, own: self, width: total, name: cut(tree.name), depth: cut(tree.depth), parent: cut(tree.parent), end: cut(tree.end),
    before: tree.before && cut(tree.before), totalBefore: tree.totalBefore && cut(tree.totalBefore),
  };
}

/** Returns true if a stack ends in a node: it weighs something, or nothing is below it.
 * @param {Tree} tree
 * @param {number} i */
export function isStack({ self, before, end }, i) {
  return i > 0 && (self[i] > 0 || (before !== null && before[i] > 0) || end[i] === i + 1);
}

/** The same tree in another order.
 * @param {Tree} tree
 * @param {Uint32Array | null} ranks
 * @returns {Steps<Tree>} */
export function reordered(tree, ranks) {
  return arrange(tree.n, tree.name, tree.parent, tree.self, tree.before, ranks);
}

/** Only the stacks that end in marked nodes.
 * @param {Tree} tree
 * @param {Uint8Array} marked
 * @returns {Steps<Tree>} */
export function* kept(tree, marked) {
  const { n } = tree;
  const alive = new Uint8Array(n);
  let size = 0;
  let most = 0;
  for (let i = n - 1; i >= 0; i--) {
    if (i % STEP === 0) yield;
    if (isStack(tree, i) && marked[i]) {
      alive[i] = 1;
      most += Math.max(tree.self[i], tree.before ? tree.before[i] : 0);
    }
    if (i === 0) alive[0] = 1;
    if (!alive[i]) continue;
    size++;
    if (i > 0) alive[tree.parent[i]] = 1;
  }
  const made = emptyTree(size, most, Boolean(tree.before));
  const places = new Int32Array(n);
  let at = 0;
  for (let i = 0; i < n; i++) {
    if (i % STEP === 0) yield;
    if (!alive[i]) continue;
    places[i] = at;
    made.name[at] = tree.name[i];
    made.depth[at] = tree.depth[i];
    made.parent[at] = i === 0 ? -1 : places[tree.parent[i]];
    if (marked[i]) {
      made.self[at] = tree.self[i];
      if (made.before && tree.before) made.before[at] = tree.before[i];
    }
    at++;
  }
  yield* sumUp(made, size);
  return made;
}

/** The tree of the stacks that weigh something, with other weights.
 * @param {Tree} tree
 * @param {Weights} self
 * @param {Weights | null} before
 * @returns {Steps<{ tree: Tree, places: Int32Array }>} and the place in it of each node */
export function* withWeights(tree, self, before) {
  const { n, parent } = tree;
  const alive = new Uint8Array(n);
  alive[0] = 1;
  let size = 0;
  let most = 0;
  for (let i = n - 1; i >= 0; i--) {
    if (i % STEP === 0) yield;
    const own = self[i] + (before ? before[i] : 0);
    if (own > 0) alive[i] = 1;
    most += own;
    if (!alive[i]) continue;
    size++;
    if (i > 0) alive[parent[i]] = 1;
  }
  const made = emptyTree(size, most, Boolean(before));
  const places = new Int32Array(n);
  let at = 0;
  for (let i = 0; i < n; i++) {
    if (i % STEP === 0) yield;
    if (!alive[i]) continue;
    places[i] = at;
    made.name[at] = tree.name[i];
    made.depth[at] = tree.depth[i];
    made.parent[at] = i === 0 ? -1 : places[parent[i]];
    made.self[at] = self[i];
    if (made.before && before) made.before[at] = before[i];
    at++;
  }
  yield* sumUp(made, size);
  return { tree: made, places };
}

/** For each node, whether it or one above it has a marked name.
 * @param {Tree} tree
 * @param {Uint8Array} marks by name
 * @returns {Steps<Uint8Array>} */
export function* belowMarked({ n, name, parent }, marks) {
  const on = new Uint8Array(n);
  for (let i = 1; i < n; i++) {
    if (i % STEP === 0) yield;
    on[i] = on[parent[i]] | marks[name[i]];
  }
  return on;
}

/** Chooses which weights widths are.
 * @param {Tree} tree
 * @param {Widths} widths
 * @returns {Steps<void>} */
export function* setWidths(tree, widths) {
  tree.own = tree.self;
  tree.width = tree.total;
  if (!tree.before || !tree.totalBefore || widths === "after") return;
  if (widths === "before") {
    tree.own = tree.before;
    tree.width = tree.totalBefore;
    return;
  }
  const most = tree.total[0] + tree.totalBefore[0];
  const own = weightColumn(tree.n, most);
  const width = weightColumn(tree.n, most);
  for (let i = tree.n - 1; i >= 0; i--) {
    if (i % STEP === 0) yield;
    own[i] = Math.max(tree.self[i], tree.before[i]);
    width[i] += own[i];
    if (i > 0) width[tree.parent[i]] += width[i];
  }
  Object.assign(tree, { own, width });
}

/** Two numbers of the path to a node, for links that would be long; a path of keys that begins with this mark has them. */
const SHORT = "~";

/** The hash of the path to each node of a depth, and of those above.
 * @param {Tree} tree
 * @param {Names} names
 * @param {number} node
 * @param {Map<number, number>} known */
function pathHash({ name, parent }, names, node, known) {
  const above = [];
  for (; node > 0 && !known.has(node); node = parent[node]) above.push(node);
  let hash = node > 0 ? known.get(node) ?? 0 : 0;
  for (let next = above.pop(); next !== undefined; next = above.pop()) {
    // Every step stays below 2^53, where numbers are exact.
    hash = (hash * 31 + names.hash(name[next]) + 1) % 281474976710597;
    known.set(next, hash);
  }
  return hash;
}

/** A key that leads to a node, however deep: its depth and the hash of its path.
 * @param {Tree} tree
 * @param {Names} names
 * @param {number} node */
export function shortKey(tree, names, node) {
  return `${SHORT}${tree.depth[node]}.${pathHash(tree, names, node, new Map()).toString(36)}`;
}

/** The node that a path of keys leads to, or as far as there is one.
 * @param {Tree} tree
 * @param {Names} names
 * @param {string[]} path */
export function find(tree, names, path) {
  let node = 0;
  if (path.length === 1 && path[0].startsWith(SHORT)) {
    const known = new Map();
    const depth = Number(path[0].slice(1).split(".")[0]);
    for (let i = 1; i < tree.n; i++) {
      if (tree.depth[i] === depth && `${SHORT}${depth}.${pathHash(tree, names, i, known).toString(36)}` === path[0]) return i;
    }
  }
  for (const key of path) {
    let child = node + 1;
    while (child < tree.end[node] && names.key(tree.name[child]) !== key) child = tree.end[child];
    if (child >= tree.end[node]) break;
    node = child;
  }
  return node;
}

/** The nodes from below the root to a node.
 * @param {Tree} tree
 * @param {number} node */
export function pathTo(tree, node) {
  const path = [];
  for (let k = node; k > 0; k = tree.parent[k]) path.push(k);
  return path.reverse();
}

/** The number of rows of a tree.
 * @param {Tree} tree */
export function rowsOf({ n, depth }) {
  let deepest = 0;
  for (let i = 0; i < n; i++) if (depth[i] > deepest) deepest = depth[i];
  return deepest + 1;
}
