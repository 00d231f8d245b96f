// The modules, packages and kinds of a profile: which of them its colours can tell apart.

/** @import { Names, Profile, Tree } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { groupColours, kindOf, kindsIn, moduleOf, packageOf } from "./colour.js";
import { STEP } from "./steps.js";

/** The ways to colour, and the group of a name in each.
 * @type {Record<string, (names: Names, id: number) => string>} */
export const GROUPINGS = { module: known(moduleOf), package: known(packageOf) };
/** A group of less than this share of all frames is too small to be told apart. */
const LEAST_GROUP = 0.01;
/** The names between two steps; finding the group of one takes some microseconds. */
const NAMES = 2048;

/** The same function, which keeps what it has found: the group of a name takes some microseconds.
 * @param {(names: Names, id: number) => string} groupOf
 * @returns {(names: Names, id: number) => string} */
function known(groupOf) {
  /** @type {WeakMap<Names, string[]>} */
  const groups = new WeakMap();
  return (names, id) => {
    let all = groups.get(names);
    if (!all) groups.set(names, (all = []));
    // A run of frames is of the group of its first.
    return (all[id] ??= groupOf(names, names.folds.get(id)?.[0] ?? id));
  };
}

/** The share of the frames of each name in the area of all.
 * @param {Names} names
 * @param {Tree} tree
 * @returns {Steps<Float64Array>} */
export function* areasByName(names, { n, name, total, totalBefore }) {
  const areas = new Float64Array(names.texts.length);
  let whole = 0;
  for (let i = 1; i < n; i++) {
    if (i % STEP === 0) yield;
    const area = total[i] + (totalBefore ? totalBefore[i] : 0);
    areas[name[i]] += area;
    whole += area;
  }
  return areas.map((area) => area / (whole || 1));
}

/** The share of every group in the area of all frames, the largest first.
 * @param {Names} names
 * @param {Float64Array} byName
 * @param {(names: Names, id: number) => string} groupOf
 * @returns {Steps<[string, number][]>} */
function* areas(names, byName, groupOf) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (let id = 0; id < byName.length; id++) {
    if (id % NAMES === 0) yield;
    if (id === names.all) continue;
    const group = groupOf(names, id);
    sums.set(group, (sums.get(group) ?? 0) + byName[id]);
  }
  return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** The colours of the modules or packages of a profile.
 * @param {Names} names
 * @param {Float64Array} byName the areas of names
 * @param {string} colouring
 * @returns {Steps<ReturnType<groupColours>>} */
export function* coloursOfGroups(names, byName, colouring) {
  const shares = yield* areas(names, byName, GROUPINGS[colouring]);
  return groupColours(shares.map(([group]) => group));
}

/** The colouring that tells most: by change, by the palette that was asked for, by the module or package that tells more
 * frames apart, by kind, by function.
 * @param {Profile} profile
 * @returns {Steps<string>} */
export function* usualColouring({ about, names, areas: byName }) {
  if (about.differential) return "change";
  if (about.byWidth || about.palette !== "hot") return "name";
  let best = "";
  let most = 0.15;
  for (const [key, groupOf] of Object.entries(GROUPINGS)) {
    const shares = (yield* areas(names, byName, groupOf)).filter(([, share]) => share >= LEAST_GROUP);
    const unknown = shares.find(([group]) => !group)?.[1] ?? 0;
    // The chance that two frames are of different groups.
    const told = 1 - shares.reduce((sum, [, share]) => sum + share * share, 0);
    if (unknown < 0.5 && told > most + 0.1 * Number(best !== "")) {
      best = key;
      most = told;
    }
  }
  if (best) return best;
  const kinds = (yield* areas(names, byName, kindOf)).filter(([, share]) => share >= LEAST_GROUP);
  return kinds.length > 1 ? "kind" : "function";
}

/** The reason why frames cannot be coloured so; "" if they can.
 * @param {Names} names
 * @param {string} colouring */
export function missing(names, colouring) {
  if (colouring === "kind") return kindsIn(names).length ? "" : "The profile does not say which frames are kernel, user, inlined or compiled at run time.";
  const groupOf = GROUPINGS[colouring];
  if (!groupOf) return "";
  for (let id = 0; id < names.given; id++) if (groupOf(names, id)) return "";
  return colouring === "module" ? "The profile does not say which module a frame is of." : "The names of the frames do not begin with a package.";
}
