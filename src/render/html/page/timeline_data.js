// The time line: when each sample was taken, in which thread, in which stack; and the trees of the
// samples of some threads or times.

/** @import { About, Tree } from "./types.js" */

import { Column, Values, weightColumn } from "./decode.js";
import { nanosecondsIn } from "./numbers.js";
import { STEP } from "./steps.js";
import { withWeights } from "./tree.js";

/** With more threads than this, all of one name are a row. */
const MOST_ROWS_OF_THREADS = 40;
/** With more weight in moments than this part of what lasts, moments are time on the processor, and what lasts is a wait. */
const LEAST_RUNNING = 0.0001;

/** @typedef {{ label: string, name: string, number: number | null, from: number, to: number, longest: number }} TimedThread samples from one to before another */

/**
 * A row of the time line: a thread, or all threads of a name.
 * @typedef {object} Row
 * @property {string} key
 * @property {string} label
 * @property {number} after its weight
 * @property {number[]} threads their numbers
 * @property {string} option what selects it in fg-filter
 */

export class Times {
  /** @param {About} about
   * @param {(name: string) => Uint8Array} get
   * @param {(name: string) => Uint8Array | null} optional
   * @param {Uint32Array} nodeOf the node of each frame of the file
   * @param {number} most the sum of all weights
   * @returns {import("./steps.js").Steps<Times>} */
  static *read(about, get, optional, nodeOf, most) {
    const times = new Times(about, optional("time-durations") !== null, most);
    yield* times.#fill(about, get, optional, nodeOf);
    return times;
  }

  /** Room for the samples of a time line.
   * @param {About} about
   * @param {boolean} lasts some samples are no moments
   * @param {number} most */
  constructor(about, lasts, most) {
    const { length, step, coarse, pooled = 0, samples, threads } = /** @type {import("./types.js").AboutTime} */ (about.time);
    const n = threads.reduce((sum, one) => sum + one[4], 0);
    /** The nanoseconds of a step. */
    this.step = step;
    /** The length of the recording, in steps. */
    this.length = Math.floor(length / step) + 1;
    this.isCoarse = coarse;
    this.samples = samples;
    /** The number of light stacks for which another one stands. */
    this.pooled = pooled;
    this.n = n;
    this.at = this.length < 2 ** 32 ? new Uint32Array(n) : new Float64Array(n);
    this.node = new Uint32Array(n);
    this.weight = weightColumn(n, most);
    /** The steps over which each sample's weight is spread; null if none is. */
    this.duration = lasts ? new Float64Array(n) : null;
    /** It has samples of what runs and of waits, which last: those of calls all last. */
    this.hasWaits = false;
    /** @type {TimedThread[]} */
    this.threads = [];
    /** The steps that a weight of one lasts, where weights are time; else 0. */
    this.lasts = nanosecondsIn(about.unit) / (step * 10 ** (about.scales.at(-1)?.[1] ?? 0));
    /** @type {Row[]} the heaviest first */
    this.rows = [];
    /** @type {Map<string, Row>} */
    this.byKey = new Map();
    /** @type {Float64Array | null} the heaviest sample of each thread */
    this.heaviest = null;
    /** @type {Map<number, number>} the usual distance of samples of threads */
    this.distances = new Map();
  }

