// Puts frames on a canvas.

/** @import { Model } from "./model.js" */
/** @import { Place, Part } from "./types.js" */

import { inkOn, partsOf, pixelOf } from "./colour.js";
import { ROW, eachVisible } from "./layout.js";
import { NarrowRow } from "./narrow.js";
import { shorterForms } from "./short.js";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const PAD = 5;
/** Narrower frames have no room for a word. */
const LEAST_LABELLED = 32;
/** More letters than any screen has room for. */
const MOST_LETTERS = 600;

/** @type {Map<string, number>} */
const widths = new Map();

/** @param {CanvasRenderingContext2D} context
 * @param {string} text */
function measured(context, text) {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 50000) widths.clear();
    widths.set(text, (width = context.measureText(text).width));
  }
  return width;
}

/** The sign and the name of a frame, in a shorter form or cut where there is no room for all of it.
 * @param {CanvasRenderingContext2D} context
 * @param {string} sign
 * @param {string} name
 * @param {number} room
 * @param {boolean} cutStart */
function labelled(context, sign, name, room, cutStart) {
  if (cutStart || name.length <= MOST_LETTERS && measured(context, sign + name) <= room) return fitted(context, sign + name, room, cutStart);
  const forms = shorterForms(name);
  const fits = forms.find((form) => measured(context, sign + form) <= room);
  return fits === undefined ? fitted(context, sign + (forms.at(-1) ?? name), room, false) : sign + fits;
}

/** The part of a text that fits, or nothing if that is only a letter or two.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 * @param {boolean} cutStart */
function fitted(context, text, room, cutStart) {
  if (text.length > MOST_LETTERS) text = cutStart ? text.slice(-MOST_LETTERS) : text.slice(0, MOST_LETTERS);
  const width = measured(context, text);
  if (width <= room) return text;
  // Measuring every cut anew would take longer than all the rest: letters are about as wide as others.
  const count = Math.floor((text.length * (room - 9) * 0.97) / width);
  // A letter or two say nothing.
  if (count < 3) return "";
  const part = cutStart ? text.slice(-count) : text.slice(0, count);
  return cutStart ? "…" + part.replace(/^[\udc00-\udfff]/, "") : part.replace(/[\ud800-\udbff]$/, "") + "…";
}

/** The canvas and the part of the scene that is drawn on it.
 * @typedef {object} Sheet
 * @property {CanvasRenderingContext2D} context
 * @property {number} width
 * @property {number} height
 * @property {number} scroll the scene's first pixel in sight
 * @property {Place | null} hover
 * @property {Place | null} selected
 */

/** @param {Model} model
 * @param {Sheet} sheet */
export function draw(model, { context, width, height, scroll, hover, selected }) {
  const { names, scene, theme } = model;
  const surface = new Surface(context, width, height, theme.back);
  context.font = FONT;
  context.textBaseline = "middle";
  context.direction = "ltr";
  /** @type {[Place, number, number, number][]} */
  const outlined = [];
  /** @type {[string, number, number, number, string][]} */
  const words = [];
  /** @type {{ name: string, at: number }[]} the last name of each row that was cut, and its words */
  const cut = [];
  // The same function lights up wherever it is.
  const alike = hover ? scene.parts[hover.part]?.tree.name[hover.node] : -1;
  const { left: edge } = scene;
  const wide = Math.max(width - edge - scene.right, 1);
  scene.parts.forEach((part, index) => {
    const { first, last } = scene.rowsBetween(part, scroll, scroll + height);
    if (last < first) return;
    const hovered = hover && hover.part === index ? hover.node : -1;
    const chosen = selected && selected.part === index ? selected.node : -1;
    const box = (/** @type {number} */ node, /** @type {number} */ x, /** @type {number} */ w, /** @type {number} */ row) => {
      // A gap in the order of time.
      if (node > 0 && part.tree.name[node] === names.all) return;
      const y = scene.top(part, row) - scroll;
      const left = Math.max(x, 0) + edge;
      const right = Math.min(x + w, wide) + edge;
      const colour = model.paints.of(part, node);
      const dim = model.paints.opacity(part, node);
      const pixel = dim < 1 ? surface.faded(colour.pixel, dim) : colour.pixel;
      surface.box(left, right - (w > 3 ? 1 : 0), y, pixel);
      if (right - left > LEAST_LABELLED) {
        const name = names.show(part.tree.name[node]);
        const text = labelled(context, signOf(model, part, node), name, right - left - 2 * PAD, model.about.cutStart);
        if (text) words.push([text, left + PAD, y + ROW / 2, right - left - PAD, dim < 1 ? inkOn(partsOf(pixel)) : colour.ink]);
        if (text.endsWith("…")) {
          // Names that are cut before they differ say nothing: their ends do.
          const before = cut[row];
          const begins = text.slice(0, -1);
          if (before && begins && before.name !== name && before.name.startsWith(begins)) {
            for (const [word, full] of /** @type {[[string, number, number, number, string], string][]} */ ([[words[before.at], before.name], [words[words.length - 1], name]])) {
              word[0] = fitted(context, full, word[3] - PAD, true);
            }
          }
          cut[row] = { name, at: words.length - 1 };
        }
      }
      if (right - left > 6 && model.changes.isNew(part, node)) outlined.push([{ part: -1, node }, left, y, right - left]);
      if (right - left > 6 && model.changes.isGone(part, node)) outlined.push([{ part: -2, node }, left, y, right - left]);
      if (node === hovered && hover) outlined.push([hover, left, y, right - left]);
      else if (part.tree.name[node] === alike && right - left > 2) outlined.push([{ part: 0, node }, left, y, right - left]);
      if (node === chosen && selected) outlined.push([selected, left, y, right - left]);
    };
    /** @type {NarrowRow[]} */
    const narrow = [];
    const { ratio } = surface;
    eachVisible(part.tree, model.window, wide, first, last, box, (node, x, w, row) => {
      const { pixel } = model.paints.of(part, node);
      const dim = model.paints.opacity(part, node);
      (narrow[row] ??= new NarrowRow(surface.width)).add((x + edge) * ratio, w * ratio, dim < 1 ? surface.faded(pixel, dim) : pixel);
    });
    for (let row = first; row <= last; row++) {
      const y = scene.top(part, row) - scroll;
      if (narrow[row]) surface.fill(y, narrow[row]);
      surface.spread(y);
    }
  });
  surface.show();
  for (const [text, x, y, room, ink] of words) {
    context.fillStyle = ink;
    context.fillText(text, x, y, room);
  }
  for (const [place, x, y, w] of outlined) {
    const isSelected = place === selected;
    context.strokeStyle = theme.ink;
    context.lineWidth = isSelected ? 2 : 1;
    context.setLineDash(place.part === -1 ? [3, 2] : place.part === -2 ? [1, 2] : []);
    const inset = context.lineWidth / 2;
    context.strokeRect(x + inset, y + inset, Math.max(w - 1 - 2 * inset, 0.5), ROW - 1 - 2 * inset);
  }
  context.setLineDash([]);
}

