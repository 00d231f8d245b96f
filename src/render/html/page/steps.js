// Work in steps: what may take long is a generator that yields now and then, so that the page can say so, and
// the reader can stop it.

/**
 * Work that yields now and then, and its result.
 * @template T
 * @typedef {Generator<undefined, T, undefined>} Steps */

/** The frames or names between two steps. */
export const STEP = 20_000;
/** The milliseconds after which work is said to go on, and those between two looks at what the reader does. */
const PATIENCE = 200;
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
    this.#go(PATIENCE);
    if (this.isGoingOn) tell.waits();
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
    this.timer = window.setTimeout(() => this.#go(SLICE));
  }

  stop() {
    clearTimeout(this.timer);
    this.isGoingOn = false;
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