  /** @param {About} about
   * @param {(name: string) => Uint8Array} get
   * @param {(name: string) => Uint8Array | null} optional
   * @param {Uint32Array} nodeOf
   * @returns {import("./steps.js").Steps<void>} */
  *#fill(about, get, optional, nodeOf) {
    const { threads } = /** @type {import("./types.js").AboutTime} */ (about.time);
    const column = (/** @type {string} */ name) => new Column(get(name));
    const [deltas, stacks, weights] = [column("time-deltas"), column("time-stacks"), column("time-weights")];
    const values = new Values(get("time-values"));
    const lasting = optional("time-durations");
    const durations = lasting && new Column(lasting);
    /** The weight of samples of a moment, and of those that last. */
    const sums = [0, 0];
    let i = 0;
    for (const [label, name, , number, count] of threads) {
      const from = i;
      let at = 0;
      let frame = 0;
      let longest = 0;
      for (const end = i + count; i < end; i++) {
        if (i % STEP === 0) yield;
        at += deltas.next();
        const change = stacks.next();
        frame += change % 2 ? -(change + 1) / 2 : change / 2;
        this.at[i] = at;
        this.node[i] = nodeOf[frame];
        this.weight[i] = values.weight(weights.next());
        if (durations && this.duration) longest = Math.max(longest, (this.duration[i] = durations.next()));
        sums[this.duration?.[i] ? 1 : 0] += this.weight[i];
      }
      this.threads.push({ label, name, number, from, to: i, longest });
    }
    this.hasWaits = sums[1] > 0 && sums[0] > LEAST_RUNNING * sums[1];
    this.rows = this.#makeRows();
    this.byKey = new Map(this.rows.map((row) => [row.key, row]));
  }

  #makeRows() {
    const { threads, weight } = this;
    const byName = threads.length > MOST_ROWS_OF_THREADS;
    /** @type {Map<string, Row>} */
    const rows = new Map();
    threads.forEach(({ label, name, number, from, to }, n) => {
      const key = byName ? name || "thread" : label;
      let row = rows.get(key);
      const option = number !== null && key !== name ? `tid=${number}` : `thread=${key}`;
      if (!row) rows.set(key, (row = { key, label: key, after: 0, threads: [], option }));
      row.threads.push(n);
      for (let i = from; i < to; i++) row.after += weight[i];
    });
    for (const row of rows.values()) if (row.threads.length > 1) row.label += ` ×${row.threads.length}`;
    return [...rows.values()].sort((a, b) => b.after - a.after);
  }

  /** The numbers of the threads of rows; all without rows that are known.
   * @param {string[]} keys */
  threadsOf(keys) {
    const chosen = keys.flatMap((key) => this.byKey.get(key)?.threads ?? []);
    return chosen.length ? chosen : this.threads.map((_, n) => n);
  }

  /** The first sample of a thread at a step or after it.
   * @param {TimedThread} thread
   * @param {number} step */
  first({ from, to }, step) {
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.at[middle] < step) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Tells of the samples of a thread in a range of steps, and of the share of their weight in it.
   * @param {TimedThread} thread
   * @param {number} from
   * @param {number} to
   * @param {(i: number, share: number) => void} tell */
  each(thread, from, to, tell) {
    const { at, duration } = this;
    for (let i = this.first(thread, from - thread.longest); i < thread.to && at[i] < to; i++) {
      const lasts = duration ? duration[i] : 0;
      if (lasts > 0) {
        const inside = Math.min(at[i] + lasts, to) - Math.max(at[i], from);
        if (inside > 0) tell(i, inside / lasts);
      } else if (at[i] >= from) {
        tell(i, 1);
      }
    }
  }

  /** Tells of the samples of a thread that last into a range of steps, and of when they begin and end. One that weighs time
   * stands for the time that follows it, unless the recording says how long; any other for none, or until the next one.
   * @param {number} n the thread
   * @param {number} from
   * @param {number} to
   * @param {boolean} fills until the next one
   * @param {(i: number, start: number, end: number) => void} tell */
  eachSpan(n, from, to, fills, tell) {
    const { at, duration, lasts, weight } = this;
    const thread = this.threads[n];
    const usual = lasts > 0 ? lasts * this.#heaviestSample(n) : fills ? this.#usualDistance(n) : 0;
    const before = Math.max(thread.longest, usual);
    for (let i = this.first(thread, from - before); i < thread.to && at[i] < to; i++) {
      const next = fills && lasts <= 0 && i + 1 < thread.to ? at[i + 1] - at[i] : Infinity;
      const long = duration && duration[i] > 0 ? duration[i] : lasts > 0 ? Math.min(weight[i] * lasts, before) : Math.min(next, usual);
      if (at[i] + long > from || at[i] >= from) tell(i, at[i], at[i] + long);
    }
  }

  /** The weight of the heaviest sample of a thread.
   * @param {number} n */
  #heaviestSample(n) {
    const { threads, weight } = this;
    this.heaviest ??= Float64Array.from(threads, ({ from, to }) => {
      let most = 0;
      for (let i = from; i < to; i++) if (weight[i] > most) most = weight[i];
      return most;
    });
    return this.heaviest[n];
  }

  /** The median distance of two samples of a thread.
   * @param {number} n */
  #usualDistance(n) {
    let usual = this.distances.get(n);
    if (usual === undefined) {
      const { from, to } = this.threads[n];
      const distances = new Float64Array(Math.max(to - from - 1, 0));
      for (let k = 0; k < distances.length; k++) distances[k] = this.at[from + k + 1] - this.at[from + k];
      distances.sort();
      this.distances.set(n, (usual = Math.max(distances[distances.length >> 1] ?? 1, 1)));
    }
    return usual;
  }

  /** A range of seconds in steps.
   * @param {[number, number]} range
   * @returns {[number, number]} */
  steps([from, to]) {
    const scale = 1e9 / this.step;
    return [Math.round(from * scale), Math.round(to * scale)];
  }

  /** The seconds of a step.
   * @param {number} step */
  seconds(step) {
    return (step * this.step) / 1e9;
  }

  /** The length of the recording, in seconds. */
  get all() {
    return this.seconds(this.length);
  }

  /** The number of samples of some rows in a range of seconds.
   * @param {[number, number]} range
   * @param {string[]} keys */
  count(range, keys) {
    const [from, to] = this.steps(range);
    let samples = 0;
    for (const n of this.threadsOf(keys)) {
      const thread = this.threads[n];
      if (this.duration) this.each(thread, from, to, () => samples++);
      else samples += this.first(thread, to) - this.first(thread, from);
    }
    return samples;
  }

  /** The tree of the samples of some rows in one range of seconds, or of two: before and after.
   * @param {Tree} whole
   * @param {[number, number][]} ranges
   * @param {string[]} keys
   * @param {Uint8Array | null} mask the nodes that count; null is all
   * @returns {import("./steps.js").Steps<Tree>} */
  *tree(whole, ranges, keys, mask) {
    const columns = [];
    for (const [from, to] of ranges.length ? ranges.map((range) => this.steps(range)) : [[0, Infinity]]) {
      const self = new Float64Array(whole.n);
      const { node, weight } = this;
      for (const n of this.threadsOf(keys)) {
        const thread = this.threads[n];
        yield;
        if (thread.longest) this.each(thread, from, to, (i, share) => (self[node[i]] += weight[i] * share));
        else for (let i = this.first(thread, from), end = this.first(thread, to); i < end; i++) self[node[i]] += weight[i];
      }
      if (this.duration) for (let i = 0; i < self.length; i++) self[i] = Math.round(self[i]);
      if (mask) for (let i = 0; i < self.length; i++) if (!mask[i]) self[i] = 0;
      columns.push(self);
    }
    return (yield* withWeights(whole, /** @type {Float64Array} */ (columns.at(-1)), columns.length > 1 ? columns[0] : null)).tree;
  }
}

/** A range of seconds in words: `12.4 – 18.1 s`.
 * @param {[number, number]} range */
export function rangeText([from, to]) {
  const digits = digitsFor(to - from);
  return `${from.toFixed(digits)} – ${to.toFixed(digits)} s`;
}

/** A duration in words: `5.7 s`, `80 ms`.
 * @param {number} seconds */
export function durationText(seconds) {
  if (seconds >= 3600) return `${(seconds / 3600).toFixed(1)} h`;
  if (seconds >= 120) return `${(seconds / 60).toFixed(1)} min`;
  for (const [unit, size] of /** @type {[string, number][]} */ ([["s", 1], ["ms", 1e-3], ["µs", 1e-6]])) {
    if (seconds >= size) return `${Number((seconds / size).toPrecision(3))} ${unit}`;
  }
  return `${Math.round(seconds * 1e9)} ns`;
}

/** The digits behind the point that tell times of a range apart.
 * @param {number} length in seconds */
export function digitsFor(length) {
  return Math.min(Math.max(Math.ceil(-Math.log10(length || 1)) + 1, 0), 9);
}
