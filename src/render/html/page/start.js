// Brings it all together: the state changes, and everything shows it.

/** @import { Place, State } from "./types.js" */

import { readProfile } from "./decode.js";
import { byId, copy, list, make } from "./dom.js";
import { listenToKeys } from "./keys.js";
import { startOf } from "./layout.js";
import { List } from "./list.js";
import { Minimap } from "./minimap.js";
import { Model } from "./model.js";
import { percent } from "./numbers.js";
import { Panels } from "./panels.js";
import { listenToPrinting } from "./print.js";
import { nextMatch } from "./search.js";
import { Stage } from "./stage.js";
import { VIEWS, fromHash, initial, toHash } from "./state.js";

const MARKS = /** @type {Record<string, string>} */ ({ k: "kernel", i: "inlined", j: "jitted", w: "waker" });
/** A search runs when the typing rests, in milliseconds. */
const REST = 120;

export class App {
  /** @param {Model} model
   * @param {State} usual */
  constructor(model, usual) {
    this.model = model;
    this.usual = usual;
    this.panels = new Panels(this);
    this.list = new List(this);
    this.stage = new Stage(this);
    this.map = new Minimap(this);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.said = 0;
    this.#listen();
    listenToKeys(this);
    listenToPrinting(this);
    this.show(true);
    byId("loading").hidden = true;
  }

