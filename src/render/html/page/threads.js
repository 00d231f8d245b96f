// The threads of a profile, or the values of its first label: stacks whose first frames name the same process and thread. Folded text
// does not say whether its first frames are threads or functions; facts, labels, places and the
// names themselves do.

/** @import { About, Names, Tree } from "./types.js" */

import { STEP } from "./steps.js";
import { kept } from "./tree.js";

/**
 * A thread, or the process it is of.
 * @typedef {object} Thread
 * @property {string} key its name in the address
 * @property {string} path its frames as folded text has them; "" if it is known by its samples
 * @property {string} [option] the label that selects it in fg-filter then
 * @property {string} label
 * @property {boolean} isLabel its frame is a label, which other labels may precede
 * @property {number} before
 * @property {number} after
 */

/** @typedef {"threads" | "label" | "first frames" | "none"} RootKind */

/** Labels that name a thread, the closest first. */
const THREAD_LABELS = ["thread", "tid", "process", "pid", "comm"];
/** First frames that only threads and processes have: `P7`, `T0:9`, `process 7:"python"`,
 * `thread (9): pool`, `python3-7/9`, `"http-1" #12`. */
const THREAD = /^(?:P\d+|T[\da-f]*:[\da-f:]+|process \d.*|thread \(.*|.*-(?:\d+|\?)(?:\/\d+)?|".*" #\d+.*)$/iu;
/** Frames behind the first one that say more of the same thread: see `tally::thread_of`. */
const CLOSER = /^(?:process |thread \(|T(?=.*:)[\da-f:]+$)/iu;
/** First frames that are functions, not commands. */
const FUNCTION = /::|[()<>$]|^_|_\[[kijw]\]$|[a-z_]\.[a-z_(]|^\[|^(?:main|start|clone3?|start_thread|thread_start|root)$/iu;
/** Producers whose stacks begin with the command that ran. */
export const COMMAND_FIRST = /^(?:perf|fg-record)\b/u;

/** The kind of the first frames of stacks: threads, or something else.
 * @param {About} about
 * @param {Names} names
 * @param {Tree} whole
 * @returns {RootKind} */
function kindOfRoots(about, names, whole) {
  const roots = new Set();
  for (let i = 1; i < whole.n; i = whole.end[i]) roots.add(names.texts[whole.name[i]]);
  const all = [...roots];
  if (all.every((root) => THREAD.test(root))) return "threads";
  if (about.rootsAreCode !== null) return about.rootsAreCode ? "none" : "threads";
  if (all.some((root) => FUNCTION.test(root))) return "none";
  if (COMMAND_FIRST.test(about.producer ?? "")) return "threads";
  // A single plain name may be either, and there is nothing to choose.
  return all.length > 1 ? "first frames" : "none";
}

/** Spells the names of threads as the frames do: `lto_cgu.00`, not `lto cgu.00`.
 * @param {Names} names
 * @param {Tree} whole
 * @param {import("./timeline_data.js").Times} times */
function keepSpelling(names, whole, times) {
  const roots = new Set();
  for (let i = 1; i < whole.n; i = whole.end[i]) roots.add(names.texts[whole.name[i]]);
  const spelled = (/** @type {string} */ label, /** @type {string} */ name) => {
    const other = name.replaceAll(" ", "_");
    return other !== name && roots.has(other) && label.startsWith(name) ? other + label.slice(name.length) : label;
  };
  for (const row of times.rows) row.label = spelled(row.label, times.threads[row.threads[0]].name);
  for (const thread of times.threads) thread.label = spelled(thread.label, thread.name);
}

/** The threads of a profile, and the one that each node is of. */
export class Threads {
  /** @param {About} about
   * @param {Names} names
   * @param {Tree} whole
   * @param {import("./timeline_data.js").Times | null} times
   * @returns {import("./steps.js").Steps<Threads>} */
  static *read(about, names, whole, times) {
    if (times) keepSpelling(names, whole, times);
    const threads = new Threads(about, names, whole, times);
    if (threads.of.length) threads.all = yield* threads.#find(names);
    names.threads = threads.frames(names);
    return threads;
  }

  /** The threads that have rows in the time line; those of stacks are to be found.
   * @param {About} about
   * @param {Names} names
   * @param {Tree} whole
   * @param {import("./timeline_data.js").Times | null} times */
  constructor(about, names, whole, times) {
    this.whole = whole;
    /** True if samples say of which thread they are. */
    this.areTimed = Boolean(times && times.rows.length > 1);
    const thread = THREAD_LABELS.find((label) => about.labels.includes(label));
    /** The label whose values can be chosen: that of threads, else the first one that is no time; "" where there is none. */
    this.label = thread ?? about.labels.find((label) => label !== "time") ?? "";
    /** Its depth, from 1; 0 where there is none. */
    this.labelDepth = about.labels.indexOf(this.label) + 1;
    /** @type {RootKind} */
    const roots = thread ? "threads" : this.label ? "label" : about.labels.length ? "none" : kindOfRoots(about, names, whole);
    /** @type {RootKind} */
    this.kind = this.areTimed ? "none" : roots;
    /** The number of each node's thread; 0 is none. */
    this.of = new Uint32Array(this.kind === "none" ? 0 : whole.n);
    /** True if stacks begin with frames that name threads, or may do. */
    this.haveFrames = roots === "threads" || roots === "first frames";
    /** True if they do. */
    this.areSure = roots === "threads";
    /** @type {Map<string, number>} the number of the thread of each key */
    this.numbers = new Map();
    /** @type {Thread[]} the heaviest first */
    this.all = [];
    if (times && this.areTimed) {
      this.kind = "threads";
      this.all = times.rows.map(({ key, label, after, option }) => ({ key, path: "", option, label, isLabel: false, before: 0, after }));
    }
  }

  /** @param {Names} names
   * @returns {import("./steps.js").Steps<Thread[]>} */
  *#find(names) {
    const { whole, of, labelDepth } = this;
    /** @type {Thread[]} */
    const found = [];
    /** @type {Map<string, number>} */
    const numbers = new Map();
    /** @type {number[]} the depth at which the frames of each thread end */
    const depths = [];
    for (let i = 1; i < whole.n; i++) {
      if (i % STEP === 0) yield;
      const above = of[whole.parent[i]];
      const depth = whole.depth[i];
      of[i] = above;
      // Only the frame right behind a thread's can name it more closely.
      const isBehind = !labelDepth && above > 0 && depths[above - 1] === depth - 1;
      if (depth === (labelDepth || 1) || isBehind) {
        const name = names.texts[whole.name[i]];
        const isCloser = isBehind && CLOSER.test(name);
        const parent = isCloser ? found[above - 1] : null;
        const path = parent ? `${parent.path};${name}` : name;
        let number = isBehind && !isCloser ? above : numbers.get(path);
        if (number === undefined) {
          const own = names.key(whole.name[i]);
          const label = labelDepth ? name.slice(name.indexOf("=") + 1) || `no ${this.label}` : names.show(whole.name[i]);
          number = found.push({
            path, key: parent ? `${parent.key};${own}` : own, label: parent ? `${parent.label} ${label}` : label,
            isLabel: labelDepth > 0, before: 0, after: 0,
          });
          numbers.set(path, number);
          depths.push(depth);
        }
        of[i] = number;
      }
      if (of[i] > 0) {
        found[of[i] - 1].after += whole.self[i];
        if (whole.before) found[of[i] - 1].before += whole.before[i];
      }
    }
    found.forEach(({ key }, n) => this.numbers.set(key, n + 1));
    const weigh = (/** @type {Thread} */ one) => one.after + one.before;
    return found.filter((one) => weigh(one) > 0).sort((a, b) => weigh(b) - weigh(a));
  }

  /** Marks the names of the frames that stacks begin with and that name their threads.
   * @param {Names} names */
  frames(names) {
    const { whole, labelDepth } = this;
    const marks = new Uint8Array(names.texts.length);
    if (!this.areSure) return marks;
    const depth = labelDepth || 1;
    for (let i = 1; i < whole.n; i = whole.depth[i] < depth + 1 ? i + 1 : whole.end[i]) {
      if (whole.depth[i] <= depth || !labelDepth && CLOSER.test(names.texts[whole.name[i]])) marks[whole.name[i]] = 1;
    }
    for (const [id, from] of names.madeFrom) marks[id] ||= marks[from] ?? 0;
    return marks;
  }

  /** Only the stacks of some threads; all where none of them is known.
   * @param {string[]} keys
   * @returns {import("./steps.js").Steps<Tree>} */
  *only(keys) {
    const mask = this.mask(keys);
    return mask ? yield* kept(this.whole, mask) : this.whole;
  }

  /** Marks the nodes of some threads; null where none of them is known.
   * @param {string[]} keys */
  mask(keys) {
    const numbers = keys.map((key) => this.numbers.get(key)).filter((number) => number !== undefined);
    if (!numbers.length) return null;
    const chosen = new Uint8Array(this.numbers.size + 1);
    for (const number of numbers) chosen[number] = 1;
    const mask = new Uint8Array(this.of.length);
    for (let i = 0; i < mask.length; i++) mask[i] = chosen[this.of[i]];
    return mask;
  }

  /** The weight of each thread in a range of time and in marked nodes, by its key.
   * @param {import("./timeline_data.js").Times | null} times
   * @param {[number, number][]} ranges of seconds: the last one counts
   * @param {Uint8Array | null} nodes null is all
   * @returns {import("./steps.js").Steps<Map<string, number>>} */
  *weigh(times, ranges, nodes) {
    const weights = new Map(this.all.map(({ key, after }) => [key, after]));
    if (!nodes && !ranges.length) return weights;
    if (times && this.areTimed) {
      const [from, to] = ranges.length ? times.steps(ranges[ranges.length - 1]) : [0, Infinity];
      for (const { key, threads } of times.rows) {
        let sum = 0;
        for (const n of threads) {
          yield;
          times.each(times.threads[n], from, to, (i, share) => (sum += !nodes || nodes[times.node[i]] ? times.weight[i] * share : 0));
        }
        weights.set(key, sum);
      }
    } else if (nodes) {
      const sums = new Float64Array(this.numbers.size + 1);
      for (let i = 1; i < this.of.length; i++) if (nodes[i]) sums[this.of[i]] += this.whole.self[i];
      for (const [key, number] of this.numbers) if (weights.has(key)) weights.set(key, sums[number]);
    }
    return weights;
  }

  /** @param {string[]} keys */
  chosen(keys) {
    return this.all.filter(({ key }) => keys.includes(key));
  }
}
