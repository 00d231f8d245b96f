// Reads the sections of the page: ../payload/mod.rs specifies them.

/** @import { About, Places, Tree, Profile, Source, View } from "./types.js" */

import { areasByName } from "./groups.js";
import { Names } from "./names.js";
import { lacking, section } from "./sections.js";
import { STEP, inSlices } from "./steps.js";
import { Threads } from "./threads.js";
import { Times } from "./timeline_data.js";
import { withWeights } from "./tree.js";

/** The most names that are guessed after another. */
const MOST_GUESSES = 126;
/** The most weights that have numbers. */
const MOST_VALUES = 1 << 14;

/** A column's numbers, one after the other; beyond 2⁵³ they are rounded. */
export class Column {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    const byte = this.bytes[this.at++];
    return byte < 128 ? byte : this.#longer(byte & 127);
  }

  /** @param {number} value */
  #longer(value) {
    let unit = 128;
    let byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * unit;
      unit *= 128;
    } while (byte > 127);
    return value;
  }
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

/** The sections of the tree and its names; and those that each value has for itself, with its number before their names. */
const SHARED = ["rises", "leaves", "callers", "known", "ranks", "shared", "lengths", "texts", "hues", "kinds", "modules", "name-modules"];
const OWN = ["values", "leaf-weights", "caller-weights", "leaf-befores", "caller-befores",
  "time-deltas", "time-stacks", "time-weights", "time-values", "time-durations", "source"];

/** The whole profile of the page.
 * @returns {Promise<Profile>} */
export async function readProfile() {
  /** @type {Map<string, Uint8Array | null>} */
  const sections = new Map();
  const load = async (/** @type {string[]} */ names) => {
    const all = await Promise.all(names.map((name) => section(name)));
    names.forEach((name, n) => sections.set(name, all[n]));
  };
  const optional = (/** @type {string} */ name) => sections.get(name) ?? null;
  const get = (/** @type {string} */ name) => {
    const bytes = optional(name);
    if (!bytes) throw lacking(name);
    return bytes;
  };
  const json = (/** @type {Uint8Array} */ bytes) => JSON.parse(new TextDecoder().decode(bytes));
  await load(["about"]);
  const about = /** @type {About} */ (json(get("about")));
  /** The facts of each value, and what the names of its sections begin with.
   * @type {[About, string][]} */
  const abouts = [[about, ""], ...(about.values ?? []).map((own, n) => /** @type {[About, string]} */ ([{ ...about, ...own }, `${n + 1}-`]))];
  await load([...SHARED, ...abouts.flatMap(([, prefix]) => OWN.map((name) => prefix + name))]);
  const { bytes, starts, ranks } = readNames(get("ranks"), get("shared"), get("lengths"), get("texts"));
  const names = new Names(bytes, starts, ranks, optional("hues"), about.seed);
  names.places = readPlaces(ranks.length, optional("kinds"), optional("modules"), optional("name-modules"));
  const isAlone = abouts.length < 2;
  const nodeOf = about.time || !isAlone ? new Uint32Array(about.frames) : null;
  const all = await inSlices(readTree(about, get, optional, names.all, nodeOf));
  /** @param {[About, string]} one
   * @returns {import("./steps.js").Steps<View>} */
  const open = function* ([own, prefix]) {
    const given = (/** @type {string} */ name) => get(prefix + name);
    const perhaps = (/** @type {string} */ name) => optional(prefix + name);
    let tree = all;
    let nodes = nodeOf;
    if (nodeOf && !isAlone) {
      const self = prefix ? yield* readWeights(own, given, all, nodeOf) : all.self;
      const kept = yield* withWeights(all, self, null);
      ({ tree } = kept);
      // Only stacks that weigh something have samples.
      nodes = nodeOf.map((node) => kept.places[node]);
    }
    const times = own.time && nodes ? yield* Times.read(own, given, perhaps, nodes, tree.total[0]) : null;
    const threads = yield* Threads.read(own, names, tree, times);
    const areas = yield* areasByName(names, tree);
    const source = perhaps("source");
    return { about: own, tree, areas, times, threads, source: source && /** @type {Source} */ (json(source)) };
  };
  const views = abouts.map((one) => {
    /** @type {View | null} */
    let opened = null;
    return { name: one[0].value ?? "", *open() { return (opened ??= yield* open(one)); } };
  });
  return { names, views, ...(await inSlices(views[0].open())) };
}