  #listen() {
    this.dark.addEventListener("change", () => this.show());
    addEventListener("popstate", () => this.#fromAddress());
    addEventListener("hashchange", () => this.#fromAddress());
    const query = /** @type {HTMLInputElement} */ (byId("query"));
    let rest = 0;
    const search = () => {
      clearTimeout(rest);
      if (query.value !== this.model.state.query) this.change({ query: query.value });
    };
    query.addEventListener("input", () => {
      clearTimeout(rest);
      rest = window.setTimeout(search, REST);
    });
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      search();
      if (this.model.found?.frames) this.stage.canvas.focus();
      this.toMatch(1);
    });
    byId("case").addEventListener("click", () => this.change({ matchCase: !this.model.state.matchCase }));
    byId("only").addEventListener("click", () => this.change({ only: !this.model.state.only, zoom: [] }));
    byId("next").addEventListener("click", () => this.toMatch(1));
    byId("previous").addEventListener("click", () => this.toMatch(-1));
    byId("theme").addEventListener("click", () => this.toggleTheme());
    for (const [id, key] of /** @type {const} */ ([["widths", "widths"], ["change", "ownChange"]])) {
      byId(id).addEventListener("change", (event) => {
        const { value } = /** @type {HTMLSelectElement} */ (event.target);
        this.change({ [key]: key === "ownChange" ? value === "self" : value });
      });
    }
    byId("shares").addEventListener("click", () => this.change({ shares: !this.model.state.shares }));
    byId("noise").addEventListener("click", () => this.change({ noise: !this.model.state.noise }));
    const tabs = VIEWS.map((view) => byId(`tab-${view}`));
    tabs.forEach((tab, n) => {
      tab.addEventListener("click", () => this.change({ view: VIEWS[n] }));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: n + 1, ArrowLeft: n - 1 }[event.key];
        if (to === undefined) return;
        const other = (to + VIEWS.length) % VIEWS.length;
        this.change({ view: VIEWS[other] });
        tabs[other].focus();
      });
    });
  }

  #fromAddress() {
    const state = fromHash(location.hash, this.usual);
    if (toHash(state, this.usual) === toHash(this.model.state, this.usual)) return;
    const again = this.#isElsewhere(state);
    this.model.update(state);
    this.show(again);
  }

  /** Whether another part of the profile comes into sight.
   * @param {State} state */
  #isElsewhere(state) {
    const old = this.model.state;
    return state.view !== old.view || state.zoom.join(";") !== old.zoom.join(";") || state.focus !== old.focus
      || state.chips.length !== old.chips.length || state.roots.length !== old.roots.length || state.only !== old.only;
  }

  /** Changes the state, the address with it; what leads elsewhere can be gone back from.
   * @param {Partial<State>} part */
  change(part) {
    const old = this.model.state;
    const state = { ...old, ...part };
    const turns = (/** @type {string} */ view) => view === "flame" || view === "icicle";
    // A path through one tree leads nowhere in another; flames and icicles are the same one.
    if (part.view && part.view !== old.view && !(turns(part.view) && turns(old.view)) && !part.zoom) state.zoom = [];
    const again = this.#isElsewhere(state);
    const address = toHash(state, this.usual) || location.pathname + location.search;
    if (again) history.pushState({ inside: true }, "", address);
    else history.replaceState(history.state, "", address);
    this.model.update(state);
    this.show(again);
  }

  /** @param {boolean} [again] from the beginning */
  show(again) {
    const { model } = this;
    const { state } = model;
    this.setTheme(state.theme);
    if (again) {
      this.stage.selected = null;
      this.stage.hover = null;
      this.showTip(null);
    }
    this.#showHead();
    this.#showTools();
    this.panels.showChips();
    this.panels.refresh();
    byId("stage").hidden = state.view === "table";
    this.list.show();
    this.stage.fit(again);
    this.map.redraw();
    this.#showPath();
    this.#describe(this.stage.selected);
  }

  /** @param {string} theme "light", "dark", or "" for the system's */
  setTheme(theme) {
    const dark = theme === "dark" || (theme === "" && this.dark.matches);
    const root = document.documentElement;
    root.dataset.theme = theme;
    root.toggleAttribute("data-dark", dark);
    this.model.theme = dark
      ? { back: "#17181b", ink: "#f2efe9", run: "#5b5f68", dark }
      : { back: "#fbfaf8", ink: "#191a1e", run: "#c9c5bd", dark };
  }

  #showHead() {
    const { about, numbers, whole } = this.model;
    byId("title").textContent = about.title;
    const facts = byId("facts");
    if (facts.firstChild) return;
    const total = about.differential
      ? `${numbers.brief(whole.totalBefore?.[0] ?? 0)} → ${numbers.brief(whole.total[0])}`
      : numbers.brief(whole.total[0]);
    const known = new Map(about.facts.map(([key, value]) => [key.toLowerCase(), value]));
    const rest = ["command", "event", "host", "hostname", "date", "captured on"].map((key) => known.get(key)).filter((one) => one !== undefined);
    facts.append(make("b", {}, total), ...[about.subtitle, ...rest].filter((one) => one).map((one) => ` · ${one}`));
    facts.title = facts.textContent ?? "";
  }

  #showTools() {
    const { model } = this;
    const { state, about, found, numbers, refined } = model;
    for (const view of VIEWS) {
      const tab = byId(`tab-${view}`);
      tab.setAttribute("aria-selected", String(view === state.view));
      tab.tabIndex = view === state.view ? 0 : -1;
      if (view === state.view) byId(view === "table" ? "list" : "stage").setAttribute("aria-labelledby", tab.id);
    }
    const chosen = state.roots.length;
    const threads = byId("threads-open");
    threads.textContent = chosen ? `${chosen} ${chosen > 1 ? "threads" : "thread"}` : "All threads";
    threads.classList.toggle("on", chosen > 0);
    byId("compare").hidden = !about.differential;
    /** @type {HTMLSelectElement} */ (byId("widths")).value = state.widths;
    /** @type {HTMLSelectElement} */ (byId("change")).value = state.ownChange ? "self" : "total";
    byId("shares").setAttribute("aria-pressed", String(state.shares));
    byId("noise").hidden = about.alpha === null;
    byId("noise").setAttribute("aria-pressed", String(!state.noise));
    byId("case").setAttribute("aria-pressed", String(state.matchCase));
    byId("only").setAttribute("aria-pressed", String(state.only));
    const query = /** @type {HTMLInputElement} */ (byId("query"));
    if (query.value !== state.query && (document.activeElement !== query || !query.value.startsWith(state.query))) query.value = state.query;
    query.setAttribute("aria-invalid", String(Boolean(model.problem)));
    for (const id of ["next", "previous"]) /** @type {HTMLButtonElement} */ (byId(id)).disabled = !found?.frames || model.parts.length === 0;
    const line = byId("found");
    line.classList.toggle("bad", Boolean(model.problem));
    line.textContent = model.problem
      || (found ? this.#foundText(found, refined.total[0], refined.totalBefore?.[0] ?? 0) : "");
    line.title = found ? numbers.withUnit(found.total) : "";
  }

  /** @param {import("./search.js").Found} found
   * @param {number} whole
   * @param {number} before */
  #foundText(found, whole, before) {
    const { about, numbers } = this.model;
    if (!found.frames) return "No match";
    const stacks = `${found.stacks.toLocaleString("en")} ${found.stacks === 1 ? "stack" : "stacks"}`;
    if (about.differential) {
      return `Matched: ${percent(found.before, before)} → ${percent(found.total, whole)} · ${stacks} · ${numbers.full(found.before)} → ${numbers.full(found.total)} ${numbers.unitOf(found.total)}`;
    }
    return `Matched: ${percent(found.total, whole)} · self ${percent(found.self, whole)} · ${stacks} · ${numbers.full(found.total)} ${numbers.unitOf(found.total)}`;
  }

  /** Where the zoom is, as steps to go back to. */
  #showPath() {
    const { model } = this;
    const { state, names, main, zoomed } = model;
    const path = byId("path");
    path.replaceChildren();
    if (state.view === "butterfly" && model.focus >= 0 && !state.zoom.length) {
      const name = names.show(model.focus).slice(0, 200);
      path.append(make("span", { title: name }, "Callers above, callees below: ", make("b", {}, name)));
      return;
    }
    if (!zoomed || !model.parts.length) return;
    const steps = [];
    for (let k = zoomed; k > 0; k = main.parent[k]) steps.unshift(k);
    const shown = steps.length > 4 ? [steps[0], ...steps.slice(-3)] : steps;
    const step = (/** @type {number} */ node, /** @type {string} */ label) => make("button", {
      title: label, click: () => this.zoomTo({ part: model.parts.length - 1, node }),
    }, label.slice(0, 200));
    path.append(step(0, "all"), ...shown.map((node) => step(node, names.show(main.name[node]))));
    if (state.zoom.length === 0) path.replaceChildren();
  }

  /** @param {Place} place */
  zoomTo({ part, node }) {
    const { model, stage } = this;
    const one = model.parts[part];
    if (!one) return;
    if (one.tree !== model.main) {
      // Above a butterfly, where only what is below can be zoomed: look at that caller instead.
      this.butterfly(one.tree.name[node]);
      return;
    }
    const zoom = model.stack({ part, node }).map((id) => model.names.key(id));
    if (zoom.join(";") === model.state.zoom.join(";")) {
      model.moved = null;
      stage.redraw();
      return;
    }
    this.change({ zoom });
    if (model.zoomed) this.select({ part, node: model.zoomed }, false);
  }

  /** All again. */
  zoomOut() {
    this.zoomTo({ part: this.model.parts.length - 1, node: 0 });
  }

  back() {
    if (history.state?.inside) history.back();
    else this.change({ zoom: this.model.state.zoom.slice(0, -1) });
  }

  /** @param {number} id */
  butterfly(id) {
    if (id !== this.model.names.all) this.change({ view: "butterfly", focus: this.model.names.key(id), zoom: [] });
  }

  /** @param {string} op
   * @param {string} value */
  refine(op, value) {
    this.change({ chips: [...this.model.state.chips, { op, value }], zoom: [] });
  }

  /** @param {1 | -1} direction */
  toMatch(direction) {
    const { model, stage } = this;
    if (!model.marks || !model.parts.length) return;
    const part = stage.selected?.part ?? model.parts.length - 1;
    const from = stage.selected?.node ?? (direction > 0 ? model.zoomed : 0);
    const { tree } = model.parts[part];
    const node = nextMatch(tree, model.marks, from, direction);
    if (!node) return;
    this.#bringIn(part, node);
  }

  /** Moves the window so that a frame can be seen.
   * @param {number} part
   * @param {number} node */
  #bringIn(part, node) {
    const { model, stage } = this;
    const { tree } = model.parts[part];
    const { from, to } = model.window;
    const least = ((to - from) / Math.max(stage.width, 1)) * 4;
    const start = startOf(tree, node);
    const inSight = start + tree.width[node] > from && start < to;
    if (inSight && tree.width[node] >= least) {
      this.select({ part, node });
      return;
    }
    const middle = start + tree.width[node] / 2;
    const width = Math.min(Math.max(tree.width[node] * 6, 1e-9), Math.max(to - from, tree.width[node] * 1.5));
    model.move(middle - width / 2, middle + width / 2);
    this.select({ part, node });
  }

  /** @param {Place | null} place
   * @param {boolean} [reveal] */
  select(place, reveal = true) {
    this.stage.selected = place;
    this.#describe(place);
    if (place && reveal) this.stage.reveal(place);
    this.stage.redraw();
  }

  /** @param {Place | null} place */
  #describe(place) {
    const { model } = this;
    if (!place) {
      byId("chosen").textContent = "";
      return;
    }
    const { tree } = model.parts[place.part];
    byId("chosen").textContent = `${model.names.show(tree.name[place.node]).slice(0, 300)}: ${model.weightText(tree, place.node)}`;
  }

  /** @param {Place | null} place
   * @param {number} [x]
   * @param {number} [y] */
  showTip(place, x = 0, y = 0) {
    const tip = byId("tip");
    tip.hidden = !place;
    if (!place) return;
    const { model } = this;
    const { tree } = model.parts[place.part];
    const id = tree.name[place.node];
    const mark = MARKS[model.names.mark(id)];
    tip.replaceChildren(make("b", {}, model.names.show(id).slice(0, 2000)), list([...(mark ? /** @type {[string, string][]} */ ([["Kind", mark]]) : []), ...model.facts(tree, place.node)]));
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(Math.min(x + 14, innerWidth - width - 8), 8)}px`;
    tip.style.top = `${y + 20 + height > innerHeight ? Math.max(y - height - 14, 8) : y + 20}px`;
  }

  /** @param {Place} place
   * @param {number} x
   * @param {number} y */
  openMenu(place, x, y) {
    this.showTip(null);
    this.select(place, false);
    this.panels.openMenu(place, x, y);
  }

  menuOfChosen() {
    const { selected, canvas, box } = this.stage;
    if (!selected) return;
    const { scene, parts } = this.model;
    const edge = canvas.getBoundingClientRect();
    const part = parts[selected.part];
    this.openMenu(selected, edge.left + 40, edge.top + scene.top(part, part.tree.depth[selected.node]) - box.scrollTop + 20);
  }

  /** @param {Place} place */
  copyName({ part, node }) {
    const { names, parts } = this.model;
    copy(names.texts[parts[part].tree.name[node]]).then(() => this.say("name copied"));
  }

  /** @param {Place} place */
  copyStack(place) {
    const { names, state } = this.model;
    const stack = this.model.stack(place).map((id) => names.texts[id]);
    // What is drawn leaf first is copied root first.
    if (state.view === "callers" || (state.view === "butterfly" && place.part === 0)) stack.reverse();
    copy(stack.join(";")).then(() => this.say("stack copied"));
  }

  toggleTheme() {
    const isDark = this.model.theme.dark;
    this.change({ theme: isDark === this.dark.matches ? (isDark ? "light" : "dark") : "" });
  }

  /** A word in the line at the bottom, for a while.
   * @param {string} text */
  say(text) {
    clearTimeout(this.said);
    byId("chosen").textContent = text;
    this.said = window.setTimeout(() => this.#describe(this.stage.selected), 2500);
  }
}

/** Opens the page. */
async function start() {
  try {
    const profile = await readProfile();
    const usual = initial(profile.about);
    const loading = byId("loading");
    if (profile.tree.n === 1) {
      byId("title").textContent = profile.about.title;
      loading.textContent = "There are no stacks in the input: nothing was recorded, or a filter left nothing.";
      return;
    }
    Object.assign(window, { flame: new App(new Model(profile, fromHash(location.hash, usual)), usual) });
  } catch (error) {
    byId("loading").textContent = `This page cannot be shown: ${error instanceof Error ? error.message : error}`;
    throw error;
  }
}

start();
