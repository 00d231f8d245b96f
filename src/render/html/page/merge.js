// Trees without some of their frames, or with other names: frames with the same name and callers
// become one. Only frames around such a change are looked at one by one; all others are copied as
// they stand, since most of a large tree does not change.

/** @import { Names, Tree } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { STEP } from "./steps.js";
import { emptyTree, sumUp, trimmed } from "./tree.js";

/** The changes to a tree's frames.
 * @typedef {object} Change
 * @property {Uint8Array} [gone] marks frames to leave out: their callees take their place, and their
 *   caller their weight; without a caller, the weight is left out too
 * @property {Uint32Array} [renamed] the new name of each name
 * @property {Uint32Array} [roots] the frames to begin at, rather than all first frames */

/** @param {Tree} tree
 * @param {Names} names
 * @param {Change} change
 * @returns {Steps<Tree>} */
export function* changed(tree, names, { gone = new Uint8Array(tree.n), renamed, roots }) {
  const { n, parent, end } = tree;
  const name = renamed ? tree.name.map((id) => renamed[id]) : tree.name;
  const ranks = yield* names.inOrder();
  // Frames with something below them that is gone, or that stands or merges elsewhere.
  const mixed = renamed ? outOfOrder(tree, name, ranks) : new Uint8Array(n);
  for (let i = n - 1; i > 0; i--) {
    if (i % STEP === 0) yield;
    mixed[parent[i]] |= mixed[i] | gone[i];
  }

  const made = emptyTree(n, Math.max(tree.total[0], tree.totalBefore?.[0] ?? 0), Boolean(tree.before));
  // A stack of groups of frames, each of which will become one frame: the start of each group in
  // `pool`, and its caller. The group on top is next.
  let pool = new Uint32Array(1024);
  let used = 0;
  /** @type {number[]} */
  const starts = [];
  /** @type {number[]} */
  const above = [];
  /** @type {number[]} the frames that become the next one */
  const sources = [];
  /** @type {number[]} their callees */
  const callees = [];
  let at = 0;

  if (roots) {
    addNode(-1);
    if (roots.length) wait(roots, 0);
  } else {
    wait([0], -1);
  }
  let stepped = 0;
  while (starts.length) {
    if (at - stepped > STEP) {
      stepped = at;
      yield;
    }
    const start = /** @type {number} */ (starts.pop());
    sources.length = 0;
    for (let k = start; k < used; k++) sources.push(pool[k]);
    used = start;
    addNode(/** @type {number} */ (above.pop()));
  }
  yield* sumUp(made, at);
  return yield* trimmed(made, at);

  /** Makes one frame of the sources, and lets their callees wait.
   * @param {number} caller */
  function addNode(caller) {
    const node = at++;
    made.name[node] = sources.length ? name[sources[0]] : names.all;
    made.parent[node] = caller;
    made.depth[node] = caller < 0 ? 0 : made.depth[caller] + 1;
    callees.length = 0;
    for (const source of sources) {
      weigh(node, source);
      if (sources.length === 1 && !mixed[source]) copyBelow(source, node);
      else collect(source, node);
    }
    if (callees.length) group(node);
  }

  /** @param {number} node
   * @param {number} source */
  function weigh(node, source) {
    made.self[node] += tree.self[source];
    if (made.before && tree.before) made.before[node] += tree.before[source];
  }

  /** @param {number} source
   * @param {number} node */
  function collect(source, node) {
    for (let k = source + 1; k < end[source]; ) {
      if (gone[k]) {
        if (node > 0) weigh(node, k);
        k++;
      } else {
        callees.push(k);
        k = end[k];
      }
    }
  }

  /** @param {number} source
   * @param {number} node */
  function copyBelow(source, node) {
    const [from, to] = [source + 1, end[source]];
    made.name.set(name.subarray(from, to), at);
    made.self.set(tree.self.subarray(from, to), at);
    if (made.before && tree.before) made.before.set(tree.before.subarray(from, to), at);
    const deeper = made.depth[node] - tree.depth[source];
    const moved = node - source;
    for (let k = from; k < to; k++) {
      made.depth[k + moved] = tree.depth[k] + deeper;
      made.parent[k + moved] = parent[k] + moved;
    }
    at += to - from;
  }

  /** Lets callees wait, those of one name together, in the order of names.
   * @param {number} node */
  function group(node) {
    let isOrdered = true;
    for (let k = 1; k < callees.length && isOrdered; k++) isOrdered = ranks[name[callees[k - 1]]] < ranks[name[callees[k]]];
    if (!isOrdered) callees.sort((a, b) => ranks[name[a]] - ranks[name[b]] || a - b);
    // The last one has to wait longest.
    for (let to = callees.length; to > 0; ) {
      let from = to - 1;
      if (!isOrdered) while (from > 0 && name[callees[from - 1]] === name[callees[to - 1]]) from--;
      if (used + to - from > pool.length) grow(to - from);
      starts.push(used);
      above.push(node);
      for (let k = from; k < to; k++) pool[used++] = callees[k];
      to = from;
    }
  }

  /** @param {ArrayLike<number>} sources
   * @param {number} caller */
  function wait(sources, caller) {
    if (used + sources.length > pool.length) grow(sources.length);
    starts.push(used);
    above.push(caller);
    pool.set(sources, used);
    used += sources.length;
  }

  /** @param {number} needed */
  function grow(needed) {
    const larger = new Uint32Array(2 * pool.length + needed);
    larger.set(pool);
    pool = larger;
  }
}

/** Frames whose callees are not in the order of their new names, each one once.
 * @param {Tree} tree
 * @param {Uint32Array} name
 * @param {Uint32Array} ranks */
function outOfOrder({ n, parent }, name, ranks) {
  const found = new Uint8Array(n);
  // One more than the rank of the callee before.
  const last = new Uint32Array(n);
  for (let i = 1; i < n; i++) {
    const rank = ranks[name[i]] + 1;
    const above = parent[i];
    if (rank <= last[above]) found[above] = 1;
    last[above] = rank;
  }
  return found;
}
