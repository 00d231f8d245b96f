// The trees that are shown, made from the profile and the state, and the matches of the search.

/** @import { Part, Profile, State, Tree, View, Window } from "./types.js" */
/** @import { Found } from "./search.js" */
/** @import { Steps } from "./steps.js" */

import { Changes } from "./changes.js";
import { expression } from "./expression.js";
import { foldRuns } from "./fold.js";
import { GROUPINGS, coloursOfGroups } from "./groups.js";
import { allLeaves, callees, callsOf, inverted } from "./invert.js";
import { ROW, Scene, startOf } from "./layout.js";
import { Memo } from "./memo.js";
import { Numbers } from "./numbers.js";
import { Paints } from "./paints.js";
import { changed } from "./merge.js";
import { mergedPools, poolsOf } from "./pools.js";
import { refined, remaining } from "./refine.js";
import { matching, measure } from "./search.js";
import { atOnce } from "./steps.js";
import { functions, hotter } from "./table.js";
import { spreadWithin } from "./time_blocks.js";
import { chartOf } from "./time_order.js";
import { heatsOf } from "./verdict.js";
import { belowMarked, find, kept, reordered, setWidths } from "./tree.js";

/** The pixels between two lanes of a chart. */
const GAP = 8;

/** @typedef {{ back: string, ink: string, dark: boolean }} Theme */

export class Model {
  /** @param {Profile} profile
   * @param {State} state */
  constructor(profile, state) {
    this.names = profile.names;
    this.views = profile.views;
    /** Finds the difference of two recordings by the name of its value: see several.js.
     * @type {((value: string) => Profile["views"][0] | undefined) | null} */
    this.pair = null;
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
    this.threads = profile.threads;
    this.changes = new Changes(this);
    this.paints = new Paints(this);
    /** The mistake in an expression. */
    this.problem = "";
    /** @type {Theme} */
    this.theme = { back: "#fff", ink: "#000", dark: false };
    /** @type {Window | null} the window that a gesture has moved to */
    this.moved = null;
    this.minHeight = 0;
    /** The pixels beside the frames of a chart, where its lanes have their names, and those for its time. */
    this.gutter = { left: 0, right: 0 };
    this.columns = 0;
    /** @type {((kind: number, name: number) => import("./significance.js").Spread)[] | null} the spread of shares within the ranges that are compared */
    this.spreads = null;
    /** @type {import("./pools.js").Pool[]} */
    this.pools = [];
    /** @type {import("./pools.js").Pool[]} those whose threads are one */
    this.merged = [];
    /** The tree of the chosen threads and times. */
    this.base = this.whole;
    /** @type {import("./time_order.js").Chart | null} the chart that is drawn */
    this.chart = null;
    /** The tree that the steps of refining leave. */
    this.refined = this.whole;
    /** The tree that all views are made from. */
    this.tree = this.whole;
    /** The tree of the outline: callers or callees below each other. */
    this.outline = this.whole;
    /** @type {Part[]} */
    this.parts = [];
    /** The tree that is zoomed into. */
    this.main = this.whole;
    this.zoomed = 0;
    this.scene = new Scene([], ROW, 0);
    /** The weight of each thread in the chosen range of what is kept, by its key.
     * @type {Map<string, number>} */
    this.threadWeights = new Map();
    /** The weights that the line on top tells of. */
    this.heats = /** @type {import("./verdict.js").Heats} */ ({});
    /** @type {Uint8Array | null} the names that were searched for */
    this.marks = null;
    /** @type {Found | null} */
    this.found = null;
  }

