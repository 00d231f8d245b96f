// Values that are made once and kept until their inputs change.

export class Memo {
  constructor() {
    /** @type {Map<string, { inputs: unknown[], value: any }>} */
    this.values = new Map();
  }

  /** @param {string} name
   * @param {unknown[]} inputs */
  #known(name, inputs) {
    const known = this.values.get(name);
    return known && known.inputs.length === inputs.length && known.inputs.every((one, n) => one === inputs[n]) ? known : null;
  }

  /** @template T
   * @param {string} name
   * @param {unknown[]} inputs
   * @param {() => T} make
   * @returns {T} */
  get(name, inputs, make) {
    const known = this.#known(name, inputs);
    if (known) return known.value;
    const value = make();
    this.values.set(name, { inputs, value });
    return value;
  }

  /** A value that is made in steps.
   * @template T
   * @param {string} name
   * @param {unknown[]} inputs
   * @param {() => import("./steps.js").Steps<T>} make
   * @returns {import("./steps.js").Steps<T>} */
  *getting(name, inputs, make) {
    const known = this.#known(name, inputs);
    if (known) return known.value;
    const value = yield* make();
    this.values.set(name, { inputs, value });
    return value;
  }
}
