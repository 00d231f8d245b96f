// Paper: the whole height of the view, on white, without the controls.

/** @import { App } from "./app.js" */

import { byId } from "./dom.js";
import { wholeView } from "./save.js";

/** @param {App} app */
export function listenToPrinting(app) {
  /** @type {HTMLCanvasElement | null} */
  let paper = null;
  addEventListener("beforeprint", () => {
    app.theme.set("light");
    if (!app.model.parts.length) return;
    paper = wholeView(app);
    paper.id = "paper";
    byId("stage").after(paper);
  });
  addEventListener("afterprint", () => {
    paper?.remove();
    paper = null;
    app.show();
  });
}