/** The own weights of another value, by node.
 * @param {About} about
 * @param {(name: string) => Uint8Array} get
 * @param {Tree} tree
 * @param {Uint32Array} nodeOf the node of each frame of the file
 * @returns {import("./steps.js").Steps<import("./types.js").Weights>} */
function* readWeights({ scales, total, frames }, get, { n, end }, nodeOf) {
  const decimals = scales.at(-1)?.[1] ?? 0;
  const self = weightColumn(n, Number(total) * 10 ** decimals);
  const [callers, leaves] = [new Column(get("caller-weights")), new Column(get("leaf-weights"))];
  const values = new Values(get("values"));
  let scale = 10 ** decimals;
  let scaleAt = 0;
  for (let i = 0; i < frames; i++) {
    if (i % STEP === 0) yield;
    if (i === scales[scaleAt]?.[0]) scale = 10 ** (decimals - scales[scaleAt++][1]);
    const node = nodeOf[i];
    self[node] = values.weight((end[node] === node + 1 ? leaves : callers).next()) * scale;
  }
  return self;
}

/** The kinds and modules of names, where any are known.
 * @param {number} count
 * @param {Uint8Array | null} kinds
 * @param {Uint8Array | null} modules
 * @param {Uint8Array | null} numbers
 * @returns {Places | null} */
function readPlaces(count, kinds, modules, numbers) {
  if (!kinds && !modules) return null;
  return {
    kinds: kinds ?? new Uint8Array(count),
    modules: ["", ...new TextDecoder().decode(modules ?? new Uint8Array()).split("\0").slice(0, -1)],
    moduleOf: numbers ? take(numbers, count) : new Float64Array(count),
  };
}

/** Names in the order of their bytes, and for each, as they are numbered, its place there.
 * @param {Uint8Array} rankBytes
 * @param {Uint8Array} sharedBytes
 * @param {Uint8Array} lengthBytes
 * @param {Uint8Array} texts */
function readNames(rankBytes, sharedBytes, lengthBytes, texts) {
  let count = 0;
  for (const byte of lengthBytes) if (byte < 128) count++;
  const shared = take(sharedBytes, count);
  const lengths = take(lengthBytes, count);
  const starts = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) starts[i + 1] = starts[i] + shared[i] + lengths[i];
  const bytes = new Uint8Array(starts[count]);
  for (let i = 0, at = 0; i < count; i++) {
    const middle = starts[i] + shared[i];
    if (i > 0) bytes.copyWithin(starts[i], starts[i - 1], starts[i - 1] + shared[i]);
    bytes.set(texts.subarray(at, at + lengths[i]), middle);
    at += lengths[i];
  }
  let expected = 0;
  const ranks = take(rankBytes, count).map((step) => {
    const rank = expected + (step % 2 ? -(step + 1) / 2 : step / 2);
    expected = rank + 1;
    return rank;
  });
  return { bytes, starts, ranks };
}

/** The first numbers of a column.
 * @param {Uint8Array} bytes
 * @param {number} count */
function take(bytes, count) {
  const column = new Column(bytes);
  const taken = new Float64Array(count);
  for (let i = 0; i < count; i++) taken[i] = column.next();
  return taken;
}

/** The names of frames: new ones, and those that came after the name before already. */
class Guesses {
  /** @param {Uint8Array} known
   * @param {number} names their number */
  constructor(known, names) {
    this.known = new Column(known);
    this.count = 0;
    /** The first name after each name: as a caller, as a leaf. */
    this.first = new Int32Array(2 * names + 2).fill(-1);
    /** @type {(number[] | null)[]} the others */
    this.others = new Array(2 * names + 2).fill(null);
  }

