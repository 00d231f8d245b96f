// Names without the line they are at, as `fg-filter --strip line` makes them.

const LONGEST_WITH_LINE = 32 * 1024;

/** @param {string} name */
export function withoutLine(name) {
  if (name.length > LONGEST_WITH_LINE) return name;
  const [, bare, marks] = /** @type {RegExpExecArray} */ (/^(.*?)((?:_\[[kijw]\])*)$/su.exec(name));
  // `T0:16668` is a thread; a place in a file has a `.` or brackets before it.
  if (!/[.(>]/.test(bare)) return name;
  let text = bare;
  for (;;) {
    const short = text.replace(/([^:])(?::[0-9]+){1,2}(\)?)$/u, "$1$2");
    if (short === text) return text === bare ? name : text + marks;
    text = short;
  }
}
