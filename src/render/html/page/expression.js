// Expressions for names: those of Rust's regex crate, as JavaScript's own. The rule is that of
// `src/search.rs`; both are held against `tests/search/cases.json`. The SVG has this file too.

import { isSlow, linear } from "./linear.js";

/** @typedef {"smart" | "ignored" | "exact"} Case */

/** An expression as tokens: an escape, the start of a group, a class of POSIX, a repetition, or a character. */
const TOKENS = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[xuU]\{[\da-fA-F]+\})|\\[pP](?:\{[^}]*\}|.)|\\.|\(\?(?:P?<(?![=!])[^>]*>|[a-zA-Z-]*:)|\(\?<?[=!]|\[:\^?[a-z]+:\]|\{\d+(?:,\d*)?\}|&&|--|~~|./gsu;

/** The inside of a class of word characters. */
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";

/** @type {Record<string, string>} */
const POSIX = {
  alnum: "0-9A-Za-z", alpha: "A-Za-z", ascii: "\\0-\\x7f", blank: "\\t ", cntrl: "\\0-\\x1f\\x7f", digit: "0-9", graph: "!-~",
  lower: "a-z", print: " -~", punct: "!-\\/:-@\\[-\\x60\\{-~", space: "\\t\\n\\v\\f\\r ", upper: "A-Z", word: "0-9A-Za-z_", xdigit: "0-9A-Fa-f",
};

/** Escapes that JavaScript has not, or understands as ASCII only.
 * @type {Record<string, string>} */
const ESCAPES = {
  A: "^", z: "$", a: "\\x07", d: "\\p{Nd}", D: "\\P{Nd}", s: "\\p{White_Space}", S: "\\P{White_Space}", w: `[${WORD}]`, W: `[^${WORD}]`,
  b: `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`, B: `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`,
  "<": `(?<![${WORD}])(?=[${WORD}])`, ">": `(?<=[${WORD}])(?![${WORD}])`, n: "\\n", r: "\\r", t: "\\t", f: "\\f", v: "\\v",
};

/** @param {string} token
 * @returns {never} */
function refuse(token) {
  throw new SyntaxError(`Invalid regular expression: ${token} is not supported`);
}

/** An escape outside of a class, or inside.
 * @param {string} token
 * @param {boolean} inClass */
function escaped(token, inClass) {
  const mark = token[1] ?? refuse("\\ at the end");
  if (mark === "p" || mark === "P") return token.includes("{") ? token : `\\${mark}{${token.slice(2)}}`;
  if (!inClass) {
    if (Object.hasOwn(ESCAPES, mark)) return ESCAPES[mark];
  } else if (mark === "w") {
    return WORD;
  } else if (/[dDsSanrtfv]/.test(mark)) {
    return ESCAPES[mark];
  }
  if (!/[!-/:-@[-\x60{-~]/.test(mark) || (inClass && /[<>]/.test(mark))) refuse(token);
  return /[\^$\\.*+?()[\]{}|/]/.test(mark) || (inClass && mark === "-") ? token : mark;
}

/** The same expression for JavaScript, and if it looks for a capital letter.
 * @param {string} text
 * @returns {{ source: string, capital: boolean }} */
function translated(text) {
  let source = "", literal = "", inClass = false, isFirst = false;
  for (const [token] of text.matchAll(TOKENS)) {
    const wasFirst = isFirst;
    isFirst = false;
    const code = /^\\[xuU]\{?([\da-f]+)\}?$/i.exec(token)?.[1];
    if (code !== undefined) {
      if (parseInt(code, 16) > 0x10ffff) refuse(token);
      literal += String.fromCodePoint(parseInt(code, 16));
      source += `\\u{${code}}`;
    } else if (token[0] === "\\") {
      source += escaped(token, inClass);
    } else if (inClass) {
      const posix = token.length > 2 && token.startsWith("[:") ? POSIX[token.slice(2, -2)] ?? refuse(token) : "";
      if (token === "]" && !wasFirst) inClass = false;
      // Sets of sets, which only the newest browsers have.
      if (!posix && (token[0] === "[" || ["&&", "--", "~~"].includes(token))) refuse(token);
      if (token === "^" && wasFirst && source.endsWith("[")) isFirst = true;
      if (!posix) literal += token;
      source += posix || (token === "]" && wasFirst ? "\\]" : token);
    } else if (token[0] === "[") {
      // A class of POSIX out of a class is a class of its letters.
      if (token.length > 1) refuse(token);
      inClass = isFirst = true;
      source += token;
    } else if (/^\(\?<?[=!]$/.test(token)) {
      refuse(token);
    } else if (token.startsWith("(?")) {
      source += token.replace("(?P<", "(?<");
    } else {
      literal += token;
      source += token === "]" || token === "}" ? "\\" + token : token;
    }
  }
  return { source, capital: /\p{Uppercase}/u.test(literal) };
}

/** Returns true if a search ignores case: if it has no capital letter, when nobody asked for more.
 * @param {string} text
 * @param {Case} [mode] */
export function ignoresCase(text, mode = "smart") {
  const given = /^\(\?(-?)i\)/.exec(text);
  if (given) return given[1] === "";
  return mode === "ignored" || (mode === "smart" && !translated(text).capital);
}

/** The matcher of an expression; throws when it has a mistake.
 * @param {string} text
 * @param {Case} [mode]
 * @returns {{ test: (name: string) => boolean }} */
export function expression(text, mode = "smart") {
  const { source } = translated(text.replace(/^\(\?-?i\)/, ""));
  const flags = ignoresCase(text, mode) ? "isu" : "su";
  const regex = new RegExp(source, flags);
  return isSlow(source) ? linear(source, flags) : regex;
}
