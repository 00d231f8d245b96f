// The steps of refining to add.

/** @import { App } from "./app.js" */
/** @import { Operation } from "./refine.js" */

import { byId, make } from "./dom.js";
import { OPERATIONS, substitution } from "./refine.js";
import { expression } from "./expression.js";

/** @param {App} app */
export function refinePanel(app) {
  const problem = make("p", { role: "alert" });
  const value = /** @type {HTMLInputElement} */ (make("input", {
    class: "mono", placeholder: "a regular expression", "aria-label": "Expression", size: "34", spellcheck: "false",
    keydown: (event) => event.key === "Enter" && add(OPERATIONS[0]),
  }));
  const add = (/** @type {Operation} */ operation) => {
    const text = operation.value ?? value.value;
    try {
      if (!text) throw new Error("enter an expression first");
      if (operation.op === "rename") substitution(text);
      else if (!operation.value) expression(text);
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
      value.focus();
      return;
    }
    byId("refine").hidePopover();
    app.navigation.refine(operation.op, text);
  };
  const button = (/** @type {Operation} */ one) => make("button", { title: one.about, click: () => add(one) }, one.label);
  return [
    make("h2", {}, "Frames that match"),
    make("div", { class: "row" }, value, ...OPERATIONS.filter((one) => !one.value).map(button)),
    problem,
    make("h2", {}, "All frames"),
    make("div", { class: "row" }, ...OPERATIONS.filter((one) => one.value).map(button)),
  ];
}
