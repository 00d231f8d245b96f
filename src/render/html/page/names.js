// The names of frames: bytes, text, annotations, and where their code is.

/** @import { Places } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { sortedInSteps } from "./steps.js";

/** Characters that are no letters but steer how letters are shown. */
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
/** Joiners that join no emoji. */
const JOINERS = /(?<!\p{Extended_Pictographic}(?:\ufe0f|[\u{1f3fb}-\u{1f3ff}])?)\u200d|\u200d(?!\p{Extended_Pictographic})/gu;
/** Code without a name: what `label.rs` says, too. */
export const NAMELESS = /^(?:\[(?:unknown|perf-\d+\.map)\]|0x[\da-f]+)(?:_\[[kijw]\])?$/i;
const LONGEST_SHOWN = 10000;
const KEY_LENGTH = 120;

/** Every name once. Numbers beyond those of the file are of names made here. */
export class Names {
  /** @param {Uint8Array} bytes all of them, in the order of their bytes
   * @param {Float64Array} starts
   * @param {Float64Array} sorted the position of each name in that order
   * @param {Uint8Array | null} hues
   * @param {number} seed */
  constructor(bytes, starts, sorted, hues, seed) {
    this.bytes = bytes;
    this.starts = starts;
    this.sorted = sorted;
    this.hues = hues;
    this.seed = seed;
    /** @type {Places | null} where the code of names is; null where nothing is known */
    this.places = null;
    /** @type {Uint8Array | null} the names of threads, which are of no module */
    this.threads = null;
    this.given = sorted.length;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const whole = bytes.every((byte) => byte < 128) ? decoder.decode(bytes) : null;
    /** @type {string[]} */
    this.texts = Array.from(sorted, (at) => whole?.slice(starts[at], starts[at + 1]) ?? decoder.decode(bytes.subarray(starts[at], starts[at + 1])));
    /** The number of `[other]`, the stacks too light to be kept: no function; -1 where all are kept. */
    this.other = this.texts.indexOf("[other]");
    /** The whole has a name as well. */
    this.all = this.texts.push("all") - 1;
    /** @type {Map<string, number> | null} */
    this.ids = null;
    /** @type {Uint32Array | null} */
    this.ranks = null;
    /** @type {(string | undefined)[]} */
    this.shown = [];
    this.hashes = new Map();
    /** The name of the file that a name made here was made from.
     * @type {Map<number, number>} */
    this.madeFrom = new Map();
    /** The names in a frame that stands for a run of frames.
     * @type {Map<number, number[]>} */
    this.folds = new Map();
  }

  /** The name of a run of frames.
   * @param {number[]} ids */
  fold(ids) {
    const [first, last] = [ids[0], ids[ids.length - 1]];
    const id = this.intern(`⋯ ${ids.length}: ${this.texts[first]} … ${this.texts[last]}`, first);
    this.folds.set(id, ids);
    return id;
  }

  /** The number of a name that may be new.
   * @param {string} text
   * @param {number} from the name that it is made from */
  intern(text, from) {
    if (!this.ids) {
      this.ids = new Map();
      for (let i = this.given - 1; i >= 0; i--) this.ids.set(this.texts[i], i);
    }
    let id = this.ids.get(text);
    if (id === undefined) {
      id = this.texts.push(text) - 1;
      this.ids.set(text, id);
      this.madeFrom.set(id, from < this.given ? from : this.madeFrom.get(from) ?? -1);
      this.ranks = null;
    }
    return id;
  }

  /** A name's own bytes, which need not be UTF-8.
   * @param {number} id */
  bytesOf(id) {
    const at = this.sorted[id];
    if (at !== undefined) return this.bytes.subarray(this.starts[at], this.starts[at + 1]);
    return new TextEncoder().encode(this.texts[id]);
  }

  /** The name as it is shown: without its annotation, harmless, not endless.
   * @param {number} id */
  show(id) {
    let text = this.shown[id];
    if (text === undefined) {
      text = this.texts[id];
      if (text.length > 4) text = text.replace(/_\[[kijw]\]$/, "");
      if (text.length > LONGEST_SHOWN) text = text.slice(0, LONGEST_SHOWN) + "…";
      text = this.harmless(text) || "(no name)";
      this.shown[id] = text;
    }
    return text;
  }

  /** Without characters that steer how letters are shown.
   * @param {string} text */
  harmless(text) {
    return text.replace(UNSEEN, "\ufffd").replace(JOINERS, "\ufffd");
  }

  /** The letter of its annotation: k, i, j, w, or nothing.
   * @param {number} id */
  mark(id) {
    return /_\[([kijw])\]$/.exec(this.texts[id])?.[1] ?? "";
  }

  /** Its key in the address: itself, unless it is long.
   * @param {number} id */
  key(id) {
    const text = this.texts[id];
    if (text.length <= KEY_LENGTH) return text;
    return `${text.slice(0, 40)}…${this.hash(id).toString(16)}`;
  }

  /** FNV-1a of the bytes, which colours and long keys are made from.
   * @param {number} id */
  hash(id) {
    let hash = this.hashes.get(id);
    if (hash === undefined) {
      hash = (0x811c9dc5 ^ this.seed) >>> 0;
      for (const byte of this.bytesOf(id)) hash = Math.imul(hash ^ byte, 0x01000193);
      hash >>>= 0;
      this.hashes.set(id, hash);
    }
    return hash;
  }

  /** The position of each name in the order of their bytes, as folded files have them.
   * @returns {Steps<Uint32Array>} */
  *inOrder() {
    const { texts } = this;
    while (!this.ranks) {
      // The order of UTF-16 is that of UTF-8 but for rare letters beyond the first plane.
      const ids = yield* sortedInSteps(Uint32Array.from(texts.keys()), (a, b) => (texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : a - b));
      const ranks = new Uint32Array(ids.length);
      for (let i = 0; i < ids.length; i++) ranks[ids[i]] = i;
      // Names that came meanwhile have no place yet.
      if (ids.length === texts.length) this.ranks = ranks;
    }
    return this.ranks;
  }
}
