// The strip above the frames: the whole profile from afar, the matches, and the window in sight.

/** @import { App } from "./app.js" */

import { byId } from "./dom.js";
import { eachVisible } from "./layout.js";
import { rowsOf } from "./tree.js";

const HEIGHT = 12;
/** Deeper rows cannot be seen in so little room. */
const MOST_ROWS = 200;

export class Minimap {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("map"));
    this.picture = document.createElement("canvas");
    /** @type {unknown[]} the inputs of the picture */
    this.drawn = [];
    let from = NaN;
    const at = (/** @type {PointerEvent} */ event) => {
      const edge = this.canvas.getBoundingClientRect();
      return ((event.clientX - edge.left) / edge.width) * this.app.model.main.width[0];
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      from = at(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!Number.isNaN(from) && at(event) !== from) this.#choose(from, at(event));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const { from: left, to: right } = this.app.model.window;
      // A click moves the window there.
      if (at(event) === from) this.#choose(from - (right - left) / 2, from + (right - left) / 2);
      from = NaN;
    });
  }

  /** @param {number} a
   * @param {number} b */
  #choose(a, b) {
    const { model, stage } = this.app;
    model.move(Math.min(a, b), Math.max(a, b));
    stage.redraw();
  }

  fit() {
    this.drawn = [];
    this.redraw();
  }

  redraw() {
    const { model } = this.app;
    this.canvas.hidden = model.parts.length === 0 || model.chart !== null;
    if (this.canvas.hidden) return;
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const { main, marks, theme } = model;
    const inputs = [main, main.width, marks, theme.back, width, ratio];
    if (inputs.some((input, n) => input !== this.drawn[n])) {
      this.drawn = inputs;
      this.#picture(width, ratio);
    }
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    this.canvas.width = this.picture.width;
    this.canvas.height = this.picture.height;
    context.drawImage(this.picture, 0, 0);
    context.scale(ratio, ratio);
    const { from, to } = model.window;
    const whole = main.width[0] || 1;
    const [left, right] = [(from / whole) * width, (to / whole) * width];
    if (right - left > width - 0.5) return;
    context.globalAlpha = theme.dark ? 0.62 : 0.55;
    context.fillStyle = theme.back;
    context.fillRect(0, 0, left, HEIGHT);
    context.fillRect(right, 0, width - right, HEIGHT);
    context.globalAlpha = 1;
    context.fillStyle = theme.ink;
    context.fillRect(Math.min(left, width - 2), 0, Math.max(right - left, 2), 2);
  }

  /** The depth of the whole at each position, and ticks where something was found.
   * @param {number} width
   * @param {number} ratio */
  #picture(width, ratio) {
    const { main, marks, theme, about } = this.app.model;
    this.picture.width = Math.max(Math.round(width * ratio), 1);
    this.picture.height = HEIGHT * ratio;
    const context = /** @type {CanvasRenderingContext2D} */ (this.picture.getContext("2d"));
    context.scale(ratio, ratio);
    const deep = new Float64Array(width + 1);
    const found = new Uint8Array(width + 1);
    let most = 1;
    const note = (/** @type {number} */ x, /** @type {number} */ w, /** @type {number} */ row) => {
      const last = Math.min(Math.ceil(x + w), width);
      for (let k = Math.max(Math.floor(x), 0); k < last; k++) deep[k] = Math.max(deep[k], row);
      if (row > most) most = row;
    };
    const all = { from: 0, to: main.width[0] || 1 };
    const one = (/** @type {number} */ _, /** @type {number} */ x, /** @type {number} */ w, /** @type {number} */ row) => note(x, w, row);
    eachVisible(main, all, width, 0, MOST_ROWS, one, one);
    if (marks) this.#findTicks(found, width);
    context.fillStyle = theme.run;
    for (let x = 0; x < width; x++) {
      // The root keeps what is shallow in sight beside one deep recursion.
      const height = (HEIGHT - 2) * Math.sqrt(deep[x] / most);
      context.fillRect(x, HEIGHT - height, 1, height);
    }
    context.fillStyle = about.found;
    for (let x = 0; x < width; x++) if (found[x]) context.fillRect(x, HEIGHT - 5, 1, 5);
  }

  /** @param {Uint8Array} found
   * @param {number} width */
  #findTicks(found, width) {
    const { main, marks } = this.app.model;
    if (!marks) return;
    const { n, depth, name, own, width: wide, end } = main;
    const start = new Float64Array(rowsOf(main) + 1);
    const scale = width / (wide[0] || 1);
    for (let i = 0; i < n; ) {
      const row = depth[i];
      const x = start[row];
      start[row] = x + wide[i];
      start[row + 1] = x + own[i];
      if (i > 0 && marks[name[i]] && wide[i] > 0) {
        const last = Math.min(Math.ceil((x + wide[i]) * scale), width);
        found.fill(1, Math.floor(x * scale), Math.max(last, Math.floor(x * scale) + 1));
        i = end[i];
      } else {
        i++;
      }
    }
  }
}
