// The head of the page: title, one line on what was measured, the first answer, warnings.

/** @import { App } from "./app.js" */
/** @import { Model } from "./model.js" */
/** @import { Row } from "./table.js" */

import { changeText } from "./changes.js";
import { changeColour, css, insignificant } from "./colour.js";
import { byId, make, swatch } from "./dom.js";
import { shorterForms } from "./short.js";
import { atOnce } from "./steps.js";
import { functions, hotter } from "./table.js";

/** The number of functions that are named. */
const HOTTEST = 3;
/** A function of a smaller share is not among the hottest: it would have 0.0%. */
const LEAST_NAMED = 0.0005;
/** The share of one function above which its callers are named instead: waits all end in the scheduler, and allocations in the allocator. */
const NEARLY_ALL = 0.8;
/** Longer names are shortened. */
const LONG_NAME = 50;
/** Frames of what records waits: the leaf of each of its stacks. */
const TRACER = /^(_*bpf_|__traceiter_|perf_trace_|trace_event_|sched_switch(\b|_\[))/;
/** The frames between such a leaf and the function that waits. */
const SWITCH = /^(_*(preempt_)?schedule|finish_task_switch)(\b|_\[)/;

/** @param {App} app */
export function showHeader(app) {
  const { about, names, numbers, whole } = app.model;
  byId("title").textContent = names.harmless(about.title);
  byId("title").title = names.harmless(about.title);
  const facts = byId("facts");
  const menu = /** @type {HTMLSelectElement} */ (byId("value"));
  const { views } = app.model;
  menu.hidden = views.length < 2;
  menu.replaceChildren(...views.map(({ name }) => make("option", { value: name, selected: name === about.value }, names.harmless(name))));
  const parts = lineOf({ about, numbers, whole }).map((part) => names.harmless(part));
  facts.replaceChildren(make("b", {}, parts[0]), ...parts.slice(1).map((part) => ` · ${part}`));
  facts.title = facts.textContent ?? "";
  const warnings = byId("warnings");
  warnings.hidden = about.warnings.length === 0;
  const others = about.warnings.length - 1;
  warnings.textContent = `⚠ ${names.harmless(about.warnings[0] ?? "")}${others > 0 ? ` (and ${others} more)` : ""}`;
  showAnswer(app);
}

/** The three functions that weigh most themselves; in a comparison the verdict and those that changed most.
 * @param {App} app */
function showAnswer(app) {
  const { model, navigation } = app;
  const { about, changes, names, numbers, whole } = model;
  const named = model.memo.get("all functions", [whole], () => atOnce(functions(whole, names.texts.length)));
  const rows = named.filter(({ id }) => id !== names.other);
  const others = named.find(({ id }) => id === names.other);
  const line = byId("answer");
  const link = (/** @type {Row} */ row, /** @type {string} */ note) => {
    const name = names.show(row.id);
    const open = { class: "link", title: `${name}: callers and callees`, click: () => navigation.butterfly(row.id) };
    const label = name.length > LONG_NAME ? shortened(name) : name;
    return make("span", {}, make("button", open, label.slice(0, 200)), ` ${note}`);
  };
  if (!about.differential) {
    const own = ownWeights(model);
    const all = whole.total[0];
    const share = (/** @type {number} */ weight) => `${((100 * weight) / all).toFixed(1)}%`;
    const heaviest = (/** @type {Float64Array} */ weights) => rows.filter(({ id }) => weights[id] > 0)
      .map((row) => ({ id: row.id, row, name: names.texts[row.id], self: weights[row.id], total: row.total })).sort(hotter).map(({ row }) => row).slice(0, HOTTEST).filter(({ id }, n) => n === 0 || weights[id] >= LEAST_NAMED * all);
    const hottest = heaviest(own);
    const callers = hottest.length && own[hottest[0].id] > NEARLY_ALL * all ? callersOf(model, hottest[0].id) : null;
    line.replaceChildren(make("b", {}, "Hottest"), ...(callers ? hottest.slice(0, 1) : hottest).map((row) => link(row, share(own[row.id]))));
    if (callers) line.append(make("b", {}, "called from"), ...heaviest(callers).map((row) => link(row, share(callers[row.id]))));
    if (others) line.append(make("span", { title: "Stacks and frames that weighed too little to be kept: no function" }, `${share(others.total)} in [other]`));
    return;
  }
  const column = (/** @type {"self" | "before"} */ key) => Float64Array.from(rows, (row) => row[key]);
  const significant = changes.judged(column("before"), column("self"));
  const change = (/** @type {Row} */ row) => row.self - row.before;
  const changed = rows.filter((row, n) => significant[n] && change(row) !== 0).sort((a, b) => Math.abs(change(b)) - Math.abs(change(a)) || a.id - b.id);
  const grew = changed.filter((row) => change(row) > 0).length;
  const [more, less] = wordsOfChange(model);
  const [before, after] = [whole.totalBefore?.[0] ?? 0, whole.total[0]];
  const all = before > 0 ? changeText(before, after) : "all new";
  const count = (/** @type {number} */ n) => `${n.toLocaleString("en")} function${n === 1 ? "" : "s"}`;
  const judged = about.alpha === null ? "" : "significantly ";
  const verdict = changed.length ? `${count(grew)} ${judged}${more}, ${(changed.length - grew).toLocaleString("en")} ${less}` : "no function changed significantly";
  line.replaceChildren(make("b", {}, `${all} in all, ${verdict}`), ...changed.slice(0, HOTTEST).map((row) => {
    return link(row, (change(row) > 0 ? "+" : "−") + numbers.amount(Math.abs(change(row))));
  }));
}

/** The self weight of each function; a tracer's own frames count to the function that they were called in.
 * @param {Model} model */
function ownWeights({ names, whole }) {
  const { n, name, parent, self } = whole;
  const own = new Float64Array(names.texts.length);
  const traces = Uint8Array.from(names.texts, (text) => Number(TRACER.test(text)));
  const switches = Uint8Array.from(names.texts, (text, id) => traces[id] | Number(SWITCH.test(text)));
  for (let i = 1; i < n; i++) {
    if (!self[i]) continue;
    let k = i;
    if (traces[name[i]]) while (k > 0 && switches[name[k]]) k = parent[k];
    own[name[k > 0 ? k : i]] += self[i];
  }
  return own;
}

/** A name without the arguments of templates and the folders of files.
 * @param {string} name */
const shortened = (name) => shorterForms(name)[0] ?? name;

/** The self weight of a function by the functions that called it. Where nearly all comes from one caller, by the callers of
 * that, and so on; null if there is always only one. Functions that differ only in their templates count as one.
 * @param {Model} model
 * @param {number} id */
function callersOf({ names, whole }, id) {
  const { n, name, parent, self } = whole;
  const leaves = [];
  let all = 0;
  for (let i = 1; i < n; i++) {
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

/** The words for growing and shrinking: what takes time is slower, all else is more.
 * @param {Model} model
 * @returns {[string, string]} */
export function wordsOfChange({ numbers }) {
  return numbers.isSpeed ? ["slower", "faster"] : ["more", "less"];
}

/** The colours of a comparison.
 * @param {Model} model */
export function changeLegend(model) {
  const { about, state, theme: { dark } } = model;
  const [more, less] = wordsOfChange(model);
  const colour = (/** @type {number} */ change) => css(changeColour(about, change, 1, dark));
  const entries = [swatch(colour(1), `+ ${more}`), swatch(colour(-1), `− ${less}`), swatch(colour(1), "new", "new"), swatch(colour(-1), "gone", "gone"), swatch(colour(0), "same")];
  if (!state.insignificant) entries.splice(2, 0, swatch(css(insignificant(dark)), "may be noise"));
  return entries;
}

/** The parts of the line below the title, the total first.
 * @param {Pick<Model, "about" | "numbers" | "whole">} model */
function lineOf({ about, numbers, whole }) {
  const total = about.differential ? about.measured ?? "" : numbers.amount(whole.total[0]);
  if (about.subtitle) return [total, about.subtitle];
  if (about.differential) return [total];
  // Without a unit the line does not begin with the total.
  const measured = about.measured?.split(" · ") ?? [];
  return about.unit === null ? [total, ...measured] : measured;
}
