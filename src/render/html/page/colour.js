// The colours of frames: those of ../../colour, computed here once more.

/** @import { About, Names } from "./types.js" */

import { NAMELESS } from "./names.js";

/** @typedef {[number, number, number]} Rgb */

/** The darkest colour of each hue and the range of its parts, in the order of the enumeration in Rust.
 * @type {[Rgb, Rgb][]} */
const HUES = [
  [[200, 50, 50], [55, 80, 80]],
  [[50, 200, 50], [60, 55, 60]],
  [[80, 80, 205], [60, 60, 50]],
  [[175, 175, 50], [55, 55, 20]],
  [[190, 80, 190], [65, 60, 65]],
  [[50, 165, 165], [60, 55, 55]],
  [[190, 90, 0], [65, 65, 0]],
];
/** Calm colours of one family, with black letters on them: OKLCH of lightness 0.84, chroma 0.07 and the hues 250, 45, 95, 160, 345,
 * 215, 120 and 295, then paler ones of the same hues. The second is darker by 0.04 and the third lighter, for eyes that see no
 * red or green: the first five are 7 apart for them by CIEDE2000.
 * @type {Rgb[]} */
const CALM = [[168, 207, 247], [229, 176, 153], [230, 216, 163], [163, 217, 187], [237, 185, 213], [149, 215, 231], [196, 210, 159], [205, 194, 244],
  [208, 228, 248], [246, 219, 207], [232, 226, 200], [206, 233, 217], [243, 217, 231], [200, 232, 240], [222, 229, 204], [226, 221, 247]];
/** The same on a dark page, with white letters on them: lightness 0.42 and chroma 0.06.
 * @type {Rgb[]} */
const DARK = [[62, 91, 121], [93, 56, 39], [98, 88, 47], [51, 93, 71], [101, 64, 85], [30, 85, 97], [73, 82, 43], [79, 70, 107],
  [42, 57, 74], [72, 50, 41], [62, 56, 35], [40, 62, 50], [69, 49, 60], [33, 61, 67], [53, 59, 38], [57, 52, 72]];
/** The kernel's code, which is nobody's module: a warm grey.
 * @type {Rgb} */
const KERNEL = [205, 194, 181];
const PLAIN = ["red", "green", "blue", "yellow", "purple", "aqua", "orange"];
/** @typedef {"user" | "kernel" | "inlined" | "jit" | "waker" | "unknown"} Kind */
/** The calm colour of each. */
const KINDS = { user: 0, inlined: 5, jit: 3, waker: 4 };
/** @type {Record<Kind, string>} */
export const KIND_NAMES = { user: "user", kernel: "kernel", inlined: "inlined", jit: "compiled at run time", waker: "waker", unknown: "not known" };
/** Frames whose kind or module is not known.
 * @type {Rgb} */
const UNKNOWN = [218, 215, 208];
/** The whole, which is no function.
 * @type {Rgb} */
export const WHOLE = [226, 223, 215];

/** Three numbers in [0, 1) from a name's hash.
 * @param {number} hash */
function shades(hash) {
  return [1, 2, 3].map((n) => {
    let h = (hash + Math.imul(n, 0x9e3779b9)) | 0;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return ((h ^ (h >>> 16)) >>> 8) / 2 ** 24;
  });
}

/** @param {number} hue
 * @param {number} shade
 * @returns {Rgb} */
export function hueColour(hue, shade) {
  const [from, range] = HUES[hue];
  return [from[0] + range[0] * shade, from[1] + range[1] * shade, from[2] + range[2] * shade];
}

/** The colour of a name, unless colours go by width.
 * @param {About} about
 * @param {Names} names
 * @param {number} id
 * @returns {Rgb} */
export function nameColour(about, names, id) {
  const text = names.texts[id];
  if (text === "--") return [160, 160, 160];
  if (text === "-") return [200, 200, 200];
  if (NAMELESS.test(text) && about.palette !== "diff") return UNKNOWN;
  const [v1, v2, v3] = shades(names.hash(id));
  const { palette } = about;
  if (names.hues) return hueColour(names.hues[id] ?? 0, v1);
  if (palette === "mem") return [0, 190 + 50 * v2, 210 * v1];
  if (palette === "io") return [80 + 60 * v1, 80 + 60 * v1, 190 + 55 * v2];
  if (palette === "wakeup") return hueColour(5, v1);
  if (palette === "diff") return [255, 255, 255];
  if (PLAIN.includes(palette)) return hueColour(PLAIN.indexOf(palette), v1);
  return [205 + 50 * v3, 230 * v1, 55 * v2];
}

/** The wider, the deeper.
 * @param {number} share
 * @returns {Rgb} */
