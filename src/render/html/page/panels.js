// The panels that open: threads, refining, look, details, help, the menu of a frame.

/** @import { App } from "./start.js" */
/** @import { Place } from "./types.js" */

import { KIND_NAMES, UNSURE, changeColour, css, hueColour, kindSwatch } from "./colour.js";
import { byId, copy, list, make, placeAt } from "./dom.js";
import { percent } from "./numbers.js";
import { OPERATIONS, command, literally } from "./refine.js";
import { expression } from "./search.js";
import { save } from "./save.js";

/** More threads than that are not listed one by one. */
const MOST_THREADS = 500;

const KEYS = [
  ["1 … 5", "flame, icicle, callers, butterfly, table"],
  ["arrows, h j k l", "to the frame above, below, beside"],
  ["Enter", "zoom into the chosen frame"],
  ["Backspace", "back to what was before; browser back does the same"],
  ["0", "all again; so does a double click beside all frames"],
  ["+, −", "stretch, shrink"],
  ["/, Ctrl F", "search; Enter and Escape lead back to the frames"],
  ["n, N", "next match, previous match"],
  ["m", "menu of the chosen frame: focus, hide, copy, …"],
  ["b", "butterfly of the chosen frame"],
  ["c, C", "copy its name, its stack"],
  ["t", "dark or light"],
  ["Ctrl and wheel, two fingers", "stretch; dragging or a wheel to the side moves"],
  ["?", "this list"],
];

