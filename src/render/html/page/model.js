// From the profile and the state to what is shown: the tree in use, its colours, what is found.

/** @import { Part, Place, Profile, State, Tree, Weights, Window } from "./types.js" */
/** @import { Found } from "./search.js" */

import { UNSURE, changeColour, kindColour, moduleColour, nameColour, widthColour } from "./colour.js";
import { ROW, paint } from "./draw.js";
import { allLeaves, callees, callsOf, inverted } from "./invert.js";
import { Scene, startOf } from "./layout.js";
import { Numbers, percent, signed } from "./numbers.js";
import { ofRoots, refined } from "./refine.js";
import { expression, matching, measure } from "./search.js";
import { judge, periods } from "./significance.js";
import { totalsByName } from "./table.js";
import { belowMarked, find, kept, pathTo, reordered, setWidths } from "./tree.js";

/** @typedef {{ fill: string, pixel: number, ink: string }} Paint */
/** @typedef {{ back: string, ink: string, run: string, dark: boolean }} Theme */

/** Answers that stay the same until what they were made of changes. */
class Memo {
  constructor() {
    this.values = new Map();
  }

  /** @template T
   * @param {string} name
   * @param {unknown[]} inputs
   * @param {() => T} make
   * @returns {T} */
  get(name, inputs, make) {
    const known = this.values.get(name);
    if (known && known.inputs.length === inputs.length && known.inputs.every((/** @type {unknown} */ one, /** @type {number} */ n) => one === inputs[n])) {
      return known.value;
    }
    const value = make();
    this.values.set(name, { inputs, value });
    return value;
  }
}

export class Model {
  /** @param {Profile} profile
   * @param {State} state */
  constructor(profile, state) {
    this.about = profile.about;
    this.names = profile.names;
    this.whole = profile.tree;
    this.state = state;
    this.numbers = new Numbers(profile.about);
    this.memo = new Memo();
    /** What is wrong with an expression. */
    this.problem = "";
    /** @type {Theme} */
    this.theme = { back: "#fff", ink: "#000", run: "#bbb", dark: false };
    /** @type {Window | null} where a gesture has moved the window */
    this.moved = null;
    this.minHeight = 0;
    /** @type {(Paint | undefined)[]} */
    this.paints = [];
    this.paintedBy = "";
    this.searchProblem = "";
    /** What the steps of refining leave. */
    this.refined = this.whole;
    /** The tree that all views are made from. */
    this.tree = this.whole;
    /** @type {Part[]} */
    this.parts = [];
    /** The tree that is zoomed into. */
    this.main = this.whole;
    this.zoomed = 0;
    this.scene = new Scene([], ROW, 0);
    /** @type {Uint8Array | null} the names that were searched for */
    this.marks = null;
    /** @type {Found | null} */
    this.found = null;
    this.update(state);
  }

  /** Takes a new state.
   * @param {State} state */
  update(state) {
    this.state = state;
    this.problem = "";
    this.moved = null;
    const { memo } = this;
    const rooted = memo.get("rooted", [state.roots.join("\n")], () =>
      state.roots.length ? ofRoots(this.whole, this.names, state.roots) : this.whole);
    this.refined = memo.get("refined", [rooted, JSON.stringify(state.chips)], () => this.#refined(rooted));
    this.marks = memo.get("marks", [state.query, state.matchCase, this.names.texts.length], () => this.#marks());
    if (state.query && !this.marks) this.problem ||= this.searchProblem;
    const { marks } = this;
    this.found = memo.get("found", [this.refined, marks], () => marks && measure(this.refined, marks));
    const chosen = memo.get("chosen", [this.refined, state.only ? marks : null], () =>
      state.only && marks ? kept(this.refined, belowMarked(this.refined, marks)) : this.refined);
    this.tree = memo.get("ordered", [chosen, state.order], () =>
      state.order === "weight" ? reordered(chosen, null) : chosen);
    this.parts = this.#parts();
    for (const { tree } of this.parts) {
      setWidthsOnce(tree, state.widths);
    }
    this.main = this.parts.at(-1)?.tree ?? this.tree;
    this.zoomed = find(this.main, this.names, state.zoom);
    this.place();
  }

  /** @param {Tree} tree */
  #refined(tree) {
    try {
      return refined(tree, this.names, this.state.chips);
    } catch (error) {
      this.problem = String(error instanceof Error ? error.message : error);
      return tree;
    }
  }

  #marks() {
    const { query, matchCase } = this.state;
    if (!query) return null;
    try {
      return matching(this.names, expression(query, matchCase));
    } catch (error) {
      this.searchProblem = String(error instanceof Error ? error.message : error);
      return null;
    }
  }

