// Shorter forms of a name, for frames that have no room for all of it.

import { withoutTemplates } from "./templates.js";

/** The folders of a file that a name ends with: `run (/usr/lib/python3.11/threading.py:982)`. */
const FOLDERS = / (\(?)[^\s()]*[\\/](?=[^\s()\\/]+:\d+\)?$)/u;
/** The place of a function in its file. */
const PLACE = / \([^\s()]+:\d+\)$/u;
/** The parameters of a function, but for `operator()`. */
const PARAMETERS = /(?<=[\w>\]])(?<!\boperator)\([^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?$/u;
/** The type that a function returns, in front of its qualified name. */
const RETURNED = /^(?!.*\boperator\b|.*:\d+$)(?:[\w:.*&[\]]+ )+(?=[\w$~]+(?:::|\.))/u;
/** A method of a type: `<alloc::vec::Vec as core::iter::FromIterator>::from_iter`. */
const IMPLEMENTED = /^<&?(?:mut )?(?:\w+::)*(\w+)(?: as [^<>]*)?>(?=::)/u;
/** The outermost qualifier. */
const QUALIFIER = /^(?:Builtins_|(?:[\w$~@-]+|\(anonymous namespace\)|\(\*?\w+\))(?:::|[./]))(?=[A-Za-z_(~])/u;
/** The rest of a name that says nothing alone: what compilers append, the ending of a file, a closure. */
const NOTHING = /^(?:isra|constprop|part|cold|llvm|lto_priv|clone|so|py|rb|m?js|ts|php|pl|sh|map|exe|dll|func\d+|lambda|anonymous|init)(?![A-Za-z_])/u;

/** The name that `Names.fold` makes. */
const RUN = /^(⋯ \d+): (.*) … (.*)$/u;

const LONGEST_SHORTENED = 2000;
/** @type {Map<string, string[]>} */
const shortForms = new Map();

/** Shorter forms of a name, the longest first: without the arguments of templates and the folders of files, without
 * places and parameters, then without one qualifier after the other.
 * @param {string} name */
export function shorterForms(name) {
  let forms = shortForms.get(name);
  if (!forms) {
    if (shortForms.size > 20000) shortForms.clear();
    shortForms.set(name, (forms = formsOf(name)));
  }
  return forms;
}

/** @param {string} name
 * @returns {string[]} */
function formsOf(name) {
  if (name.length > LONGEST_SHORTENED) return [];
  // A run of frames is short by its ends.
  const [, count, ...ends] = RUN.exec(name) ?? [];
  if (count) return [0, -1].map((at) => `${count}: ${ends.map((end) => formsOf(end).at(at) ?? end).join(" … ")}`).concat(count);
  const bare = withoutTemplates(name).replace(FOLDERS, " $1");
  const forms = [bare];
  let rest = bare.replace(PLACE, "").replace(PARAMETERS, "").replace(RETURNED, "").replace(IMPLEMENTED, "$1");
  for (;;) {
    if (rest !== forms[forms.length - 1]) forms.push(rest);
    const outer = QUALIFIER.exec(rest)?.[0];
    if (!outer || NOTHING.test(rest.slice(outer.length))) return forms;
    rest = rest.slice(outer.length);
  }
}
