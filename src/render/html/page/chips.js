// The steps of refining, each with a button that removes it, and the command that does the same.

/** @import { App } from "./app.js" */

import { byId, copy, make } from "./dom.js";
import { ignoresCase } from "./expression.js";
import { percent } from "./numbers.js";
import { mergedPools } from "./pools.js";
import { command, operationOf, plainly } from "./refine.js";

export class Chips {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.bar = byId("chips");
  }

  show() {
    const { app, bar } = this;
    const { state, marks, threads } = app.model;
    const chosen = threads.chosen(state.threads);
    const chips = state.chips.map(({ op, value }, n) => {
      const operation = operationOf({ op, value });
      const label = operation?.value ? operation.label : `${operation?.label ?? op}: ${app.model.names.harmless(plainly(value))}`;
      const remove = () => app.change({ chips: state.chips.filter((_, k) => k !== n), zoom: [] });
      return make("span", { class: "chip" }, make("span", { title: `${label}\n${command([{ op, value }], [], "")}` }, label), make("button", { "aria-label": `Remove ${label}`, click: remove }, "×"));
    });
    const { merged, pools } = app.model;
    if (merged.length) {
      const label = merged.length === 1 ? `Merged: ${merged[0].ids.length} threads of ${app.model.names.harmless(merged[0].name)}` : `Merged: the threads of ${merged.length} pools`;
      const split = () => app.change({ pools: mergedPools(pools, "").length ? "none" : "", zoom: [] });
      chips.unshift(make("span", { class: "chip" }, make("span", { title: merged.map(({ name, ids }) => `${name} ×${ids.length}`).join(", ") }, label), make("button", { "aria-label": `Remove ${label}`, click: split }, "×")));
    }
    bar.hidden = chips.length === 0 && chosen.length === 0 && !(state.only && marks) && !(app.model.times && state.ranges.length);
    if (bar.hidden) return;
    const searched = state.only && marks ? (state.matchCase && ignoresCase(state.query) && !state.query.startsWith("(?i)") ? "(?-i)" : "") + state.query : "";
    const text = command(state.chips, chosen, searched, app.model.times ? state.ranges : [], state.shares, app.model.merged);
    const { numbers, tree, whole } = app.model;
    const isAll = tree.total[0] === whole.total[0] && !state.ranges.length;
    const all = isAll ? "" : make("span", { class: "shown" }, `Shown: ${numbers.amount(tree.total[0])} of ${numbers.amount(whole.total[0])} (${percent(tree.total[0], whole.total[0])}); shares are of what is shown`);
    const copyIt = make("button", { title: "Copy the command", click: () => copy(text).then(() => app.selection.say("command copied")) }, "Copy");
    const undo = state.chips.length ? make("button", { title: "Take the last step back", click: () => app.change({ chips: state.chips.slice(0, -1), zoom: [] }) }, "Undo") : "";
    bar.replaceChildren(...chips, undo, all, make("code", { title: text }, text.slice(0, 2000)), copyIt);
  }
}
