// The menu of a frame: everything that can be done with it.

/** @import { App } from "./app.js" */

import { byId, make, menuItem, placeAt } from "./dom.js";
import { expressionOf } from "./refine.js";
import { showSource, sourcesOf } from "./source_panel.js";

/** The actions on one frame, not on all of its name.
 * @typedef {{ zoom: () => void, copy: () => void }} Actions */

/** Opens the menu of a row; lifting the button would close the menu: it opens then.
 * @param {App} app
 * @param {number} id
 * @param {Actions | null} actions
 * @param {MouseEvent} event */
export function openRowMenu(app, id, actions, event) {
  event.preventDefault();
  const open = () => openFrameMenu(app, id, actions, event.clientX, event.clientY);
  if (event.buttons) addEventListener("pointerup", open, { once: true });
  else open();
}

/** @param {App} app
 * @param {number} id the name
 * @param {Actions | null} actions of the frame; none for all frames of the name
 * @param {number} left
 * @param {number} top */
export function openFrameMenu(app, id, actions, left, top) {
  const { model: { names }, navigation, selection } = app;
  const menu = byId("menu");
  const exact = expressionOf(names.texts[id], names.texts);
  const item = (/** @type {string} */ label, /** @type {() => unknown} */ act) => menuItem(menu, label, act);
  const items = actions ? [item("Zoom in", actions.zoom)] : [];
  const sources = sourcesOf(app.model, id);
  if (names.folds.has(id)) {
    items.push(item("Show all frames", () => app.change({ fold: false, zoom: [] })));
  } else if (id !== names.all) {
    items.push(
      item("Callers and callees", () => navigation.butterfly(id)),
      ...(sources.length ? [item("Source", () => showSource(app, sources))] : []),
      item("Search for it", () => app.change({ query: exact, matchCase: false })),
      item("Focus: only stacks with it", () => navigation.refine("focus", exact)),
      item("Ignore: no stacks with it", () => navigation.refine("ignore", exact)),
      item("Hide it, keep its weight", () => navigation.refine("hide", exact)),
      item("Rename or merge …", () => navigation.rename(exact, names.texts[id])),
      item("Show from here", () => navigation.refine("show-from", exact)),
      item("Copy name", () => selection.copyName(id)),
    );
  }
  if (actions && id !== names.all) items.push(item("Copy stack", actions.copy));
  menu.replaceChildren(make("p", {}, names.show(id).slice(0, 200)), ...items);
  menu.showPopover();
  placeAt(menu, { left, bottom: top });
  items[0].focus();
}
