// The list of keys.

import { make } from "./dom.js";

const KEYS = [
  ["1 … 8", "flame, icicle, callers, butterfly, table, tree, bottom up, time order"],
  ["*", "in a tree: open the heaviest path"],
  ["arrows, h j k l", "to the frame above, below, beside"],
  ["Enter", "zoom into the chosen frame"],
  ["Backspace", "one zoom back; the browser's Back does the same"],
  ["0", "show all again; so does a double click beside all frames"],
  ["+, −", "stretch, shrink"],
  ["/, Ctrl F", "search, ignoring case unless a letter is a capital; Escape clears it"],
  ["n, N", "next match, previous match"],
  ["m", "menu of the chosen frame or row: focus, hide, copy, …"],
  ["b", "butterfly of the chosen frame"],
  ["c, C", "copy its name, its stack"],
  ["t", "dark or light"],
  ["s", "names without line numbers, or with them"],
  ["f", "frames in a row that only call one another as one, or all"],
  ["Ctrl and wheel, two fingers", "stretch; dragging or a wheel to the side moves"],
  ["On the time line", "drag for a range, with Shift for one to compare; wheel zooms; a click chooses a row; arrows, Shift, +, −, 0, d, Escape"],
  ["?", "this list"],
];

export function helpPanel() {
  const keys = make("dl", {}, ...KEYS.flatMap(([key, meaning]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, meaning)]));
  return [make("h2", {}, "Keys"), keys, make("p", {}, "A click zooms; a second button or a long touch opens a menu.")];
}
