// Refining: steps that choose stacks or change frames, each as fg-filter's operation of the name.

/** @import { Chip, Names, Tree } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { expression, ignoresCase } from "./expression.js";
import { withoutLine } from "./lines.js";
import { changed } from "./merge.js";
import { renamingOf } from "./pools.js";
import { matching } from "./search.js";
import { rangeKey } from "./state.js";
import { withoutTemplates } from "./templates.js";
import { belowMarked, kept } from "./tree.js";

/**
 * @typedef {object} Operation
 * @property {string} op as fg-filter calls it
 * @property {string} label
 * @property {string} about
 * @property {string} [value] the only value it takes; others take an expression
 * @property {0 | 1} [keeps] the stacks that it keeps: those with a matching frame, or the others
 * @property {(tree: Tree, names: Names, marks: Uint8Array, value: string) => Steps<Tree>} apply
 */

/** @type {Operation[]} */
export const OPERATIONS = [
  { op: "focus", label: "Focus", about: "keep stacks with a matching frame", keeps: 1, apply: focus(1) },
  { op: "ignore", label: "Ignore", about: "drop stacks with a matching frame", keeps: 0, apply: focus(0) },
  { op: "hide", label: "Hide", about: "delete matching frames, keep their weight", apply: hide },
  { op: "rename", label: "Rename", about: "s/R/TEXT/: what matches R becomes TEXT; frames of one name are one", apply: (tree, names, _, value) => renaming(substitution(value))(tree, names, _, value) },
  { op: "show-from", label: "Show from", about: "begin stacks at the first matching frame", keeps: 1, apply: showFrom },
  { op: "recursion", value: "direct", label: "Collapse recursion", about: "merge calls of a function by itself", apply: recursion },
  { op: "strip", value: "templates", label: "Shorten templates", about: "Vec<T>::push becomes Vec::push", apply: renaming(withoutTemplates) },
  { op: "strip", value: "line", label: "Strip lines", about: "f (file.py:12) becomes f (file.py); key s", apply: renaming(withoutLine) },
];

/** @param {number} wanted
 * @returns {Operation["apply"]} */
function focus(wanted) {
  return function* (tree, _, marks) {
    const on = yield* belowMarked(tree, marks);
    for (let i = 0; i < on.length; i++) on[i] = on[i] === wanted ? 1 : 0;
    return yield* kept(tree, on);
  };
}

/** @type {Operation["apply"]} */
function hide(tree, names, marks) {
  return changed(tree, names, { gone: namedSo(tree, marks) });
}

/** For each node, whether its name is marked.
 * @param {Tree} tree
 * @param {Uint8Array} marks by name */
function namedSo({ n, name }, marks) {
  const on = new Uint8Array(n);
  for (let i = 1; i < n; i++) on[i] = marks[name[i]];
  return on;
}

/** @type {Operation["apply"]} */
function* showFrom(tree, names, marks) {
  const gone = yield* belowMarked(tree, marks);
  for (let i = 0; i < gone.length; i++) gone[i] = 1 - gone[i];
  return yield* changed(tree, names, { gone });
}

/** @type {Operation["apply"]} */
function recursion(tree, names) {
  const { n, name, parent } = tree;
  const gone = new Uint8Array(n);
  for (let i = 1; i < n; i++) if (name[i] === name[parent[i]]) gone[i] = 1;
  return changed(tree, names, { gone });
}

/** @param {(name: string) => string} rename
 * @returns {Operation["apply"]} */
function renaming(rename) {
  return (tree, names) => {
    const renamed = Uint32Array.from(names.texts.keys());
    for (let id = 0; id < renamed.length; id++) {
      if (id !== names.all) renamed[id] = names.intern(rename(names.texts[id]), id);
    }
    return changed(tree, names, { renamed });
  };
}

/** The renaming that fg-filter reads from `s/R/TEXT/`, with the flags g and i.
 * @param {string} value
 * @returns {(name: string) => string} */
export function substitution(value) {
  const mark = String.fromCodePoint(value.codePointAt(1) ?? 0);
  const parts = value.startsWith("s") && !/[\p{L}\p{N}\\\0]/u.test(mark) ? value.slice(1 + mark.length).match(/(?:\\.|[^\\])/gsu) ?? [] : [];
  const [from, to, flags, ...more] = parts.reduce((all, part) => {
    if (part === mark) all.push("");
    else all[all.length - 1] += part === "\\" + mark ? mark : part;
    return all;
  }, /** @type {string[]} */ ([""]));
  if (flags === undefined || more.length || /[^gi]/.test(flags)) throw new Error("write s/R/TEXT/: what matches R becomes TEXT");
  const found = expression(from, flags.includes("i") ? "ignored" : "exact");
  if (!(found instanceof RegExp)) throw new Error("this expression takes too long");
  const regex = new RegExp(found.source, found.flags + (flags.includes("g") ? "g" : ""));
  return (name) => name.replace(regex, (...all) => {
    const groups = all.at(-1);
    return to.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (text, braced, bare) => (text === "$$" ? "$" : (/^\d+$/.test(braced ?? bare) ? all[braced ?? bare] : groups[braced ?? bare]) ?? ""));
  }).replaceAll(";", ":").replace(/[\r\n]/g, " ") || "[empty]";
}

