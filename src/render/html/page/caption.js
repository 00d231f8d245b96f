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
/** The most letters of a line. */
const LETTERS = 240;

/** The lines above a picture, the title first, and its colours with what they stand for.
 * @param {Model} model
 * @param {number} left the number of rows that are not drawn
 * @returns {{ lines: string[], colours: [string, string][] }} */
export function captionOf(model, left) {
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
  const colours = legendOf(model, COLOURS).map((entry) => /** @type {[string, string]} */ ([
    /** @type {HTMLElement | null} */ (entry.querySelector("i"))?.style.backgroundColor ?? "", entry.textContent ?? ""]));
  return { lines: lines.filter(Boolean).map((line) => names.harmless(line).slice(0, LETTERS)), colours: colours.filter(([colour]) => colour) };
}

/** The height of a caption, in pixels.
 * @param {{ lines: string[], colours: [string, string][] }} caption */
export const heightOf = ({ lines, colours }) => (lines.length + (colours.length ? 1 : 0)) * LINE + 10;
