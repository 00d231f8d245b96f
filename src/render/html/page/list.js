// The table of functions: real rows, for eyes and for screen readers.

/** @import { App } from "./app.js" */
/** @import { Row } from "./table.js" */

import { byId, make } from "./dom.js";
import { openFrameMenu, openRowMenu } from "./frame_menu.js";
import { percent, signed } from "./numbers.js";
import { shorterForms } from "./short.js";
import { atOnce } from "./steps.js";
import { functions, sortRows } from "./table.js";

/** Rows shown before one asks for more. */
const PAGE = 200;
/** The rows that the column of names is made for: nine in ten have room. */
const NEAR = 25;

export class List {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.box = byId("list");
    this.shown = PAGE;
    /** @type {Uint8Array[] | null} the significant self and total changes, by name */
    this.significant = null;
    /** The largest self and total weight of the rows that are shown. */
    this.largest = [1, 1];
    /** @type {unknown[]} the inputs of the table that is shown */
    this.inputs = [];
  }

  /** The functions of the tree in use, filtered by the search, in order.
   * @returns {Row[]} */
  rows() {
    const { model } = this.app;
    const { names, marks, state } = model;
    const all = this.#all();
    const matching = marks ? all.filter((row) => marks[row.id]) : all;
    const sorted = sortRows(matching, state.sort, (row, own) => this.#change(row, own), (id) => names.texts[id]);
    // What weighed too little to be kept is no function, and comes behind them.
    return [...sorted.filter(({ id }) => id !== names.other), ...sorted.filter(({ id }) => id === names.other)];
  }

  /** @param {Row} row
   * @param {boolean} own */
  #change(row, own) {
    return own ? this.app.model.changes.difference(row.before, row.self) : this.app.model.changes.difference(row.totalBefore, row.total);
  }

  show() {
    const { state, tree, marks } = this.app.model;
    this.box.hidden = state.view !== "table";
    if (this.box.hidden) return;
    const inputs = [tree, marks, state.sort, state.shares, state.insignificant];
    if (inputs.every((input, n) => input === this.inputs[n])) return;
    this.inputs = inputs;
    this.shown = PAGE;
    this.#fill();
  }

  #fill() {
    const { app } = this;
    const { about, names, state, numbers, tree } = app.model;
    const rows = this.rows();
    const unit = numbers.isCount ? `, ${names.harmless(numbers.unit ?? "").slice(0, 20)}` : "";
    const digits = Math.max(numbers.cell(tree.total[0]).length, 8);
    // In a narrow window shares stand below their weights.
    const narrow = innerWidth < 760;
    const weights = `${digits + (narrow ? 4 : 13)}ch`;
    const changes = `${digits + (narrow ? 5 : 15)}ch`;
    /** @type {[string, string, string][]} */
    const columns = [["name", "Function", ""], ["self", `Self${unit}`, weights], ["total", `Total${unit}`, weights], ["stacks", "Stacks", narrow ? "0" : "11ch"]];
    if (about.differential) columns.push(["selfChange", "Self change", changes], ["change", "Total change", changes]);
    const sorted = state.sort.replace(/^-/, "");
    const ascending = state.sort.startsWith("-") !== (sorted === "name");
    const head = columns.map(([key, label, width]) => {
      const is = key === sorted;
      const cell = make("th", { scope: "col", class: key === "name" ? "" : "num", "aria-sort": is ? (ascending ? "ascending" : "descending") : false },
        make("button", { title: key === "stacks" ? "How many different stacks the function is in" : "", click: () => app.change({ sort: is && !state.sort.startsWith("-") ? "-" + key : key }) }, label + (is ? (ascending ? " ▲" : " ▼") : "")));
      if (width) cell.style.width = width;
      return cell;
    });
    this.significant = about.differential && !state.insignificant ? app.model.changes.significant() : null;
    this.largest = [Math.max(1e-9, ...rows.slice(0, this.shown).map(({ self }) => self)), Math.max(1e-9, ...rows.slice(0, this.shown).map(({ total }) => total))];
    const body = make("tbody", {}, ...rows.slice(0, this.shown).map((row) => this.#row(row)));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), body);
    // In a narrow window the name stays and the other columns scroll.
    table.style.minWidth = `calc(${narrow && !about.differential ? 130 : 180}px + ${columns.map(([, , width]) => (width.endsWith("ch") ? width : "0px")).join(" + ")})`;
    // The numbers stand near the names.
    const lengths = rows.slice(0, NEAR).map(({ id }) => this.#label(id).length).sort((a, b) => a - b);
    const usual = Math.max(lengths[Math.floor(lengths.length * 0.9)] ?? 0, 30);
    if (!narrow) table.style.maxWidth = `calc(min(${usual}ch, 720px) + ${columns.map(([, , width]) => width || "0px").join(" + ")})`;
    this.box.replaceChildren(table);
    if (rows.length > this.shown) {
      const more = () => {
        const had = this.shown;
        this.shown += 5 * PAGE;
        this.#fill();
        /** @type {HTMLElement | undefined} */ (this.box.querySelectorAll("tbody button")[had])?.focus();
      };
      this.box.append(make("div", { class: "more" }, make("button", { click: more }, `${rows.length - this.shown} more`)));
    }
  }

  #all() {
    const { memo, tree, names } = this.app.model;
    return memo.get("functions", [tree], () => atOnce(functions(tree, names.texts.length)));
  }

  /** The name of a function, in a shorter form where its end would have no room.
   * @param {number} id */
  #label(id) {
    const name = this.app.model.names.show(id);
    const most = innerWidth < 760 ? 24 : 90;
    const forms = name.length > most ? shorterForms(name) : [];
    return (forms.find((form) => form.length <= most) ?? forms.at(-1) ?? name).slice(0, 400);
  }

  /** @param {Row} row */
  #row(row) {
    const { app } = this;
    const { about, names, numbers, tree } = app.model;
    const whole = tree.total[0];
    const shown = names.show(row.id);
    const text = shown.slice(0, 400);
    const name = make("button", { title: `${text}: callers and callees; right-click or m for more`, click: () => app.navigation.butterfly(row.id) }, make("bdi", {}, this.#label(row.id)));
    const weight = (/** @type {number} */ value, /** @type {number} */ most) => {
      const cell = make("td", { class: "num bar-of", title: `${numbers.withSamples(value)}, exactly ${numbers.exactly(value)}` },
        numbers.cell(value), make("small", {}, percent(value, whole)));
      cell.style.setProperty("--share", percent(value, most));
      return cell;
    };
    const [own, all] = this.largest;
    const cells = [make("td", {}, name), weight(row.self, own), weight(row.total, all), make("td", { class: "num" }, row.stacks.toLocaleString("en"))];
    if (about.differential) cells.push(this.#changed(row, true, this.significant?.[0][row.id] === 0), this.#changed(row, false, this.significant?.[1][row.id] === 0));
    return make("tr", {
      contextmenu: (event) => openRowMenu(app, row.id, null, event),
      keydown: (event) => {
        if (event.key !== "m") return;
        event.stopPropagation();
        const { left, bottom } = name.getBoundingClientRect();
        openFrameMenu(app, row.id, null, left, bottom);
      },
    }, ...cells);
  }

  /** @param {Row} row
   * @param {boolean} own
   * @param {boolean} isInsignificant */
  #changed(row, own, isInsignificant) {
    const { numbers, state } = this.app.model;
    const [before, after] = own ? [row.before, row.self] : [row.totalBefore, row.total];
    const change = this.#change(row, own);
    const text = state.shares ? `${signed(100 * change, 2)} pp` : (change > 0 ? "+" : change < 0 ? "−" : "") + numbers.cell(Math.abs(change));
    const note = before === 0 && after > 0 ? "new" : after === 0 && before > 0 ? "gone" : before > 0 ? `${signed((100 * (after - before)) / before, 1)}%` : "";
    const title = `${numbers.withSamples(before)} → ${numbers.withSamples(after)}${isInsignificant && change !== 0 ? "; not significant" : ""}`;
    const direction = isInsignificant ? "insignificant" : change > 0 ? "up" : change < 0 ? "down" : "";
    return make("td", { class: `num ${direction}`, title }, text, make("small", {}, note));
  }
}
