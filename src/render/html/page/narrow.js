// The colours of frames that are too narrow to be told apart: in each column of pixels that of the heaviest, mixed with the
// others by weight, so that a large profile is as colourful as a small one.

/** The part of a colour that is the heaviest one's. */
const HEAVIEST_PART = 0.65;
/** The least opacity of a column, so that nothing vanishes. */
const LEAST_OPAQUE = 0.45;

/** The narrow frames of one row. */
export class NarrowRow {
  /** @param {number} columns */
  constructor(columns) {
    /** The share of each column that is covered. */
    this.covered = new Float32Array(columns);
    this.sums = [0, 8, 16].map(() => new Float32Array(columns));
    // The vote of Boyer and Moore finds a colour that has more than half of a column.
    this.heaviest = new Uint32Array(columns);
    this.votes = new Float32Array(columns);
  }

  /** @param {number} x in columns
   * @param {number} width
   * @param {number} pixel its colour */
  add(x, width, pixel) {
    const last = Math.min(x + width, this.covered.length);
    for (let k = Math.max(Math.floor(x), 0); k < last; k++) {
      const share = Math.min(x + width, k + 1) - Math.max(x, k);
      this.covered[k] += share;
      this.sums.forEach((sum, n) => (sum[k] += share * ((pixel >>> (8 * n)) & 255)));
      if (this.heaviest[k] === pixel) this.votes[k] += share;
      else if (this.votes[k] >= share) this.votes[k] -= share;
      else [this.heaviest[k], this.votes[k]] = [pixel, share - this.votes[k]];
    }
  }

  /** The colour of a column on a background; that itself where there is nothing.
   * @param {number} k
   * @param {number} back */
  pixel(k, back) {
    const covered = this.covered[k];
    if (!(covered > 0)) return back;
    const alpha = Math.min(Math.max(covered, LEAST_OPAQUE), 1);
    let mixed = 255 << 24;
    this.sums.forEach((sum, n) => {
      const own = HEAVIEST_PART * ((this.heaviest[k] >>> (8 * n)) & 255) + ((1 - HEAVIEST_PART) * sum[k]) / covered;
      mixed |= Math.round(own * alpha + ((back >>> (8 * n)) & 255) * (1 - alpha)) << (8 * n);
    });
    return mixed >>> 0;
  }
}
