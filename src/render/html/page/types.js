// The shapes that modules hand to each other. Types only: nothing of it is in the page.

/**
 * The facts of the profile and the settings of the page, as fg-render writes them.
 * @typedef {object} About
 * @property {string} tool
 * @property {string} title
 * @property {string | null} subtitle the one that was asked for
 * @property {string | null} measured a line on what was measured; with a unit it begins with the total
 * @property {string | null} notes
 * @property {[string, string][]} details all other facts: a word and a text each
 * @property {[string, string][][] | null} sides the facts of both sides of a comparison
 * @property {string[]} warnings
 * @property {string[]} labels the keys of the labels that stacks begin with
 * @property {string | null} producer
 * @property {string | null} unit
 * @property {string | null} sampleWeight the weight of a sample where all weigh the same, exact
 * @property {boolean | null} rootsAreCode the first frames are functions, not processes or threads
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
 * @property {number | null} alpha the share of noise among significant changes; null takes all changes as significant
 * @property {string[]} [verdict] what changed, in a line; every second part is the name of a function
 * @property {[string, string?, string?][]} [changed] the functions that changed significantly: name, p of self weight, of total weight
 * @property {[number, number, string[], [string, string?, string?][]][]} [pairs] of several recordings: the numbers of two, the verdict on them, and the functions that changed
 * @property {AboutTime | null} [time] the time line, where there is one
 * @property {string} [value] the name of the value, where there are several
 * @property {Partial<About>[]} [values] the facts of the other values that are not those of the first
 * @property {number | null} period the weight of a sample in tests of significance, if one was given
 */

/**
 * The time line: see ../payload/times.rs.
 * @typedef {object} AboutTime
 * @property {string} start nanoseconds on the clock of the recording
 * @property {number} length in nanoseconds
 * @property {number} step in nanoseconds
 * @property {boolean} coarse some samples stand for others of their stack
 * @property {number} [pooled] the number of light stacks, by thread, for which one beside them stands
 * @property {number} samples how many there were
 * @property {[string, string, number | null, number | null, number][]} threads label, name, process, thread, samples here
 */

/** @typedef {"after" | "before" | "union"} Widths */
/** @typedef {Uint32Array | Float64Array} Weights */
/** @typedef {import("./names.js").Names} Names */

/**
 * The kind and the module of each name: see ../payload/mod.rs.
 * @typedef {object} Places
 * @property {Uint8Array} kinds
 * @property {string[]} modules the first one is that of unknown names
 * @property {Float64Array} moduleOf
 */

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
 * @property {Weights} own the width of the node's own weight
 * @property {Weights} width its width with all below it
 */

/** A value of the recording: its tree, the share of each name in the area of all frames, and what it has for itself.
 * @typedef {{ about: About, tree: Tree, areas: Float64Array, threads: import("./threads.js").Threads, times?: import("./timeline_data.js").Times | null, source?: Source | null }} View */

/** The value that a page shows at first, and all of them.
 * @typedef {View & { names: Names, views: { name: string, open: () => import("./steps.js").Steps<View> }[] }} Profile */

/**
 * The source lines of functions: see ../payload/source.rs.
 * @typedef {object} Source
 * @property {SourceFile[]} files
 * @property {SourceFunction[]} functions the heaviest first
 */

/**
 * @typedef {object} SourceFile
 * @property {string} name
 * @property {number} [last] the number of its lines
 * @property {[number, string][]} [runs] lines beside each other, from a number on
 */

/**
 * @typedef {object} SourceFunction
 * @property {string} name
 * @property {number} file
 * @property {number} start
 * @property {number[]} frames the numbers of its names
 * @property {number[][]} lines number, self, total; of a comparison both before
 */

/**
 * A step of refining.
 * @typedef {object} Chip
 * @property {string} op
 * @property {string} value
 */

/**
 * The state of the page that the address holds.
 * @typedef {object} State
 * @property {string} view
 * @property {string} value the name of the value that is shown; "" is the first
 * @property {string[]} zoom keys of names from below the root on
 * @property {string} query
 * @property {boolean} matchCase
 * @property {boolean} only only matching stacks
 * @property {Chip[]} chips
 * @property {string[]} threads keys of the chosen threads; none are all
 * @property {string} focus key of the butterfly's function
 * @property {string} order "name" or "weight"
 * @property {boolean} fold runs of frames are one
 * @property {string} theme "", "light" or "dark"
 * @property {string} colour
 * @property {Widths} widths
 * @property {boolean} ownChange
 * @property {boolean} insignificant insignificant changes have colours as well
 * @property {boolean} shares compare shares rather than weights
 * @property {[number, number][]} ranges of time, in seconds; two are before and after
 * @property {[number, number] | null} span the seconds that the time line shows; null is all
 * @property {boolean} heat the time line is a heat map
 * @property {string} pools "all" merges the threads of each pool, "none" of none, "" those of large ones
 * @property {string[]} lanes keys of the lanes of the chart that are opened, or closed if they were open
 * @property {string} sort the table's column, with "-" before it for the smallest first
 */

/** A tree that is drawn, up or down; its first rows may be left out. A lane has its place and the number of its rows.
 * @typedef {{ tree: Tree, up: boolean, skip: number, top?: number, rows?: number }} Part */

/** From where to where the width goes, in weights.
 * @typedef {{ from: number, to: number }} Window */

/** A frame on the screen.
 * @typedef {{ part: number, node: number }} Place */

export {};
