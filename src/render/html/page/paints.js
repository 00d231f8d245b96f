// The paint of each frame, by the colouring in use.

/** @import { Model } from "./model.js" */
/** @import { Part } from "./types.js" */

import { WHOLE, changeColour, functionColour, insignificant, kindColour, nameColour, paint, toned, widthColour } from "./colour.js";
import { GROUPINGS, coloursOfGroups } from "./groups.js";
import { atOnce } from "./steps.js";

/** @typedef {import("./colour.js").Paint} Paint */
/** @typedef {import("./colour.js").Rgb} Rgb */

export class Paints {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {(Paint | undefined)[]} of names */
    this.known = [];
    this.knownBy = "";
    const parts = [1, 3, 5].map((at) => parseInt(model.about.found.slice(at, at + 2), 16));
    this.found = paint(/** @type {[number, number, number]} */ (parts));
  }

  /** @param {Part} part
   * @param {number} node
   * @returns {Paint} */
  of({ tree }, node) {
    const { about, names, state, marks, changes, theme: { dark } } = this.model;
    const id = tree.name[node];
    if (marks && marks[id]) return this.found;
    if (id === names.all) return paint(toned(WHOLE, dark));
    if (state.colour === "change" && about.differential) {
      if (changes.isHidden(tree, node)) return paint(insignificant(dark));
      return paint(changeColour(about, changes.of(tree, node), changes.largest, dark));
    }
    if (about.byWidth && state.colour === "name") return paint(widthColour(tree.width[node] / tree.width[0]));
    const by = state.colour + dark + state.value;
    if (this.knownBy !== by) {
      this.known = [];
      this.knownBy = by;
    }
    return (this.known[id] ??= paint(state.colour === "name" ? nameColour(about, names, id) : toned(this.#calm(id), dark)));
  }

  /** @param {number} id
   * @returns {Rgb} */
  #calm(id) {
    const { names, state } = this.model;
    const groupOf = GROUPINGS[state.colour];
    if (groupOf) return this.groups(state.colour)(groupOf(names, id));
    return state.colour === "kind" ? kindColour(names, id) : functionColour(names, id);
  }

  /** The colours of modules or packages: those of the whole profile, whatever is shown of it.
   * @param {string} colouring */
  groups(colouring) {
    const { memo, names, view, whole } = this.model;
    return memo.get("colours", [colouring, whole], () => atOnce(coloursOfGroups(names, view.areas, colouring)));
  }

  /** The opacity of a frame: frames around the zoomed one and frames that do not match are paler.
   * @param {Part} part
   * @param {number} node */
  opacity({ tree }, node) {
    const { marks, zoomed, main } = this.model;
    if (marks && !marks[tree.name[node]]) return 0.4;
    const isAbove = node < zoomed && tree.end[node] > zoomed && tree === main;
    return isAbove ? 0.55 : 1;
  }
}
