// The source of a function, with the weight of each line.

/** @import { App } from "./app.js" */
/** @import { SourceFile, SourceFunction } from "./types.js" */

import { changeText } from "./changes.js";
import { byId, make } from "./dom.js";
import { percent } from "./numbers.js";

/** Files that were dropped into the page, whole: their lines by their names in the recording.
 * @type {Map<SourceFile, string[]>} */
const dropped = new Map();

/** The functions of a name, in one or several files.
 * @param {App["model"]} model
 * @param {number} id
 * @returns {SourceFunction[]} */
export function sourcesOf({ memo, names, source }, id) {
  if (!source) return [];
  const byName = memo.get("sources", [source], () => {
    /** @type {Map<number, SourceFunction[]>} */
    const all = new Map();
    for (const one of source.functions) for (const name of one.frames) all.set(name, [...all.get(name) ?? [], one]);
    return all;
  });
  return byName.get(id < names.given ? id : names.madeFrom.get(id) ?? -1) ?? [];
}

/** @param {App} app
 * @param {SourceFunction[]} functions */
export function showSource(app, functions) {
  const panel = byId("source");
  const fill = () => panel.replaceChildren(
    make("button", { class: "close", "aria-label": "Close", click: () => panel.hidePopover() }, "×"),
    ...functions.flatMap((one) => listing(app, one, fill)));
  fill();
  if (!panel.matches(":popover-open")) panel.showPopover();
  panel.scrollTop = 0;
  panel.focus();
}

/** @param {App} app
 * @param {SourceFunction} one
 * @param {() => void} refill
 * @returns {HTMLElement[]} */
function listing({ model }, one, refill) {
  const { about, names, numbers } = model;
  const source = /** @type {NonNullable<typeof model.source>} */ (model.source);
  const file = source.files[one.file];
  const given = model.given.differential;
  const sum = (/** @type {number} */ column) => one.lines.reduce((all, line) => all + (line[column] ?? 0), 0);
  const whole = model.whole.total[0] || 1;
  const words = given ? `${numbers.amount(sum(4))} → ${numbers.amount(sum(2))}, ${changeText(sum(4), sum(2))}`
    : `self ${numbers.withSamples(sum(1))}, ${percent(sum(1), whole)} · total ${numbers.withSamples(sum(2))}, ${percent(sum(2), whole)}`;
  const heads = given ? ["Self before", "Self after", "Total before", "Total after"] : ["Self", "Total"];
  const columns = given ? [3, 1, 4, 2] : [1, 2];
  const weights = new Map(one.lines.map((line) => [line[0], line]));
  const hottest = Math.max(...one.lines.map((line) => Math.max(line[2], line[4] ?? 0)));
  const text = linesOf(file);
  const row = (/** @type {number} */ number, /** @type {string} */ code) => {
    const line = weights.get(number);
    const cell = (/** @type {number} */ column) => make("td", { class: "num" }, line?.[column] ? numbers.cell(line[column]) : "");
    const made = make("tr", {}, ...columns.map(cell), make("td", { class: "num" }, number ? String(number) : "?"), make("td", {}, make("code", {}, names.harmless(code))));
    if (line) made.style.setProperty("--heat", `${5 + (25 * Math.max(line[2], line[4] ?? 0)) / (hottest || 1)}%`);
    return made;
  };
  const rows = [];
  let next = 0;
  for (const [number, code] of text) {
    if (next && number > next) rows.push(make("tr", { class: "gap" }, make("td", { colspan: String(heads.length + 2) }, `⋯ ${number - next} lines`)));
    rows.push(row(number, code));
    next = number + 1;
  }
  const known = new Map(text);
  const others = one.lines.filter(([number]) => !known.has(number));
  rows.push(...others.map(([number]) => row(number, number ? "" : "at no known line")));
  const take = async (/** @type {File | undefined} */ chosen) => {
    if (!chosen) return;
    dropped.set(file, (await chosen.text()).split(/\r?\n/));
    refill();
    byId("source").querySelector("tr[style]")?.scrollIntoView({ block: "center" });
  };
  const input = make("input", { type: "file", "aria-label": "Source file", change: (event) => take(event.target.files[0]) });
  const part = make("section", {
    dragover: (event) => event.preventDefault(),
    drop: (event) => {
      event.preventDefault();
      take(event.dataTransfer.files[0]);
    },
  }, make("h2", {}, make("bdi", {}, names.harmless(one.name))), make("p", {}, make("bdi", {}, names.harmless(file.name)), ` · ${words}`),
  make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { class: "num", scope: "col" }, head)), make("th", { class: "num", scope: "col" }, "Line"), make("th", { scope: "col" }, "Code"))), make("tbody", {}, ...rows)));
  if (about !== model.given || model.base !== model.whole || model.refined !== model.base) part.append(make("p", {}, "These are the weights of the whole recording, not of what is chosen."));
  if (text.length < (file.last ?? Infinity) && !dropped.has(file)) part.append(make("p", {}, file.runs ? "Only what is around these lines is in this page. For all of it, drop the file here or choose it: " : "The code is not in this page. Drop the file here or choose it: ", input));
  return [part];
}

/** The lines that are here, with their numbers.
 * @param {SourceFile} file
 * @returns {[number, string][]} */
function linesOf(file) {
  const whole = dropped.get(file);
  if (whole) return whole.map((line, n) => [n + 1, line]);
  return (file.runs ?? []).flatMap(([from, text]) => text.split("\n").map((line, n) => /** @type {[number, string]} */ ([from + n, line])));
}
