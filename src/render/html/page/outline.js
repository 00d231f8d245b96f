// The call tree as an outline: rows that open and close, only those in sight on the page.

/** @import { App } from "./app.js" */
/** @import { Tree } from "./types.js" */

import { changeText } from "./changes.js";
import { byId, make } from "./dom.js";
import { openFrameMenu, openRowMenu } from "./frame_menu.js";
import { percent } from "./numbers.js";
import { rowsOf } from "./tree.js";

/** Rows that open at once, so that a child that weighs next to all does not take a click each. */
const MOST_OPENED = 200;

export class Outline {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.box = byId("outline");
    /** @type {Set<number>} the open nodes */
    this.open = new Set([0]);
    /** @type {number[]} the nodes of the rows, from top to bottom */
    this.rows = [];
    this.chosen = 0;
    /** @type {Tree | null} */
    this.tree = null;
    /** @type {unknown[]} */
    this.inputs = [];
    this.body = make("div", { role: "rowgroup" });
    this.head = make("div", { role: "row", class: "head" });
    this.box.append(this.head, this.body);
    this.box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.box.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.#act(event.key)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  show() {
    const { model } = this.app;
    const { state, marks } = model;
    this.box.hidden = state.view !== "tree" && state.view !== "bottomup";
    if (this.box.hidden) return;
    const tree = model.outline;
    const inputs = [tree, state.insignificant, state.shares, state.ownChange, marks];
    if (inputs.every((input, n) => input === this.inputs[n])) return;
    if (tree !== this.tree) {
      this.open = new Set([0]);
      this.chosen = 0;
      this.box.scrollTop = 0;
      this.tree = tree;
      if (state.view === "tree") this.#openHeaviest(0, 0.5);
    }
    this.inputs = inputs;
    const columns = model.about.differential ? ["Before", "After", "Change"] : ["Share", "Total", "Self"];
    const head = (/** @type {string} */ label, kind = "num") => make("span", { role: "columnheader", class: kind }, label);
    this.head.replaceChildren(...columns.map((label) => head(label)), head("Function", "name"));
    this.#list();
  }

  /** The children of a node, the heaviest first.
   * @param {number} node */
  #children(node) {
    const tree = /** @type {Tree} */ (this.tree);
    const weigh = (/** @type {number} */ k) => tree.total[k] + (tree.totalBefore ? tree.totalBefore[k] : 0);
    const children = [];
    for (let k = node + 1; k < tree.end[node]; k = tree.end[k]) children.push(k);
    return children.sort((a, b) => weigh(b) - weigh(a) || a - b);
  }

  /** Opens the heaviest callee, its heaviest callee and so on, while each has this share of its caller; returns the last.
   * @param {number} node
   * @param {number} share */
  #openHeaviest(node, share) {
    const tree = /** @type {Tree} */ (this.tree);
    for (let n = 0; n < MOST_OPENED; n++) {
      const [first] = this.#children(node);
      if (!first) break;
      this.open.add(node);
      if (tree.total[first] < share * tree.total[node]) break;
      node = first;
    }
    return node;
  }

  /** Lists the rows of the open nodes. */
  #list() {
    const waiting = [0];
    this.rows = [];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      this.rows.push(node);
      if (this.open.has(node)) waiting.push(...this.#children(node).reverse());
    }
    this.draw();
  }

  get #height() {
    return matchMedia("(pointer: coarse)").matches ? 44 : 26;
  }

  draw() {
    const { tree } = this;
    if (this.box.hidden || !tree) return;
    const height = this.#height;
    const first = Math.max(Math.floor(this.box.scrollTop / height) - 5, 0);
    const shown = this.rows.slice(first, first + Math.ceil(this.box.clientHeight / height) + 10);
    const hadFocus = this.body.contains(document.activeElement);
    this.body.style.height = `${this.rows.length * height}px`;
    this.box.setAttribute("aria-rowcount", String(this.rows.length));
    this.body.replaceChildren(...shown.map((node, n) => this.#row(tree, node, first + n, height)));
    if (hadFocus) /** @type {HTMLElement | null} */ (this.body.querySelector("[tabindex='0']"))?.focus({ preventScroll: true });
  }

  /** @param {Tree} tree
   * @param {number} node
   * @param {number} place
   * @param {number} height */
  #row(tree, node, place, height) {
    const { model } = this.app;
    const { about, changes, names, numbers, marks, tree: whole } = model;
    const hasChildren = tree.end[node] > node + 1;
    const isOpen = this.open.has(node);
    const id = tree.name[node];
    const { before, after } = changes.sides(tree, node, false);
    const cell = (/** @type {string} */ text) => make("span", { role: "gridcell", class: "num" }, text);
    const text = names.show(id).slice(0, 400);
    const name = make("span", { role: "gridcell", class: "name", title: text }, make("i", { "aria-hidden": "true" }, hasChildren ? (isOpen ? "▾" : "▸") : ""), make("bdi", {}, text));
    name.style.paddingLeft = `${Math.min(tree.depth[node], 40) * 14}px`;
    const cells = about.differential ? [cell(numbers.cell(before)), cell(numbers.cell(after)), cell(changeText(before, after))]
      : [cell(percent(tree.total[node], whole.total[0])), cell(numbers.cell(tree.total[node])), cell(numbers.cell(tree.self[node]))];
    const row = make("div", {
      role: "row", class: marks?.[id] ? "found" : "", "aria-level": String(tree.depth[node] + 1), "aria-rowindex": String(place + 1),
      "aria-expanded": hasChildren ? String(isOpen) : false, "aria-selected": String(node === this.chosen), tabindex: node === this.chosen ? "0" : "-1",
      click: () => this.#toggle(node), focus: () => this.#choose(node, false),
      contextmenu: (event) => {
        this.#choose(node, true);
        openRowMenu(this.app, id, this.#actions(node), event);
      },
    }, ...cells, name);
    row.style.top = `${place * height}px`;
    row.style.height = `${height}px`;
    return row;
  }

  /** @param {number} node */
  #toggle(node) {
    if (this.open.has(node)) this.open.delete(node);
    else this.#openHeaviest(node, 0.999);
    this.#choose(node, false);
    this.#list();
    this.#focus();
  }

  /** @param {number} node
   * @param {boolean} reveal */
  #choose(node, reveal) {
    if (node === this.chosen && !reveal) return;
    this.chosen = node;
    const height = this.#height;
    const top = this.rows.indexOf(node) * height;
    if (reveal && top < this.box.scrollTop) this.box.scrollTop = top;
    else if (reveal && top + height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + height - this.box.clientHeight;
    if (!reveal) return;
    this.draw();
    this.#focus();
  }

  /** The actions of a menu and of keys on a row.
   * @param {number} node */
  #actions(node) {
    const tree = /** @type {Tree} */ (this.tree);
    const { model, navigation, selection } = this.app;
    return {
      zoom: () => navigation.zoomToRow(tree, node),
      copy: () => selection.copyPath(tree, node, model.state.view === "bottomup"),
    };
  }

  #focus() {
    /** @type {HTMLElement | null} */ (this.body.querySelector("[tabindex='0']"))?.focus({ preventScroll: true });
  }

  /** @param {string} key
   * @returns {boolean} true if the key has a meaning */
  #act(key) {
    const tree = /** @type {Tree} */ (this.tree);
    const at = this.rows.indexOf(this.chosen);
    const to = (/** @type {number} */ place) => this.#choose(this.rows[Math.min(Math.max(place, 0), this.rows.length - 1)], true);
    const isOpen = this.open.has(this.chosen);
    const id = tree.name[this.chosen];
    if (key === "ArrowDown" || key === "j") to(at + 1);
    else if (key === "ArrowUp" || key === "k") to(at - 1);
    else if (key === "PageDown") to(at + Math.floor(this.box.clientHeight / this.#height));
    else if (key === "PageUp") to(at - Math.floor(this.box.clientHeight / this.#height));
    else if (key === "Home") to(0);
    else if (key === "End") to(this.rows.length - 1);
    else if ((key === "ArrowRight" || key === "l") && !isOpen) this.#toggle(this.chosen);
    else if (key === "ArrowRight" || key === "l") to(at + 1);
    else if ((key === "ArrowLeft" || key === "h") && isOpen && this.chosen > 0) this.#toggle(this.chosen);
    else if (key === "ArrowLeft" || key === "h") this.#choose(Math.max(tree.parent[this.chosen], 0), true);
    else if (key === "Enter" || key === " ") this.#toggle(this.chosen);
    else if (key === "*") {
      const last = this.#openHeaviest(this.chosen, 0);
      this.#list();
      this.#choose(last, true);
    } else if (key === "b") this.app.navigation.butterfly(id);
    else if (key === "c") this.app.selection.copyName(id);
    else if (key === "C") this.#actions(this.chosen).copy();
    else if (key === "n" || key === "N") this.toMatch(key === "n" ? 1 : -1);
    else if (key === "m") {
      const { left, bottom } = /** @type {HTMLElement} */ (document.activeElement).getBoundingClientRect();
      openFrameMenu(this.app, id, this.#actions(this.chosen), left + 40, bottom);
    } else return false;
    return true;
  }

  /** Opens what leads to the next matching node.
   * @param {1 | -1} step */
  toMatch(step) {
    const tree = /** @type {Tree} */ (this.tree);
    const { marks } = this.app.model;
    if (!marks || rowsOf(tree) < 2) return;
    for (let k = 1, i = this.chosen; k < tree.n; k++) {
      i = (i + step + tree.n) % tree.n;
      if (!marks[tree.name[i]]) continue;
      for (let above = tree.parent[i]; above >= 0; above = tree.parent[above]) this.open.add(above);
      this.#list();
      this.#choose(i, true);
      return;
    }
  }
}
