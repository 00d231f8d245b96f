// Puts frames on a canvas.

/** @import { Model } from "./model.js" */
/** @import { Place, Part } from "./types.js" */

import { css, isLight } from "./colour.js";
import { eachVisible } from "./layout.js";

export const ROW = 19;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const PAD = 5;
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

/** As much of a text as fits; nothing if that is next to nothing.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 * @param {boolean} cutStart */
function fitted(context, text, room, cutStart) {
  if (text.length > MOST_LETTERS) text = cutStart ? text.slice(-MOST_LETTERS) : text.slice(0, MOST_LETTERS);
  const width = measured(context, text);
  if (width <= room) return text;
  const letters = [...text];
  let count = Math.floor((letters.length * (room - 10)) / width);
  while (count > 0) {
    const part = cutStart ? "…" + letters.slice(-count).join("") : letters.slice(0, count).join("") + "…";
    if (context.measureText(part).width <= room) return part;
    count--;
  }
  return "";
}

/** What is drawn, where and how.
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
  const { scene, theme } = model;
  context.fillStyle = theme.back;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  context.direction = "ltr";
  /** @type {[Place, number, number, number][]} */
  const outlined = [];
  scene.parts.forEach((part, index) => {
    const { first, last } = scene.rowsBetween(part, scroll, scroll + height);
    if (last < first) return;
    const labels = new Labels(model, part);
    const hovered = hover && hover.part === index ? hover.node : -1;
    const chosen = selected && selected.part === index ? selected.node : -1;
    let style = "";
    const setStyle = (/** @type {string} */ next) => {
      if (next !== style) context.fillStyle = style = next;
    };
    let dim = 1;
    const setDim = (/** @type {number} */ alpha) => {
      if (alpha !== dim) context.globalAlpha = dim = alpha;
    };
    const box = (/** @type {number} */ node, /** @type {number} */ x, /** @type {number} */ w, /** @type {number} */ row) => {
      const y = scene.top(part, row) - scroll;
      const left = Math.max(x, 0);
      const right = Math.min(x + w, width);
      const colour = model.colourOf(part, node);
      setDim(model.dimmed(part, node));
      setStyle(colour.fill);
      context.fillRect(left, y, right - left - (w > 3 ? 1 : 0), ROW - 1);
      if (right - left > 22) {
        const text = fitted(context, labels.of(node), right - left - 2 * PAD, model.about.cutStart);
        if (text) {
          setStyle(dim < 1 ? theme.ink : colour.ink);
          setDim(dim < 1 ? 0.75 : 1);
          context.fillText(text, left + PAD, y + ROW / 2);
        }
      }
      if (model.isNew(part, node)) outlined.push([{ part: -1, node }, left, y, right - left]);
      if (node === hovered && hover) outlined.push([hover, left, y, right - left]);
      if (node === chosen && selected) outlined.push([selected, left, y, right - left]);
    };
    const run = (/** @type {number} */ x, /** @type {number} */ w, /** @type {number} */ row) => {
      setDim(1);
      setStyle(theme.run);
      context.fillRect(x, scene.top(part, row) - scroll, Math.max(w, 0.6), ROW - 1);
    };
    eachVisible(part.tree, model.window, width, first, last, box, run);
    setDim(1);
  });
  for (const [place, x, y, w] of outlined) {
    const isSelected = place === selected;
    context.strokeStyle = theme.ink;
    context.lineWidth = isSelected ? 2 : 1;
    context.setLineDash(place.part < 0 ? [3, 2] : []);
    const inset = context.lineWidth / 2;
    context.strokeRect(x + inset, y + inset, Math.max(w - 1 - 2 * inset, 0.5), ROW - 1 - 2 * inset);
  }
  context.setLineDash([]);
}

/** The words on frames: the name; in a comparison with a sign before it. */
class Labels {
  /** @param {Model} model
   * @param {Part} part */
  constructor(model, part) {
    this.model = model;
    this.part = part;
  }

  /** @param {number} node */
  of(node) {
    const { model, part } = this;
    const name = model.names.show(part.tree.name[node]);
    if (!model.about.differential) return name;
    const change = model.change(part.tree, node);
    if (model.isNew(part, node)) return "+ new " + name;
    if (change !== 0 && part.tree.total[node] === 0) return "− gone " + name;
    return (change > 0 ? "+ " : change < 0 ? "− " : "") + name;
  }
}

/** @param {[number, number, number]} colour */
export function paint(colour) {
  return { fill: css(colour), ink: isLight(colour) ? "#15120c" : "#ffffff" };
}