export function widthColour(share) {
  const depth = Math.sqrt(Math.min(Math.max(share, 0), 1));
  return [255 - 25 * depth, 240 - 170 * depth, 215 - 175 * depth];
}

/** A calm colour on a dark page: the same one, deeper.
 * @param {Rgb} colour
 * @param {boolean} dark
 * @returns {Rgb} */
export function toned(colour, dark) {
  const [r, g, b] = colour;
  return dark ? DARK[CALM.indexOf(colour)] ?? [r * 0.37, g * 0.36, b * 0.35] : colour;
}

/** A calm colour by a name's hash.
 * @param {Names} names
 * @param {number} id */
export function functionColour(names, id) {
  return NAMELESS.test(names.texts[id]) ? UNKNOWN : CALM[Math.floor(shades(names.hash(id))[0] * CALM.length)];
}

/** The colour of growing or shrinking, the fuller the nearer to the largest change.
 * @param {About} about
 * @param {number} change
 * @param {number} largest
 * @param {boolean} [dark]
 * @returns {Rgb} */
export function changeColour(about, change, largest, dark) {
  const none = dark ? [66, 69, 76] : [255, 255, 255];
  const size = Math.abs(change) / largest;
  if (change === 0 || !Number.isFinite(size)) return /** @type {Rgb} */ (none);
  const ends = about.redBlue ? [[255, 70, 70], [70, 70, 255]] : [[230, 110, 0], [50, 120, 220]];
  const end = ends[change < 0 === about.negate ? 0 : 1];
  const depth = 0.08 + 0.92 * Math.min(size, 1);
  return /** @type {Rgb} */ (end.map((part, n) => Math.round(none[n] - (none[n] - part) * depth)));
}

/** The colour of insignificant changes.
 * @param {boolean} [dark]
 * @returns {Rgb} */
export const insignificant = (dark) => (dark ? [92, 95, 102] : [208, 208, 208]);

/** The kind of code of a name: its place says, else its annotation.
 * @param {Names} names
 * @param {number} id
 * @returns {Kind} */
export function kindOf(names, id) {
  const mark = names.mark(id);
  const known = names.places?.kinds[names.given > id ? id : names.madeFrom.get(id) ?? -1] ?? 0;
  const kind = known & 3;
  if (mark === "w") return "waker";
  if (kind === 2 || mark === "k") return "kernel";
  if (known > 3 || mark === "i") return "inlined";
  if (kind === 3 || mark === "j") return "jit";
  return kind === 1 ? "user" : "unknown";
}

/** @param {Names} names
 * @param {number} id */
export function kindColour(names, id) {
  const kind = kindOf(names, id);
  return kindTone(kind);
}

/** @param {Kind} kind
 * @returns {Rgb} */
export function kindTone(kind) {
  return kind === "unknown" ? UNKNOWN : kind === "kernel" ? KERNEL : CALM[KINDS[kind]];
}

/** The kinds that names of the page have, the unknown one last; none if all are unknown.
 * @param {Names} names
 * @returns {[Kind, string][]} */
export function kindsIn(names) {
  const seen = new Set();
  for (let id = 0; id < names.given; id++) seen.add(kindOf(names, id));
  const kinds = /** @type {Kind[]} */ (Object.keys(KIND_NAMES)).filter((kind) => seen.has(kind));
  if (!kinds.some((kind) => kind !== "unknown")) return [];
  return kinds.map((kind) => [kind, KIND_NAMES[kind]]);
}

/** Code without a name, and threads, are of no module and no package.
 * @param {Names} names
 * @param {number} id */
const isOfNone = (names, id) => NAMELESS.test(names.texts[id]) || names.threads?.[names.madeFrom.get(id) ?? id];

/** The module of a name: its place says, else the name itself; "" where neither does, and for code without a name.
 * @param {Names} names
 * @param {number} id */
export function moduleOf(names, id) {
  if (isOfNone(names, id)) return "";
  if (kindOf(names, id) === "kernel") return "[kernel]";
  const place = names.given > id ? id : names.madeFrom.get(id) ?? -1;
  const known = names.places && names.places.modules[names.places.moduleOf[place] ?? 0];
  return known || moduleInName(names.texts[id]);
}

/** The colours of modules or packages: the heaviest have those that are farthest apart, light ones share the pale ones.
 * @param {string[]} groups the heaviest first
 * @returns {(group: string) => Rgb} */
export function groupColours(groups) {
  const grey = new Map([["", UNKNOWN], ["[kernel]", KERNEL]]);
  const places = new Map(groups.filter((group) => !grey.has(group)).map((group, n) => [group, n]));
  const half = CALM.length / 2;
  return (group) => {
    const n = places.get(group) ?? half;
    return grey.get(group) ?? CALM[n < half ? n : half + (n % half)];
  };
}