export class Panels {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const fill = {
      threads: () => this.#threads(), refine: () => this.#refine(), look: () => this.#look(),
      save: () => this.#save(), about: () => this.#about(), help: () => this.#help(),
    };
    for (const [id, content] of Object.entries(fill)) {
      const panel = byId(id);
      const button = byId(`${id}-open`);
      panel.addEventListener("beforetoggle", (event) => {
        if (/** @type {ToggleEvent} */ (event).newState === "open") panel.replaceChildren(...content());
      });
      panel.addEventListener("toggle", () => {
        if (!panel.matches(":popover-open")) return;
        placeAt(panel, button.getBoundingClientRect());
        /** @type {HTMLElement | null} */ (panel.querySelector("input, select, button"))?.focus();
      });
    }
    for (const menu of [byId("menu"), byId("save")]) {
      menu.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const items = [...menu.querySelectorAll("button")];
        const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
        items[(at + step + items.length) % items.length].focus();
      });
    }
  }

  /** Panels that are open show what is so now. */
  refresh() {
    const panel = byId("threads");
    if (panel.matches(":popover-open")) this.#countThreads(panel);
  }

  #threads() {
    const { app } = this;
    const { whole, names, numbers, state } = app.model;
    const roots = [];
    for (let i = 1; i < whole.n; i = whole.end[i]) roots.push(i);
    const weigh = (/** @type {number} */ i) => whole.total[i] + (whole.totalBefore ? whole.totalBefore[i] : 0);
    roots.sort((a, b) => weigh(b) - weigh(a) || a - b);
    const heaviest = weigh(roots[0]) || 1;
    const choose = (/** @type {string} */ key, /** @type {boolean} */ on) => {
      const chosen = app.model.state.roots.filter((one) => one !== key);
      app.change({ roots: on ? [...chosen, key] : chosen, zoom: [] });
    };
    const filter = make("input", {
      type: "search", placeholder: "Filter", "aria-label": "Filter threads",
      input: () => {
        const wanted = /** @type {HTMLInputElement} */ (filter).value.toLowerCase();
        for (const label of /** @type {HTMLElement[]} */ ([...rows.children])) {
          label.hidden = !(label.textContent ?? "").toLowerCase().includes(wanted);
        }
      },
    });
    const rows = make("div", { class: "threads" }, ...roots.slice(0, MOST_THREADS).map((i) => {
      const key = names.key(whole.name[i]);
      const box = make("input", {
        type: "checkbox", checked: state.roots.includes(key),
        change: (event) => choose(key, event.target.checked),
      });
      box.dataset.key = key;
      const name = make("span", { title: `${names.show(whole.name[i])}: ${numbers.withUnit(whole.total[i])}` }, names.show(whole.name[i]));
      return make("label", {}, box, name, meter(weigh(i) / heaviest), make("span", { class: "num" }, percent(whole.total[i], whole.total[0])));
    }));
    const parts = [
      make("h2", {}, "Threads and processes"),
      make("p", {}, `The root frames, the heaviest first; none chosen shows all ${roots.length}.`),
      make("div", { class: "row" }, filter, make("button", { click: () => app.change({ roots: [], zoom: [] }) }, "All")),
      rows,
    ];
    if (roots.length > MOST_THREADS) parts.push(make("p", {}, `and ${roots.length - MOST_THREADS} lighter ones`));
    return parts;
  }

  /** @param {HTMLElement} panel */
  #countThreads(panel) {
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (panel.querySelectorAll("input[type=checkbox]"))) {
      box.checked = this.app.model.state.roots.includes(box.dataset.key ?? "");
    }
  }

  #refine() {
    const { app } = this;
    const problem = make("p", { role: "alert" });
    const value = /** @type {HTMLInputElement} */ (make("input", {
      class: "mono", placeholder: "a regular expression", "aria-label": "Expression", size: "34", spellcheck: "false",
      keydown: (event) => event.key === "Enter" && add(OPERATIONS[0].op),
    }));
    const add = (/** @type {string} */ op) => {
      const operation = OPERATIONS.find((known) => known.op === op);
      const text = operation?.value ?? value.value;
      try {
        if (!text) throw new Error("say first which frames: an expression");
        if (!operation?.value) expression(text, true);
      } catch (error) {
        problem.textContent = error instanceof Error ? error.message : String(error);
        value.focus();
        return;
      }
      byId("refine").hidePopover();
      app.refine(op, text);
    };
    const button = (/** @type {import("./refine.js").Operation} */ { op, label, about }) => make("button", { title: about, click: () => add(op) }, label);
    return [
      make("h2", {}, "Frames that match"),
      make("div", { class: "row" }, value, ...OPERATIONS.filter((one) => !one.value).map(button)),
      problem,
      make("h2", {}, "All frames"),
      make("div", { class: "row" }, ...OPERATIONS.filter((one) => one.value).map(button)),
      make("p", {}, "Steps are applied one after the other, as fg-filter does."),
    ];
  }

  #look() {
    const { app } = this;
    const { state, about } = app.model;
    /** @type {(key: "colour" | "order", value: string, label: string) => HTMLElement} */
    const choice = (key, value, label) => make("button", {
      "aria-pressed": String(state[key] === value),
      click: (event) => {
        app.change({ [key]: value });
        byId("look").replaceChildren(...this.#look());
        const again = [...byId("look").querySelectorAll("button")].find((one) => one.textContent === label);
        (again ?? event.target).focus();
      },
    }, label);
    const colours = [choice("colour", "name", "Name"), choice("colour", "module", "Module"), choice("colour", "kind", "Kind")];
    if (about.differential) colours.unshift(choice("colour", "change", "Change"));
    return [
      make("h2", {}, "Colour by"),
      make("div", { class: "row" }, ...colours),
      this.#legend(),
      make("h2", {}, "Order"),
      make("div", { class: "row" }, choice("order", "name", about.chart ? "As recorded" : "By name"), choice("order", "weight", "Heaviest first")),
    ];
  }

  #legend() {
    const { state, about } = this.app.model;
    const swatch = (/** @type {string} */ colour, /** @type {string} */ label) => {
      const square = make("i");
      square.style.background = colour;
      return make("span", {}, square, label);
    };
    const entries = [];
    if (state.colour === "change") {
      entries.push(swatch(css(changeColour(about, 1, 1)), "+ grew"), swatch("#fff", "same"), swatch(css(changeColour(about, -1, 1)), "− shrank"));
      if (!state.noise) entries.push(swatch(css(UNSURE), "may be noise"));
    } else if (state.colour === "kind") {
      entries.push(...KIND_NAMES.map(([mark, label]) => swatch(kindSwatch(mark), label)));
    } else if (state.colour === "name") {
      entries.push(...about.legend.map(([label, hue]) => swatch(css(hueColour(hue, 0.5)), label)));
    }
    return make("div", { class: "swatches" }, ...entries);
  }

  #save() {
    const { app } = this;
    const item = (/** @type {string} */ label, /** @type {() => unknown} */ act) => make("button", {
      role: "menuitem",
      click: () => {
        byId("save").hidePopover();
        act();
      },
    }, label);
    return [
      item("Folded stacks of this view", () => save(app, "folded")),
      item("Copy folded stacks", () => save(app, "copy")),
      item("Picture, PNG", () => save(app, "png")),
      item("Picture, SVG", () => save(app, "svg")),
      item("Copy link to this view", () => copy(location.href).then(() => app.say("link copied"))),
    ];
  }

  #about() {
    const { about, numbers, whole } = this.app.model;
    /** @type {[string, string][]} */
    const facts = [["Title", about.title]];
    if (about.subtitle) facts.push(["Subtitle", about.subtitle]);
    facts.push(...about.facts);
    if (about.differential) facts.push(["Before", numbers.withUnit(whole.totalBefore?.[0] ?? 0)], ["After", numbers.withUnit(whole.total[0])]);
    else facts.push(["Total", numbers.withUnit(whole.total[0])]);
    facts.push(["Frames", (whole.n - 1).toLocaleString("en")], ["Written by", about.tool]);
    if (about.notes) facts.push(["Notes", about.notes]);
    const parts = [make("h2", {}, "This profile"), list(facts)];
    if (!numbers.exact) parts.push(make("p", {}, "Sums are larger than a browser counts exactly: their last digits are rounded. fg-collapse reads the exact weights from this file."));
    parts.push(make("p", {}, "fg-collapse reads this file: the profile is in it."));
    return parts;
  }

  #help() {
    const keys = make("dl", {}, ...KEYS.flatMap(([key, what]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)]));
    return [make("h2", {}, "Keys"), keys, make("p", {}, "A click zooms, a second mouse button or a long touch opens a menu.")];
  }

  /** What can be done with a frame.
   * @param {Place} place
   * @param {number} left
   * @param {number} top */
  openMenu(place, left, top) {
    const { app } = this;
    const { names, parts } = app.model;
    const id = parts[place.part].tree.name[place.node];
    const menu = byId("menu");
    const exact = `^${literally(names.texts[id])}$`;
    const item = (/** @type {string} */ label, /** @type {() => unknown} */ act) => make("button", {
      role: "menuitem",
      click: () => {
        menu.hidePopover();
        act();
      },
    }, label);
    const items = [item("Zoom in", () => app.zoomTo(place))];
    if (id !== names.all) {
      items.push(
        item("Callers and callees", () => app.butterfly(id)),
        item("Search for it", () => app.change({ query: exact, matchCase: true })),
        item("Focus: only stacks with it", () => app.refine("focus", exact)),
        item("Ignore: no stacks with it", () => app.refine("ignore", exact)),
        item("Hide it, keep its weight", () => app.refine("hide", exact)),
        item("Show from here", () => app.refine("show-from", exact)),
        item("Copy name", () => app.copyName(place)),
        item("Copy stack", () => app.copyStack(place)),
      );
    }
    menu.replaceChildren(make("p", {}, names.show(id).slice(0, 200)), ...items);
    menu.showPopover();
    placeAt(menu, { left, bottom: top });
    items[0].focus();
  }

  /** The steps of refining, each with a button that takes it back, and the command that does the same. */
  showChips() {
    const { app } = this;
    const { state, names, whole, marks } = app.model;
    const chips = state.chips.map(({ op, value }, n) => {
      const operation = OPERATIONS.find((known) => known.op === op);
      const label = operation?.value ? operation.label : `${operation?.label ?? op}: ${value}`;
      const remove = () => app.change({ chips: state.chips.filter((_, k) => k !== n), zoom: [] });
      return make("span", { class: "chip" }, make("span", { title: label }, label), make("button", { "aria-label": `Remove ${label}`, click: remove }, "×"));
    });
    const bar = byId("chips");
    bar.hidden = chips.length === 0 && state.roots.length === 0 && !(state.only && marks);
    if (bar.hidden) return;
    const roots = [];
    for (let i = 1; i < whole.n && state.roots.length; i = whole.end[i]) {
      if (state.roots.includes(names.key(whole.name[i]))) roots.push(names.texts[whole.name[i]]);
    }
    const searched = state.only && marks ? (state.matchCase ? "" : "(?i)") + state.query : "";
    const text = command(state.chips, roots, searched);
    const copyIt = make("button", { title: "Copy the command", click: () => copy(text).then(() => app.say("command copied")) }, "Copy");
    bar.replaceChildren(...chips, make("code", { title: text }, text.slice(0, 2000)), copyIt);
  }
}

/** @param {number} share */
export function meter(share) {
  const inside = make("i");
  inside.style.width = `${(100 * Math.min(share, 1)).toFixed(2)}%`;
  return make("div", { class: "meter" }, inside);
}
