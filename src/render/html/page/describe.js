// A frame in words: the line at the bottom, the tooltip.

/** @import { Model } from "./model.js" */
/** @import { Tree } from "./types.js" */

import { changeText } from "./changes.js";
import { KIND_NAMES, kindOf, moduleOf } from "./colour.js";
import { startOf } from "./layout.js";
import { percent, signed } from "./numbers.js";
import { totalsByName } from "./table.js";
import { digitsFor, durationText } from "./timeline_data.js";

/** The weight of a frame, in one line.
 * @param {Model} model
 * @param {Tree} tree
 * @param {number} node */
export function weightText({ about, changes, numbers, tree: whole }, tree, node) {
  const { before, after } = changes.sides(tree, node, false);
  if (!about.differential) return `${numbers.withSamples(after)}, ${percent(after, whole.total[0])}`;
  return `${numbers.amount(before)} → ${numbers.amount(after)}, ${changeText(before, after)}`;
}

/** The facts of a frame, as pairs of a word and a text.
 * @param {Model} model
 * @param {Tree} tree
 * @param {number} node
 * @returns {[string, string][]} */
export function factsOf(model, tree, node) {
  return [...codeOf(model, tree.name[node]), ...timeOf(model, tree, node), ...(model.about.differential ? changesOf(model, tree, node) : weightsOf(model, tree, node))];
}

/** When a frame of a chart ran, and for how long.
 * @param {Model} model
 * @param {Tree} tree
 * @param {number} node
 * @returns {[string, string][]} */
function timeOf({ chart, times }, tree, node) {
  if (!chart?.lanes.some((lane) => lane.tree === tree) || !times) return [];
  const from = times.seconds(chart.start + startOf(tree, node));
  const length = times.seconds(tree.width[node]);
  return [["Time", `${from.toFixed(digitsFor(length))} s, for ${durationText(length)}`]];
}

/** @param {Model} model
 * @param {number} id
 * @returns {[string, string][]} */
function codeOf({ names }, id) {
  if (id === names.all) return [];
  const kind = kindOf(names, id);
  const module = names.places ? moduleOf(names, id) : "";
  /** @type {[string, string][]} */
  const facts = kind === "unknown" ? [] : [["Kind", KIND_NAMES[kind]]];
  if (module) facts.push(["Module", names.harmless(module)]);
  return facts;
}

/** The weight of all calls of a function, where there are others than this one.
 * @param {Model} model
 * @param {Tree} tree
 * @param {number} node */
function allCalls({ memo, names, tree: whole }, tree, node) {
  const everywhere = memo.get("totals", [whole, names.texts.length], () => totalsByName(whole, names.texts.length));
  const id = tree.name[node];
  if (id === names.all) return null;
  const [before, after] = [everywhere.before[id], everywhere.after[id]];
  return after + before > tree.total[node] + (tree.totalBefore ? tree.totalBefore[node] : 0) ? { before, after } : null;
}

/** @param {Model} model
 * @param {Tree} tree
 * @param {number} node
 * @returns {[string, string][]} */
function changesOf(model, tree, node) {
  const { about, changes, numbers, state, tree: whole } = model;
  const all = allCalls(model, tree, node);
  const total = changes.sides(tree, node, false);
  const own = changes.sides(tree, node, true);
  const points = whole.totalBefore ? 100 * (total.after / (whole.total[0] || 1) - total.before / (whole.totalBefore[0] || 1)) : 0;
  const text = (/** @type {{ before: number, after: number }} */ { before, after }) => `${numbers.amount(before)} → ${numbers.amount(after)}, ${changeText(before, after)}`;
  /** @type {[string, string][]} */
  const facts = [
    ["Total", `${numbers.withSamples(total.before)} → ${numbers.withSamples(total.after)}`],
    ["Change", `${changeText(total.before, total.after)}, ${signed(points, 2)} pp`],
    ["Self", text(own)],
  ];
  if (all) facts.push(["All calls of it", text(all)]);
  if (node > 0 && about.alpha !== null) {
    const [what, where, p] = [state.ownChange ? "the self change" : "the change", all ? "of all its calls, " : "", changes.pText(tree, node)];
    facts.push(["Note", `${where}${what} is ${changes.isSignificant(tree, node) ? "" : "not "}significant${p && `, ${p}`}`]);
  }
  return facts;
}

/** @param {Model} model
 * @param {Tree} tree
 * @param {number} node
 * @returns {[string, string][]} */
function weightsOf(model, tree, node) {
  const { numbers, names, zoomed, main, tree: whole } = model;
  const [total, own] = [tree.total[node], tree.self[node]];
  /** @type {[string, string][]} */
  const facts = [
    ["Total", `${numbers.withSamples(total)}, ${percent(total, whole.total[0])}`],
    ["Self", `${numbers.withSamples(own)}, ${percent(own, whole.total[0])}`],
  ];
  if (zoomed > 0 && tree === main && node >= zoomed && node < tree.end[zoomed]) {
    facts.push([`Of ${names.show(tree.name[zoomed]).slice(0, 40)}`, percent(total, tree.total[zoomed])]);
  }
  const above = tree.parent[node];
  if (above > 0 && above !== zoomed && tree === whole) facts.push(["Of its caller", percent(total, tree.total[above])]);
  const all = allCalls(model, tree, node);
  if (all) facts.push(["All calls of it", `${numbers.withSamples(all.after)}, ${percent(all.after, whole.total[0])}`]);
  return facts;
}
