// Names without template arguments, as `fg-filter --strip templates` makes them.

const LONGEST = 32 * 1024;

/** @param {string} name */
export function withoutTemplates(name) {
  if (!name.includes("<") || name.length > LONGEST) return name;
  // Without the inner arguments there may be others to remove.
  for (;;) {
    const [, bare, marks] = /** @type {RegExpExecArray} */ (/^(.*?)((?:_\[[kijw]\])*)$/su.exec(name));
    const short = cut(bare);
    if (short === bare) return name;
    name = short + marks;
  }
}

/** @param {string} text */
function cut(text) {
  const ends = closings(text);
  let name = "";
  for (let at = 0; at < text.length; ) {
    if (text[at] !== "<") {
      name += text[at++];
      continue;
    }
    if (name.endsWith("operator")) {
      const rest = text.slice(at, at + 3);
      let sign = ["<=>", "<<=", "<<", "<="].find((known) => rest.startsWith(known));
      // In `operator<<int>` the second bracket opens the arguments.
      if (sign === "<<" && ends.has(at + 1) && rest !== "<<<") sign = undefined;
      sign ??= "<";
      name += sign;
      at += sign.length;
      const open = text[at] === " " && text[at + 1] === "<" ? at + 1 : at;
      if (text[open] === "<" && ends.has(open)) at = /** @type {number} */ (ends.get(open));
      continue;
    }
    const behind = name.endsWith("::") ? name.slice(0, -2) : name;
    const end = ends.get(at);
    if (end !== undefined && /[A-Za-z0-9_\u0080-\uffff]$/.test(behind)) {
      name = behind;
      at = end;
    } else {
      name += "<";
      at++;
    }
  }
  return name;
}

/** For each `<` that is closed, the position behind its `>`. Arrows do not close.
 * @param {string} text */
function closings(text) {
  /** @type {Map<number, number>} */
  const ends = new Map();
  const open = [];
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "(" || letter === "<") {
      open.push(at);
    } else if (letter === ")") {
      while (open.length && text[/** @type {number} */ (open.pop())] === "<");
    } else if (letter === ">" && at > 0 && text[at - 1] !== "-" && text[at - 1] !== "=") {
      const last = open.at(-1);
      if (last !== undefined && text[last] === "<") {
        ends.set(last, at + 1);
        open.pop();
      }
    }
  }
  return ends;
}
