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
 * Equal pairs are one test, and heavy ones get more attention than light ones.
 * @param {About} about
 * @param {number[]} period of a sample, before and after
 * @param {[number, number]} totals
 * @param {Weights} before
 * @param {Weights} after */
export function judge({ alpha, minEffect }, period, totals, before, after) {
  const significant = new Uint8Array(after.length);
  if (alpha === null) return significant.fill(1);
  const [n, m] = [totals[0] / period[0], totals[1] / period[1]];
  /** @type {Map<string, { p: number, attention: number, effect: number, pairs: number[] }>} */
  const tests = new Map();
  let sum = 0;
  for (let i = 0; i < after.length; i++) {
    const [x, y] = [before[i] / period[0], after[i] / period[1]];
    if (!(x >= n * LEAST_SHARE || y >= m * LEAST_SHARE)) continue;
    const key = `${x} ${y}`;
    let test = tests.get(key);
    if (!test) {
      const shares = [x / (n || 1), y / (m || 1)];
      const mean = (shares[0] + shares[1]) / 2;
      const attention = Math.sqrt(Math.max(mean * (1 - mean), 0));
      sum += attention;
      test = { p: compareShares({ x, n, y, m }), attention, effect: 100 * Math.abs(shares[1] - shares[0]), pairs: [] };
      tests.set(key, test);
    }
    test.pairs.push(i);
  }
  const sorted = [...tests.values()];
  for (const test of sorted) {
    // Weights of 1 on average.
    const weight = sum > 0 ? (test.attention * sorted.length) / sum : 1;
    test.p = weight > 0 ? test.p / weight : Infinity;
  }
  sorted.sort((a, b) => b.p - a.p || 0);
  let least = 1;
  sorted.forEach(({ p, effect, pairs }, at) => {
    least = Math.min(least, (p * sorted.length) / (sorted.length - at));
    if (least < alpha && effect >= minEffect) for (const i of pairs) significant[i] = 1;
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
 * A tail is summed away from the middle, where its terms shrink: few terms, however many hits.
 * @param {number} x
 * @param {number} n
 * @param {number} y
 * @param {number} m */
function exact(x, n, y, m) {
  [x, n, y, m] = [x, n, y, m].map(Math.round);
  x = Math.min(x, n);
  const hits = x + Math.min(y, m);
  const all = n + m;
  const [first, last] = [Math.max(0, hits - m), Math.min(hits, n)];
  const isAbove = x >= hits * (n / all);
  const here = probability(x, n, m, hits);
  let term = here;
  let outward = here;
  for (let k = x; k !== (isAbove ? last : first) && term >= outward * 1e-17 && term > 0; ) {
    if (isAbove) {
      k++;
      term *= ((hits - k + 1) / k) * ((n - k + 1) / (m - hits + k));
    } else {
      term *= (k / (hits - k + 1)) * ((m - hits + k) / (n - k + 1));
      k--;
    }
    outward += term;
  }
  outward = Math.min(outward, 1);
  return Math.min(1, 2 * Math.min(outward, Math.max(1 - outward + here, 0)));
}

/** The probability of exactly x of n, given all hits of n and m, by Loader's saddle-point expansion.
 * @param {number} x
 * @param {number} n
 * @param {number} m
 * @param {number} hits */
function probability(x, n, m, hits) {
  const [p, rest] = [n / (n + m), m / (n + m)];
  return Math.exp(logBinomial(x, hits, p, rest) + logBinomial(n - x, n + m - hits, p, rest) - logBinomial(n, n + m, p, rest));
}

/** The logarithm of the binomial probability of x of n.
 * @param {number} x
 * @param {number} n
 * @param {number} p
 * @param {number} rest 1 - p */
function logBinomial(x, n, p, rest) {
  if (n === 0) return 0;
  if (x === 0) return n * (p < 0.5 ? Math.log1p(-p) : Math.log(rest));
  if (x === n) return n * (rest < 0.5 ? Math.log1p(-rest) : Math.log(p));
  const y = n - x;
  const errors = stirlingError(n) - stirlingError(x) - stirlingError(y);
  return errors - deviance(x, n * p) - deviance(y, n * rest) + 0.5 * Math.log(n / (2 * Math.PI * x * y));
}

/** @type {number[]} */
const FACTORIALS = [0];

/** The error of Stirling's formula: ln n! less it.
 * @param {number} n */
function stirlingError(n) {
  if (n < 16) {
    for (let k = FACTORIALS.length; k <= n; k++) FACTORIALS[k] = FACTORIALS[k - 1] + Math.log(k);
    return FACTORIALS[n] - (n + 0.5) * Math.log(n) + n - 0.5 * Math.log(2 * Math.PI);
  }
  const y = 1 / (n * n);
  return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / n;
}

/** x ln(x / mean) + mean - x, without cancellation where both are close.
 * @param {number} x
 * @param {number} mean */
function deviance(x, mean) {
  if (Math.abs(x - mean) >= 0.1 * (x + mean)) return x * Math.log(x / mean) + mean - x;
  const v = (x - mean) / (x + mean);
  let sum = (x - mean) * v;
  let power = 2 * x * v;
  for (let j = 1; j < 1000; j++) {
    power *= v * v;
    const next = sum + power / (2 * j + 1);
    if (next === sum) break;
    sum = next;
  }
  return sum;
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