  /** The butterfly's function; -1 when nobody chose one and nothing weighs anything. */
  get focus() {
    const { names, state } = this;
    return this.memo.get("focus", [state.focus, this.tree, names.texts.length], () => {
      if (state.focus) {
        for (let id = 0; id < names.texts.length; id++) if (id !== names.all && names.key(id) === state.focus) return id;
      }
      return heaviest(this.tree, names.texts.length);
    });
  }

  /** @returns {Part[]} */
  #parts() {
    const { memo, tree, names } = this;
    switch (this.state.view) {
      case "flame": return [{ tree, up: true, skip: 0 }];
      case "icicle": return [{ tree, up: false, skip: 0 }];
      case "callers": return [{ tree: this.#callers(), up: false, skip: 0 }];
      case "butterfly": {
        const { focus } = this;
        if (focus < 0) return [];
        const above = memo.get("callers of", [tree, focus], () => inverted(tree, names, callsOf(tree, focus), []));
        const below = memo.get("callees of", [tree, focus], () => callees(tree, names, focus));
        // The function itself stands between the two, once.
        return [{ tree: above, up: true, skip: 2 }, { tree: below, up: false, skip: 1 }];
      }
      default: return [];
    }
  }

  #callers() {
    const { memo, tree, names, state } = this;
    return memo.get("callers", [tree, state.zoom.join(";")], () => inverted(tree, names, allLeaves(tree), state.zoom));
  }

  /** Where things are, for a place to draw of this height. */
  place() {
    this.scene = new Scene(this.parts, ROW, this.minHeight);
  }

  /** @returns {Window} */
  get window() {
    if (this.moved) return this.moved;
    const { main, zoomed } = this;
    return this.memo.get("window", [main, zoomed, main.width], () => {
      const from = startOf(main, zoomed);
      return { from, to: from + Math.max(main.width[zoomed], 1e-9) };
    });
  }

  /** Moves the window, without leaving the whole.
   * @param {number} from
   * @param {number} to */
  move(from, to) {
    const whole = this.main.width[0];
    const width = Math.min(Math.max(to - from, Math.min(whole, whole * 1e-9)), whole);
    const start = Math.min(Math.max(from, 0), whole - width);
    this.moved = { from: start, to: start + width };
  }

  /** The weights that changes are taken of.
   * @param {Tree} tree
   * @param {number} node
   * @param {boolean} own */
  sides(tree, node, own) {
    const { self, total, before, totalBefore } = tree;
    if (!before || !totalBefore) return { before: 0, after: own ? self[node] : total[node] };
    return own ? { before: before[node], after: self[node] } : { before: totalBefore[node], after: total[node] };
  }

  /** What a node changed by: weights, or shares of each side's whole.
   * @param {Tree} tree
   * @param {number} node */
  change(tree, node) {
    const { before, after } = this.sides(tree, node, this.state.ownChange);
    return this.difference(before, after);
  }

  /** @param {number} before
   * @param {number} after */
  difference(before, after) {
    if (!this.state.shares) return after - before;
    const { total, totalBefore } = this.tree;
    return (total[0] ? after / total[0] : 0) - (totalBefore?.[0] ? before / totalBefore[0] : 0);
  }

  /** @param {Part} part
   * @param {number} node */
  isNew({ tree }, node) {
    return tree.totalBefore !== null && node > 0 && tree.totalBefore[node] === 0 && tree.total[node] > 0;
  }

