// The significance of changes: the tests of src/significance.rs, written here once more because the
// weights to compare depend on the threads, the steps of refining and the view that are chosen.

/** @import { About, Tree, Weights } from "./types.js" */

/** Below this many expected hits the normal approximation is off where it matters; the exact test
 * takes over. */
const EXACT_BELOW = 100;
/** Lighter frames are too narrow for a picture, and are not tested: a million tests of nothing
 * would only make the others blind. */
const LEAST_SHARE = 1 / 12000;

/** The samples that fell on something and all samples, before (x, n) and after (y, m).
 * @typedef {{ x: number, n: number, y: number, m: number }} Counts */

/** The weight of a sample on each side: the largest step that all weights are multiples of. Scaled
 * weights and sums of varying periods have no true step; then it is that of the lightest stack.
 * @param {About} about
 * @param {Tree} whole
 * @param {number} unit one, in the steps of weights */
export function periods(about, whole, unit) {
  return [whole.before, whole.self].map((column) => {
    if (about.period) return about.period * unit;
    let step = 0;
    let least = Infinity;
    let last = 0;
    for (const weight of column ?? []) {
      if (weight === last || weight === 0) continue;
      last = weight;
      step = divisor(step, weight);
      if (weight < least) least = weight;
    }
    if (!step) return unit;
    return step % unit !== 0 || step * 1000 < least ? least : step;
  });
}

/** @param {number} a
 * @param {number} b */
function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** For each pair of weights, whether its share changed significantly. All are tested together: of
 * the significant ones, at most the share alpha is expected to be chance (Benjamini and Hochberg).
 * @param {About} about
 * @param {number[]} period of a sample, before and after
 * @param {[number, number]} totals
 * @param {Weights} before
 * @param {Weights} after */
export function judge({ alpha, minEffect }, period, totals, before, after) {
  const significant = new Uint8Array(after.length);
  if (alpha === null) return significant.fill(1);
  const [n, m] = [totals[0] / period[0], totals[1] / period[1]];
  const tested = [];
  /** @type {Map<string, number>} equal pairs are many */
  const known = new Map();
  for (let i = 0; i < after.length; i++) {
    const [x, y] = [before[i] / period[0], after[i] / period[1]];
    if (!(x >= n * LEAST_SHARE || y >= m * LEAST_SHARE)) continue;
    const key = `${x} ${y}`;
    let p = known.get(key);
    if (p === undefined) known.set(key, (p = compareShares({ x, n, y, m })));
    tested.push({ i, p, effect: 100 * Math.abs(y / (m || 1) - x / (n || 1)) });
  }
  tested.sort((a, b) => b.p - a.p);
  let least = 1;
  tested.forEach(({ i, p, effect }, at) => {
    least = Math.min(least, (p * tested.length) / (tested.length - at));
    if (least < alpha && effect >= minEffect) significant[i] = 1;
  });
  return significant;
}

/** The probability of a difference of two shares at least this large by chance alone.
 * @param {Counts} counts */
export function compareShares({ x, n, y, m }) {
  if (n < 1 || m < 1) return 1;
  const pooled = Math.min(Math.max((x + y) / (n + m), 0), 1);
  if (Math.min(pooled, 1 - pooled) * Math.min(n, m) < EXACT_BELOW) return n > m ? exact(y, m, x, n) : exact(x, n, y, m);
  const z = Math.abs(y / m - x / n) / Math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m));
  return Number.isFinite(z) ? Math.min(outside(z / Math.SQRT2), 1) : 1;
}

/** Fisher's test, the smaller tail doubled: given all hits, the number of them on the shorter side.
 * @param {number} x
 * @param {number} n
 * @param {number} y
 * @param {number} m */
function exact(x, n, y, m) {
  [x, n, y, m] = [x, n, y, m].map(Math.round);
  x = Math.min(x, n);
  let hits = x + Math.min(y, m);
  // The rarer of hits and misses is counted, which keeps the sums short.
  if (2 * hits > n + m) [x, hits] = [n - x, n + m - hits];
  const first = Math.max(0, hits - m);
  const last = Math.min(hits, n);
  const at = (/** @type {number} */ k) => Math.exp(choices(n, k) + choices(m, hits - k) - choices(n + m, hits));
  const upTo = (/** @type {number} */ from, /** @type {number} */ to) => {
    let term = at(from);
    let sum = term;
    for (let k = from; k < to; k++) {
      term *= ((n - k) * (hits - k)) / ((k + 1) * (m - hits + k + 1));
      sum += term;
    }
    return sum;
  };
  return Math.min(1, 2 * Math.min(upTo(first, x), upTo(x, last)));
}

/** The logarithm of the number of ways to choose k of n.
 * @param {number} n
 * @param {number} k */
function choices(n, k) {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

/** @type {number[]} */
const FACTORIALS = [0];

/** @param {number} n */
function logFactorial(n) {
  if (n < 256) {
    for (let k = FACTORIALS.length; k <= n; k++) FACTORIALS[k] = FACTORIALS[k - 1] + Math.log(k);
    return FACTORIALS[n];
  }
  // Stirling's series: what is left out is below 1e-15 from here on.
  return (n + 0.5) * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * n) - 1 / (360 * n ** 3) + 1 / (1260 * n ** 5);
}

/** The complementary error function, of numbers from 0 on.
 * @param {number} x */
function outside(x) {
  if (x < 2) {
    // Its Taylor series, multiplied out.
    let term = x;
    let sum = x;
    for (let k = 1; k < 60; k++) {
      term *= (2 * x * x) / (2 * k + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  // A continued fraction, from its far end.
  let rest = 0;
  for (let k = 60; k > 0; k--) rest = k / 2 / (x + rest);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + rest);
}
