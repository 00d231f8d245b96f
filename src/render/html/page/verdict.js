// The line on top: what is hot in the part of the profile that is shown, or what changed in it.

/** @import { App } from "./app.js" */
/** @import { Names, Tree } from "./types.js" */
/** @import { Row } from "./table.js" */
/** @import { Steps } from "./steps.js" */

import { changeText } from "./changes.js";
import { byId, make } from "./dom.js";
import { wordsOfChange } from "./header.js";
import { signed } from "./numbers.js";
import { shorterForms } from "./short.js";
import { STEP, atOnce } from "./steps.js";
import { functions, hotter } from "./table.js";
import { COMMAND_FIRST } from "./threads.js";

/** The number of functions that are named. */
const HOTTEST = 3;
/** The number of functions that are named as slower, and as faster. */
const EACH = 2;
/** A function of a smaller share is not among the hottest: it would have 0.0%. */
const LEAST_NAMED = 0.0005;
/** The share of one function above which its callers are named instead: waits all end in the scheduler, and allocations in the allocator. */
const NEARLY_ALL = 0.8;
/** The share of frames without a name above which the line says what helps. */
const MUCH_UNKNOWN = 0.1;
/** Longer names are shortened. */
const longName = () => (innerWidth < 760 ? 18 : 32);
/** Frames of what records waits: the leaf of each of its stacks. */
const TRACER = /^(_*bpf_|__traceiter_|perf_trace_|trace_event_|sched_switch(\b|_\[))/;
/** The frames between such a leaf and the function that waits. */
const SWITCH = /^(_*(preempt_)?schedule|finish_task_switch)(\b|_\[)/;
/** Frames without a name. */
const UNNAMED = /^(?:\[unknown\]|0x[\da-f]+)(?:_\[\w\])?$/;

/**
 * The weights of what is shown, by name.
 * @typedef {object} Heats
 * @property {Tree} tree
 * @property {number} from the zoomed node
 * @property {number} all the weight that shares are of
 * @property {Float64Array} self that of a tracer's own frames is of the function that they were called in
 * @property {Float64Array} total
 * @property {number} unknown the weight of the stacks with frames without a name
 * @property {number} unknownSelf the self weight of such frames
 * @property {Uint8Array} threads
 * @property {number} branch the node of the heaviest branch; 0 if there is only one stack
 */

/** The weights of a part of a tree.
 * @param {Tree} tree
 * @param {number} from its uppermost node
 * @param {Names} names
 * @param {Uint8Array} threads by name: the frames that name a thread, which is no branch
 * @returns {Steps<Heats>} */
export function* heatsOf(tree, from, names, threads) {
  const { name, parent, end } = tree;
  const traces = Uint8Array.from(names.texts, (text) => Number(TRACER.test(text)));
  const switches = Uint8Array.from(names.texts, (text, id) => traces[id] | Number(SWITCH.test(text)));
  const unnamed = Uint8Array.from(names.texts, (text) => Number(UNNAMED.test(text)));
  const heats = {
    tree, from, all: tree.total[from], self: new Float64Array(names.texts.length), total: new Float64Array(names.texts.length),
    unknown: 0, unknownSelf: 0, threads, branch: branchOf(tree, from, unnamed, threads, switches),
  };
  const openUntil = new Uint32Array(names.texts.length);
  for (let i = from, below = from; i < end[from]; i++) {
    if (i % STEP === 0) yield;
    if (i === 0) continue;
    const id = name[i];
    const own = tree.self[i];
    if (i >= openUntil[id]) {
      openUntil[id] = end[i];
      heats.total[id] += tree.total[i];
    }
    if (unnamed[id]) {
      heats.unknownSelf += own;
      if (i >= below) {
        heats.unknown += tree.total[i];
        below = end[i];
      }
    }
    if (!own) continue;
    let k = i;
    if (traces[id]) while (k > from && switches[name[k]]) k = parent[k];
    heats.self[name[k > from ? k : i]] += own;
  }
  return heats;
}

/** The heaviest callee of the last node that more than half of all stacks go through: the outermost call of it.
 * @param {Tree} tree
 * @param {number} from
 * @param {Uint8Array} unnamed by name: no branch
 * @param {Uint8Array} threads likewise: it is in the heaviest one
 * @param {Uint8Array} switches by name: no branch, as what they are called in waits */
function branchOf({ name, end, parent, total }, from, unnamed, threads, switches) {
  let [node, best] = [from, 0];
  do {
    let heaviest = 0;
    for (let k = node + 1; k < end[node]; k = end[k]) if (!heaviest || total[k] > total[heaviest]) heaviest = k;
    if (!heaviest || !total[heaviest]) break;
    if (!unnamed[name[heaviest]] && !threads[name[heaviest]]) best = heaviest;
    node = heaviest;
  } while (total[node] > total[from] / 2 || threads[name[node]]);
  while (parent[best] > from && (switches[name[best]] || name[parent[best]] === name[best])) best = parent[best];
  return best;
}

/** Shows the verdict of the view; a screen reader hears of it when it is another one.
 * @param {App} app */
export function showVerdict(app) {
  const line = byId("answer");
  const parts = app.model.about.differential ? changesOfView(app) : hottestOfView(app);
  const text = parts.map(({ textContent }) => textContent).join("");
  if (text !== line.textContent) line.replaceChildren(...parts);
}

/** A function to look at, with a note on it.
 * @param {App} app
 * @param {number} id
 * @param {string} note */
function link({ model, navigation }, id, note) {
  const name = model.names.show(id);
  const most = longName();
  const label = name.length > most ? shorterForms(name).find((form) => form.length <= most) ?? shorterForms(name).at(-1) ?? name : name;
  const open = { class: "link", title: `${name}: callers and callees`, click: () => navigation.butterfly(id) };
  const made = make("span", {}, make("button", open, label.slice(0, 200)), note && ` ${note}`);
  // A short name has room beside a long one.
  const isLong = label.length > 24;
  made.style.flexShrink = isLong ? "1" : "0";
  if (isLong) made.style.minWidth = "20ch";
  return made;
}

/** The functions that weigh most themselves, the heaviest branch, and what has no name.
 * @param {App} app */
function hottestOfView(app) {
  const { about, heats, names } = app.model;
  const { tree, from, all, self, total, branch } = heats;
  if (!(all > 0)) return [make("b", {}, "Nothing was measured here")];
  const share = (/** @type {number} */ weight) => `${((100 * weight) / all).toFixed(1)}%`;
  const heaviest = (/** @type {Float64Array} */ weights) => {
    const found = [];
    for (let id = 0; id < weights.length; id++) {
      if (weights[id] > 0 && id !== names.other && id !== names.all) found.push({ id, name: names.texts[id], self: weights[id], total: total[id] });
    }
    return found.sort(hotter).slice(0, HOTTEST).filter(({ id }, n) => n === 0 || weights[id] >= LEAST_NAMED * all).map(({ id }) => id);
  };
  const hottest = heaviest(self);
  const callers = hottest.length && self[hottest[0]] > NEARLY_ALL * all ? callersOf(names, heats, hottest[0]) : null;
  const parts = [make("b", {}, "Hottest self"), ...(callers ? hottest.slice(0, 1) : hottest).map((id) => link(app, id, share(self[id])))];
  if (callers) parts.push(make("b", {}, "called from"), ...heaviest(callers).map((id) => link(app, id, share(callers[id]))));
  else if (branch && tree.name[branch] !== hottest[0] && tree.name[branch] !== names.other && tree.total[branch] < 0.9995 * all) {
    let above = tree.parent[branch];
    while (above > from && (heats.threads[tree.name[above]] || UNNAMED.test(names.texts[tree.name[above]]))) above = tree.parent[above];
    parts.push(make("b", {}, "total"), link(app, tree.name[branch], share(tree.total[branch])));
    if (above > from) parts.push(make("span", {}, "from"), link(app, tree.name[above], ""));
  }
  const others = names.other >= 0 ? total[names.other] : 0;
  if (others) parts.push(make("span", { title: "Stacks and frames that weighed too little to be kept: no function" }, `${share(others)} in [other]`));
  if (heats.unknown >= MUCH_UNKNOWN * all) parts.push(make("span", { class: "unnamed" }, `${share(heats.unknown)} is in [unknown]: ${remedy(about, heats)}`));
  return parts;
}

/** The advice on frames without a name.
 * @param {import("./types.js").About} about
 * @param {Heats} heats */
function remedy(about, { unknown, unknownSelf }) {
  if (unknownSelf > unknown / 2) return "symbols are missing";
  return !about.producer || COMMAND_FIRST.test(about.producer) ? "record with --call-graph dwarf" : "its stacks are broken";
}

/** The change of all and the functions that changed most.
 * @param {App} app */
function changesOfView(app) {
  const { model } = app;
  const { about, changes, given, memo, names, numbers, tree } = model;
  // Every second part is the name of a function.
  if (about === given && about.verdict) return about.verdict.map((part, n) => (n % 2 && names.texts.includes(part) ? link(app, names.texts.indexOf(part), "") : make("span", {}, part)));
  const rows = memo.get("functions", [tree], () => atOnce(functions(tree, names.texts.length))).filter(({ id }) => id !== names.other);
  const [significant] = changes.significant();
  // Shares of ranges of different lengths are compared, not their weights.
  const moved = (/** @type {Row} */ row) => changes.difference(row.before, row.self);
  const changed = rows.filter((row) => significant[row.id] && moved(row) !== 0).sort((a, b) => Math.abs(moved(b)) - Math.abs(moved(a)) || a.id - b.id);
  const [grew, shrank] = [changed.filter((row) => moved(row) > 0), changed.filter((row) => moved(row) < 0)];
  const [more, less] = wordsOfChange(model);
  const [before, after] = [tree.totalBefore?.[0] ?? 0, tree.total[0]];
  const all = before > 0 ? changeText(before, after) : "all new";
  const sure = about.alpha === null ? "" : "significantly ";
  const verdict = changed.length ? `${grew.length} ${sure}${more}, ${shrank.length} ${less}` : `no function changed ${sure}`;
  const note = (/** @type {Row} */ row) => (model.state.shares ? `${signed(100 * moved(row), 2)} pp` : (moved(row) > 0 ? "+" : "−") + numbers.amount(Math.abs(moved(row))));
  return [make("b", {}, `${all} in all, self: ${verdict}`), ...[...grew.slice(0, EACH), ...shrank.slice(0, EACH)].map((row) => link(app, row.id, note(row)))];
}

/** A name without the arguments of templates and the folders of files.
 * @param {string} name */
const shortened = (name) => shorterForms(name)[0] ?? name;

/** The self weight of a function by the functions that called it. Where nearly all comes from one caller, by the callers of
 * that, and so on; null if there is always only one. Functions that differ only in their templates count as one.
 * @param {Names} names
 * @param {Heats} heats
 * @param {number} id */
function callersOf(names, { tree, from }, id) {
  const { name, parent, self, end } = tree;
  const leaves = [];
  let all = 0;
  for (let i = Math.max(from, 1); i < end[from]; i++) {
    if (name[i] !== id || !self[i]) continue;
    all += self[i];
    leaves.push(i);
  }
  const at = leaves.map((leaf) => parent[leaf]);
  /** @type {Map<string, number>} */
  const firsts = new Map();
  /** @type {Map<number, number>} */
  const alike = new Map([[names.all, names.all]]);
  const same = (/** @type {number} */ one) => {
    let first = alike.get(one);
    if (first === undefined) {
      const text = shortened(names.show(one));
      alike.set(one, (first = firsts.get(text) ?? one));
      firsts.set(text, first);
    }
    return first;
  };
  const skipped = new Set([same(id)]);
  for (;;) {
    const own = new Float64Array(names.texts.length);
    let most = names.all;
    leaves.forEach((leaf, m) => {
      while (at[m] > 0 && skipped.has(same(name[at[m]]))) at[m] = parent[at[m]];
      const caller = same(name[at[m]]);
      own[caller] += self[leaf];
      if (own[caller] > own[most]) most = caller;
    });
    if (most === names.all) return null;
    own[names.all] = 0;
    if (own[most] <= NEARLY_ALL * all) return own;
    skipped.add(most);
  }
}
