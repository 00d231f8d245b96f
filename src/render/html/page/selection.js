// The chosen frame and the one below the pointer: the line at the bottom, the tooltip, copies.

/** @import { App } from "./app.js" */
/** @import { Place, Tree } from "./types.js" */

import { factsOf, weightText } from "./describe.js";
import { byId, copy, list, make } from "./dom.js";
import { openFrameMenu } from "./frame_menu.js";
import { pathTo } from "./tree.js";

/** The milliseconds for which a message stays in the line at the bottom. */
const MESSAGE = 2500;

export class Selection {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Place | null} the chosen frame */
    this.place = null;
    /** @type {Place | null} the frame below the pointer */
    this.hover = null;
    this.message = 0;
  }

  reset() {
    this.place = null;
    this.hover = null;
    this.showTip(null);
  }

  /** @param {Place | null} place
   * @param {boolean} [reveal] */
  select(place, reveal = true) {
    const { stage } = this.app;
    this.place = place;
    this.describe();
    if (place && reveal) stage.reveal(place);
    stage.redraw();
  }

  /** Puts the chosen frame into the line at the bottom. */
  describe() {
    const { model } = this.app;
    const { place } = this;
    const line = byId("chosen");
    line.textContent = "";
    const sheet = byId("sheet");
    const answer = byId("answer");
    // On a phone the hottest functions stand where there is room for them until a frame is chosen.
    const answers = sheet.contains(answer) || (!model.about.differential && matchMedia("(hover: none) and (pointer)").matches) ? [answer] : [];
    answer.hidden = Boolean(place) && answers.length > 0;
    sheet.replaceChildren(make("p", {}, "Tap to read · tap again to zoom · hold for more"), ...answers);
    if (!place) return;
    const { tree } = model.parts[place.part];
    const name = make("bdi", {}, model.names.show(tree.name[place.node]).slice(0, 300));
    const weight = weightText(model, tree, place.node);
    line.append(name, `: ${weight}`);
    const { navigation } = this.app;
    sheet.replaceChildren(make("b", {}, weight), name.cloneNode(true), make("div", { class: "row" },
      make("button", { click: () => navigation.zoomTo(place) }, "Zoom in"),
      make("button", { disabled: !model.zoomed, click: () => navigation.zoomOut() }, "Show all"),
      make("button", { click: () => this.openMenu(place, 0, innerHeight) }, "More …")), ...answers);
  }

  /** Puts a message into the line at the bottom, for a while.
   * @param {string} text */
  say(text) {
    clearTimeout(this.message);
    byId("chosen").textContent = text;
    this.message = window.setTimeout(() => this.describe(), MESSAGE);
  }

  /** @param {Place | null} place
   * @param {number} [x]
   * @param {number} [y] */
  showTip(place, x = 0, y = 0) {
    const tip = byId("tip");
    tip.hidden = !place;
    if (!place) return;
    const { model } = this.app;
    const { tree } = model.parts[place.part];
    const id = tree.name[place.node];
    const name = (model.names.folds.get(id) ?? [id]).map((one) => model.names.show(one)).join(" › ").slice(0, 2000);
    this.tip(name, list(factsOf(model, tree, place.node)), x, y);
  }

  /** Shows a tooltip beside a point.
   * @param {string} title
   * @param {HTMLElement} inside
   * @param {number} x
   * @param {number} y */
  tip(title, inside, x, y) {
    const tip = byId("tip");
    tip.hidden = false;
    tip.replaceChildren(make("b", {}, make("bdi", {}, title)), inside);
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
    const actions = { zoom: () => this.app.navigation.zoomTo(place), copy: () => this.copyStack(place) };
    openFrameMenu(this.app, this.app.model.parts[place.part].tree.name[place.node], actions, x, y);
  }

  /** Opens the menu of the chosen frame beside it. */
  openOwnMenu() {
    if (!this.place) return;
    const { model, stage: { canvas, box } } = this.app;
    const edge = canvas.getBoundingClientRect();
    const part = model.parts[this.place.part];
    const row = part.tree.depth[this.place.node];
    this.openMenu(this.place, edge.left + 40, edge.top + model.scene.top(part, row) - box.scrollTop + 20);
  }

  /** @param {number} id */
  copyName(id) {
    copy(this.app.model.names.texts[id]).then(() => this.say("name copied"));
  }

  /** @param {Place} place */
  copyStack(place) {
    const { parts, state: { view } } = this.app.model;
    this.copyPath(parts[place.part].tree, place.node, view === "callers" || (view === "butterfly" && place.part === 0));
  }

  /** @param {Tree} tree
   * @param {number} node
   * @param {boolean} leafFirst a stack that is shown leaf first is copied root first */
  copyPath(tree, node, leafFirst) {
    const { names } = this.app.model;
    const stack = pathTo(tree, node).flatMap((k) => names.folds.get(tree.name[k]) ?? tree.name[k]).map((id) => names.texts[id]);
    if (leafFirst) stack.reverse();
    copy(stack.join(";")).then(() => this.say("stack copied"));
  }
}
