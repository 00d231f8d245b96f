// The canvas of frames: scrolling, pointing, touching.

/** @import { App } from "./app.js" */
/** @import { Place, Window } from "./types.js" */

import { byId } from "./dom.js";
import { draw } from "./draw.js";
import { ROW, nodeAt, startOf } from "./layout.js";

/** A finger that moved less has tapped, in pixels; one that stayed longer asks for the menu. */
const STILL = 8;
const LONG_PRESS = 500;
/** The milliseconds that a zoom takes. */
const GLIDE = 150;

export class Stage {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.box = byId("stage");
    this.room = byId("room");
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("frames"));
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { alpha: false }));
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.waiting = false;
    /** The time of the last drawing, in milliseconds. */
    this.took = 0;
    new ResizeObserver(() => this.#resized()).observe(this.box);
    /** @type {{ x: number, y: number } | null} where the mouse is */
    this.mouse = null;
    this.box.addEventListener("scroll", () => {
      this.#point();
      this.redraw();
    });
    this.#listen();
  }

  /** Fits the canvas to the window, and the room to the scene.
   * @param {boolean} [again] the scene is another one: show its beginning */
  fit(again) {
    const { model } = this.app;
    const { clientWidth: width, clientHeight: height } = this.box;
    const ratio = window.devicePixelRatio || 1;
    const { scrollTop } = this.box;
    // In a box that grew the browser has moved what stands at its end already.
    const isAtEnd = scrollTop + height >= this.room.offsetHeight - 1;
    const end = scrollTop + this.height;
    const isOther = Boolean(this.height) && height !== this.height;
    model.minHeight = height;
    if (model.chart && width) this.#align(width);
    model.place();
    this.room.style.height = `${model.scene.height}px`;
    // Out of sight it has no size; what it was is still good for a picture.
    if (!width) return;
    if (width !== this.width || height !== this.height || ratio !== this.ratio) {
      Object.assign(this, { width, height, ratio });
      this.canvas.style.height = `${height}px`;
      this.canvas.width = Math.max(Math.round(width * ratio), 1);
      this.canvas.height = Math.max(Math.round(height * ratio), 1);
    }
    if (again) this.#showBeginning();
    // What stands on the lower edge stays there, the root of a flame graph above all.
    else if (isOther && model.parts.at(-1)?.up) this.box.scrollTop = isAtEnd ? this.room.offsetHeight : end - height;
    this.redraw();
  }

  /** Puts the time of a chart below that of the time line.
   * @param {number} width */
  #align(width) {
    const { model } = this.app;
    const { left, right } = byId("time-rows").getBoundingClientRect();
    const start = this.box.getBoundingClientRect().left;
    model.gutter = { left: left - start, right: Math.max(start + width - right, 0) };
    const columns = Math.max(Math.round(right - left), 1);
    if (columns === model.columns) return;
    model.columns = columns;
    if (columns !== Math.round((model.main.width[0] || 1) / (model.chart?.column || 1))) setTimeout(() => this.app.again());
  }

  #resized() {
    this.fit();
    // A canvas of another size is black until something is drawn, and this is called just before the screen is.
    this.drawNow();
  }

  #showBeginning() {
    const { scene, zoomed, parts } = this.app.model;
    const part = parts.at(-1);
    if (!part) return;
    if (this.app.model.chart) {
      this.box.scrollTop = 0;
      return;
    }
    if (parts.length > 1) {
      this.box.scrollTop = scene.base - this.height / 2;
      return;
    }
    const row = zoomed > 0 ? part.tree.depth[zoomed] : 0;
    const top = scene.top(part, row);
    // Some of what is around the zoomed frame stays in sight.
    this.box.scrollTop = part.up ? top + ROW * 4 - this.height : top - ROW * 3;
  }

  /** Moves from a window to the one that is to be seen, unless somebody asked for less motion.
   * @param {Window} old */
  glide(old) {
    const { model } = this.app;
    const { main, window: { from, to } } = model;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const began = performance.now();
    /** @type {Window | null} */
    let shown = null;
    const step = () => {
      // Something else has moved it.
      if (model.main !== main || model.moved !== shown) return;
      const part = Math.min((performance.now() - began) / GLIDE, 1);
      const eased = 1 - (1 - part) ** 3;
      shown = part < 1 ? { from: old.from + (from - old.from) * eased, to: old.to + (to - old.to) * eased } : null;
      model.moved = shown;
      this.redraw();
      if (shown) requestAnimationFrame(step);
    };
    step();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      if (this.waiting) this.drawNow();
    });
  }

  drawNow() {
    this.waiting = false;
    if (this.box.hidden || !this.width) return;
    const began = performance.now();
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const { context, width, height } = this;
    const { hover, place: selected } = this.app.selection;
    draw(this.app.model, { context, width, height, scroll: this.box.scrollTop, hover, selected });
    this.took = performance.now() - began;
    this.app.timeline.redraw();
  }

  /** The frame under a point of the screen.
   * @param {number} clientX
   * @param {number} clientY
   * @returns {Place | null} */
  placeAt(clientX, clientY) {
    const { model } = this.app;
    const edge = this.canvas.getBoundingClientRect();
    const found = model.scene.rowAt(clientY - edge.top + this.box.scrollTop);
    if (!found) return null;
    const { tree } = model.parts[found.part];
    const { from, to } = model.window;
    const node = nodeAt(tree, found.row, from + this.#shareAt(clientX) * (to - from));
    // In the order of time, what is called all below the root is a gap.
    return node < 0 || (node > 0 && tree.name[node] === model.names.all) ? null : { part: found.part, node };
  }

  /** The share of the window that is left of a point of the screen.
   * @param {number} clientX */
  #shareAt(clientX) {
    const { left, right } = this.app.model.scene;
    return (clientX - this.canvas.getBoundingClientRect().left - left) / Math.max(this.width - left - right, 1);
  }

  /** Brings a frame into sight.
   * @param {Place} place */
  reveal({ part, node }) {
    const { scene, parts } = this.app.model;
    const top = scene.top(parts[part], parts[part].tree.depth[node]);
    if (top < this.box.scrollTop) this.box.scrollTop = top - ROW;
    else if (top + ROW > this.box.scrollTop + this.height) this.box.scrollTop = top + 2 * ROW - this.height;
  }

  #listen() {
    const { canvas, app } = this;
    /** @type {Map<number, { x: number, y: number }>} */
    const fingers = new Map();
    let moved = 0;
    let held = 0;
    /** @type {Place | null} the frame whose menu opens when the finger or the button is lifted */
    let asked = null;
    /** @type {{ x: number, y: number } | null} */
    let down = null;

    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
      down = { x: event.clientX, y: event.clientY };
      clearTimeout(held);
      if (event.pointerType !== "mouse" && fingers.size === 1) {
        const { clientX, clientY } = event;
        held = window.setTimeout(() => {
          if (moved >= STILL || fingers.size !== 1) return;
          down = null;
          asked = this.placeAt(clientX, clientY);
          app.selection.select(asked, false);
        }, LONG_PRESS);
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) {
        if (event.pointerType !== "mouse") return;
        this.mouse = { x: event.clientX, y: event.clientY };
        this.#point();
        return;
      }
      const now = { x: event.clientX, y: event.clientY };
      if (down) moved = Math.max(moved, Math.hypot(now.x - down.x, now.y - down.y));
      if (moved >= STILL || fingers.size > 1) this.#drag(fingers, event.pointerId, before, now);
      fingers.set(event.pointerId, now);
    });
    const lift = (/** @type {PointerEvent} */ event) => {
      clearTimeout(held);
      const alone = fingers.size === 1;
      if (!fingers.delete(event.pointerId)) return;
      const chosen = asked;
      asked = null;
      if (chosen && event.type === "pointerup") app.selection.openMenu(chosen, event.clientX, event.clientY);
      if (event.type !== "pointerup" || !alone || moved >= STILL || !down || event.button !== 0) return;
      const place = this.placeAt(event.clientX, event.clientY);
      if (!place) app.selection.select(null);
      else if (event.pointerType !== "mouse") this.#tap(place);
      else app.navigation.zoomTo(place);
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    // The click that follows a touch would choose what the menu has below the finger.
    canvas.addEventListener("touchend", (event) => {
      if (document.querySelector("#menu:popover-open")) event.preventDefault();
    });
    canvas.addEventListener("pointerleave", () => {
      this.mouse = null;
      app.selection.hover = null;
      app.selection.showTip(null);
      this.redraw();
    });
    canvas.addEventListener("dblclick", (event) => {
      if (!this.placeAt(event.clientX, event.clientY)) app.navigation.zoomOut();
    });
    canvas.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const place = this.placeAt(event.clientX, event.clientY);
      // Lifting the button would close the menu: it opens then.
      if (fingers.size) asked = place;
      else if (place) app.selection.openMenu(place, event.clientX, event.clientY);
    });
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /** A finger cannot hover: the first tap chooses, the next one zooms.
   * @param {Place} place */
  #tap(place) {
    const { navigation, selection } = this.app;
    const selected = selection.place;
    const again = selected && selected.node === place.node && selected.part === place.part;
    if (again) navigation.zoomTo(place);
    else selection.select(place);
  }

  /** Tells of the frame under the mouse, which may have moved without it. */
  #point() {
    if (!this.mouse) return;
    const { x, y } = this.mouse;
    const { selection } = this.app;
    const place = this.placeAt(x, y);
    const same = place?.node === selection.hover?.node && place?.part === selection.hover?.part;
    selection.hover = place;
    this.canvas.style.cursor = place ? "pointer" : "default";
    selection.showTip(place, x, y);
    if (!same) this.redraw();
  }

  /** One finger moves the picture, two stretch it.
   * @param {Map<number, { x: number, y: number }>} fingers
   * @param {number} id
   * @param {{ x: number, y: number }} before
   * @param {{ x: number, y: number }} now */
  #drag(fingers, id, before, now) {
    this.app.selection.showTip(null);
    const other = [...fingers].find(([key]) => key !== id)?.[1];
    if (!other) {
      this.box.scrollTop -= now.y - before.y;
      this.#pan(before.x - now.x);
      return;
    }
    const [old, wide] = [Math.abs(before.x - other.x), Math.abs(now.x - other.x)];
    if (old > 10 && wide > 10) this.#stretch(old / wide, (now.x + other.x) / 2);
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.#stretch(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.008)), event.clientX);
      return;
    }
    const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      this.#pan(across);
    }
  }

  /** @param {number} pixels */
  #pan(pixels) {
    const { model } = this.app;
    const { from, to } = model.window;
    const by = (pixels / this.width) * (to - from);
    if (by !== 0) this.#move(from + by, to + by);
  }

  /** Stretches around the chosen frame, or the middle.
   * @param {number} factor */
  stretch(factor) {
    const { model } = this.app;
    const edge = this.canvas.getBoundingClientRect();
    let middle = edge.left + this.width / 2;
    const selected = this.app.selection.place;
    if (selected && model.parts.length) {
      const { tree } = model.parts[selected.part];
      const { from, to } = model.window;
      const at = startOf(tree, selected.node) + tree.width[selected.node] / 2;
      if (at > from && at < to) middle = edge.left + ((at - from) / (to - from)) * this.width;
    }
    this.#stretch(factor, middle);
  }

  /** @param {number} factor
   * @param {number} clientX the point that stays */
  #stretch(factor, clientX) {
    const { from, to } = this.app.model.window;
    const part = this.#shareAt(clientX);
    const middle = from + part * (to - from);
    const width = (to - from) * factor;
    this.#move(middle - part * width, middle + (1 - part) * width);
  }

  /** @param {number} from
   * @param {number} to */
  #move(from, to) {
    const { model } = this.app;
    if (!model.parts.length) return;
    if (model.chart && model.times) {
      const { times, chart } = model;
      this.app.timeline.zoom([times.seconds(chart.start + from), times.seconds(chart.start + to)]);
      return;
    }
    model.move(from, to);
    this.#point();
    this.redraw();
  }
}
