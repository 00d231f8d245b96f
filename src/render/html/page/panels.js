// The panels that buttons open: filled when they open, placed below their button.

/** @import { App } from "./app.js" */

import { coloursPanel } from "./colours_panel.js";
import { detailsPanel } from "./details_panel.js";
import { byId, copy, menuItem, placeAt } from "./dom.js";
import { helpPanel } from "./help_panel.js";
import { refinePanel } from "./refine_panel.js";
import { save } from "./save.js";
import { checkThreads, threadsPanel } from "./threads_panel.js";

export class Panels {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const fill = {
      threads: () => threadsPanel(app), refine: () => refinePanel(app), colours: () => coloursPanel(app),
      save: () => saveMenu(app), details: () => detailsPanel(app.model), help: () => helpPanel(),
    };
    for (const [id, content] of Object.entries(fill)) {
      const panel = byId(id);
      const button = byId(`${id}-open`);
      panel.addEventListener("beforetoggle", (event) => {
        if (/** @type {ToggleEvent} */ (event).newState === "open") panel.replaceChildren(...content());
      });
      panel.addEventListener("toggle", () => {
        if (!panel.matches(":popover-open")) return;
        placeAt(panel, button.getBoundingClientRect());
        /** @type {HTMLElement | null} */ (panel.querySelector("input, select, button"))?.focus();
      });
    }
    for (const menu of [byId("menu"), byId("save")]) listenToArrows(menu);
  }

  /** Brings an open panel up to date. */
  refresh() {
    const panel = byId("threads");
    if (panel.matches(":popover-open")) checkThreads(this.app, panel);
  }
}

/** @param {HTMLElement} menu */
function listenToArrows(menu) {
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const items = [...menu.querySelectorAll("button")];
    const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    items[(at + step + items.length) % items.length].focus();
  });
}

/** @param {App} app */
function saveMenu(app) {
  const menu = byId("save");
  return [
    menuItem(menu, "Folded stacks of this view", () => save(app, "folded")),
    menuItem(menu, "Copy folded stacks", () => save(app, "copy")),
    menuItem(menu, "Picture, PNG", () => save(app, "png")),
    menuItem(menu, "Picture, SVG", () => save(app, "svg")),
    menuItem(menu, "Copy link to this view", () => copy(location.href).then(() => app.selection.say("link copied"))),
  ];
}
