// Ways through the profile: zooms, the path back, matches of the search, other views of a function.

/** @import { App } from "./app.js" */
/** @import { Place } from "./types.js" */

import { byId, make } from "./dom.js";
import { startOf } from "./layout.js";
import { nextMatch } from "./search.js";
import { durationText } from "./timeline_data.js";
import { pathTo, shortKey } from "./tree.js";

/** A path that takes more of the address is shortened: chat and mail cut what is longer than two thousand. */
const LONGEST_LINK = 1000;

export class Navigation {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
  }

  /** The path from the root to the zoomed frame, as steps to go back to. */
  showPath() {
    const { model } = this.app;
    const { state, names, main, zoomed } = model;
    const path = byId("path");
    path.replaceChildren();
    if (state.view === "butterfly" && model.focus >= 0 && !state.zoom.length) {
      const name = names.show(model.focus).slice(0, 200);
      path.append(make("span", { title: name }, "Callers above, callees below: ", make("b", {}, name)));
      return;
    }
    if (model.chart) {
      const { column, lanes } = model.chart;
      const threads = lanes.length > 1 ? `${lanes.length} lanes` : names.harmless(lanes[0].label);
      path.append(make("span", {}, `${threads} in the order of time; each ${durationText(model.times?.seconds(column) ?? 0)} shows its heaviest stack`));
      return;
    }
    if (!zoomed || !model.parts.length || state.zoom.length === 0) return;
    const steps = [];
    for (let k = zoomed; k > 0; k = main.parent[k]) steps.unshift(k);
    const shown = steps.length > 4 ? [steps[0], ...steps.slice(-3)] : steps;
    const step = (/** @type {number} */ node, /** @type {string} */ label) => make("button", {
      title: label, click: () => this.zoomTo({ part: model.parts.length - 1, node }),
    }, label.slice(0, 200));
    path.append(step(0, "all"), ...shown.map((node) => step(node, names.show(main.name[node]))));
  }

  /** @param {Place} place */
  zoomTo({ part, node }) {
    const { model, selection, stage } = this.app;
    const one = model.parts[part];
    if (!one) return;
    if (one.tree !== model.main) {
      // The upper part of a butterfly cannot be zoomed: look at that caller instead.
      this.butterfly(one.tree.name[node]);
      return;
    }
    if (model.chart) {
      // Time is no path: many frames beside each other have the same names.
      const from = model.chart.start + startOf(one.tree, node);
      if (model.times) this.app.timeline.zoom([model.times.seconds(from), model.times.seconds(from + one.tree.width[node])]);
      return;
    }
    const zoom = this.#path(model.main, node, model.state.view);
    if (zoom.join(";") === model.state.zoom.join(";")) {
      model.moved = null;
      stage.redraw();
      return;
    }
    const { main, window } = model;
    this.app.change({ zoom });
    if (model.main === main) stage.glide(window);
    if (model.zoomed) selection.select({ part, node: model.zoomed }, false);
  }

  /** Shows a row of a tree as the frame it is.
   * @param {import("./types.js").Tree} tree
   * @param {number} node */
  zoomToRow(tree, node) {
    const { state } = this.app.model;
    const view = state.view === "bottomup" ? "callers" : "flame";
    this.app.change({ view, zoom: this.#path(tree, node, view) });
  }

  /** The keys of the names on the way to a node, or one key for a way that makes too long a link.
   * @param {import("./types.js").Tree} tree
   * @param {number} node
   * @param {string} view */
  #path(tree, node, view) {
    const { names } = this.app.model;
    const zoom = pathTo(tree, node).map((k) => names.key(tree.name[k]));
    // The tree of callers is made along the path, which has to be known for it.
    const isLong = view !== "callers" && encodeURIComponent(zoom.join(";")).length > LONGEST_LINK;
    return isLong ? [shortKey(tree, names, node)] : zoom;
  }

  /** Shows all again. */
  zoomOut() {
    this.zoomTo({ part: this.app.model.parts.length - 1, node: 0 });
  }

  back() {
    const { model } = this.app;
    if (history.state?.inside) history.back();
    else if (model.zoomed) this.zoomTo({ part: model.parts.length - 1, node: model.main.parent[model.zoomed] });
  }

  /** @param {number} id */
  butterfly(id) {
    const { names } = this.app.model;
    if (id !== names.all) this.app.change({ view: "butterfly", focus: names.key(id), zoom: [] });
  }

  /** @param {string} op
   * @param {string} value */
  refine(op, value) {
    this.app.change({ chips: [...this.app.model.state.chips, { op, value }], zoom: [] });
  }

  /** Lets the reader change a name, or the expression that finds it: what gets the same name is merged.
   * @param {string} exact
   * @param {string} name */
  rename(exact, name) {
    byId("refine").showPopover();
    const input = byId("refine").querySelector("input");
    const mark = ["/", "|", ",", "!", "~"].find((one) => !(exact + name).includes(one)) ?? "\u0001";
    if (input) input.value = ["s", exact, name.replaceAll("$", "$$$$"), ""].join(mark);
  }

  /** @param {1 | -1} direction */
  toMatch(direction) {
    const { model, selection } = this.app;
    if (!model.parts.length) this.app.outline.toMatch(direction);
    if (!model.marks || !model.parts.length) return;
    const part = selection.place?.part ?? model.parts.length - 1;
    const from = selection.place?.node ?? (direction > 0 ? model.zoomed : 0);
    const node = nextMatch(model.parts[part].tree, model.marks, from, direction);
    if (node) this.#bringIn(part, node);
  }

  /** Moves the window so that a frame can be seen.
   * @param {number} part
   * @param {number} node */
  #bringIn(part, node) {
    const { model, selection, stage } = this.app;
    const { tree } = model.parts[part];
    const { from, to } = model.window;
    const least = ((to - from) / Math.max(stage.width, 1)) * 4;
    const start = startOf(tree, node);
    const inSight = start + tree.width[node] > from && start < to;
    if (!model.chart && (!inSight || tree.width[node] < least)) {
      const middle = start + tree.width[node] / 2;
      const width = Math.min(Math.max(tree.width[node] * 6, 1e-9), Math.max(to - from, tree.width[node] * 1.5));
      model.move(middle - width / 2, middle + width / 2);
    }
    selection.select({ part, node });
  }
}