  /** @param {number} slot
   * @param {number} guess */
  name(slot, guess) {
    if (guess === 2) return this.first[slot];
    const others = this.others[slot];
    if (guess > 2) return others ? others[guess - 3] : 0;
    const name = guess === 0 ? this.count++ : this.known.next();
    if (this.first[slot] < 0) this.first[slot] = name;
    else if (!others) this.others[slot] = [name];
    else if (others.length + 1 < MOST_GUESSES) others.push(name);
    return name;
  }
}

/** Weights by their numbers. */
export class Values {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.new = new Column(bytes);
    this.known = new Float64Array(MOST_VALUES);
    this.count = 1;
  }

  /** @param {number} number */
  weight(number) {
    return number > 0 ? this.known[number - 1] : this.#add();
  }

  #add() {
    const value = this.new.next();
    if (this.count + 1 < MOST_VALUES) this.known[this.count++] = value;
    return value;
  }
}

/** Frames come after those they call; here they go before them, below one root for all.
 * @param {About} about
 * @param {(name: string) => Uint8Array} get
 * @param {(name: string) => Uint8Array | null} optional
 * @param {number} all the name of the root, behind all others
 * @param {Uint32Array | null} nodeOf takes the node of each frame of the file
 * @returns {import("./steps.js").Steps<Tree>} */
function* readTree(about, get, optional, all, nodeOf) {
  const n = about.frames + 1;
  const decimals = about.scales.length ? about.scales[about.scales.length - 1][1] : 0;
  const most = Math.max(Number(about.total), Number(about.before)) * 10 ** decimals;
  const name = new Uint32Array(n);
  const depth = depthColumn(n);
  const parent = new Int32Array(n);
  const end = new Uint32Array(n);
  const self = weightColumn(n, most);
  const total = weightColumn(n, most);
  const befores = optional("leaf-befores");
  const before = befores && weightColumn(n, most);
  const totalBefore = befores && weightColumn(n, most);

  const column = (/** @type {string} */ section) => new Column(get(section));
  const rises = column("rises");
  const [callers, leaves] = [column("callers"), column("leaves")];
  const [callerWeights, leafWeights] = [column("caller-weights"), column("leaf-weights")];
  const leafBefores = befores && new Column(befores);
  const callerBefores = befores && column("caller-befores");
  const guesses = new Guesses(get("known"), all);
  const values = new Values(get("values"));
  // For each open frame, by depth: the first frame below, and the weight of all before it.
  let first = new Uint32Array(1024);
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
    if (i % STEP === 0) yield;
    const rise = rises.next();
    const isLeaf = rise > 0;
    if (isLeaf) {
      const to = d - 1 + rise;
      if (to >= first.length) [first, start, startBefore] = [grown(first, to), grown(start, to), grown(startBefore, to)];
      for (let k = d; k <= to; k++) {
        first[k] = i;
        start[k] = sum;
        startBefore[k] = sumBefore;
      }
      d = to;
      previous = guesses.name(2 * previous + 1, leaves.next());
    } else {
      d--;
      previous = guesses.name(2 * previous, callers.next());
    }
    if (i === rescale) {
      scale = 10 ** (decimals - about.scales[scaleAt][1]);
      scaleAt++;
      rescale = scaleAt < about.scales.length ? about.scales[scaleAt][0] : -1;
    }
    const at = first[d] + d + 1;
    const own = values.weight((isLeaf ? leafWeights : callerWeights).next()) * scale;
    sum += own;
    if (nodeOf) nodeOf[i] = at;
    name[at] = previous;
    depth[at] = d + 1;
    parent[at] = d > 0 ? first[d - 1] + d : 0;
    end[at] = i + d + 2;
    self[at] = own;
    total[at] = sum - start[d];
    if (leafBefores && callerBefores && before && totalBefore) {
      const ownBefore = values.weight((isLeaf ? leafBefores : callerBefores).next()) * scale;
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

/** @template {Uint32Array | Float64Array} C
 * @param {C} old
 * @param {number} needed
 * @returns {C} */
function grown(old, needed) {
  const larger = /** @type {C} */ (new /** @type {any} */ (old.constructor)(Math.max(2 * old.length, needed + 1)));
  larger.set(old);
  return larger;
}
