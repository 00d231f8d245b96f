// A matcher whose time grows with the text and the expression only, as that of the programs: JavaScript's own tries the ways through
// `(\w+)+;;` one after the other, of which there are more than it will ever have time for. The SVG has this file too.

/** A state of the matcher: the character or the place that it waits for, as a sticky expression, or none, and the states behind it.
 * @typedef {{ at: RegExp | null, isPlace: boolean, next: number[] }} State */

/** The most states; repeated repetitions make many. */
const MOST_STATES = 5000;

/** A part of an expression as it stands there: a class, a group's begin, a repetition, an escape, a character. */
const PARTS = /\[(?:\\.|[^\]\\])*\]|\(\?(?:<[^>=!]*>|[a-zA-Z-]*:)|\(\?<?[=!]|[*+?]\??|\{\d+(?:,\d*)?\}\??|\\[pPu]\{[^}]*\}|\\.|./gsu;

/** Returns true if an expression, as JavaScript reads it, may take forever: it repeats something that repeats or has other ways.
 * @param {string} source */
export function isSlow(source) {
  const parts = source.match(PARTS) ?? [];
  const endless = (/** @type {string} */ part) => /^(?:[*+]|\{\d+,)/.test(part);
  /** @type {boolean[]} for each open group, if it has several ways */
  const open = [];
  let repeated = 0;
  for (let k = 0; k < parts.length; k++) {
    if (parts[k].startsWith("(")) open.push(false);
    else if (parts[k] === "|" || /^(?:[*+?{])/.test(parts[k])) {
      if (open.length) open[open.length - 1] = true;
      if (endless(parts[k])) repeated++;
    } else if (parts[k] === ")") {
      const ways = open.pop();
      if (ways && /^(?:[*+]|\{\d{2,}|\{\d+,)/.test(parts[k + 1] ?? "")) return true;
      if (ways && open.length) open[open.length - 1] = true;
    }
  }
  return repeated > 3;
}

/** A matcher of an expression as JavaScript reads it.
 * @param {string} source
 * @param {string} flags
 * @returns {{ test: (text: string) => boolean }} */
export function linear(source, flags) {
  const parts = source.match(PARTS) ?? [];
  /** @type {State[]} the first one is the end */
  const states = [{ at: null, isPlace: false, next: [] }];
  let at = 0;
  const add = (/** @type {RegExp | null} */ find, /** @type {boolean} */ isPlace, /** @type {number[]} */ next) => {
    if (states.length >= MOST_STATES) throw new SyntaxError("Invalid regular expression: too large");
    return states.push({ at: find, isPlace, next }) - 1;
  };
  /** A part as a function that puts its states before a state, and returns the first.
   * @typedef {(to: number) => number} Piece */
  /** @type {(flags: string) => Piece} */
  const either = (own) => {
    const ways = [inRow(own)];
    while (parts[at] === "|") {
      at++;
      ways.push(inRow(own));
    }
    return ways.length === 1 ? ways[0] : (to) => add(null, false, ways.map((way) => way(to)));
  };
  /** @type {(flags: string) => Piece} */
  const inRow = (own) => {
    /** @type {Piece[]} */
    const pieces = [];
    while (at < parts.length && parts[at] !== "|" && parts[at] !== ")") {
      const piece = one(own);
      const count = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(at < parts.length ? parts[at] : "");
      if (count) at++;
      pieces.push(count ? times(piece, Number(count[2] ?? (count[1] === "+" ? 1 : 0)), count[1] === "?" ? 1 : count[2] && !count[3] ? Number(count[2]) : Number(count[4] || Infinity)) : piece);
    }
    return (to) => pieces.reduceRight((next, piece) => piece(next), to);
  };
  /** @type {(piece: Piece, least: number, most: number) => Piece} */
  const times = (piece, least, most) => (to) => {
    let next = to;
    if (most === Infinity) {
      next = add(null, false, [to]);
      states[next].next.push(piece(next));
    } else {
      for (let k = least; k < most; k++) next = add(null, false, [piece(next), to]);
    }
    for (let k = 0; k < least; k++) next = piece(next);
    return next;
  };
  /** @type {(flags: string) => Piece} */
  const one = (own) => {
    const part = parts[at++];
    if (/^\(\?<?[=!]/.test(part)) {
      // Expressions of the page's own for a place between words: they look, and take nothing.
      let depth = 1;
      let text = part;
      while (depth && at < parts.length) {
        depth += parts[at].startsWith("(") ? 1 : parts[at] === ")" ? -1 : 0;
        text += parts[at++];
      }
      return (to) => add(new RegExp(text, `${own}y`), true, [to]);
    }
    if (part.startsWith("(")) {
      const [, on = "", off = ""] = /^\(\?([a-z]*)-?([a-z]*):$/.exec(part) ?? [];
      const inside = [...new Set(own + on)].filter((flag) => !off.includes(flag)).join("");
      const piece = either(inside);
      at++;
      return piece;
    }
    const find = new RegExp(part, `${own}y`);
    return (to) => add(find, part === "^" || part === "$", [to]);
  };
  const first = either(flags)(0);
  return { test: (text) => matches(states, first, text) };
}

/** @param {State[]} states
 * @param {number} first
 * @param {string} text */
function matches(states, first, text) {
  const seen = new Int32Array(states.length).fill(-1);
  /** @type {number[]} */
  let now = [];
  for (let place = 0; ; ) {
    const waiting = [...now, first];
    /** @type {number[]} */
    const ready = [];
    for (let k = waiting.pop(); k !== undefined; k = waiting.pop()) {
      if (seen[k] === place) continue;
      seen[k] = place;
      if (k === 0) return true;
      const { at, isPlace, next } = states[k];
      if (at && !isPlace) ready.push(k);
      else if (!at || finds(at, text, place)) waiting.push(...next);
    }
    if (place >= text.length) return false;
    now = ready.filter((k) => finds(/** @type {RegExp} */ (states[k].at), text, place)).flatMap((k) => states[k].next);
    place += /** @type {number} */ (text.codePointAt(place)) > 0xffff ? 2 : 1;
  }
}

/** @param {RegExp} sticky
 * @param {string} text
 * @param {number} place */
function finds(sticky, text, place) {
  sticky.lastIndex = place;
  return sticky.test(text);
}
