// The significance of changes: the tests of src/significance.rs, written here once more because the
// weights to compare are those of ranges of time that are chosen in the page.

/** @import { About, Tree } from "./types.js" */

/** Below this many expected hits the normal approximation is off where it matters; the exact test
 * takes over. */
const EXACT_BELOW = 100;

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

/** Two weights of a function whose shares differ by less than this part of the least effect are one test, as in fg-diff. */
const ALIKE = 0.1;

/**
 * The weights of functions, in samples.
 * @typedef {object} Weighed
 * @property {Float64Array} before
 * @property {Float64Array} after
 */

/**
 * The spread of a share within a recording: its variance, and the degrees of freedom.
 * @typedef {{ variance: number, freedom: number }} Spread */

/**
 * The limits of a significant change.
 * @typedef {object} Limits
 * @property {number} alpha
 * @property {number} minEffect in percentage points
 * @property {number} minSamples fewer samples on both sides are not tested
 */

/** The functions whose self weight and whose total weight changed significantly, by the rules of fg-diff for one recording a side:
 * both weights of all functions are tested together, and of the significant ones at most the share alpha is expected to be
 * chance (Benjamini and Hochberg). Weights that are equal are one test, and heavy ones get more attention than light ones.
 * @param {Limits} limits
 * @param {[number, number]} totals
 * @param {Weighed[]} kinds self and total weights, by function
 * @param {((kind: number, row: number) => [Spread, Spread]) | null} [spreadOf] where the spread within the recordings is known
 * @returns {{ significant: Uint8Array[], p: Float64Array[] }} for each kind, by function; NaN is not tested */
export function judgeFunctions({ alpha, minEffect, minSamples }, [n, m], kinds, spreadOf = null) {
  const significant = kinds.map(({ after }) => new Uint8Array(after.length));
  const p = kinds.map(({ after }) => new Float64Array(after.length).fill(NaN));
  const alike = (ALIKE * minEffect) / 100;
  /** @typedef {{ p: number, attention: number, of: [number, number, number][], shares: [number, number] }} Shared a test, and the kinds, functions and points it is of */
  /** @type {Map<string, Shared>} */
  const known = new Map();
  /** @type {Shared[]} */
  const tests = [];
  let sum = 0;
  for (let row = 0; row < kinds[0].after.length; row++) {
    /** @type {Shared | null} */
    let own = null;
    for (let kind = 0; kind < kinds.length; kind++) {
      const [x, y] = [kinds[kind].before[row], kinds[kind].after[row]];
      /** @type {[number, number]} */
      const shares = [n ? x / n : 0, m ? y / m : 0];
      if (Math.max(x, y) < minSamples || !(x || y) || 100 * (shares[0] + shares[1]) < minEffect) continue;
      const key = `${shares[0]} ${shares[1]}`;
      /** @type {Shared | undefined} */
      let test = own && own.shares.every((share, side) => Math.abs(share - shares[side]) <= alike) ? own : known.get(key);
      if (!test) {
        const mean = (shares[0] + shares[1]) / 2;
        const attention = Math.sqrt(Math.max(mean * (1 - mean), 0));
        sum += attention;
        let chance = compareShares({ x, n, y, m });
        const spread = spreadOf?.(kind, row);
        if (spread) chance = Math.max(chance, byBlocks(shares[1] - shares[0], spread));
        test = { p: chance, attention, of: [], shares };
        tests.push(test);
      }
      if (!known.has(key)) known.set(key, test);
      if (kind === 0) own = test;
      test.of.push([kind, row, 100 * (shares[1] - shares[0])]);
    }
  }
  for (const test of tests) {
    // Weights of 1 on average.
    const weight = sum > 0 ? (test.attention * tests.length) / sum : 1;
    test.p = weight > 0 ? test.p / weight : Infinity;
  }
  tests.sort((a, b) => b.p - a.p || 0);
  let least = 1;
  tests.forEach(({ p: alone, of }, at) => {
    least = Math.min(least, (alone * tests.length) / (tests.length - at));
    for (const [kind, row, points] of of) {
      // What is too small to count is not sure of anything that does.
      p[kind][row] = Math.abs(points) >= minEffect ? least : 1;
      if (least < alpha && Math.abs(points) >= minEffect) significant[kind][row] = 1;
    }
  });
  return { significant, p };
}

/** The probability of a difference of two shares by the spread within both recordings: Welch's test on batch means.
 * @param {number} difference
 * @param {[Spread, Spread]} spread */
function byBlocks(difference, [a, b]) {
  const variance = a.variance + b.variance;
  if (!(variance > 0) || difference === 0) return variance > 0 ? 1 : 0;
  const freedom = variance ** 2 / (a.variance ** 2 / a.freedom + b.variance ** 2 / b.freedom);
  return studentOutside(Math.abs(difference) / Math.sqrt(variance), freedom);
}

/** The probability that Student's t is farther from 0.
 * @param {number} t
 * @param {number} freedom */
export function studentOutside(t, freedom) {
  if (!Number.isFinite(freedom)) return outside(t / Math.SQRT2);
  return betaPart(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/** The regularised incomplete beta function, by its continued fraction.
 * @param {number} x
 * @param {number} a
 * @param {number} b
 * @returns {number} */
function betaPart(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaPart(1 - x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) + logGamma(a + b) - logGamma(a) - logGamma(b)) / a;
  let [c, d, value] = [1, 1 - ((a + b) * x) / (a + 1), 1];
  d = 1 / d;
  value = d;
  for (let k = 1; k < 300; k++) {
    const even = (k * (b - k) * x) / ((a + 2 * k - 1) * (a + 2 * k));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value *= d * c;
    const odd = (-(a + k) * (a + b + k) * x) / ((a + 2 * k) * (a + 2 * k + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return front * value;
}

/** The logarithm of the gamma function, by Stirling's series; small numbers are raised first.
 * @param {number} x
 * @returns {number} */
function logGamma(x) {
  if (x < 12) return logGamma(x + 1) - Math.log(x);
  const y = 1 / (x * x);
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x;
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
