// Searching: the expression runs once for each name, then trees are walked by the answers.

/** @import { Names, Tree } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { STEP } from "./steps.js";
import { isStack } from "./tree.js";

/** Marks the names that match.
 * @param {Names} names
 * @param {{ test: (name: string) => boolean }} regex
 * @returns {Steps<Uint8Array>} */
export function* matching(names, regex) {
  const marks = new Uint8Array(names.texts.length);
  // An expression may take long on a long name.
  for (let id = 0, letters = 0; id < marks.length; id++) {
    letters += names.texts[id].length;
    if (letters > STEP) {
      letters = 0;
      yield;
    }
    if (id !== names.all && regex.test(names.texts[id])) marks[id] = 1;
  }
  return marks;
}

/** @typedef {{ stacks: number, total: number, before: number, self: number, frames: number }} Found */

/** The weight of the stacks with a matching frame, each counted once, and the self weight of these frames.
 * @param {Tree} tree
 * @param {Uint8Array} marks
 * @returns {Steps<Found>} */
export function* measure(tree, marks) {
  const found = { stacks: 0, total: 0, before: 0, self: 0, frames: 0 };
  let outermost = 0;
  for (let i = 1; i < tree.n; i++) {
    if (i % STEP === 0) yield;
    const is = marks[tree.name[i]] === 1;
    if (is) {
      found.frames++;
      found.self += tree.self[i];
      if (i >= outermost) {
        found.total += tree.total[i];
        if (tree.totalBefore) found.before += tree.totalBefore[i];
        outermost = tree.end[i];
      }
    }
    if (i < outermost && isStack(tree, i)) found.stacks++;
  }
  return found;
}

/** The next matching node after one, or before it; 0 when there is none.
 * @param {Tree} tree
 * @param {Uint8Array} marks
 * @param {number} from
 * @param {1 | -1} step */
export function nextMatch(tree, marks, from, step) {
  for (let k = 0, i = from; k < tree.n; k++) {
    i = (i + step + tree.n) % tree.n;
    if (i > 0 && marks[tree.name[i]] === 1 && tree.width[i] > 0) return i;
  }
  return 0;
}
