// The positions of frames: numbers only. The cost of drawing follows the frames in sight.

/** @import { Tree, Part, Window } from "./types.js" */

import { pathTo, rowsOf } from "./tree.js";

/** The height of a row, in pixels: fingers need more of it. */
export const ROW = matchMedia("(pointer: coarse)").matches ? 40 : 19;
/** A frame narrower than this many pixels is drawn together with those beside it. */
const LEAST = 0.5;

/** Tells of every frame in sight: of those wide enough to be told apart as boxes, of all others as narrow ones, without what they call.
 * @param {Tree} tree
 * @param {Window} window
 * @param {number} pixels the width of the window
 * @param {number} firstRow
 * @param {number} lastRow
 * @param {(node: number, x: number, width: number, row: number) => void} box
 * @param {(node: number, x: number, width: number, row: number) => void} narrow */
export function eachVisible({ n, depth, end, parent, own, width }, { from, to }, pixels, firstRow, lastRow, box, narrow) {
  const scale = pixels / (to - from);
  const least = LEAST / scale;
  const start = new Float64Array(lastRow + 3);
  for (let i = 0; i < n; ) {
    const row = depth[i];
    const w = width[i];
    const x = start[row];
    start[row] = x + w;
    if (x >= to && i > 0) {
      i = end[parent[i]];
      continue;
    }
    if (x + w <= from || w === 0) {
      i = end[i];
      continue;
    }
    if (w < least) {
      if (row >= firstRow) narrow(i, (x - from) * scale, w * scale, row);
      i = end[i];
      continue;
    }
    if (row >= firstRow) box(i, (x - from) * scale, w * scale, row);
    start[row + 1] = x + own[i];
    i = row >= lastRow ? end[i] : i + 1;
  }
}

/** The position at which a node begins, in weights.
 * @param {Tree} tree
 * @param {number} node */
export function startOf(tree, node) {
  let start = 0;
  let above = 0;
  for (const next of pathTo(tree, node)) {
    start += tree.own[above];
    for (let k = above + 1; k < next; k = tree.end[k]) start += tree.width[k];
    above = next;
  }
  return start;
}

/** The node of a row at a weight from the left; -1 where there is none.
 * @param {Tree} tree
 * @param {number} row
 * @param {number} weight */
export function nodeAt(tree, row, weight) {
  let node = 0;
  let x = 0;
  if (weight < 0 || weight >= tree.width[0]) return -1;
  for (let depth = 0; depth < row; depth++) {
    x += tree.own[node];
    let child = node + 1;
    while (child < tree.end[node] && x + tree.width[child] <= weight) {
      x += tree.width[child];
      child = tree.end[child];
    }
    if (child >= tree.end[node] || x > weight) return -1;
    node = child;
  }
  return node;
}

/** @type {WeakMap<Tree, number>} */
const rowCounts = new WeakMap();

/** @param {Part} part */
function rowsIn({ tree, skip }) {
  let rows = rowCounts.get(tree);
  if (rows === undefined) rowCounts.set(tree, (rows = rowsOf(tree)));
  return Math.max(rows - skip, 0);
}

/** The parts of a scene below each other, in pixels from its top: flames above icicles. */
export class Scene {
  /** @param {Part[]} parts
   * @param {number} rowHeight
   * @param {number} least the least height */
  constructor(parts, rowHeight, least) {
    this.parts = parts;
    this.rowHeight = rowHeight;
    /** The pixels beside the frames on the left and the right. */
    this.left = 0;
    this.right = 0;
    const height = (/** @type {boolean} */ up) =>
      Math.max(0, ...parts.filter((part) => part.up === up).map(rowsIn)) * rowHeight;
    const [above, below] = [height(true), Math.max(height(false), ...parts.map(({ top = 0, rows = 0 }) => top + rows * rowHeight))];
    this.content = above + below;
    this.height = Math.max(this.content, least);
    /** The line between the part that goes up and the part that goes down: no sky is above a shallow graph. */
    this.base = below === 0 ? above : above === 0 ? 0 : above + Math.floor((this.height - above - below) / 2);
  }

  /** @param {Part} part
   * @param {number} row */
  top({ up, skip, top }, row) {
    if (top !== undefined) return top + (row - skip) * this.rowHeight;
    return up ? this.base - (row - skip + 1) * this.rowHeight : this.base + (row - skip) * this.rowHeight;
  }

  /** The rows of a part between two heights; none if the first is after the last.
   * @param {Part} part
   * @param {number} from
   * @param {number} to */
  rowsBetween({ up, skip, top, rows }, from, to) {
    if (top !== undefined && rows !== undefined) {
      const within = (/** @type {number} */ y) => Math.floor((y - top) / this.rowHeight) + skip;
      return { first: Math.max(within(from), skip), last: Math.min(within(to), skip + rows - 1) };
    }
    const [near, far] = up ? [this.base - to, this.base - from] : [from - this.base, to - this.base];
    const row = (/** @type {number} */ y) => Math.floor(y / this.rowHeight) + skip;
    return { first: Math.max(row(near), skip), last: Math.max(row(far), skip - 1) };
  }

  /** @param {number} y
   * @returns {{ part: number, row: number } | null} */
  rowAt(y) {
    const lane = this.parts.findIndex(({ top = 0, rows = 0 }) => y >= top && y < top + rows * this.rowHeight);
    if (lane >= 0) return { part: lane, row: this.parts[lane].skip + Math.floor((y - (this.parts[lane].top ?? 0)) / this.rowHeight) };
    if (this.parts[0]?.rows !== undefined) return null;
    const up = y < this.base;
    const part = this.parts.findIndex((one) => one.up === up);
    if (part < 0) return null;
    const distance = Math.floor((up ? this.base - y - 1e-6 : y - this.base) / this.rowHeight);
    return { part, row: distance + this.parts[part].skip };
  }
}
