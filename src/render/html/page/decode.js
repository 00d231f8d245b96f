// Reads the sections of the page: see ../payload.rs for what they hold.

/** @import { About, Tree, Profile } from "./types.js" */

import { Names } from "./names.js";
import { section } from "./sections.js";

/** A column's numbers, one after the other; beyond 2⁵³ they are rounded.
 * @param {Uint8Array} bytes */
function numbers(bytes) {
  let at = 0;
  return () => {
    let byte = bytes[at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let unit = 128;
    do {
      byte = bytes[at++];
      value += (byte & 127) * unit;
      unit *= 128;
    } while (byte > 127);
    return value;
  };
}

/** Room for weights: whole numbers as long as all together fit.
 * @param {number} size
 * @param {number} most */
export function weightColumn(size, most) {
  return most < 2 ** 32 ? new Uint32Array(size) : new Float64Array(size);
}

/** Room for depths: no tree is deeper than it has nodes.
 * @param {number} size */
export function depthColumn(size) {
  return size < 65536 ? new Uint16Array(size) : new Uint32Array(size);
}

/** The whole profile of the page.
 * @returns {Promise<Profile>} */
export async function readProfile() {
  const all = ["about", "rises", "names", "weights", "befores", "lengths", "texts", "hues"];
  const [aboutBytes, rises, ids, weights, befores, lengths, texts, hues] = await Promise.all(all.map(section));
  if (!aboutBytes || !rises || !ids || !weights || !lengths || !texts) throw new Error("a part of this page is missing");
  const about = /** @type {About} */ (JSON.parse(new TextDecoder().decode(aboutBytes)));
  const names = new Names(lengths.length ? readLengths(lengths) : [], texts, hues, about.seed);
  return { about, names, tree: readTree(about, rises, ids, weights, befores, names.all) };
}

/** @param {Uint8Array} bytes */
function readLengths(bytes) {
  const next = numbers(bytes);
  const lengths = [];
  let count = 0;
  for (const byte of bytes) if (byte < 128) count++;
  while (count-- > 0) lengths.push(next());
  return lengths;
}

/** Frames come after those they call; here they go before them, below one root for all.
 * @param {About} about
 * @param {Uint8Array} rises
 * @param {Uint8Array} ids
 * @param {Uint8Array} weights
 * @param {Uint8Array | null} befores
 * @param {number} all the name of the root
 * @returns {Tree} */
function readTree(about, rises, ids, weights, befores, all) {
  const n = about.frames + 1;
  const decimals = about.scales.length ? about.scales[about.scales.length - 1][1] : 0;
  const most = Math.max(Number(about.total), Number(about.before)) * 10 ** decimals;
  const name = new Uint32Array(n);
  const depth = depthColumn(n);
  const parent = new Int32Array(n);
  const end = new Uint32Array(n);
  const self = weightColumn(n, most);
  const total = weightColumn(n, most);
  const before = befores && weightColumn(n, most);
  const totalBefore = befores && weightColumn(n, most);

  const nextRise = numbers(rises);
  const nextId = numbers(ids);
  const nextWeight = numbers(weights);
  const nextBefore = befores && numbers(befores);
  /** @type {number[][]} what came after each name: callers, leaves */
  const guesses = [];
  // Of the open frames, by depth: the first frame below, and the weight of all before it.
  let first = new Float64Array(1024);
  let start = new Float64Array(1024);
  let startBefore = new Float64Array(1024);
  let sum = 0;
  let sumBefore = 0;
  let d = 0;
  let previous = 0;
  let scale = 10 ** decimals;
  let scaleAt = 0;
  let rescale = about.scales.length ? about.scales[0][0] : -1;
  for (let i = 0; i < about.frames; i++) {
    const rise = nextRise();
    if (rise > 0) {
      const to = d - 1 + rise;
      if (to >= first.length) [first, start, startBefore] = [first, start, startBefore].map((old) => grown(old, to));
      for (let k = d; k <= to; k++) {
        first[k] = i;
        start[k] = sum;
        startBefore[k] = sumBefore;
      }
      d = to;
    } else {
      d--;
    }
    const slot = 2 * previous + (rise > 0 ? 1 : 0);
    const guess = nextId();
    if (guess > 0) {
      previous = guesses[slot][guess - 1];
    } else {
      previous = nextId();
      const list = guesses[slot];
      if (!list) guesses[slot] = [previous];
      else if (list.length < 127) list.push(previous);
    }
    if (i === rescale) {
      scale = 10 ** (decimals - about.scales[scaleAt][1]);
      scaleAt++;
      rescale = scaleAt < about.scales.length ? about.scales[scaleAt][0] : -1;
    }
    const at = first[d] + d + 1;
    const own = nextWeight() * scale;
    sum += own;
    name[at] = previous;
    depth[at] = d + 1;
    parent[at] = d > 0 ? first[d - 1] + d : 0;
    end[at] = at + i - first[d] + 1;
    self[at] = own;
    total[at] = sum - start[d];
    if (nextBefore && before && totalBefore) {
      const ownBefore = nextBefore() * scale;
      sumBefore += ownBefore;
      before[at] = ownBefore;
      totalBefore[at] = sumBefore - startBefore[d];
    }
  }
  name[0] = all;
  parent[0] = -1;
  end[0] = n;
  total[0] = sum;
  if (totalBefore) totalBefore[0] = sumBefore;
  return { n, name, depth, parent, end, self, total, before, totalBefore, own: self, width: total };
}

/** @param {Float64Array} old
 * @param {number} needed */
function grown(old, needed) {
  const larger = new Float64Array(Math.max(2 * old.length, needed + 1));
  larger.set(old);
  return larger;
}
