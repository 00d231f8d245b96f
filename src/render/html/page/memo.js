// Values that are made once and kept until their inputs change.

export class Memo {
  constructor() {
    /** @type {Map<string, { inputs: unknown[], value: any }>} */
    this.values = new Map();
  }

  /** @template T
   * @param {string} name
   * @param {unknown[]} inputs
   * @param {() => T} make
   * @returns {T} */
  get(name, inputs, make) {
    const known = this.values.get(name);
    if (known && known.inputs.length === inputs.length && known.inputs.every((one, n) => one === inputs[n])) return known.value;
    const value = make();
    this.values.set(name, { inputs, value });
    return value;
  }
}
