// A page of several recordings: a small picture of each, all in the same colours, which shows it, and the difference of any two.

/** @import { App } from "./app.js" */
/** @import { About, Tree, View } from "./types.js" */
/** @import { Steps } from "./steps.js" */

import { byId, make } from "./dom.js";
import { eachVisible } from "./layout.js";
import { changed } from "./merge.js";
import { Paints } from "./paints.js";
import { extras } from "./parts.js";
import { inSlices } from "./steps.js";
import { Threads } from "./threads.js";
import { emptyTree, sumUp } from "./tree.js";

/** The pixels of a small picture: its width, its height, and that of a row. */
const WIDE = 196;
const HIGH = 60;
const LOW = 5;

const STYLE = "#several{display:flex;gap:10px;flex:none;overflow-x:auto;padding:2px 12px 6px}"
  + "#several>div{flex:none;width:212px;position:relative}"
  + "#several .card{display:block;width:100%;height:auto;padding:4px 8px 6px;text-align:left;line-height:1.35}"
  + "#several bdi{display:block;overflow:hidden;text-overflow:ellipsis;font-weight:600}"
  + "#several small{display:block;height:17px;overflow:hidden;text-overflow:ellipsis;color:var(--soft);font-size:12px}"
  + "#several canvas{display:block;width:196px;height:60px;margin-top:2px}"
  + "#several .card+button{position:absolute;right:6px;bottom:6px;max-width:200px;height:26px;overflow:hidden;text-overflow:ellipsis;padding:0 8px;font-size:12px}"
  + "@media(max-height:640px){#several canvas{display:none}#several .card{padding-bottom:34px}}";

extras.push((app) => {
  const several = new Several(app);
  return () => several.show();
});

class Several {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const { model } = app;
    this.first = model.view;
    this.recordings = model.views.slice(1);
    // What has a colour in one of them has it in all.
    const { areas } = this.first;
    for (const one of this.recordings) {
      const { open } = one;
      one.open = function* () {
        return Object.assign(yield* open.call(one), { areas });
      };
    }
    /** @type {Map<string, View>} the differences that were opened */
    this.pairs = new Map();
    model.pair = (value) => this.#pair(value);
    byId("style").append(STYLE);
    this.box = make("section", { id: "several", "aria-label": "Recordings", tabindex: "0" });
    byId("controls").after(this.box);
    /** @type {(View | null)[]} */
    this.opened = this.recordings.map(() => null);
    this.cards = this.recordings.map(({ name }) => {
      const canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { "aria-hidden": "true" }));
      const facts = make("small");
      const shown = model.names.harmless(name);
      const card = make("button", { class: "card", title: `Show ${shown} alone; again shows all`, click: () => this.#choose(name) },
        make("bdi", {}, shown), facts, canvas);
      const compare = make("button", { click: () => this.#compare(name) });
      this.box.append(make("div", {}, card, compare));
      return { canvas, facts, card, compare };
    });
    this.painted = "";
    this.#open();
  }

