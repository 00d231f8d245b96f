// The controls above the frames: views, comparison, search.

/** @import { App } from "./app.js" */
/** @import { Found } from "./search.js" */

import { byId } from "./dom.js";
import { expression, ignoresCase } from "./expression.js";
import { percent } from "./numbers.js";
import { matching, measure } from "./search.js";
import { VIEWS } from "./state.js";
import { atOnce } from "./steps.js";

/** The milliseconds for which typing has to rest before a search runs. */
const REST = 120;

export class Toolbar {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.query = /** @type {HTMLInputElement} */ (byId("query"));
    this.#listenToTabs();
    this.#listenToSearch();
    this.#listenToComparison();
    byId("pools").addEventListener("click", () => app.change({ pools: "all", zoom: [] }));
    byId("theme").addEventListener("click", () => app.theme.toggle());
  }

  #listenToTabs() {
    const { app } = this;
    const tabs = VIEWS.map((view) => byId(`tab-${view}`));
    tabs.forEach((tab, n) => {
      tab.addEventListener("click", () => app.change({ view: VIEWS[n] }));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: n + 1, ArrowLeft: n - 1 }[event.key];
        if (to === undefined) return;
        const shown = VIEWS.length - (app.model.times ? 0 : 1);
        const other = (to + shown) % shown;
        app.change({ view: VIEWS[other] });
        tabs[other].focus();
      });
    });
  }

  #listenToSearch() {
    const { app, query } = this;
    let rest = 0;
    const search = () => {
      clearTimeout(rest);
      if (query.value !== app.model.state.query) app.change({ query: query.value });
    };
    query.addEventListener("input", () => {
      clearTimeout(rest);
      rest = window.setTimeout(search, REST);
    });
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      search();
      if (app.model.found?.frames) app.stage.canvas.focus();
      app.navigation.toMatch(1);
    });
    byId("case").addEventListener("click", () => app.change({ matchCase: !app.model.state.matchCase }));
    byId("only").addEventListener("click", () => app.change({ only: !app.model.state.only, zoom: [] }));
    byId("next").addEventListener("click", () => app.navigation.toMatch(1));
    byId("previous").addEventListener("click", () => app.navigation.toMatch(-1));
  }

  #listenToComparison() {
    const { app } = this;
    const valueOf = (/** @type {Event} */ event) => /** @type {HTMLSelectElement} */ (event.target).value;
    byId("widths").addEventListener("change", (event) => app.change({ widths: /** @type {any} */ (valueOf(event)) }));
    byId("change").addEventListener("change", (event) => app.change({ ownChange: valueOf(event) === "self" }));
    byId("shares").addEventListener("click", () => app.change({ shares: !app.model.state.shares }));
    byId("insignificant").addEventListener("click", () => app.change({ insignificant: !app.model.state.insignificant }));
  }

  show() {
    const { state, about } = this.app.model;
    for (const view of VIEWS) {
      const tab = byId(`tab-${view}`);
      tab.hidden = view === "time" && !this.app.model.times;
      tab.setAttribute("aria-selected", String(view === state.view));
      tab.tabIndex = view === state.view ? 0 : -1;
      if (view === state.view) byId(tab.getAttribute("aria-controls") ?? "").setAttribute("aria-labelledby", tab.id);
    }
    this.#showThreads();
    byId("compare").hidden = !about.differential;
    /** @type {HTMLSelectElement} */ (byId("widths")).value = state.widths;
    /** @type {HTMLSelectElement} */ (byId("change")).value = state.ownChange ? "self" : "total";
    byId("shares").setAttribute("aria-pressed", String(state.shares));
    byId("insignificant").hidden = about.alpha === null;
    byId("insignificant").setAttribute("aria-pressed", String(!state.insignificant));
    this.#showSearch();
  }

  #showThreads() {
    const { merged, names, pools, state, threads } = this.app.model;
    const split = pools.filter((pool) => !merged.includes(pool));
    byId("pools").hidden = !split.length;
    byId("pools").textContent = `Merge ${split.length === 1 ? names.harmless(split[0].name).slice(0, 20) : `${split.length} pools`}`;
    byId("pools").title = `Numbered threads as one: ${split.map(({ name, ids }) => `${names.harmless(name)} ×${ids.length}`).join(", ")}`;
    const button = byId("threads-open");
    const chosen = threads.chosen(state.threads).length;
    const word = threads.kind === "threads" ? "thread" : "first frame";
    button.hidden = threads.all.length < 2;
    button.textContent = threads.kind === "label" ? `${names.harmless(threads.label).slice(0, 30)}: ${chosen || "all"}`
      : chosen ? `${chosen} ${word}${chosen > 1 ? "s" : ""}` : `All ${word}s`;
    button.classList.toggle("on", chosen > 0);
  }

  #showSearch() {
    const { query, app: { model } } = this;
    const { state, found, numbers } = model;
    byId("case").setAttribute("aria-pressed", String(state.matchCase));
    byId("only").setAttribute("aria-pressed", String(state.only));
    if (query.value !== state.query && (document.activeElement !== query || !query.value.startsWith(state.query))) query.value = state.query;
    query.setAttribute("aria-invalid", String(Boolean(model.problem)));
    for (const id of ["next", "previous"]) /** @type {HTMLButtonElement} */ (byId(id)).disabled = !found?.frames || state.view === "table";
    const line = byId("found");
    line.classList.toggle("bad", Boolean(model.problem));
    line.textContent = model.problem || (found ? this.#foundText(found) : "");
    line.title = found ? numbers.exactly(found.total) : "";
  }

  /** The matches that there would be if case were ignored. */
  #otherwise() {
    const { names, state, refined } = this.app.model;
    if (ignoresCase(state.query, state.matchCase ? "exact" : "smart")) return "";
    const { frames } = atOnce(measure(refined, atOnce(matching(names, expression(state.query, "ignored")))));
    return frames ? ` · ${frames.toLocaleString("en")} match${frames === 1 ? "" : "es"} if case is ignored` : "";
  }

  /** @param {Found} found */
  #foundText(found) {
    const { about, numbers, refined } = this.app.model;
    if (!found.frames) return `No match${this.#otherwise()}`;
    const [whole, before] = [refined.total[0], refined.totalBefore?.[0] ?? 0];
    const stacks = `${found.stacks.toLocaleString("en")} ${found.stacks === 1 ? "stack" : "stacks"}`;
    if (about.differential) {
      return `Matched: ${percent(found.before, before)} → ${percent(found.total, whole)} · ${stacks} · ${numbers.amount(found.before)} → ${numbers.amount(found.total)}`;
    }
    return `Matched: ${percent(found.total, whole)} · self ${percent(found.self, whole)} · ${stacks} · ${numbers.withSamples(found.total)}`;
  }
}
