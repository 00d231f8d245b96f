// The menu of a frame: everything that can be done with it.

/** @import { App } from "./app.js" */
/** @import { Place } from "./types.js" */

import { byId, make, menuItem, placeAt } from "./dom.js";
import { literally } from "./refine.js";

/** Opens the menu of a row; lifting the button would close the menu: it opens then.
 * @param {App} app
 * @param {number} id
 * @param {MouseEvent} event */
export function openRowMenu(app, id, event) {
  event.preventDefault();
  const open = () => openFrameMenu(app, id, null, event.clientX, event.clientY);
  if (event.buttons) addEventListener("pointerup", open, { once: true });
  else open();
}

/** @param {App} app
 * @param {number} id the name
 * @param {Place | null} place the frame; none is all frames of the name
 * @param {number} left
 * @param {number} top */
export function openFrameMenu(app, id, place, left, top) {
  const { model: { names }, navigation, selection } = app;
  const menu = byId("menu");
  const exact = `^${literally(names.texts[id])}$`;
  const item = (/** @type {string} */ label, /** @type {() => unknown} */ act) => menuItem(menu, label, act);
  const items = place ? [item("Zoom in", () => navigation.zoomTo(place))] : [];
  if (id !== names.all) {
    items.push(
      item("Callers and callees", () => navigation.butterfly(id)),
      item("Search for it", () => app.change({ query: exact, matchCase: true })),
      item("Focus: only stacks with it", () => navigation.refine("focus", exact)),
      item("Ignore: no stacks with it", () => navigation.refine("ignore", exact)),
      item("Hide it, keep its weight", () => navigation.refine("hide", exact)),
      item("Show from here", () => navigation.refine("show-from", exact)),
      item("Copy name", () => selection.copyName(id)),
    );
    if (place) items.push(item("Copy stack", () => selection.copyStack(place)));
  }
  menu.replaceChildren(make("p", {}, names.show(id).slice(0, 200)), ...items);
  menu.showPopover();
  placeAt(menu, { left, bottom: top });
  items[0].focus();
}