  async #open() {
    for (const [n, one] of this.recordings.entries()) {
      this.opened[n] = await inSlices(one.open());
      this.painted = "";
      this.show();
    }
  }

  /** The recordings that a value names, and whether it is their difference.
   * @param {string} value
   * @returns {[number, number] | null} before and after */
  #sides(value) {
    for (const [k, { name: before }] of this.recordings.entries()) {
      if (!value.startsWith(`${before} → `)) continue;
      const n = this.recordings.findIndex(({ name }) => value === `${before} → ${name}`);
      if (n >= 0) return [k, n];
    }
    return null;
  }

  /** The recording that others are compared with: the one that is shown, or the first. */
  get #base() {
    const { value } = this.app.model.state;
    return this.#sides(value)?.[0] ?? Math.max(this.recordings.findIndex(({ name }) => name === value), 0);
  }

  /** @param {string} name */
  #choose(name) {
    const { colour, sort, shares } = this.app.usual;
    const { state } = this.app.model;
    this.app.change({ value: state.value === name ? "" : name, ranges: [], threads: [], span: null, zoom: [], ...(this.#sides(state.value) && { colour, sort, shares }) });
  }

  /** @param {string} name */
  #compare(name) {
    const value = `${this.recordings[this.#base].name} → ${name}`;
    if (value === this.app.model.state.value) this.#choose(name);
    else this.app.change({ value, ranges: [], threads: [], span: null, zoom: [], colour: "change", sort: "change" });
  }

  show() {
    const { model } = this.app;
    const { names, state } = model;
    const base = this.#base;
    const sides = this.#sides(state.value);
    const label = names.harmless(this.recordings[base].name);
    this.cards.forEach(({ card, compare }, n) => {
      card.setAttribute("aria-pressed", String(this.recordings[n].name === state.value || Boolean(sides?.includes(n))));
      compare.hidden = n === base;
      compare.setAttribute("aria-pressed", String(sides?.[1] === n));
      compare.textContent = `Difference from ${label}`;
      compare.title = `Compare ${label} with ${names.harmless(this.recordings[n].name)}`;
    });
    const menu = byId("value");
    if (sides && !menu.querySelector("[data-pair]")) {
      const option = make("option", { value: state.value, selected: true }, names.harmless(state.value));
      option.dataset.pair = "";
      menu.append(option);
    }
    this.#paint();
  }

  #paint() {
    const { model, usual } = this.app;
    const { dark } = model.theme;
    const colour = model.state.colour === "change" ? usual.colour : model.state.colour;
    const key = [dark, colour, model.state.query, devicePixelRatio].join();
    if (key === this.painted) return;
    this.painted = key;
    const most = Math.max(...this.opened.map((view) => Number(view?.about.total ?? 0)));
    // As the whole is coloured, whatever is shown.
    const paints = new Paints(Object.assign(Object.create(model), { view: this.first, whole: this.first.tree, about: this.first.about, state: { ...model.state, colour, value: "" } }));
    this.cards.forEach(({ canvas, facts }, n) => {
      const view = this.opened[n];
      if (!view) return;
      facts.textContent = [amountOf(view.about), ...this.#differing(view.about)].join(" · ");
      facts.title = facts.textContent;
      canvas.width = WIDE * devicePixelRatio;
      canvas.height = HIGH * devicePixelRatio;
      const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      context.scale(devicePixelRatio, devicePixelRatio);
      const { tree } = view;
      const paint = (/** @type {number} */ node, /** @type {number} */ x, /** @type {number} */ width, /** @type {number} */ row) => {
        if (node === 0) return;
        context.fillStyle = paints.of({ tree, up: false, skip: 0 }, node).fill;
        context.fillRect(x, (row - 1) * LOW, Math.max(width - (width > 3 ? 0.5 : 0), 0.3), LOW - 0.5);
      };
      // Pictures of one scale: a recording that weighs half is half as wide.
      const scale = most ? Number(view.about.total) / most : 1;
      eachVisible(tree, { from: 0, to: tree.total[0] || 1 }, WIDE * scale, 0, HIGH / LOW, paint, paint);
    });
  }

  /** The host, version and the like of a recording, as far as they differ from those of the others.
   * @param {About} about */
  #differing({ details }) {
    const all = this.opened.map((view) => new Map(view?.about.details ?? []));
    const own = details.filter(([key, text]) => /^(?:host|commit|version|command|date|recorded|started)/i.test(key) && all.some((other) => other.size && other.get(key) !== text));
    return own.map(([, text]) => this.app.model.names.harmless(text));
  }

  /** The difference that a value names.
   * @param {string} value */
  #pair(value) {
    const sides = this.#sides(value);
    if (!sides) return undefined;
    const [before, after] = sides.map((n) => this.recordings[n]);
    const { names } = this.app.model;
    const { pairs, first } = this;
    // Without a verdict every change counts, and the page says nothing of significance.
    const judged = first.about.pairs?.find(([one, other]) => one === sides[0] && other === sides[1]);
    const [, , verdict, changedOnes] = judged ?? [];
    const found = judged ? { verdict, changed: changedOnes } : { alpha: null };
    return {
      name: value,
      /** @returns {Steps<View>} */
      *open() {
        let view = pairs.get(value);
        if (!view) {
          const [one, other] = [yield* before.open(), yield* after.open()];
          const tree = yield* difference(one, other, names);
          const [from, to] = [one.about, other.about];
          const measured = `${amountOf(from)} → ${amountOf(to)}`;
          const decimals = Math.max(decimalsOf(from), decimalsOf(to));
          const about = { ...to, value, measured, differential: true, time: null, before: from.total, sides: [from.details, to.details], details: [], ...found, scales: /** @type {[number, number][]} */ ([[0, decimals]]) };
          const threads = yield* Threads.read(about, names, tree, null);
          view = { about, tree, areas: one.areas, threads, times: null, source: null };
          pairs.set(value, view);
        }
        return view;
      },
    };
  }
}

/** The whole of a recording in words.
 * @param {About} about */
const amountOf = ({ measured, total, unit }) => (unit && measured ? measured.split(" · ")[0] : Number(total).toLocaleString("en"));

/** @param {About} about */
const decimalsOf = ({ scales }) => scales.at(-1)?.[1] ?? 0;

/** The tree of two recordings: the weights of one before, those of the other after.
 * @param {View} one
 * @param {View} other
 * @param {import("./types.js").Names} names
 * @returns {Steps<Tree>} */
function* difference(one, other, names) {
  const sides = [one, other];
  const decimals = Math.max(...sides.map(({ about }) => decimalsOf(about)));
  const scales = sides.map(({ about }) => 10 ** (decimals - decimalsOf(about)));
  const n = one.tree.n + other.tree.n - 1;
  const both = emptyTree(n, Math.max(...sides.map(({ tree }, k) => tree.total[0] * scales[k])), true);
  both.name[0] = names.all;
  both.parent[0] = -1;
  let moved = 0;
  sides.forEach(({ tree }, k) => {
    const weights = /** @type {import("./types.js").Weights} */ (k ? both.self : both.before);
    for (let i = 1; i < tree.n; i++) {
      both.name[i + moved] = tree.name[i];
      both.depth[i + moved] = tree.depth[i];
      both.parent[i + moved] = tree.parent[i] && tree.parent[i] + moved;
      weights[i + moved] = tree.self[i] * scales[k];
    }
    moved = tree.n - 1;
  });
  yield* sumUp(both, n);
  return yield* changed(both, names, { renamed: Uint32Array.from(names.texts.keys()) });
}
