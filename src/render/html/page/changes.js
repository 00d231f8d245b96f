// The changes of a comparison: weights before and after, and which differences are significant.

/** @import { Model } from "./model.js" */
/** @import { Part, Tree } from "./types.js" */

import { signed } from "./numbers.js";
import { judgeFunctions, periods } from "./significance.js";
import { atOnce } from "./steps.js";
import { functions } from "./table.js";

/** The tests of fg-diff take these changes only: a sample or two are no change, nor is half a point. */
const OF_RANGES = { minEffect: 0.5, minSamples: 5 };

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

  /** The functions whose self and total weights changed significantly, by name: every part of the page tells of these. */
  significant() {
    return this.judged().significant;
  }

  /** The verdict on each function, and its p. */
  judged() {
    const { about, given, base, memo, names, numbers, spreads, times, tree } = this.model;
    return memo.get("significant", [tree, about, spreads, names.texts.length], () => {
      if (!times || about === given) return this.#stated();
      // Of ranges of time, the samples are known: their stacks alone may be too few to tell.
      const samples = { ...base, before: times.weight, self: times.weight };
      // A sample that stands for others tells no more than one.
      const each = times.isCoarse ? times.samples / times.n : 1;
      const period = periods(about, samples, 10 ** numbers.decimals).map((weight) => weight * each);
      const count = names.texts.length;
      const [own, total] = [0, 1].map(() => ({ before: new Float64Array(count), after: new Float64Array(count) }));
      for (const row of atOnce(functions(tree, count))) {
        if (row.id === names.other) continue;
        own.before[row.id] = row.before / period[0];
        own.after[row.id] = row.self / period[1];
        total.before[row.id] = row.totalBefore / period[0];
        total.after[row.id] = row.total / period[1];
      }
      const all = /** @type {[number, number]} */ ([(tree.totalBefore?.[0] ?? 0) / period[0], tree.total[0] / period[1]]);
      return judgeFunctions({ alpha: about.alpha ?? 2, ...OF_RANGES }, all, [own, total], spreads && ((kind, id) => [spreads[0](kind, id), spreads[1](kind, id)]));
    });
  }

  /** The verdicts that came with two columns; without any, every change counts.
   * @returns {{ significant: Uint8Array[], p: (number | string)[][] }} */
  #stated() {
    const { about, names } = this.model;
    const known = new Map(about.changed?.map(([name, ...p]) => [name, p]));
    const p = [0, 1].map((kind) => names.texts.map((name) => known.get(name)?.[kind] ?? ""));
    return { significant: p.map((all) => Uint8Array.from(all, (one) => (!about.changed || one ? 1 : 0))), p };
  }

  /** Returns true if the function of a node changed significantly: itself, or with what it calls.
   * @param {Tree} tree
   * @param {number} node */
  isSignificant({ name }, node) {
    return this.significant()[this.model.state.ownChange ? 0 : 1][this.#first(name[node])] === 1;
  }

  /** The function of a frame: of a folded run the first one.
   * @param {number} id */
  #first(id) {
    return this.model.names.folds.get(id)?.[0] ?? id;
  }

  /** The p of the function of a node, in words; "" where it was not tested.
   * @param {Tree} tree
   * @param {number} node */
  pText({ name }, node) {
    const p = this.judged().p[this.model.state.ownChange ? 0 : 1][this.#first(name[node])];
    return typeof p === "string" ? p : p >= 0 ? (p < 0.001 ? "p < 0.001" : `p=${p.toPrecision(2)}`) : "";
  }

  /** Returns true if a frame is grey because chance explains the change of its function.
   * @param {Tree} tree
   * @param {number} node */
  isHidden(tree, node) {
    return !this.model.state.insignificant && node > 0 && !this.isSignificant(tree, node);
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
