// The keyboard: every view and every frame without a mouse.

/** @import { App } from "./app.js" */
/** @import { Place } from "./types.js" */

import { byId } from "./dom.js";
import { VIEWS } from "./state.js";

const ARROWS = { ArrowUp: "up", k: "up", ArrowDown: "down", j: "down", ArrowLeft: "left", h: "left", ArrowRight: "right", l: "right" };

/** @param {App} app */
export function listenToKeys(app) {
  document.addEventListener("keydown", (event) => {
    // The browser finds nothing on a canvas; asked twice, it may look through the rest.
    if ((event.ctrlKey || event.metaKey) && event.key === "f" && document.activeElement !== byId("query")) {
      event.preventDefault();
      /** @type {HTMLInputElement} */ (byId("query")).select();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key === "Escape" && target.id === "query") {
      // Not every browser empties a field of searches by itself.
      /** @type {HTMLInputElement} */ (target).value = "";
      app.change({ query: "", only: false });
      app.stage.canvas.focus();
    }
    if (target.matches("input, select, textarea") || document.querySelector("[popover]:popover-open")) return;
    const isFrame = target === app.stage.canvas || target === document.body;
    // Buttons, tabs and rows have uses of their own for these.
    if (!isFrame && (event.key === "Enter" || event.key === " " || event.key.startsWith("Arrow"))) return;
    if (act(app, event.key)) event.preventDefault();
  });
}

/** @param {App} app
 * @param {string} key
 * @returns {boolean} whether the key has a meaning */
function act(app, key) {
  const { model, navigation, selection, stage } = app;
  const { place } = selection;
  const named = VIEWS[Number(key) - 1];
  const view = named === "time" && !model.times ? undefined : named;
  const arrow = ARROWS[/** @type {keyof typeof ARROWS} */ (key)];
  if (view) app.change({ view });
  else if (arrow && model.parts.length) step(app, arrow);
  else if (key === "Enter" && place) navigation.zoomTo(place);
  else if (key === "Backspace") navigation.back();
  else if (key === "0" || key === "Home") navigation.zoomOut();
  else if ((key === "+" || key === "=") && model.parts.length) stage.stretch(0.5);
  else if (key === "-" && model.parts.length) stage.stretch(2);
  else if (key === "/") /** @type {HTMLInputElement} */ (byId("query")).select();
  else if (key === "?") byId("help").showPopover();
  else if (key === "n" || key === "N") navigation.toMatch(key === "n" ? 1 : -1);
  else if (key === "t") app.theme.toggle();
  else if (key === "s") toggleLines(app);
  else if (key === "f") app.change({ fold: !model.state.fold, zoom: [] });
  else if (key === "b" && place) navigation.butterfly(model.parts[place.part].tree.name[place.node]);
  else if (key === "c" && place) selection.copyName(model.parts[place.part].tree.name[place.node]);
  else if (key === "C" && place) selection.copyStack(place);
  else if (key === "m" && place) selection.openOwnMenu();
  else if (key === "Escape") app.stop() || selection.select(null);
  else return false;
  return true;
}

/** Takes the line numbers off the names, or puts them on again.
 * @param {App} app */
function toggleLines(app) {
  const { chips } = app.model.state;
  const others = chips.filter(({ op, value }) => op !== "strip" || value !== "line");
  if (others.length < chips.length) app.change({ chips: others, zoom: [] });
  else app.navigation.refine("strip", "line");
}

/** To the frame in a direction of the screen.
 * @param {App} app
 * @param {string} arrow */
function step(app, arrow) {
  const { model, selection } = app;
  const { parts } = model;
  const { place } = selection;
  if (!place) {
    const part = parts.length - 1;
    selection.select({ part, node: Math.max(model.zoomed, parts[part].skip) });
    return;
  }
  const { tree, up, skip } = parts[place.part];
  const { node } = place;
  if (arrow === "left" || arrow === "right") {
    const beside = sibling(app, place, arrow === "right" ? 1 : -1);
    if (beside > 0) selection.select({ part: place.part, node: beside });
    return;
  }
  if ((arrow === "up") === up) {
    const child = heaviestChild(place, app);
    if (child > 0) selection.select({ part: place.part, node: child });
    return;
  }
  const above = tree.parent[node];
  const depth = tree.depth[node];
  if (depth > skip) {
    selection.select({ part: place.part, node: above });
  } else if (parts.length > 1) {
    // Over the middle of a butterfly, to the other side.
    const part = 1 - place.part;
    const to = part === 1 ? 1 : heaviestChild({ part, node: 1 }, app);
    if (to > 0) selection.select({ part, node: to });
  }
}

/** @param {Place} place
 * @param {App} app */
function heaviestChild({ part, node }, app) {
  const { tree } = app.model.parts[part];
  let best = 0;
  for (let k = node + 1; k < tree.end[node]; k = tree.end[k]) {
    // A gap in the order of time is no call.
    if (tree.width[k] > (best ? tree.width[best] : 0) && tree.name[k] !== app.model.names.all) best = k;
  }
  return best;
}

/** The nearest one beside it that is wide enough to be seen, or else the nearest.
 * @param {App} app
 * @param {Place} place
 * @param {1 | -1} direction */
function sibling({ model, stage }, { part, node }, direction) {
  const { tree } = model.parts[part];
  const { from, to } = model.window;
  const least = ((to - from) / Math.max(stage.width, 1)) * 0.5;
  const above = tree.parent[node];
  if (above < 0) return 0;
  let any = 0;
  if (direction === 1) {
    for (let k = tree.end[node]; k < tree.end[above]; k = tree.end[k]) {
      if (tree.width[k] >= least) return k;
      any ||= tree.width[k] > 0 ? k : 0;
    }
    return any;
  }
  let seen = 0;
  for (let k = above + 1; k < node; k = tree.end[k]) {
    if (tree.width[k] >= least) seen = k;
    else if (tree.width[k] > 0) any = k;
  }
  return seen || any;
}
