// Pools: threads of one name but for a number, `lto_cgu.00` to `lto_cgu.15`, which would split a graph into as many parts.

/** @import { Names, Tree } from "./types.js" */
/** @import { Threads } from "./threads.js" */

/** The threads of a pool above which they are one without being asked for. */
const MANY = 20;
/** The number at the end of a thread's name; of `COMM-PID/TID` both. */
const NUMBER = "[-_.\\s#:]*[0-9]+(?:/[0-9]+)?$";

/** @typedef {{ name: string, ids: number[] }} Pool the names of its threads */

/** The pools among the threads that stacks begin with, the largest first.
 * @param {Threads} threads
 * @param {Tree} tree
 * @param {Names} names
 * @returns {Pool[]} */
export function poolsOf(threads, tree, names) {
  const number = new RegExp(NUMBER, "u");
  const depth = threads.labelDepth || 1;
  /** @type {Map<string, Set<number>>} */
  const pools = new Map();
  for (let i = 1; i < tree.n; i = tree.depth[i] < depth ? i + 1 : tree.end[i]) {
    if (tree.depth[i] !== depth) continue;
    const text = names.texts[tree.name[i]];
    const pool = text.replace(number, "");
    if (pool === text || !/\p{L}{2}$|\p{L}{2}.*[^=]$/u.test(pool)) continue;
    pools.set(pool, (pools.get(pool) ?? new Set()).add(tree.name[i]));
  }
  return [...pools].map(([name, ids]) => ({ name, ids: [...ids] }))
    // Where first frames may be functions, only many of a name with a mark before its number are threads.
    .filter(({ name, ids }) => (threads.haveFrames ? ids.length > 1 : ids.length > MANY && ids.every((id) => /^[-_.\s#:]/u.test(names.texts[id].slice(name.length)))))
    .sort((a, b) => b.ids.length - a.ids.length || (a.name < b.name ? -1 : 1));
}

/** The pools that are merged in a state: all, none, or the large ones.
 * @param {Pool[]} pools
 * @param {string} state "all", "none" or "" */
export function mergedPools(pools, state) {
  return state === "none" ? [] : pools.filter(({ ids }) => state === "all" || ids.length > MANY);
}

/** The renaming by which fg-filter merges a pool.
 * @param {string} pool its name, as an expression that finds just that
 * @param {string} name */
export function renamingOf(pool, name) {
  const mark = ["/", "|", ",", "%", "~"].find((one) => !pool.includes(one) && !NUMBER.includes(one)) ?? "\u0001";
  return `s${mark}^${pool}${NUMBER}${mark}${name.replaceAll("$", "$$$$")}${mark}`;
}
