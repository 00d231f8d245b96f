// The choice of colours and of the order of frames, with a legend.

/** @import { App } from "./app.js" */
/** @import { Model } from "./model.js" */

import { INSIGNIFICANT, changeColour, css, hueColour, kindSwatch, kindsIn, moduleColour, moduleOf } from "./colour.js";
import { byId, make } from "./dom.js";
import { percent } from "./numbers.js";

/** The most modules in the legend. */
const MOST_MODULES = 12;

/** @param {App} app
 * @returns {HTMLElement[]} */
export function coloursPanel(app) {
  const { state, about } = app.model;
  /** @type {(key: "colour" | "order", value: string, label: string) => HTMLElement} */
  const choice = (key, value, label) => make("button", {
    "aria-pressed": String(state[key] === value),
    click: (event) => {
      app.change({ [key]: value });
      byId("colours").replaceChildren(...coloursPanel(app));
      const again = [...byId("colours").querySelectorAll("button")].find((one) => one.textContent === label);
      (again ?? event.target).focus();
    },
  }, label);
  const colours = [choice("colour", "name", "Name"), choice("colour", "module", "Module"), choice("colour", "kind", "Kind")];
  if (about.differential) colours.unshift(choice("colour", "change", "Change"));
  return [
    make("h2", {}, "Colour by"),
    make("div", { class: "row" }, ...colours),
    ...legend(app.model),
    make("h2", {}, "Order"),
    make("div", { class: "row" }, choice("order", "name", about.chart ? "As recorded" : "By name"), choice("order", "weight", "Heaviest first")),
  ];
}

/** @param {Model} model */
function legend(model) {
  const { state, about, names } = model;
  const swatch = (/** @type {string} */ colour, /** @type {string} */ label) => {
    const square = make("i");
    square.style.background = colour;
    return make("span", {}, square, label);
  };
  const entries = [];
  if (state.colour === "change") {
    entries.push(swatch(css(changeColour(about, 1, 1)), "+ grew"), swatch("#fff", "same"), swatch(css(changeColour(about, -1, 1)), "− shrank"));
    if (!state.insignificant) entries.push(swatch(css(INSIGNIFICANT), "not significant"));
  } else if (state.colour === "kind") {
    const kinds = kindsIn(names);
    if (!kinds.length) return [make("p", { role: "note" }, "The profile does not say which frames are kernel, user, inlined or compiled at run time.")];
    entries.push(...kinds.map(([kind, label]) => swatch(kindSwatch(kind), label)));
  } else if (state.colour === "module") {
    const modules = heaviestModules(model).filter(([, share]) => share > 0);
    if (!modules.some(([module]) => module)) return [make("p", { role: "note" }, "The profile does not say which module a frame is of.")];
    const label = (/** @type {string} */ module, /** @type {number} */ share) => `${names.harmless(module).slice(0, 60) || "not known"} ${percent(share, 1)}`;
    entries.push(...modules.slice(0, MOST_MODULES).map(([module, share]) => swatch(css(moduleColour(module)), label(module, share))));
    if (modules.length > MOST_MODULES) entries.push(make("span", {}, `and ${modules.length - MOST_MODULES} others`));
  } else if (state.colour === "name") {
    entries.push(...about.legend.map(([label, hue]) => swatch(css(hueColour(hue, 0.5)), label)));
  }
  return [make("div", { class: "swatches" }, ...entries)];
}

/** Every module with the share of the weight that its functions have themselves, the heaviest first.
 * @param {Model} model
 * @returns {[string, number][]} */
function heaviestModules({ names, tree }) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  const own = new Float64Array(names.texts.length);
  for (let i = 1; i < tree.n; i++) own[tree.name[i]] += tree.self[i];
  for (let id = 0; id < own.length; id++) {
    if (id === names.all) continue;
    const module = moduleOf(names, id);
    sums.set(module, (sums.get(module) ?? 0) + own[id]);
  }
  const whole = tree.total[0] || 1;
  return [...sums].map(([module, sum]) => /** @type {[string, number]} */ ([module, sum / whole])).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
