// The trees that are shown, made from the profile and the state, and the matches of the search.

/** @import { Part, Profile, State, Tree, View, Window } from "./types.js" */
/** @import { Found } from "./search.js" */

import { Changes } from "./changes.js";
import { foldRuns } from "./fold.js";
import { allLeaves, callees, callsOf, inverted } from "./invert.js";
import { ROW, Scene, startOf } from "./layout.js";
import { Memo } from "./memo.js";
import { Numbers } from "./numbers.js";
import { Paints } from "./paints.js";
import { refined } from "./refine.js";
import { expression, ignoresCase, matching, measure } from "./search.js";
import { Threads } from "./threads.js";
import { chartOf } from "./time_order.js";
import { belowMarked, find, kept, reordered, setWidths } from "./tree.js";

/** @typedef {{ back: string, ink: string, run: string, dark: boolean }} Theme */

export class Model {
  /** @param {Profile} profile
   * @param {State} state */
  constructor(profile, state) {
    this.names = profile.names;
    this.views = profile.views ?? [{ name: "", open: () => profile }];
    /** @type {View} */
    this.view = profile;
    this.about = profile.about;
    /** The facts of the page; two ranges of time are compared by other ones. */
    this.given = profile.about;
    this.times = profile.times ?? null;
    this.source = profile.source ?? null;
    this.whole = profile.tree;
    this.state = state;
    this.numbers = new Numbers(profile.about);
    this.memo = new Memo();
    this.threads = new Threads(profile.about, profile.names, profile.tree, this.times);
    this.changes = new Changes(this);
    this.paints = new Paints(this);
    /** The mistake in an expression. */
    this.problem = "";
    /** @type {Theme} */
    this.theme = { back: "#fff", ink: "#000", run: "#bbb", dark: false };
    /** @type {Window | null} the window that a gesture has moved to */
    this.moved = null;
    this.minHeight = 0;
    this.searchProblem = "";
    /** The tree of the chosen threads and times. */
    this.base = this.whole;
    /** @type {import("./time_order.js").Chart | null} the chart that is drawn */
    this.chart = null;
    /** The tree that the steps of refining leave. */
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

  /** Shows a value of the recording.
   * @param {View} view */
  #open(view) {
    const { about, tree, times = null, source = null } = view;
    Object.assign(this, { view, given: about, times, source, whole: tree, numbers: new Numbers(about), threads: new Threads(about, this.names, tree, times) });
    this.memo.values.clear();
  }

  /** Takes a new state.
   * @param {State} state */
  update(state) {
    this.state = state;
    this.problem = "";
    this.moved = null;
    const view = (this.views.find(({ name }) => name === state.value) ?? this.views[0]).open();
    if (view.tree !== this.whole) this.#open(view);
    const { memo } = this;
    this.base = memo.get("base", [state.threads.join("\n"), JSON.stringify(this.times && state.ranges)], () => this.#chosen());
    const differs = this.times !== null && state.ranges.length > 1;
    this.about = differs ? memo.get("comparing", [], () => ({ ...this.given, differential: true })) : this.given;
    this.refined = memo.get("refined", [this.base, JSON.stringify(state.chips)], () => this.#refined(this.base));
    this.marks = memo.get("marks", [state.query, state.matchCase, this.names.texts.length], () => this.#marks());
    if (state.query && !this.marks) this.problem ||= this.searchProblem;
    const { marks } = this;
    this.found = memo.get("found", [this.refined, marks], () => marks && measure(this.refined, marks));
    const chosen = memo.get("chosen", [this.refined, state.only ? marks : null], () =>
      state.only && marks ? kept(this.refined, belowMarked(this.refined, marks)) : this.refined);
    this.tree = memo.get("ordered", [chosen, state.order], () =>
      state.order === "weight" ? reordered(chosen, null) : chosen);
    this.chart = this.#chart();
    this.parts = this.#parts();
    for (const { tree } of this.parts) {
      if (tree !== this.chart?.tree) setWidthsOnce(tree, state.widths);
    }
    this.main = this.parts.at(-1)?.tree ?? this.tree;
    this.zoomed = find(this.main, this.names, state.zoom);
    this.place();
  }

  /** The tree of the threads and times of the state. */
  #chosen() {
    const { state, threads, times, whole } = this;
    if (!times || !(state.ranges.length || threads.areTimed && threads.chosen(state.threads).length)) return threads.only(state.threads);
    return times.tree(whole, state.ranges, state.threads, threads.mask(state.threads));
  }

  /** @returns {import("./time_order.js").Chart | null} */
  #chart() {
    const { memo, names, state, times, whole } = this;
    if (!times || state.view !== "time") return null;
    const range = times.steps(state.ranges[0] ?? state.span ?? [0, times.all]);
    return memo.get("chart", [state.threads.join("\n"), range.join()], () => chartOf(times, whole, names, times.heaviest(state.threads, range), range));
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
      return matching(this.names, expression(query, !ignoresCase({ query, matchCase })));
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
      case "time": return [{ tree: this.chart?.tree ?? tree, up: false, skip: 0 }];
      case "flame": return [{ tree: this.#folded(), up: true, skip: 0 }];
      case "icicle": return [{ tree: this.#folded(), up: false, skip: 0 }];
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

  /** The tree as it is drawn, from the root. */
  #folded() {
    const { memo, tree, names, marks, state } = this;
    return state.fold ? memo.get("folded", [tree, marks], () => foldRuns(tree, names, marks)) : tree;
  }

  /** The tree of the outline, callers or callees below each other. */
  get outline() {
    return this.state.view === "bottomup" ? this.#callers() : this.tree;
  }

  #callers() {
    const { memo, tree, names, state } = this;
    return memo.get("callers", [tree, state.zoom.join(";")], () => inverted(tree, names, allLeaves(tree), state.zoom));
  }

  /** Lays the parts out, for a place to draw of this height. */
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
}

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