/** The pixels of the canvas. Tens of thousands of frames are in sight at times: drawn one by one
 * they take longer than writing one line of pixels for each row and copying it downwards. */
class Surface {
  /** @type {ImageData | null} the image of the last drawing, to be used again */
  static image = null;

  /** @param {CanvasRenderingContext2D} context
   * @param {number} width
   * @param {number} height
   * @param {string} back */
  constructor(context, width, height, back) {
    this.context = context;
    this.ratio = context.getTransform().a;
    this.width = Math.max(Math.round(width * this.ratio), 1);
    this.height = Math.max(Math.round(height * this.ratio), 1);
    if (Surface.image?.width !== this.width || Surface.image.height !== this.height) {
      Surface.image = context.createImageData(this.width, this.height);
    }
    this.image = Surface.image;
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.back = pixelOf(back);
    this.pixels.fill(this.back);
  }

  /** The lines of pixels of a row that begins at a height.
   * @param {number} y */
  #lines(y) {
    return { first: Math.max(Math.round(y * this.ratio), 0), end: Math.min(Math.round((y + ROW - 1) * this.ratio), this.height) };
  }

  /** @param {number} left
   * @param {number} right
   * @param {number} y
   * @param {number} pixel */
  box(left, right, y, pixel) {
    const { first, end } = this.#lines(y);
    if (end <= first) return;
    const from = Math.max(Math.round(left * this.ratio), 0);
    const to = Math.min(Math.max(Math.round(right * this.ratio), from + 1), this.width);
    const line = first * this.width;
    for (let x = from; x < to; x++) this.pixels[line + x] = pixel;
  }

  /** Puts narrow frames where nothing else of their row is.
   * @param {number} y
   * @param {NarrowRow} narrow */
  fill(y, narrow) {
    const { first, end } = this.#lines(y);
    if (end <= first) return;
    const line = first * this.width;
    for (let x = 0; x < this.width; x++) if (this.pixels[line + x] === this.back) this.pixels[line + x] = narrow.pixel(x, this.back);
  }

  /** Copies the first line of a row to all others.
   * @param {number} y */
  spread(y) {
    const { first, end } = this.#lines(y);
    const from = first * this.width;
    for (let line = first + 1; line < end; line++) this.pixels.copyWithin(line * this.width, from, from + this.width);
  }

  /** @param {number} pixel
   * @param {number} alpha */
  faded(pixel, alpha) {
    let mixed = 255 << 24;
    for (const shift of [0, 8, 16]) {
      const part = ((pixel >>> shift) & 255) * alpha + ((this.back >>> shift) & 255) * (1 - alpha);
      mixed |= Math.round(part) << shift;
    }
    return mixed >>> 0;
  }

  show() {
    this.context.putImageData(this.image, 0, 0);
  }
}

/** The word before the name of a frame in a comparison.
 * @param {Model} model
 * @param {Part} part
 * @param {number} node */
function signOf({ about, changes }, part, node) {
  if (!about.differential) return "";
  if (changes.isNew(part, node)) return "+ new ";
  if (changes.isGone(part, node)) return "− gone ";
  const change = changes.of(part.tree, node);
  return change > 0 ? "+ " : change < 0 ? "− " : "";
}
