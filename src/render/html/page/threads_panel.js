// The list of threads, of which several can be chosen.

/** @import { App } from "./app.js" */

import { make, meter } from "./dom.js";
import { percent } from "./numbers.js";

/** The most threads that are listed one by one. */
const MOST_THREADS = 500;

/** @param {App} app */
export function threadsPanel(app) {
  const { numbers, names, state, threads } = app.model;
  const now = app.model.threadWeights;
  const weigh = (/** @type {import("./threads.js").Thread} */ one) => now.get(one.key) ?? 0;
  let [heaviest, whole] = [1e-9, 0];
  for (const weight of now.values()) [heaviest, whole] = [Math.max(heaviest, weight), whole + weight];
  const title = { threads: "Threads and processes", label: names.harmless(threads.label) }[threads.kind + ""] ?? "First frames";
  const unsure = threads.kind === "first frames" ? "The profile does not say whether its first frames are threads or functions. " : "";
  const choose = (/** @type {string} */ key, /** @type {boolean} */ on) => {
    const chosen = app.model.state.threads.filter((one) => one !== key);
    app.change({ threads: on ? [...chosen, key] : chosen, zoom: [] });
  };
  const filter = make("input", {
    type: "search", placeholder: "Filter", "aria-label": "Filter the list",
    input: () => {
      const wanted = /** @type {HTMLInputElement} */ (filter).value.toLowerCase();
      for (const label of /** @type {HTMLElement[]} */ ([...rows.children])) {
        label.hidden = !(label.textContent ?? "").toLowerCase().includes(wanted);
      }
    },
  });
  const rows = make("div", { class: "threads" }, ...threads.all.slice(0, MOST_THREADS).map((one) => {
    const box = make("input", {
      type: "checkbox", checked: state.threads.includes(one.key),
      change: (event) => choose(one.key, event.target.checked),
    });
    box.dataset.key = one.key;
    const label = names.harmless(one.label);
    const name = make("span", { title: `${label}: ${numbers.withSamples(Math.round(weigh(one)))}` }, label);
    return make("label", {}, box, name, meter(weigh(one) / heaviest), make("span", { class: "num" }, percent(weigh(one), whole)));
  }));
  const parts = [
    make("h2", {}, title),
    make("p", {}, `${unsure}The heaviest first; none chosen shows all ${threads.all.length}.`),
    make("div", { class: "row" }, filter, make("button", { click: () => app.change({ threads: [], zoom: [] }) }, "All")),
    rows,
  ];
  if (threads.all.length > MOST_THREADS) parts.push(make("p", {}, `and ${threads.all.length - MOST_THREADS} lighter ones`));
  return parts;
}

/** Checks the boxes of the chosen threads.
 * @param {App} app
 * @param {HTMLElement} panel */
export function checkThreads(app, panel) {
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (panel.querySelectorAll("input[type=checkbox]"))) {
    box.checked = app.model.state.threads.includes(box.dataset.key ?? "");
  }
}
