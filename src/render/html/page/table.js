// The functions of a tree: self weight, total weight, number of stacks.

/** @import { Tree } from "./types.js" */

import { STEP } from "./steps.js";
import { isStack } from "./tree.js";

/**
 * @typedef {object} Row
 * @property {number} id the name
 * @property {number} self
 * @property {number} total
 * @property {number} stacks
 * @property {number} before self before
 * @property {number} totalBefore
 */

/** A row for each name; a stack counts once for it, however often it is in there.
 * @param {Tree} tree
 * @param {number} names their number
 * @returns {import("./steps.js").Steps<Row[]>} */
export function* functions(tree, names) {
  const { n, name, end, self, total, before, totalBefore } = tree;
  /** @type {(Row | undefined)[]} */
  const rows = new Array(names);
  const openUntil = new Uint32Array(names);
  // The number of stacks that end before each node.
  const stacks = new Uint32Array(n + 1);
  for (let i = 0; i < n; i++) {
    if (i % STEP === 0) yield;
    stacks[i + 1] = stacks[i] + (isStack(tree, i) ? 1 : 0);
  }
  for (let i = 1; i < n; i++) {
    if (i % STEP === 0) yield;
    const id = name[i];
    const row = (rows[id] ??= { id, self: 0, total: 0, stacks: 0, before: 0, totalBefore: 0 });
    row.self += self[i];
    if (before) row.before += before[i];
    if (i < openUntil[id]) continue;
    openUntil[id] = end[i];
    row.total += total[i];
    if (totalBefore) row.totalBefore += totalBefore[i];
    row.stacks += stacks[end[i]] - stacks[i];
  }
  return rows.filter((row) => row !== undefined);
}

/** The total weight of each function, by name, after and before.
 * @param {Tree} tree
 * @param {number} names their number */
export function totalsByName({ n, name, end, total, totalBefore }, names) {
  const after = new Float64Array(names);
  const before = new Float64Array(names);
  const openUntil = new Uint32Array(names);
  for (let i = 1; i < n; i++) {
    const id = name[i];
    if (i < openUntil[id]) continue;
    openUntil[id] = end[i];
    after[id] += total[i];
    if (totalBefore) before[id] += totalBefore[i];
  }
  return { after, before };
}

/** @typedef {{ name: string, self: number, total: number }} Heat */

/** The order of the hottest, that of `src/tally`: by self weight, then by total, then by name.
 * @param {Heat} a
 * @param {Heat} b */
export function hotter(a, b) {
  return b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

/** The columns to sort by. */
export const COLUMNS = /** @type {const} */ (["name", "self", "total", "stacks", "change", "selfChange"]);

/** @param {Row[]} rows
 * @param {string} column of COLUMNS, with "-" before it from the smallest
 * @param {(row: Row, own: boolean) => number} change
 * @param {(id: number) => string} show */
export function sortRows(rows, column, change, show) {
  const ascending = column.startsWith("-");
  const key = ascending ? column.slice(1) : column;
  /** @type {(row: Row) => number} */
  const value = (row) => {
    if (key === "self") return row.self;
    if (key === "stacks") return row.stacks;
    if (key === "change") return Math.abs(change(row, false));
    if (key === "selfChange") return Math.abs(change(row, true));
    return row.total;
  };
  const byName = (/** @type {Row} */ a, /** @type {Row} */ b) => (show(a.id) < show(b.id) ? -1 : show(a.id) > show(b.id) ? 1 : a.id - b.id);
  // Equals of self weight by total, and of total by self weight.
  const other = (/** @type {Row} */ row) => (key === "self" ? row.total : row.self);
  const keyed = rows.map((row) => ({ row, value: key === "name" ? 0 : value(row) }));
  keyed.sort((a, b) => (key === "name" ? 0 : b.value - a.value || other(b.row) - other(a.row)) || byName(a.row, b.row));
  if (ascending) keyed.reverse();
  return keyed.map(({ row }) => row);
}
