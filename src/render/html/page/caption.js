// The words above a saved picture, so that it stands alone: what was measured, what is shown of it, and what colours mean.

/** @import { Model } from "./model.js" */

import { legendOf } from "./colours_panel.js";
import { factsLine } from "./header.js";
import { percent } from "./numbers.js";
import { command } from "./refine.js";
import { rangeText } from "./timeline_data.js";

/** The height of a line, in pixels. */
export const LINE = 18;
/** The most colours that are explained. */
const COLOURS = 8;
/** The most letters of a text. */
const LETTERS = 240;
/** The width of a letter, in pixels. */
const LETTER = 6.8;

/** The lines above a picture, the title first, and its colours with what they stand for and where they are.
 * @param {Model} model
 * @param {number} left the number of rows that are not drawn
 * @param {number} width of the picture
 * @returns {{ lines: string[], colours: { colour: string, label: string, x: number, y: number }[], height: number }} */
export function captionOf(model, left, width) {
  const { about, merged, names, numbers, state, threads, times, tree, whole } = model;
  const lines = [about.title, factsLine(model).join(" · ")];
  const chosen = threads.chosen(state.threads);
  const shown = [
    ...(times ? state.ranges.map(rangeText) : []), ...chosen.map(({ label }) => label),
    ...(state.zoom.length && model.zoomed ? [`zoomed into ${names.show(model.main.name[model.zoomed])}`] : []),
    ...(state.query ? [`search: ${state.query}`] : []),
  ];
  if (tree.total[0] !== whole.total[0]) shown.unshift(`${numbers.amount(tree.total[0])} of ${numbers.amount(whole.total[0])} (${percent(tree.total[0], whole.total[0])})`);
  if (shown.length) lines.push(`Shown: ${shown.join(" · ")}`);
  if (state.chips.length || merged.length) lines.push(command(state.chips, chosen, "", times ? state.ranges : [], state.shares, merged));
  if (left) lines.push(`${left.toLocaleString("en")} deeper rows are not drawn`);
  const most = Math.max(Math.floor((width - 16) / LETTER), 10);
  const pieces = new RegExp(`.{1,${most}}(?: |$)|.{${most}}`, "gu");
  const texts = lines.filter(Boolean).flatMap((line) => names.harmless(line).slice(0, LETTERS).match(pieces) ?? []);
  let [x, y] = [8, 5 + texts.length * LINE];
  const colours = legendOf(model, COLOURS).flatMap((entry) => {
    const colour = /** @type {HTMLElement | null} */ (entry.querySelector("i"))?.style.backgroundColor;
    if (!colour) return [];
    const label = entry.textContent ?? "";
    const wide = 30 + Math.ceil(label.length * LETTER);
    if (x > 8 && x + wide > width) [x, y] = [8, y + LINE];
    x += wide;
    return [{ colour, label, x: x - wide, y }];
  });
  return { lines: texts, colours, height: y + (colours.length ? LINE : 0) + 5 };
}