  /** Of every node, whether its change is more than noise.
   * @param {Tree} tree
   * @returns {Uint8Array} */
  sure(tree) {
    const { ownChange } = this.state;
    return remembered(ownChange ? sureSelves : sureTotals, tree, () => (ownChange
      ? this.judged(tree.before, tree.self)
      : this.judged(tree.totalBefore, tree.total)));
  }

  /** Of pairs of weights, whether they tell of more than noise.
   * @param {Weights | null} before none is zero everywhere
   * @param {Weights} after */
  judged(before, after) {
    const { about, memo, whole, tree, numbers } = this;
    const period = memo.get("periods", [whole], () => periods(about, whole, 10 ** numbers.decimals));
    return judge(about, period, [tree.totalBefore?.[0] ?? 0, tree.total[0]], before ?? new Float64Array(after.length), after);
  }

  /** Whether a frame is grey since chance explains its change.
   * @param {Tree} tree
   * @param {number} node */
  isNoise(tree, node) {
    return !this.state.noise && node > 0 && !this.sure(tree)[node];
  }

  /** The largest change that has a colour; the whole has its own, and would make all others pale. */
  #largestChange() {
    const { tree, state } = this;
    return this.memo.get("largest", [tree, tree.width, state.ownChange, state.shares, state.noise], () => {
      let largest = 0;
      for (let i = 1; i < tree.n; i++) {
        if (tree.width[i] > 0 && !this.isNoise(tree, i)) largest = Math.max(largest, Math.abs(this.change(tree, i)));
      }
      return largest || Math.abs(this.change(tree, 0));
    });
  }

  /** @param {Part} part
   * @param {number} node
   * @returns {Paint} */
  colourOf({ tree }, node) {
    const { about, names, state } = this;
    const id = tree.name[node];
    if (this.marks && this.marks[id]) return FOUND.get(about.found);
    if (state.colour === "change" && about.differential) {
      if (this.isNoise(tree, node)) return NOISE;
      return paint(changeColour(about, this.change(tree, node), this.#largestChange()));
    }
    if (about.byWidth && state.colour === "name") return paint(widthColour(tree.width[node] / tree.width[0]));
    if (this.paintedBy !== state.colour) {
      this.paints = [];
      this.paintedBy = state.colour;
    }
    return (this.paints[id] ??= paint(
      state.colour === "module" ? moduleColour(names, id)
      : state.colour === "kind" ? kindColour(names, id)
      : nameColour(about, names, id)));
  }

  /** How strongly a frame is shown: what is around the zoomed one, and what was not searched for, less.
   * @param {Part} part
   * @param {number} node */
  dimmed({ tree }, node) {
    if (this.marks && !this.marks[tree.name[node]]) return 0.4;
    const isAbove = node < this.zoomed && tree.end[node] > this.zoomed && tree === this.main;
    return isAbove ? 0.55 : 1;
  }

  /** What a frame weighs, in one line.
   * @param {Tree} tree
   * @param {number} node */
  weightText(tree, node) {
    const { numbers, about } = this;
    const { before, after } = this.sides(tree, node, false);
    if (!about.differential) return `${numbers.withUnit(after)}, ${percent(after, this.tree.total[0])}`;
    return `${numbers.full(before)} → ${numbers.withUnit(after)}, ${changeText(before, after)}`;
  }

  /** What is known of a frame, as pairs of a word and a text.
   * @param {Tree} tree
   * @param {number} node
   * @returns {[string, string][]} */
  facts(tree, node) {
    const { numbers, about, zoomed, main, names } = this;
    const everywhere = this.memo.get("totals", [this.tree, names.texts.length], () => totalsByName(this.tree, names.texts.length));
    const id = tree.name[node];
    const isElsewhere = id !== names.all && everywhere.after[id] + everywhere.before[id] > tree.total[node] + (tree.totalBefore ? tree.totalBefore[node] : 0);
    const total = this.sides(tree, node, false);
    const own = this.sides(tree, node, true);
    if (about.differential) {
      const note = /** @type {[string, string]} */ (["Note", `may be noise${this.state.ownChange ? ", its self change" : ""}: not significant`]);
      const points = this.tree.totalBefore ? 100 * (total.after / (this.tree.total[0] || 1) - total.before / (this.tree.totalBefore[0] || 1)) : 0;
      return [
        ["Total", `${numbers.full(total.before)} → ${numbers.withUnit(total.after)}`],
        ["Change", `${changeText(total.before, total.after)}, ${signed(points, 2)} pp`],
        ["Self", `${numbers.full(own.before)} → ${numbers.withUnit(own.after)}, ${changeText(own.before, own.after)}`],
        ...(isElsewhere ? [/** @type {[string, string]} */ (["All calls of it", `${numbers.full(everywhere.before[id])} → ${numbers.withUnit(everywhere.after[id])}, ${changeText(everywhere.before[id], everywhere.after[id])}`])] : []),
        ...(node > 0 && about.alpha !== null && !this.sure(tree)[node] ? [note] : []),
      ];
    }
    /** @type {[string, string][]} */
    const facts = [
      ["Total", `${numbers.withUnit(total.after)}, ${percent(total.after, this.tree.total[0])}`],
      ["Self", `${numbers.withUnit(own.after)}, ${percent(own.after, this.tree.total[0])}`],
    ];
    if (zoomed > 0 && tree === main && node >= zoomed && node < tree.end[zoomed]) {
      facts.push([`Of ${names.show(tree.name[zoomed]).slice(0, 40)}`, percent(total.after, tree.total[zoomed])]);
    }
    const above = tree.parent[node];
    if (above > 0 && above !== zoomed && tree === this.tree) facts.push(["Of its caller", percent(total.after, tree.total[above])]);
    if (isElsewhere) facts.push(["All calls of it", `${numbers.withUnit(everywhere.after[id])}, ${percent(everywhere.after[id], this.tree.total[0])}`]);
    return facts;
  }

  /** The names from the root to a place, leaving out the whole.
   * @param {Place} place */
  stack({ part, node }) {
    const { tree } = this.parts[part];
    return pathTo(tree, node).map((k) => tree.name[k]);
  }
}

/** @param {number} before
 * @param {number} after */
function changeText(before, after) {
  if (before === after) return "no change";
  if (before === 0) return "+ new";
  if (after === 0) return "− gone";
  return `${signed((100 * (after - before)) / before, 1)}%`;
}

/** The colour of changes that may be noise. */
const NOISE = paint(UNSURE);

/** @type {WeakMap<Tree, Uint8Array>} */
const sureTotals = new WeakMap();
/** @type {WeakMap<Tree, Uint8Array>} */
const sureSelves = new WeakMap();

/** @param {WeakMap<Tree, Uint8Array>} known
 * @param {Tree} tree
 * @param {() => Uint8Array} make */
function remembered(known, tree, make) {
  let value = known.get(tree);
  if (!value) known.set(tree, (value = make()));
  return value;
}

const FOUND = {
  /** @type {Map<string, Paint>} */
  known: new Map(),
  /** @param {string} colour
   * @returns {Paint} */
  get(colour) {
    let found = this.known.get(colour);
    if (!found) {
      const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
      this.known.set(colour, (found = paint(/** @type {[number, number, number]} */ (parts))));
    }
    return found;
  },
};

/** @type {WeakMap<Tree, string>} */
const widthsOf = new WeakMap();

/** @param {Tree} tree
 * @param {import("./types.js").Widths} widths */
function setWidthsOnce(tree, widths) {
  if (widthsOf.get(tree) === widths) return;
  widthsOf.set(tree, widths);
  setWidths(tree, widths);
}

/** @param {Tree} tree
 * @param {number} names */
function heaviest(tree, names) {
  const weights = new Float64Array(names);
  for (let i = 1; i < tree.n; i++) weights[tree.name[i]] += tree.self[i] + (tree.before ? tree.before[i] : 0);
  let best = -1;
  for (let id = 0; id < names; id++) if (weights[id] > (best < 0 ? 0 : weights[best])) best = id;
  return best;
}
