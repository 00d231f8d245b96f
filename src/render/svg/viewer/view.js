/*
 * The viewer inside every SVG that fg-render writes.
 *
 * The file is a complete picture without this script; the script turns it into
 * a tool: zoom, search, details, keys, touch, links that remember the view. It
 * needs nothing but the file it is in: no network, no storage, no library.
 *
 * fg-render puts the files of this folder one after another into one function,
 * `function (config, root) { "use strict"; ... }`, called with the picture's
 * settings and its own svg element, so that several pictures can share a page.
 * Between the files there are no imports: what one declares, all can use.
 *
 * Names of frames are hostile. They reach the page as text nodes, never as markup.
 *
 * Two ideas carry the rest:
 * - `frames` is the call tree in pre-order, so a subtree is the range
 *   [frame.index, frame.end) and no function here needs recursion.
 * - `view` is all that can change; draw() makes the picture agree with it and
 *   touches only what differs from what is drawn already.
 *
 * This file: what all the others share.
 */

const SVG = "http://www.w3.org/2000/svg";
const XHTML = "http://www.w3.org/1999/xhtml";
const TEXT_PAD = 3; // px between a frame's edge and its text
const HOLD_MS = 500; // a long press
const DOUBLE_TAP_MS = 350;
const LONGEST_PATH = 4000; // longer name paths stay out of the address

// A picture that is the whole document owns the address, the history and the
// keyboard. One inside somebody's HTML page only hears keys pressed on it.
const ownsPage = document.documentElement === root;
const fluid = !config.width;

let box; // the nested <svg> that holds the frames
let ui; // the texts around them, by id
let frames = [];
let names = new Map(); // name -> the frames that bear it
let byElement = new Map(); // <g> -> frame
let top; // the root frame
let size; // { width, height, pad, inner, baseline, detailsRoom } in user units

const view = {
  zoomed: null,
  current: null, // the selected frame
  tabStop: null, // the frame that Tab leads to
  shown: null, // the frame in the details line
  trail: [], // zooms to go back to
  ghosts: false, // frames stand as in the union of before and after
  term: "",
  ignoreCase: false,
  error: "", // why the term is no regular expression
};

function make(ns, tag, attributes, parent, text) {
  const element = document.createElementNS(ns, tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

function show(element, visible) {
  element.classList.toggle("hide", !visible);
}

function childOf(element, tag) {
  for (const child of element.children) if (child.localName === tag) return child;
  return null;
}

// A name as it is shown. Characters that reorder or hide the text around them are
// replaced. Search and copy keep the name.
function printable(name) {
  return name
    .replace(/[\t\n\r]/g, " ")
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "\ufffd")
    // A joiner that joins no emoji.
    .replace(/(?<!\p{Extended_Pictographic}(?:\ufe0f|[\u{1f3fb}-\u{1f3ff}])?)\u200d|\u200d(?!\p{Extended_Pictographic})/gu, "\ufffd");
}