/** The library, file, crate or package that a name tells of, as fg-diff reads it; "" if none.
 * @param {string} text */
export function moduleInName(text) {
  const name = text.replace(/_\[[ijw]\]$/, "");
  if (name.startsWith("[") && name.endsWith("]")) return name.replace(/\+0x[0-9a-f]+\]$/, "]");
  const open = name.endsWith(")") ? name.lastIndexOf(" (") : -1;
  if (open >= 0) {
    const file = name.slice(open + 2, -1).replace(/(?:(?<=.):[0-9]+)+$/, "");
    // A number is that of a thread.
    if (file && !/^\d+$| /.test(file)) return file;
  }
  const tick = name.indexOf("\x60");
  if (tick > 0) return name.slice(0, tick);
  const path = name.replace(/^(?:[<&*](?:mut )?(?:dyn )?(?:const )?)+/, "");
  const first = /^(\w+)::/.exec(path);
  if (first) return first[1];
  const slash = name.split(/[.:(]/, 1)[0].lastIndexOf("/");
  if (slash > 0 && !name.startsWith("/")) return name.slice(0, slash);
  return "";
}

/** The crate, package, namespace or file that a name begins with; "" if none.
 * @param {Names} names
 * @param {number} id */
export function packageOf(names, id) {
  if (isOfNone(names, id)) return "";
  return kindOf(names, id) === "kernel" ? "[kernel]" : packageInName(names.texts[id]);
}

/** @param {string} text */
export function packageInName(text) {
  const name = text.slice(0, 2000).replace(/_\[[ijw]\]$/, "");
  const library = /[/ @(]node_modules\/((?:@[^/]+\/)?[^/:]+)/.exec(name);
  if (library) return library[1];
  if (name.startsWith("(anonymous namespace)")) return "(anonymous namespace)";
  const file = / \(([^ ()]+?)(?::\d+)*\)$/.exec(name);
  if (file && !/^\d+$/.test(file[1])) return file[1];
  const path = name.replace(/^(?:[<&*](?:mut )?(?:dyn )?(?:const )?)+/, "");
  const scope = /^[^(<:]*?([A-Za-z_]\w*)::/.exec(path);
  if (scope) return scope[1];
  // Go: encoding/json.Marshal; Java: java/util/HashMap.get, Ljava/util/HashMap;::get.
  const folders = /^L?((?:[\w$.-]+\/)+)([\w$-]+)[.;]/.exec(name);
  if (folders) return /^[A-Z]/.test(folders[2]) ? folders[1].split("/").slice(0, 2).join("/").replace(/\/$/, "") : folders[1] + folders[2];
  // A script that was compiled: JS:*handle /srv/app.js:12:3; what V8 has built in; a class without a package: Orders$Item.price.
  const other = /^\w+:.* ((?:\/|node:)\S+?)(?::\d+)+$/.exec(name) ?? /^(Builtins)_|^([A-Z]\w*)[\w$]*\.[\w$<]/.exec(name);
  if (other) return other[1] ?? other[2];
  const dots = /^([a-z]\w*(?:\.[a-z]\w*)?)\.[\w$(<*]/.exec(name);
  // Without the closures of Go: main.main.func1.2.
  if (dots) return /^[^.]+\.[^.]+$/.test(name.replace(/(?:\.(?:func)?\d+)+$/, "")) ? name.split(".")[0] : dots[1];
  return moduleInName(text);
}

/** @param {Rgb} colour */
export function css([r, g, b]) {
  return "#" + ((1 << 24) | (Math.floor(r) << 16) | (Math.floor(g) << 8) | Math.floor(b)).toString(16).slice(1);
}

/** The ink that is easier to read on a colour: one of the two has a contrast of 4.5 or more.
 * @param {Rgb} colour */
export function inkOn(colour) {
  const [r, g, b] = colour.map((part) => {
    const share = Math.floor(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

/** A colour as the four bytes of a pixel.
 * @param {string} hex */
export function pixelOf(hex) {
  const colour = parseInt(hex.slice(1), 16);
  return ((255 << 24) | ((colour & 255) << 16) | (colour & 0xff00) | (colour >>> 16)) >>> 0;
}

/** The colour of a pixel.
 * @param {number} pixel
 * @returns {Rgb} */
export function partsOf(pixel) {
  return [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255];
}

/** @typedef {{ fill: string, pixel: number, ink: string }} Paint */

/** A colour with the ink that is readable on it.
 * @param {Rgb} colour
 * @returns {Paint} */
export function paint(colour) {
  const fill = css(colour);
  return { fill, pixel: pixelOf(fill), ink: inkOn(colour) };
}
