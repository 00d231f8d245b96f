// The page as a whole: its parts, and the way from a change of the state to all that shows it.

/** @import { Model } from "./model.js" */
/** @import { State } from "./types.js" */

import { Chips } from "./chips.js";
import { legendOf } from "./colours_panel.js";
import { byId } from "./dom.js";
import { showHeader } from "./header.js";
import { listenToKeys } from "./keys.js";
import { Lanes } from "./lanes.js";
import { List } from "./list.js";
import { Navigation } from "./navigation.js";
import { Outline } from "./outline.js";
import { Panels } from "./panels.js";
import { extras } from "./parts.js";
import { listenToPrinting } from "./print.js";
import { Selection } from "./selection.js";
import { Stage } from "./stage.js";
import { fromHash, toHash } from "./state.js";
import { Work } from "./steps.js";
import { Theme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { rangeText } from "./timeline_data.js";
import { Toolbar } from "./toolbar.js";
import { showVerdict } from "./verdict.js";

/** The colours that are explained above the frames. */
const LEGEND = 6;

export class App {
  /** @param {Model} model
   * @param {State} usual the state of an empty address */
  constructor(model, usual) {
    this.model = model;
    this.usual = usual;
    /** @type {import("./types.js").View | null} the value whose head is shown */
    this.headed = null;
    /** @type {Work | null} what is being made */
    this.work = null;
    /** @type {State | null} the state that it is made for */
    this.pending = null;
    this.theme = new Theme(this);
    this.toolbar = new Toolbar(this);
    this.panels = new Panels(this);
    this.chips = new Chips(this);
    this.list = new List(this);
    this.outline = new Outline(this);
    this.stage = new Stage(this);
    this.lanes = new Lanes(this);
    this.timeline = new Timeline(this);
    this.selection = new Selection(this);
    this.navigation = new Navigation(this);
    this.parts = extras.map((make) => make(this));
    addEventListener("popstate", () => this.#fromAddress());
    addEventListener("hashchange", () => this.#fromAddress());
    listenToKeys(this);
    listenToPrinting(this);
    byId("value").addEventListener("change", (event) => {
      const { value } = /** @type {HTMLSelectElement} */ (event.target);
      this.change({ value: value === model.views[0].name ? "" : value });
    });
    byId("stop").addEventListener("click", () => this.stop());
    this.#take(fromHash(location.hash, usual));
    if (this.work) this.show(true);
    byId("loading").hidden = true;
  }

  #fromAddress() {
    const state = fromHash(location.hash, this.usual);
    if (toHash(state, this.usual) !== toHash(this.model.state, this.usual)) this.#take(state);
  }

  /** Shows a state once what it needs is made, unless somebody stops it or changes it again.
   * @param {State} state
   * @param {(again: boolean) => void} [taken] */
  #take(state, taken) {
    this.work?.stop();
    this.pending = state;
    const again = this.headed === null || this.#isElsewhere(state);
    const ended = () => {
      this.#rest();
      taken?.(again);
      this.show(again);
    };
    const waits = () => {
      byId("working").hidden = false;
      byId("working-on").textContent = `Working on ${this.model.whole.n.toLocaleString("en")} frames …`;
    };
    this.work = new Work(this.model.updating(state), { ended, waits });
    if (!this.work.isGoingOn) this.work = null;
  }

  /** Makes once more what is shown, for a window of another size. */
  again() {
    if (!this.work) this.#take(this.model.state);
  }

  #rest() {
    this.work = this.pending = null;
    byId("working").hidden = true;
  }

  /** Stops what is being worked on, if anything is, and leaves all as it was.
   * @returns {boolean} */
  stop() {
    if (!this.work) return false;
    this.work.stop();
    this.#rest();
    this.show();
    return true;
  }

  /** Returns true if a state shows another part of the profile.
   * @param {State} state */
  #isElsewhere(state) {
    const old = this.model.state;
    return state.view !== old.view || state.value !== old.value || state.zoom.join(";") !== old.zoom.join(";") || state.focus !== old.focus
      || state.chips.length !== old.chips.length || state.threads.length !== old.threads.length || state.only !== old.only
      || state.ranges.join(";") !== old.ranges.join(";");
  }

  /** Changes the state and the address; Back undoes a change that shows another part of the profile.
   * @param {Partial<State>} part */
  change(part) {
    byId("hint").hidden = true;
    const old = this.pending ?? this.model.state;
    const state = { ...old, ...part };
    const turns = (/** @type {string} */ view) => view === "flame" || view === "icicle";
    // A path through one tree leads nowhere in another; flames and icicles are the same one.
    if (part.view && part.view !== old.view && !(turns(part.view) && turns(old.view)) && !part.zoom) state.zoom = [];
    this.#take(state, (again) => {
      const address = toHash(state, this.usual) || location.pathname + location.search;
      if (again) history.pushState({ inside: true }, "", address);
      else history.replaceState(history.state, "", address);
    });
  }

  /** Says why nothing is shown, if so. */
  #showNothing() {
    const { state, tree } = this.model;
    const line = byId("nothing");
    line.hidden = tree.total[0] > 0 || Boolean(tree.totalBefore?.[0]);
    const where = state.ranges.map(rangeText).join(" and ");
    line.textContent = line.hidden ? "" : where ? `No samples in ${where}` : "No stacks are left: the steps, the threads or the search leave none";
  }

  /** @param {boolean} [again] from the beginning */
  show(again) {
    const { state } = this.model;
    this.theme.set(state.theme);
    if (again) this.selection.reset();
    if (this.headed !== this.model.view) showHeader(this);
    this.headed = this.model.view;
    this.toolbar.show();
    byId("legend").replaceChildren(...legendOf(this.model, LEGEND));
    showVerdict(this);
    this.chips.show();
    this.panels.refresh();
    byId("stage").hidden = !this.model.parts.length && state.view !== "butterfly";
    this.list.show();
    this.outline.show();
    this.selection.describe();
    this.timeline.show();
    this.stage.fit(again);
    this.lanes.show();
    this.#showNothing();
    this.navigation.showPath();
    for (const showPart of this.parts) showPart();
  }
}
