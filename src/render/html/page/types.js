// The shapes that modules hand to each other. Types only: nothing of it is in the page.

/**
 * What fg-render says of the profile.
 * @typedef {object} About
 * @property {string} tool
 * @property {string} title
 * @property {string | null} subtitle
 * @property {string | null} notes
 * @property {[string, string][]} facts
 * @property {string} unit
 * @property {string} total exact
 * @property {string} before exact
 * @property {number} frames
 * @property {[number, number][]} scales
 * @property {boolean} differential
 * @property {boolean} chart
 * @property {boolean} icicle
 * @property {boolean} cutStart
 * @property {string} palette
 * @property {number} seed
 * @property {boolean} byWidth
 * @property {[string, number][]} legend
 * @property {string} found
 * @property {boolean} redBlue
 * @property {boolean} negate
 * @property {Widths} widths
 * @property {boolean} ownChange
 * @property {number | null} alpha how often noise may be taken for a change; null: always
 * @property {number} minEffect the least change that is no noise, in percentage points
 * @property {number | null} period what a sample weighs, when that is known
 */

/** @typedef {"after" | "before" | "union"} Widths */
/** @typedef {Uint32Array | Float64Array} Weights */
/** @typedef {import("./names.js").Names} Names */

/**
 * A call tree, callers before callees; node 0 is the whole.
 * @typedef {object} Tree
 * @property {number} n
 * @property {Uint32Array} name
 * @property {Uint16Array | Uint32Array} depth
 * @property {Int32Array} parent
 * @property {Uint32Array} end where what is called below it ends
 * @property {Weights} self
 * @property {Weights} total
 * @property {Weights | null} before self weights before
 * @property {Weights | null} totalBefore
 * @property {Weights} own what the node itself is wide
 * @property {Weights} width what it is wide with all below it
 */

/** @typedef {{ about: About, names: Names, tree: Tree }} Profile */

/**
 * A step of refining.
 * @typedef {object} Chip
 * @property {string} op
 * @property {string} value
 */

/**
 * All that the address says.
 * @typedef {object} State
 * @property {string} view
 * @property {string[]} zoom keys of names from below the root on
 * @property {string} query
 * @property {boolean} matchCase
 * @property {boolean} only only matching stacks
 * @property {Chip[]} chips
 * @property {string[]} roots keys of the chosen threads; none are all
 * @property {string} focus key of the butterfly's function
 * @property {string} order "name" or "weight"
 * @property {string} theme "", "light" or "dark"
 * @property {string} colour
 * @property {Widths} widths
 * @property {boolean} ownChange
 * @property {boolean} noise changes that may be noise have colours as well
 * @property {boolean} shares compare shares rather than weights
 * @property {string} sort the table's column, with "-" before it for the smallest first
 */

/** A tree that is drawn, up or down; its first rows may be left out.
 * @typedef {{ tree: Tree, up: boolean, skip: number }} Part */

/** From where to where the width goes, in weights.
 * @typedef {{ from: number, to: number }} Window */

/** A frame on the screen.
 * @typedef {{ part: number, node: number }} Place */

export {};
