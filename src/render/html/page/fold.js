// Runs of frames that only call one another, as one frame: "⋯ 12"; and runs of unknown frames as one of them.

/** @import { Names, Tree } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { changed } from "./merge.js";
import { NAMELESS } from "./names.js";
import { STEP } from "./steps.js";

/** The least frames that become one. */
const LEAST_RUN = 3;

/** A tree with one frame for each run of unknown frames, and for each run of frames that weigh nothing themselves and call one function each; the first of
 * a run stays, and so does what was searched for.
 * @param {Tree} tree
 * @param {Names} names
 * @param {Uint8Array | null} marks
 * @returns {Steps<Tree>} */
export function* foldRuns(tree, names, marks) {
  const unknown = Uint8Array.from(names.texts, (text, id) => Number(NAMELESS.test(text) && !marks?.[id]));
  const behind = new Uint8Array(tree.n);
  for (let i = 1; i < tree.n; i++) {
    if (i % STEP === 0) yield;
    behind[i] = unknown[tree.name[i]] & unknown[tree.name[tree.parent[i]]];
  }
  if (behind.includes(1)) tree = yield* changed(tree, names, { gone: behind });
  const { n, self, before, end, parent } = tree;
  const name = tree.name.slice();
  const gone = new Uint8Array(n);
  const passes = (/** @type {number} */ k) => k > 0 && end[k] > k + 1 && end[k + 1] === end[k] && !self[k] && !before?.[k];
  for (let i = 1, looked = 0; i < n; i++) {
    if (i - looked > STEP / 10) {
      looked = i;
      yield;
    }
    if (!passes(i) || !passes(parent[i])) continue;
    let to = i;
    while (passes(to) && !marks?.[tree.name[to]]) to++;
    const ids = [...tree.name.subarray(i, to)];
    if (ids.length < LEAST_RUN) continue;
    name[i] = names.fold(ids);
    gone.fill(1, i + 1, to);
    i = to - 1;
  }
  return yield* changed({ ...tree, name }, names, { gone });
}
