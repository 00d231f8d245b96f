// The changes of a comparison: weights before and after, and which differences are significant.

/** @import { Model } from "./model.js" */
/** @import { Part, Tree, Weights } from "./types.js" */

import { signed } from "./numbers.js";
import { judge, periods } from "./significance.js";

/** @type {WeakMap<Tree, Uint8Array>} */
const significantTotals = new WeakMap();
/** @type {WeakMap<Tree, Uint8Array>} */
const significantSelves = new WeakMap();

export class Changes {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
  }

  /** The weights before and after.
   * @param {Tree} tree
   * @param {number} node
   * @param {boolean} own */
  sides({ self, total, before, totalBefore }, node, own) {
    if (!before || !totalBefore) return { before: 0, after: own ? self[node] : total[node] };
    return own ? { before: before[node], after: self[node] } : { before: totalBefore[node], after: total[node] };
  }

  /** The change of a node: of its weight, or of its share of each side's whole.
   * @param {Tree} tree
   * @param {number} node */
  of(tree, node) {
    const { before, after } = this.sides(tree, node, this.model.state.ownChange);
    return this.difference(before, after);
  }

  /** @param {number} before
   * @param {number} after */
  difference(before, after) {
    const { state, tree } = this.model;
    if (!state.shares) return after - before;
    const { total, totalBefore } = tree;
    return (total[0] ? after / total[0] : 0) - (totalBefore?.[0] ? before / totalBefore[0] : 0);
  }

  /** @param {Part} part
   * @param {number} node */
  isNew({ tree }, node) {
    return tree.totalBefore !== null && node > 0 && tree.totalBefore[node] === 0 && tree.total[node] > 0;
  }

  /** @param {Part} part
   * @param {number} node */
  isGone({ tree }, node) {
    return tree.totalBefore !== null && node > 0 && tree.total[node] === 0 && tree.totalBefore[node] > 0;
  }

  /** For every node, whether its change is significant.
   * @param {Tree} tree
   * @returns {Uint8Array} */
  significant(tree) {
    const { ownChange } = this.model.state;
    const known = ownChange ? significantSelves : significantTotals;
    let significant = known.get(tree);
    if (!significant) {
      significant = ownChange ? this.judged(tree.before, tree.self) : this.judged(tree.totalBefore, tree.total);
      known.set(tree, significant);
    }
    return significant;
  }

  /** For pairs of weights, whether they differ significantly.
   * @param {Weights | null} before none is zero everywhere
   * @param {Weights} after */
  judged(before, after) {
    const { about, memo, base, given, times, tree, numbers } = this.model;
    // Of ranges of time, the samples are known: their stacks alone may be too few to tell.
    const samples = times && about !== given ? { ...base, before: times.weight, self: times.weight } : base;
    const period = memo.get("periods", [times && about !== given ? times : base], () => periods(about, samples, 10 ** numbers.decimals));
    // A sample that stands for others tells no more than one.
    const each = times?.isCoarse && about !== given ? times.samples / times.n : 1;
    return judge(about, period.map((weight) => weight * each), [tree.totalBefore?.[0] ?? 0, tree.total[0]], before ?? new Float64Array(after.length), after);
  }

  /** Returns true if a frame is grey because chance explains its change.
   * @param {Tree} tree
   * @param {number} node */
  isHidden(tree, node) {
    return !this.model.state.insignificant && node > 0 && !this.significant(tree)[node];
  }

  /** The largest change that has a colour; the whole has its own, and would make all others pale. */
  get largest() {
    const { tree, state, memo } = this.model;
    return memo.get("largest", [tree, tree.width, state.ownChange, state.shares, state.insignificant], () => {
      let largest = 0;
      for (let i = 1; i < tree.n; i++) {
        if (tree.width[i] > 0 && !this.isHidden(tree, i)) largest = Math.max(largest, Math.abs(this.of(tree, i)));
      }
      return largest || Math.abs(this.of(tree, 0));
    });
  }
}

/** @param {number} before
 * @param {number} after */
export function changeText(before, after) {
  if (before === after) return "no change";
  if (before === 0) return "+ new";
  if (after === 0) return "− gone";
  return `${signed((100 * (after - before)) / before, 1)}%`;
}
