// The head of the page: title, one line on what was measured, the first answer, warnings.

/** @import { App } from "./app.js" */
/** @import { Model } from "./model.js" */
/** @import { Row } from "./table.js" */

import { changeText } from "./changes.js";
import { changeColour, css, insignificant } from "./colour.js";
import { byId, make, swatch } from "./dom.js";
import { functions } from "./table.js";

/** The number of functions that are named. */
const HOTTEST = 3;
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
  const rows = functions(whole, names.texts.length);
  const line = byId("answer");
  const link = (/** @type {Row} */ row, /** @type {string} */ note) => {
    const name = names.show(row.id);
    const open = { class: "link", title: `${name}: callers and callees`, click: () => navigation.butterfly(row.id) };
    return make("span", {}, make("button", open, name.slice(0, 80)), ` ${note}`);
  };
  if (!about.differential) {
    const own = ownWeights(model);
    const hottest = rows.filter(({ id }) => own[id] > 0).sort((a, b) => own[b.id] - own[a.id] || a.id - b.id).slice(0, HOTTEST);
    line.replaceChildren(make("b", {}, "Hottest"), ...hottest.map((row) => link(row, `${((100 * own[row.id]) / whole.total[0]).toFixed(1)}%`)));
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
