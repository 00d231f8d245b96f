// The paint of each frame, by the colouring in use.

/** @import { Model } from "./model.js" */
/** @import { Part } from "./types.js" */

import { INSIGNIFICANT, changeColour, kindColour, moduleColour, moduleOf, nameColour, paint, widthColour } from "./colour.js";

/** @typedef {import("./colour.js").Paint} Paint */

const GREY = paint(INSIGNIFICANT);

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
    const { about, names, state, marks, changes } = this.model;
    const id = tree.name[node];
    if (marks && marks[id]) return this.found;
    if (state.colour === "change" && about.differential) {
      if (changes.isHidden(tree, node)) return GREY;
      return paint(changeColour(about, changes.of(tree, node), changes.largest));
    }
    if (about.byWidth && state.colour === "name") return paint(widthColour(tree.width[node] / tree.width[0]));
    if (this.knownBy !== state.colour) {
      this.known = [];
      this.knownBy = state.colour;
    }
    return (this.known[id] ??= paint(
      state.colour === "module" ? moduleColour(moduleOf(names, id))
      : state.colour === "kind" ? kindColour(names, id)
      : nameColour(about, names, id)));
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