  /** The parts of the model that are those of a value of the recording.
   * @param {View} view */
  #opened(view) {
    const { about, tree, times = null, threads, source = null } = view;
    return { view, given: about, times, source, whole: tree, memo: new Memo(), numbers: new Numbers(about), threads };
  }

  /** Takes a new state. Until its steps are done, everything is as it was.
   * @param {State} state
   * @returns {Steps<void>} */
  *updating(state) {
    const { names } = this;
    const view = yield* (this.views.find(({ name }) => name === state.value) ?? this.pair?.(state.value) ?? this.views[0]).open();
    const from = view.tree === this.whole ? this : this.#opened(view);
    const { memo, times, given, whole } = from;
    if (state.colour in GROUPINGS) yield* memo.getting("colours", [state.colour, whole], () => coloursOfGroups(names, view.areas, state.colour));
    let problem = "";
    const failed = (/** @type {unknown} */ error) => (problem ||= String(error instanceof Error ? error.message : error));
    const base = yield* memo.getting("base", [state.threads.join("\n"), JSON.stringify(times && state.ranges)], () => chosenOf(from, state));
    const pools = memo.get("pools", [whole], () => poolsOf(from.threads, whole, names));
    const merged = mergedPools(pools, state.pools);
    const differs = times !== null && state.ranges.length > 1;
    const about = differs ? memo.get("comparing", [], () => ({ ...given, differential: true })) : given;
    const pooled = merged.length ? yield* memo.getting("pooled", [base, state.pools], () => {
      const renamed = Uint32Array.from(names.texts.keys());
      for (const { name, ids } of merged) for (const id of ids) renamed[id] = names.intern(name, id);
      return changed(base, names, { renamed });
    }) : base;
    let refinedTree = pooled;
    try {
      refinedTree = yield* memo.getting("refined", [pooled, JSON.stringify(state.chips)], () => refined(pooled, names, state.chips));
    } catch (error) {
      failed(error);
    }
    // Steps with a mistake keep all; a mistake in the search changes no step.
    const chips = problem ? [] : state.chips;
    /** @type {Uint8Array | null} */
    let marks = null;
    try {
      const { query, matchCase } = state;
      if (query) marks = yield* memo.getting("marks", [query, matchCase, names.texts.length], () => matching(names, expression(query, matchCase ? "exact" : "smart")));
    } catch (error) {
      failed(error);
    }
    const found = marks && (yield* memo.getting("found", [refinedTree, marks], () => measure(refinedTree, marks)));
    const chosen = state.only && marks ? yield* memo.getting("chosen", [refinedTree, marks], () => onlyMarked(refinedTree, marks)) : refinedTree;
    const only = state.only ? marks : null;
    const isTimed = from.threads.all.length > 0 || times !== null;
    const nodes = isTimed ? yield* memo.getting("kept nodes", [JSON.stringify(chips), only], () => keptNodes(whole, names, chips, only)) : null;
    const threadWeights = yield* memo.getting("thread weights", [nodes, JSON.stringify(state.ranges)], () => from.threads.weigh(times, state.ranges, nodes));
    const isPlain = !state.chips.length && !state.threads.length && !only && !merged.length;
    const spreads = differs && isPlain ? yield* memo.getting("spreads", [JSON.stringify(state.ranges)], () => spreadsOf(times, whole, state.ranges, names.texts.length)) : null;
    const tree = state.order === "weight" ? yield* memo.getting("ordered", [chosen], () => reordered(chosen, null)) : chosen;
    const chart = yield* chartFor(from, names, state, this.columns || columnsOfWindow(), nodes);
    const callers = () => memo.getting("callers", [tree, state.zoom.join(";")], () => inverted(tree, names, allLeaves(tree), state.zoom));
    if (state.view === "table") yield* memo.getting("functions", [tree], () => functions(tree, names.texts.length));
    const outline = state.view === "bottomup" ? yield* callers() : tree;
    /** @type {Part[]} */
    let parts = [];
    if (state.view === "time") {
      parts = chart ? lanesOf(chart) : [{ tree, up: false, skip: 0 }];
    } else if (state.view === "flame" || state.view === "icicle") {
      const folded = state.fold ? yield* memo.getting("folded", [tree, marks], () => foldRuns(tree, names, marks)) : tree;
      parts = [{ tree: folded, up: state.view === "flame", skip: 0 }];
    } else if (state.view === "callers") {
      parts = [{ tree: yield* callers(), up: false, skip: 0 }];
    } else if (state.view === "butterfly") {
      const focus = focusOf(memo, names, tree, state);
      if (focus >= 0) {
        const above = yield* memo.getting("callers of", [tree, focus], () => inverted(tree, names, callsOf(tree, focus), []));
        const below = yield* memo.getting("callees of", [tree, focus], () => callees(tree, names, focus));
        // The function itself stands between the two, once.
        parts = [{ tree: above, up: true, skip: 2 }, { tree: below, up: false, skip: 1 }];
      }
    }
    const isStraight = state.view === "flame" || state.view === "icicle";
    const inSight = isStraight ? find(tree, names, state.zoom) : 0;
    const heats = yield* memo.getting("heats", [tree, inSight], () => heatsOf(tree, inSight, names, from.threads.frames(names)));
    if (about.differential) yield* memo.getting("functions", [tree], () => functions(tree, names.texts.length));
    for (const part of parts) if (!chart) yield* setWidthsOnce(part.tree, state.widths);
    Object.assign(this, from === this ? {} : from, { state, problem, about, base, pools, merged, spreads, refined: refinedTree, marks, found, tree, heats, threadWeights, chart, outline, parts, moved: null });
    this.main = parts.at(-1)?.tree ?? tree;
    this.zoomed = find(this.main, names, state.zoom);
    this.place();
  }

  /** The butterfly's function; -1 when nobody chose one and nothing weighs anything. */
  get focus() {
    return focusOf(this.memo, this.names, this.tree, this.state);
  }

  /** Lays the parts out, for a place to draw of this height. */
  place() {
    this.scene = new Scene(this.parts, ROW, this.minHeight);
    if (this.chart) Object.assign(this.scene, this.gutter);
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

/** The columns of pixels of a chart before it has a place. */
const columnsOfWindow = () => Math.max(document.documentElement.clientWidth - 156, 100);

/** Only the stacks with a marked name.
 * @param {Tree} tree
 * @param {Uint8Array} marks
 * @returns {Steps<Tree>} */
function* onlyMarked(tree, marks) {
  return yield* kept(tree, yield* belowMarked(tree, marks));
}

/** The spread within two ranges of time; null where one has too few samples.
 * @param {import("./timeline_data.js").Times} times
 * @param {Tree} whole
 * @param {[number, number][]} ranges
 * @param {number} names
 * @returns {Steps<((kind: number, name: number) => import("./significance.js").Spread)[] | null>} */
function* spreadsOf(times, whole, ranges, names) {
  const before = yield* spreadWithin(times, whole, ranges[0], names);
  const after = yield* spreadWithin(times, whole, ranges[1], names);
  return before && after && [before, after];
}

/** Marks the nodes whose stacks are kept by steps and by the search; null if all are.
 * @param {Tree} whole
 * @param {import("./types.js").Names} names
 * @param {State["chips"]} chips
 * @param {Uint8Array | null} only the names that stacks have to have
 * @returns {Steps<Uint8Array | null>} */
function* keptNodes(whole, names, chips, only) {
  const nodes = yield* remaining(whole, names, chips);
  if (!only) return nodes;
  const on = yield* belowMarked(whole, only);
  return nodes ? on.map((one, i) => one & nodes[i]) : on;
}

/** The tree of the threads and times of a state.
 * @param {Pick<Model, "threads" | "times" | "whole">} from
 * @param {State} state
 * @returns {Steps<Tree>} */
function chosenOf({ threads, times, whole }, state) {
  if (!times || !(state.ranges.length || threads.areTimed && threads.chosen(state.threads).length)) return threads.only(state.threads);
  return times.tree(whole, state.ranges, state.threads, threads.mask(state.threads));
}

/** The chart of a state, in which time has so many columns of pixels.
 * @param {Pick<Model, "memo" | "times" | "whole" | "threads">} from
 * @param {import("./types.js").Names} names
 * @param {State} state
 * @param {number} columns
 * @param {Uint8Array | null} kept nodes
 * @returns {Steps<import("./time_order.js").Chart | null>} */
function* chartFor({ memo, times, whole, threads }, names, state, columns, kept) {
  if (!times || state.view !== "time") return null;
  const range = times.steps(state.span ?? [0, times.all]);
  const within = state.ranges.length ? times.steps(state.ranges[state.ranges.length - 1]) : range;
  const mask = threads.areTimed ? null : threads.mask(state.threads);
  const nodes = mask && kept ? kept.map((one, i) => one & mask[i]) : mask ?? kept;
  const rows = Math.floor((innerHeight - 330) / (ROW + 2));
  const key = [columns, rows, kept, JSON.stringify([state.threads, state.lanes, range, within])];
  return yield* memo.getting("chart", key, () => chartOf(times, whole, names, {
    range, kept: within, columns, rows, threads: threads.areTimed ? state.threads : [], open: state.lanes, nodes,
  }));
}

/** The lanes of a chart, one below the other.
 * @param {import("./time_order.js").Chart} chart
 * @returns {Part[]} */
function lanesOf({ lanes }) {
  let next = 0;
  return lanes.map(({ tree, skip, rows }) => {
    const top = next;
    next += rows * ROW + GAP;
    return { tree, up: false, skip, top, rows };
  });
}

/** The function that a state names, or the hottest one.
 * @param {Memo} memo
 * @param {import("./types.js").Names} names
 * @param {Tree} tree
 * @param {State} state */
function focusOf(memo, names, tree, { focus }) {
  return memo.get("focus", [focus, tree, names.texts.length], () => {
    if (focus) {
      for (let id = 0; id < names.texts.length; id++) if (id !== names.all && names.key(id) === focus) return id;
    }
    return hottest(tree, names);
  });
}

/** @type {WeakMap<Tree, string>} */
const widthsOf = new WeakMap();

/** @param {Tree} tree
 * @param {import("./types.js").Widths} widths
 * @returns {Steps<void>} */
function* setWidthsOnce(tree, widths) {
  if (widthsOf.get(tree) === widths) return;
  yield* setWidths(tree, widths);
  widthsOf.set(tree, widths);
}

/** The hottest function; -1 when none weighs anything.
 * @param {Tree} tree
 * @param {import("./types.js").Names} names */
function hottest(tree, names) {
  const rows = atOnce(functions(tree, names.texts.length)).filter(({ id, self, before }) => id !== names.other && (self > 0 || before > 0));
  return rows.map(({ id, self, total }) => ({ id, self, total, name: names.texts[id] })).sort(hotter)[0]?.id ?? -1;
}
