// The head of the page: title, one line on what was measured, warnings.

/** @import { App } from "./app.js" */
/** @import { Model } from "./model.js" */

import { changeColour, css, insignificant } from "./colour.js";
import { byId, make, swatch } from "./dom.js";

/** @param {App} app */
export function showHeader(app) {
  const { about, names, numbers, whole } = app.model;
  const title = byId("title");
  title.title = names.harmless(about.title);
  // Of a command the program says more than its folder.
  title.textContent = about.details.some(([, text]) => text === about.title) ? title.title.replace(/^\/\S*\/(?=[^\s/])/u, "") : title.title;
  const facts = byId("facts");
  const menu = /** @type {HTMLSelectElement} */ (byId("value"));
  const { views } = app.model;
  menu.hidden = views.length < 2;
  menu.replaceChildren(...views.map(({ name }) => make("option", { value: name, selected: name === about.value }, names.harmless(name))));
  const parts = factsLine({ about, numbers, whole }).map((part) => names.harmless(part));
  facts.replaceChildren(make("b", {}, parts[0]), ...parts.slice(1).map((part) => ` · ${part}`));
  facts.title = facts.textContent ?? "";
  const warnings = byId("warnings");
  warnings.hidden = about.warnings.length === 0;
  const others = about.warnings.length - 1;
  warnings.textContent = `⚠ ${names.harmless(about.warnings[0] ?? "")}${others > 0 ? ` (and ${others} more)` : ""}`;
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
export function factsLine({ about, numbers, whole }) {
  const total = about.differential ? about.measured ?? "" : numbers.amount(whole.total[0]);
  if (about.subtitle) return [total, about.subtitle];
  if (about.differential) return [total];
  // Without a unit the line does not begin with the total.
  const measured = about.measured?.split(" · ") ?? [];
  return about.unit === null ? [total, ...measured] : measured;
}
