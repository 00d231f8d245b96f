// Work in steps: what may take long is a generator that yields now and then, so that the page can say so, and
// the reader can stop it.

/**
 * Work that yields now and then, and its result.
 * @template T
 * @typedef {Generator<undefined, T, undefined>} Steps */

/** The frames or names between two steps. */
export const STEP = 20_000;
/** The numbers that are sorted in a step. */
const PART = 4096;
/** The milliseconds after which work is said to go on, those that it takes before anything else is done, and those between two
 * looks at what the reader does. */
const PATIENCE = 200;
const FIRST = 60;
const SLICE = 40;

/** Work that is done a slice at a time. */
export class Work {
  /** @param {Steps<unknown>} steps
   * @param {{ ended: () => void, waits: () => void }} tell of the end, and once that it takes long */
  constructor(steps, tell) {
    this.steps = steps;
    this.tell = tell;
    this.timer = 0;
    /** True until it has ended or was stopped. */
    this.isGoingOn = true;
    this.began = performance.now();
    this.isSaid = false;
    this.#go(FIRST);
  }

  /** @param {number} milliseconds */
  #go(milliseconds) {
    if (!this.isGoingOn) return;
    const end = performance.now() + milliseconds;
    do {
      if (!this.steps.next().done) continue;
      this.isGoingOn = false;
      this.tell.ended();
      return;
    } while (performance.now() < end);
    if (!this.isSaid && end - this.began > PATIENCE) {
      this.isSaid = true;
      this.tell.waits();
    }
    this.timer = window.setTimeout(() => this.#go(SLICE));
  }

  stop() {
    clearTimeout(this.timer);
    this.isGoingOn = false;
  }
}

/** Numbers in an order, sorted a part at a time.
 * @param {Uint32Array} all
 * @param {(a: number, b: number) => number} compare
 * @returns {Steps<Uint32Array>} */
export function* sortedInSteps(all, compare) {
  const n = all.length;
  for (let from = 0; from < n; from += PART) {
    all.subarray(from, from + PART).sort(compare);
    yield;
  }
  let merged = /** @type {Uint32Array} */ (new Uint32Array(n));
  for (let size = PART; size < n; size *= 2) {
    for (let from = 0; from < n; from += 2 * size) {
      const middle = Math.min(from + size, n);
      const end = Math.min(middle + size, n);
      for (let to = from, left = from, right = middle; to < end; to++) {
        if (to % PART === 0) yield;
        merged[to] = right >= end || (left < middle && compare(all[left], all[right]) <= 0) ? all[left++] : all[right++];
      }
    }
    [all, merged] = [merged, all];
  }
  return all;
}

/** Does work a slice at a time, so that the browser can answer its reader in between.
 * @template T
 * @param {Steps<T>} steps
 * @returns {Promise<T>} */
export async function inSlices(steps) {
  const { port1, port2 } = new MessageChannel();
  for (;;) {
    const end = performance.now() + SLICE;
    do {
      const { done, value } = steps.next();
      if (!done) continue;
      port1.close();
      return value;
    } while (performance.now() < end);
    // Unlike a timer, a message waits for nothing but what is due.
    await new Promise((go) => {
      port1.onmessage = go;
      port2.postMessage(0);
    });
  }
}

/** Does work without a pause.
 * @template T
 * @param {Steps<T>} steps
 * @returns {T} */
export function atOnce(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
