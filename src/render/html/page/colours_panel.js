// The choice of colours and of the order of frames, with a legend.

/** @import { App } from "./app.js" */
/** @import { Model } from "./model.js" */

import { css, hueColour, kindTone, kindsIn, toned } from "./colour.js";
import { byId, make, swatch } from "./dom.js";
import { GROUPINGS, missing } from "./groups.js";
import { changeLegend } from "./header.js";
import { percent } from "./numbers.js";

/** The most modules in the legend. */
const MOST_MODULES = 12;
/** A longer name is that of its file, or of the folders next to it. */
const LONG_GROUP = 24;

/** @param {App} app
 * @returns {HTMLElement[]} */
export function coloursPanel(app) {
  const { state, about, names } = app.model;
  /** @type {string[]} */
  const reasons = [];
  /** @type {(key: "colour" | "order", value: string, label: string) => HTMLElement} */
  const choice = (key, value, label) => {
    const reason = key === "colour" ? missing(names, value) : "";
    if (reason) reasons.push(reason);
    return make("button", {
      "aria-pressed": String(state[key] === value), disabled: Boolean(reason), title: reason,
      click: (event) => {
        app.change({ [key]: value });
        byId("colours").replaceChildren(...coloursPanel(app));
        const again = [...byId("colours").querySelectorAll("button")].find((one) => one.textContent === label);
        (again ?? event.target).focus();
      },
    }, label);
  };
  const palette = about.byWidth ? "Width" : about.palette[0].toUpperCase() + about.palette.slice(1);
  const colours = [
    choice("colour", "module", "Module"), choice("colour", "package", "Package"), choice("colour", "kind", "Kind"),
    choice("colour", "function", "Function"), choice("colour", "name", palette),
  ];
  if (about.differential) colours.unshift(choice("colour", "change", "Change"));
  return [
    make("h2", {}, "Colour by"),
    make("div", { class: "row" }, ...colours),
    ...reasons.map((reason) => make("p", { role: "note" }, reason)),
    make("div", { class: "swatches" }, ...legendOf(app.model, MOST_MODULES)),
    make("h2", {}, "Order"),
    make("div", { class: "row" }, choice("order", "name", about.chart ? "As recorded" : "By name"), choice("order", "weight", "Heaviest first"),
      make("button", {
        "aria-pressed": String(state.fold), title: "Frames in a row that only call one another become one (f)",
        click: (event) => {
          event.target.setAttribute("aria-pressed", String(!app.model.state.fold));
          app.change({ fold: !app.model.state.fold, zoom: [] });
        },
      }, "Fold runs")),
  ];
}

/** The colours in use and what they stand for.
 * @param {Model} model
 * @param {number} most modules or packages
 * @returns {HTMLElement[]} */
export function legendOf(model, most) {
  const { state, about, names, theme: { dark } } = model;
  const entries = [];
  const groupOf = GROUPINGS[state.colour];
  if (state.colour === "change") {
    entries.push(...changeLegend(model));
  } else if (state.colour === "kind") {
    entries.push(...kindsIn(names).map(([kind, label]) => swatch(css(toned(kindTone(kind), dark)), label)));
  } else if (groupOf) {
    const groups = model.memo.get("groups", [model.tree, state.colour], () => heaviestGroups(model, groupOf)).filter(([, share]) => share > 0);
    const colourOf = model.paints.groups(state.colour);
    entries.push(...groups.slice(0, most).map(([group, share]) => {
      const entry = swatch(css(toned(colourOf(group), dark)), `${names.harmless(endOf(group, groups)).slice(0, 60) || "not known"} ${percent(share, 1)}`);
      entry.title = names.harmless(group);
      return entry;
    }));
    if (groups.length > most) entries.push(make("span", {}, `and ${groups.length - most} others`));
  } else if (state.colour === "name") {
    entries.push(...about.legend.map(([label, hue]) => swatch(css(hueColour(hue, 0.5)), label)));
  }
  return entries;
}

/** The end of a long path that no other group has: of `/usr/lib/python3.11/json/__init__.py` as many folders as tell it apart.
 * @param {string} group
 * @param {[string, number][]} groups */
function endOf(group, groups) {
  if (group.length <= LONG_GROUP) return group;
  for (let at = group.length; (at = group.lastIndexOf("/", at - 1)) > 0; ) {
    const end = group.slice(at);
    if (groups.every(([other]) => other === group || !other.endsWith(end))) return end.slice(1);
  }
  return group;
}

/** Every group with the share of the weight that its functions have themselves, the heaviest first.
 * @param {Model} model
 * @param {(names: Model["names"], id: number) => string} groupOf
 * @returns {[string, number][]} */
function heaviestGroups({ names, tree }, groupOf) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  const own = new Float64Array(names.texts.length);
  for (let i = 1; i < tree.n; i++) own[tree.name[i]] += tree.self[i];
  for (let id = 0; id < own.length; id++) {
    if (id === names.all) continue;
    const module = groupOf(names, id);
    sums.set(module, (sums.get(module) ?? 0) + own[id]);
  }
  const whole = tree.total[0] || 1;
  return [...sums].map(([module, sum]) => /** @type {[string, number]} */ ([module, sum / whole])).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