/** Marks the nodes of a tree whose stacks remain after some steps, by the names of the file; null if all do.
 * @param {Tree} tree
 * @param {Names} names
 * @param {Chip[]} chips
 * @returns {Steps<Uint8Array | null>} */
export function* remaining(tree, names, chips) {
  /** @type {Uint8Array | null} */
  let nodes = null;
  const now = Uint32Array.from(names.texts.keys());
  for (const chip of chips) {
    const { keeps, op } = operationOf(chip) ?? {};
    if (op === "rename") {
      const rename = substitution(chip.value);
      for (let id = 0; id < now.length; id++) if (now[id] !== names.all) now[id] = names.intern(rename(names.texts[now[id]]), now[id]);
    }
    if (op === "hide" || keeps !== undefined) {
      const found = yield* matching(names, expression(chip.value));
      if (op === "hide") {
        // The whole is never found.
        for (let id = 0; id < now.length; id++) if (found[now[id]]) now[id] = names.all;
        continue;
      }
      const on = yield* belowMarked(tree, Uint8Array.from(now, (id) => found[id]));
      for (let i = 0; i < on.length; i++) on[i] = on[i] === keeps ? nodes?.[i] ?? 1 : 0;
      nodes = on;
    }
  }
  return nodes;
}

/** The operation of a step: some are told apart by their value.
 * @param {Chip} chip */
export function operationOf({ op, value }) {
  return OPERATIONS.find((known) => known.op === op && (!known.value || known.value === value));
}

/** Applies steps one after the other.
 * @param {Tree} tree
 * @param {Names} names
 * @param {Chip[]} chips
 * @returns {Steps<Tree>} */
export function* refined(tree, names, chips) {
  for (const chip of chips) {
    const operation = operationOf(chip);
    if (!operation) continue;
    const marks = operation.value || chip.op === "rename" ? new Uint8Array(0) : yield* matching(names, expression(chip.value));
    tree = yield* operation.apply(tree, names, marks, chip.value);
  }
  return tree;
}

/** The command that does the same to the file.
 * @param {Chip[]} chips
 * @param {import("./threads.js").Thread[]} threads
 * @param {string} focused an expression of the search that hides the rest
 * @param {[number, number][]} [ranges] of time: one that is kept, or two that are compared
 * @param {boolean} [shares] shares are compared, not weights
 * @param {import("./pools.js").Pool[]} [pools] those that are merged
 * @returns {string} */
export function command(chips, threads, focused, ranges = [], shares = true, pools = []) {
  if (ranges.length > 1) {
    const [before, after] = ranges;
    const options = shares ? "-n" : "--absolute";
    if (!chips.length && !threads.length && !focused && !pools.length) {
      return `fg-diff ${options} --before-time ${rangeKey(before)} --after-time ${rangeKey(after)} RECORDING`;
    }
    const [one, other] = [before, after].map((range) => `<(${command(chips, threads, focused, [range], shares, pools)})`);
    return `fg-diff ${options} ${one} ${other}`;
  }
  const words = ["fg-filter"];
  for (const range of ranges) words.push("--time", rangeKey(range));
  for (const { option, path } of threads) if (!path && option) words.push("--with-label", option);
  for (const { path, isLabel } of threads) if (path) words.push("-e", keepingCase(`${isLabel ? "(^|;)" : "^"}${literally(path)}(;|$)`));
  for (const { name } of pools) words.push("--rename", renamingOf(literally(name), name));
  for (const { op, value } of chips) words.push("--" + op, value);
  if (focused) words.push("--focus", focused);
  if (words.length === 1) words.push("-e", "");
  const timed = words.includes("--time") || words.includes("--with-label");
  return [...words.map(quoted), timed ? "RECORDING" : "out.folded"].join(" ");
}

/** @param {string} text */
export function literally(text) {
  return text.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&");
}

/** An expression that finds its letters as they are written: it says so if it would ignore case.
 * @param {string} expression */
export function keepingCase(expression) {
  return /\p{Alphabetic}/u.test(expression) && ignoresCase(expression) ? "(?-i)" + expression : expression;
}

/** The expression of one of the names, and of no other that differs by case alone.
 * @param {string} name
 * @param {string[]} names */
export function expressionOf(name, names) {
  const exact = `^${literally(name)}$`, lower = name.toLowerCase();
  return names.some((other) => other !== name && other.toLowerCase() === lower) ? keepingCase(exact) : exact;
}

/** The name that an expression of one name stands for; any other expression as it is.
 * @param {string} expression */
export function plainly(expression) {
  const inside = /^(?:\(\?-i\))?\^(.*)\$$/su.exec(expression)?.[1] ?? "";
  const name = inside.replace(/\\(.)/gsu, "$1");
  return inside && literally(name) === inside ? name : expression;
}

/** A word as a shell reads it.
 * @param {string} word */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
