// The names of the lanes of a chart, which open and close them.

/** @import { App } from "./app.js" */

import { byId, make } from "./dom.js";
import { ROW } from "./layout.js";
import { percent } from "./numbers.js";

export class Lanes {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.box = byId("lanes");
  }

  show() {
    const { model } = this.app;
    const { chart, gutter, names, parts, state } = model;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.lane;
    const all = chart ? chart.lanes.reduce((sum, { weight, isThread }) => sum + (isThread ? 0 : weight), 0) : 0;
    const lanes = (chart?.lanes ?? []).map(({ key, label, isOpen, isThread, weight }, n) => {
      const text = names.harmless(label);
      const name = make("button", {
        title: `${text}: ${isOpen ? "fewer rows" : "its threads, or all its rows"}`, class: isThread ? "thread" : "", "aria-expanded": String(isOpen),
        click: () => this.app.change({ lanes: state.lanes.includes(key) ? state.lanes.filter((one) => one !== key) : [...state.lanes, key] }),
      }, make("span", {}, `${isOpen ? "▾" : "▸"} ${text}`), make("small", {}, percent(weight, all).replace(/\.(.)\d%/, ".$1%")));
      name.dataset.lane = key;
      const { top = 0, rows = 1 } = parts[n];
      name.style.cssText = `top:${top}px;max-height:${rows * ROW}px;width:${Math.max(gutter.left - 16, 40)}px`;
      return name;
    });
    this.box.replaceChildren(...lanes);
    if (focused) lanes.find(({ dataset }) => dataset.lane === focused)?.focus({ preventScroll: true });
  }
}
