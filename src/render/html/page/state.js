// The state of the page in its address: a link opens the same view, also of a file made anew, and
// the browser's back and forward walk through the zooms.

/** @import { Profile, State, Widths } from "./types.js" */

import { usualColouring } from "./groups.js";

export const VIEWS = /** @type {const} */ (["flame", "icicle", "callers", "butterfly", "table", "tree", "bottomup", "time"]);
export const COLOURINGS = /** @type {const} */ (["module", "package", "kind", "function", "name", "change"]);
const WIDTHS = ["after", "before", "union"];

/** The state of an empty address.
 * @param {Profile} profile
 * @returns {import("./steps.js").Steps<State>} */
export function* initial(profile) {
  const { about } = profile;
  const isPhone = typeof matchMedia === "function" && matchMedia("(max-width: 600px)").matches;
  return {
    view: about.icicle || isPhone ? "icicle" : "flame", value: "",
    zoom: [], query: "", matchCase: false, only: false, chips: [], threads: [], focus: "",
    ranges: [], span: null, heat: false, lanes: [], pools: "",
    order: "name", fold: isPhone, theme: "", colour: yield* usualColouring(profile),
    widths: about.widths, ownChange: about.ownChange, shares: false, insignificant: about.alpha === null, sort: about.differential ? "change" : "self",
  };
}

/** @param {State} state
 * @param {State} usual the state of an empty address */
export function toHash(state, usual) {
  const parts = [];
  const say = (/** @type {string} */ key, /** @type {string} */ value) => parts.push(`${key}=${encoded(value)}`);
  if (state.view !== usual.view) say("view", state.view);
  if (state.value) say("value", state.value);
  if (state.zoom.length) parts.push("zoom=" + state.zoom.map(encoded).join(";"));
  if (state.query) say("q", state.query);
  if (state.matchCase) say("case", "match");
  if (state.only) say("only", "1");
  for (const { op, value } of state.chips) parts.push(`do=${encoded(op)}:${encoded(value)}`);
  for (const thread of state.threads) say("in", thread);
  for (const range of state.ranges) say("time", rangeKey(range));
  if (state.span) say("span", rangeKey(state.span));
  if (state.heat) say("heat", "1");
  if (state.pools) say("pools", state.pools);
  for (const lane of state.lanes) say("lane", lane);
  if (state.focus) say("of", state.focus);
  if (state.order !== usual.order) say("order", state.order);
  if (state.fold !== usual.fold) say("fold", state.fold ? "1" : "0");
  if (state.theme) say("theme", state.theme);
  if (state.colour !== usual.colour) say("colour", state.colour);
  if (state.widths !== usual.widths) say("widths", state.widths);
  if (state.ownChange !== usual.ownChange) say("change", state.ownChange ? "self" : "total");
  if (state.shares) say("as", "shares");
  if (state.insignificant !== usual.insignificant) say("insignificant", state.insignificant ? "shown" : "hidden");
  if (state.sort !== usual.sort) say("sort", state.sort);
  return parts.length ? "#" + parts.join("&") : "";
}

/** @param {string} text */
function encoded(text) {
  // Half a pair has no encoding; everything else has.
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd"));
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A range of seconds as fg-filter takes it.
 * @param {[number, number]} range */
export function rangeKey([from, to]) {
  return `${from}s..${to}s`;
}

/** The range of a text, if it is one.
 * @param {string} text
 * @returns {[number, number][]} */
function rangesIn(text) {
  const [from, to] = text.split("..").map((part) => (/^[\d.]+(e-?\d+)?s?$/.test(part) ? parseFloat(part) : NaN));
  return from < to ? [[from, to]] : [];
}

/** Reads an address; parts that it does not understand are as in an empty one.
 * @param {string} hash
 * @param {State} usual
 * @returns {State} */
export function fromHash(hash, usual) {
  const state = { ...usual, zoom: [...usual.zoom], chips: [...usual.chips], threads: [...usual.threads], ranges: [...usual.ranges], lanes: [...usual.lanes] };
  for (const part of hash.replace(/^#/, "").split("&")) {
    const cut = part.indexOf("=");
    const key = part.slice(0, cut);
    const raw = part.slice(cut + 1);
    const value = decoded(raw);
    if (key === "view" && VIEWS.some((view) => view === value)) state.view = value;
    else if (key === "value") state.value = value;
    else if (key === "zoom") state.zoom = raw ? raw.split(";").map(decoded) : [];
    else if (key === "q") state.query = value;
    else if (key === "case") state.matchCase = value === "match";
    else if (key === "only") state.only = value === "1";
    else if (key === "do" && raw.includes(":")) {
      const [op, ...rest] = raw.split(":");
      state.chips.push({ op: decoded(op), value: decoded(rest.join(":")) });
    } else if (key === "time" && state.ranges.length < 2) state.ranges.push(...rangesIn(value));
    else if (key === "span") state.span = rangesIn(value)[0] ?? null;
    else if (key === "heat") state.heat = value === "1";
    else if (key === "pools") state.pools = value === "all" || value === "none" ? value : "";
    else if (key === "lane") state.lanes.push(value);
    else if (key === "in") state.threads.push(value);
    else if (key === "of") state.focus = value;
    else if (key === "order") state.order = value === "weight" ? "weight" : "name";
    else if (key === "fold") state.fold = value === "1";
    else if (key === "theme") state.theme = value === "dark" || value === "light" ? value : "";
    else if (key === "colour" && COLOURINGS.some((known) => known === value)) state.colour = value;
    else if (key === "widths" && WIDTHS.includes(value)) state.widths = /** @type {Widths} */ (value);
    else if (key === "change") state.ownChange = value === "self";
    else if (key === "as") state.shares = value === "shares";
    else if (key === "insignificant") state.insignificant = usual.insignificant || value === "shown";
    else if (key === "sort") state.sort = value;
  }
  return state;
}
