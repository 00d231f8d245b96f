// The time line above the frames: a row for the whole, one for each of the heaviest threads, one for
// the others. Ranges of it are chosen, and compared.

/** @import { App } from "./app.js" */
/** @import { Row, Times } from "./timeline_data.js" */

import { byId, list, make } from "./dom.js";
import { paintRows } from "./timeline_paint.js";
import { columnsFor } from "./heatmap.js";
import { percent } from "./numbers.js";
import { digitsFor, durationText, rangeText } from "./timeline_data.js";
import { atOnce } from "./steps.js";
import { belowMarked } from "./tree.js";

const ROW_HEIGHT = 14;
const HEAT_HEIGHT = 150;
const AXIS = 15;
/** A pointer that moved less has clicked, in pixels. */
const CLICK = 4;
/** A heat map of less than this, in seconds, has no columns. */
const LEAST_HEAT = 4;

/** @typedef {{ label: string, key: string, threads: number[], keys: string[], top: number, height: number }} Strip */

export class Timeline {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.box = byId("timeline");
    this.labels = byId("time-labels");
    this.pills = byId("time-pills");
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("time-canvas"));
    this.heat = byId("time-heat");
    this.second = byId("time-second");
    /** @type {unknown[]} the inputs of what is drawn */
    this.drawn = [];
    /** @type {Strip[]} */
    this.strips = [];
    /** @type {{ range: [number, number], second: boolean } | null} the range that a pointer draws */
    this.pending = null;
    this.height = 0;
    /** The inputs of the rows. */
    this.laidOut = "";
    /** True if the next range is a second one. */
    this.compares = false;
    /** The time of the last drawing, in milliseconds. */
    this.took = 0;
    this.heat.addEventListener("click", () => app.change({ heat: !app.model.state.heat }));
    this.second.addEventListener("click", () => {
      this.compares = !this.compares;
      this.show();
      this.canvas.focus();
    });
    this.#listenToPointers();
    this.canvas.addEventListener("keydown", (event) => this.#press(event));
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  get times() {
    return this.app.model.times;
  }

  /** The seconds in sight.
   * @returns {[number, number]} */
  get span() {
    return this.app.model.state.span ?? [0, this.times?.all ?? 1];
  }

  /** Brings labels, pills and the picture up to date. */
  show() {
    const { times, app } = this;
    this.box.hidden = !times;
    if (!times) return;
    const { state } = app.model;
    this.heat.hidden = times.all < LEAST_HEAT;
    this.heat.setAttribute("aria-pressed", String(state.heat));
    this.second.hidden = state.ranges.length !== 1;
    this.second.setAttribute("aria-pressed", String(this.compares));
    this.#layOut(times);
    this.#showLabels();
    this.#showPills(times);
    this.redraw();
  }

  /** The rows, from top to bottom.
   * @param {Times} times */
  #layOut(times) {
    const { state } = this.app.model;
    const all = times.threads.map((_, n) => n);
    const keys = times.rows.map((row) => row.key);
    const isHeat = state.heat && times.all >= LEAST_HEAT;
    const isNarrow = document.documentElement.clientWidth < 760 || innerHeight < 600;
    // As long as they are the same, so are their bars.
    const isLow = innerHeight < 450;
    const key = `${isHeat} ${isNarrow} ${isLow} ${state.value} ${state.threads.join("\n")}`;
    if (key === this.laidOut) return;
    this.laidOut = key;
    if (isHeat) {
      this.strips = [{ label: "", key: "", threads: times.threadsOf(state.threads), keys, top: 0, height: isNarrow ? 100 : HEAT_HEIGHT }];
    } else {
      const most = times.rows.length < 2 || isLow ? 0 : isNarrow ? 3 : 7;
      const first = times.rows.length < 2 ? 44 : 28;
      this.strips = [{ label: times.rows.length < 2 ? times.rows[0].label : "All threads", key: "", threads: all, keys, top: 0, height: first }];
      // A chosen row that is light takes the place of the last heavy one.
      const shown = times.rows.slice(0, most);
      for (const key of state.threads) {
        const row = times.byKey.get(key);
        if (row && most && !shown.includes(row)) shown[shown.findLastIndex((one) => !state.threads.includes(one.key))] = row;
      }
      const rows = times.rows.filter((row) => shown.includes(row));
      const others = times.rows.filter((row) => !shown.includes(row));
      const add = (/** @type {string} */ label, /** @type {string} */ key, /** @type {Row[]} */ some) => this.strips.push({
        label, key, threads: some.flatMap((row) => row.threads), keys: some.map((row) => row.key),
        top: first + 2 + (this.strips.length - 1) * ROW_HEIGHT, height: ROW_HEIGHT - 1,
      });
      for (const row of rows) add(row.label, row.key, [row]);
      if (others.length && most) add(`${others.length} other${others.length > 1 ? "s" : ""}`, "", others);
    }
    const last = this.strips[this.strips.length - 1];
    this.height = last.top + last.height + AXIS;
    this.canvas.style.height = `${this.height}px`;
  }

  #showLabels() {
    const { app, strips } = this;
    const { names, state, times, threadWeights } = app.model;
    const isHeat = strips[0].label === "";
    const held = times ? (100 * times.n) / times.samples : 100;
    const count = (/** @type {number | undefined} */ samples) => samples?.toLocaleString("en");
    const about = times?.isCoarse ? `: ${count(times.n)} of ${count(times.samples)} samples, each with the weight of those that it stands for${times.pooled ? `, also for ${count(times.pooled)} light stacks beside its own` : ""}` : "";
    const weigh = (/** @type {Strip} */ { keys }) => keys.reduce((sum, key) => sum + (threadWeights.get(key) ?? 0), 0);
    const labels = strips.map((strip, n) => {
      const label = names.harmless(strip.label);
      const thinned = n === 0 && times?.isCoarse;
      const share = strips.length > 1 ? percent(weigh(strip), weigh(strips[0])) : "";
      // Of a name that is too long the end stays, which tells threads apart: `pool-1-thr…-2`.
      const [end] = /(?:[\s.-][^\s.-]{1,8})?(?: ×\d+)?$/u.exec(label) ?? [""];
      const inside = [make("span", {}, make("span", {}, label.slice(0, label.length - end.length)), end), make("small", {}, share.replace(/\.(.)\d%/, ".$1%")), thinned ? make("i", {}, `${held < 1 ? held.toPrecision(1) : Math.round(held)}% of samples`) : ""];
      const at = `top:${strip.top}px;height:${strip.height}px`;
      if (isHeat) return make("div", { style: at, class: "offsets" }, ...this.#offsets());
      const isRow = strip.key !== "" || (n === 0 && state.threads.length > 0);
      const one = strips.length > 1 && isRow
        ? make("button", { "aria-pressed": String(state.threads.includes(strip.key)), title: strip.key ? `Only ${label}` : `All threads${about}`, click: () => this.#choose(strip.key) }, ...inside)
        : make("div", { title: label + (n === 0 ? about : "") }, ...inside);
      one.classList.toggle("two", Boolean(thinned));
      one.style.cssText = at;
      return one;
    });
    this.labels.replaceChildren(...labels);
  }

  /** The words beside a heat map. */
  #offsets() {
    const { unit } = columnsFor(this.span, this.canvas.clientWidth || 1000);
    return [0, unit / 2, unit].map((seconds) => make("small", {}, seconds ? durationText(seconds) : "0"));
  }

  /** Chooses a row, or all rows again.
   * @param {string} key */
  #choose(key) {
    const { threads } = this.app.model.state;
    this.app.change({ threads: !key || (threads.length === 1 && threads[0] === key) ? [] : [key] });
  }

  /** @param {Times} times */
  #showPills(times) {
    const { app } = this;
    const { numbers, state } = app.model;
    const words = state.ranges.length > 1 ? ["before ", "after "] : [""];
    const pills = state.ranges.map((range, n) => {
      const samples = times.isCoarse ? 0 : app.model.memo.get(`count ${n}`, [range.join(), state.threads.join("\n")], () => times.count(range, state.threads));
      const { total, totalBefore } = app.model.base;
      const amount = times.isCoarse ? "about " + numbers.amount((n < state.ranges.length - 1 ? totalBefore : total)?.[0] ?? 0) : `${samples.toLocaleString("en")} sample${samples === 1 ? "" : "s"}`;
      const text = `${words[n]}${rangeText(range)} · ${durationText(range[1] - range[0])} · ${amount}`;
      const clear = () => app.change({ ranges: state.ranges.filter((one) => one !== range), ...this.#withoutComparison() });
      const pill = make("div", { class: "pill" }, make("span", {}, text), make("button", { "aria-label": `Clear ${text}`, click: clear }, "✕"));
      return pill;
    });
    this.pills.replaceChildren(...pills);
    const { width } = this.canvas.getBoundingClientRect();
    let right = -Infinity;
    pills.forEach((pill, n) => {
      const [left, end] = this.#edges(state.ranges[n], width);
      const at = Math.min(Math.max((left + end) / 2 - pill.offsetWidth / 2, 0), Math.max(width - pill.offsetWidth, 0));
      pill.style.left = `${at}px`;
      pill.style.top = at < right ? "26px" : "2px";
      right = at + pill.offsetWidth;
    });
  }

  /** @param {[number, number]} range
   * @param {number} width */
  #edges([from, to], width) {
    const [start, end] = this.span;
    const scale = width / (end - start);
    return [Math.max((from - start) * scale, 0), Math.min((to - start) * scale, width)];
  }

  /** The state without a comparison, if there is one. */
  #withoutComparison() {
    const { state } = this.app.model;
    if (state.ranges.length < 2) return {};
    const { usual } = this.app;
    return { colour: usual.colour, sort: usual.sort, shares: usual.shares, zoom: state.zoom };
  }

  /** Sets a range; as the second one, it is compared with the first.
   * @param {[number, number]} range
   * @param {boolean} second */
  select(range, second) {
    const { state } = this.app.model;
    const unit = 10 ** (digitsFor(range[1] - range[0]) + 1);
    const all = this.times?.all ?? 1;
    const rounded = /** @type {[number, number]} */ (range.map((at) => Math.round(Math.min(Math.max(at, 0), all) * unit) / unit));
    if (!(rounded[1] > rounded[0])) return;
    this.compares = false;
    if (second && state.ranges.length) {
      const first = state.ranges[0];
      this.app.change({ ranges: [first, rounded], ...(state.ranges.length < 2 && { colour: "change", sort: "change", shares: true }) });
    } else {
      this.app.change({ ranges: [rounded], ...this.#withoutComparison() });
    }
  }

  clear() {
    this.compares = false;
    if (this.app.model.state.ranges.length) this.app.change({ ranges: [], ...this.#withoutComparison() });
  }

  /** @param {[number, number]} span */
  zoom([from, to]) {
    const all = this.times?.all ?? 1;
    const length = Math.min(Math.max(to - from, all * 1e-6), all);
    const start = Math.min(Math.max(from, 0), all - length);
    const unit = 10 ** (digitsFor(length) + 2);
    const round = (/** @type {number} */ at) => Math.round(at * unit) / unit;
    this.app.change({ span: length >= all * 0.9999 ? null : [round(start), round(start + length)] });
  }

  /** @param {number} factor
   * @param {number} at the seconds that stay where they are */
  #stretch(factor, at) {
    const [from, to] = this.span;
    this.zoom([at - (at - from) * factor, at + (to - at) * factor]);
  }

  /** The seconds at a point of the canvas.
   * @param {{ clientX: number, clientY: number }} event */
  #secondsAt({ clientX, clientY }) {
    const edge = this.canvas.getBoundingClientRect();
    const [from, to] = this.span;
    const x = Math.min(Math.max((clientX - edge.left) / edge.width, 0), 1);
    if (this.strips[0].label) return from + x * (to - from);
    // In a heat map the column says the second, the row the part of it.
    const { unit, start, count } = columnsFor(this.span, edge.width);
    const column = Math.min(Math.floor(x * count), count - 1);
    const offset = Math.min(Math.max((clientY - edge.top) / this.strips[0].height, 0), 0.9999);
    return start + (column + offset) * unit;
  }

  #listenToPointers() {
    const { canvas, app } = this;
    /** @type {Map<number, { clientX: number, clientY: number }>} */
    const fingers = new Map();
    /** @type {{ at: number, x: number, y: number, second: boolean, moved: boolean } | null} */
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
      drag = fingers.size > 1 ? null : { at: this.#secondsAt(event), x: event.clientX, y: event.clientY, second: event.shiftKey || this.compares, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      if (before && other) {
        const [old, wide] = [Math.abs(before.clientX - other.clientX), Math.abs(event.clientX - other.clientX)];
        const middle = { clientX: (event.clientX + other.clientX) / 2, clientY: event.clientY };
        if (old > 10 && wide > 10) this.#stretch(old / wide, this.#secondsAt(middle));
      }
      if (before) fingers.set(event.pointerId, event);
      if (!drag) {
        this.#point(event);
        return;
      }
      drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) >= CLICK;
      app.selection.showTip(null);
      if (drag.moved) {
        const range = /** @type {[number, number]} */ ([drag.at, this.#secondsAt(event)].sort((a, b) => a - b));
        this.pending = { range, second: drag.second && app.model.state.ranges.length > 0 };
        this.redraw();
      }
    });
    const lift = (/** @type {PointerEvent} */ event) => {
      fingers.delete(event.pointerId);
      const { pending } = this;
      const was = drag;
      this.pending = null;
      drag = null;
      if (!was || event.type !== "pointerup") {
        this.redraw();
        return;
      }
      if (was.moved && pending) this.select(pending.range, pending.second);
      else if (!was.moved) this.#click(event);
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", () => app.selection.showTip(null));
    canvas.addEventListener("dblclick", () => app.change({ span: null }));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [from, to] = this.span;
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        const by = (across / canvas.clientWidth) * (to - from);
        this.zoom([from + by, to + by]);
      } else {
        this.#stretch(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.002)), this.#secondsAt(event));
      }
    }, { passive: false });
  }

  /** The row at a height of the window.
   * @param {number} clientY */
  #stripAt(clientY) {
    const y = clientY - this.canvas.getBoundingClientRect().top;
    return this.strips.find(({ top, height }) => y >= top && y <= top + height);
  }

  /** @param {PointerEvent} event */
  #click(event) {
    const strip = this.#stripAt(event.clientY);
    if (strip?.key) this.#choose(strip.key);
    else if (this.app.model.state.ranges.length) this.clear();
  }

  /** Says what is below the pointer.
   * @param {PointerEvent} event */
  #point(event) {
    const { times } = this;
    const strip = this.#stripAt(event.clientY);
    if (event.pointerType !== "mouse" || !strip || !times) {
      this.app.selection.showTip(null);
      return;
    }
    const { names, numbers } = this.app.model;
    const at = this.#secondsAt(event);
    const [from, to] = this.span;
    const isHeat = !strip.label;
    const width = isHeat ? columnsFor(this.span, this.canvas.clientWidth).unit / 50 : (to - from) / Math.max(this.canvas.clientWidth / 3, 1);
    let [weight, waits] = [0, 0];
    const range = times.steps([at - width / 2, at + width / 2]);
    for (const n of strip.threads) times.each(times.threads[n], range[0], range[1], (i, share) => {
      weight += times.weight[i] * share;
      if (times.duration?.[i]) waits += times.weight[i] * share;
    });
    const digits = digitsFor(width);
    /** @type {[string, string][]} */
    const facts = [["At", `${at.toFixed(digits)} s`], [`In ${durationText(width)}`, numbers.amount(Math.round(weight))]];
    if (times.hasWaits) facts.push(["Waits, paler", numbers.amount(Math.round(waits))]);
    this.app.selection.tip(names.harmless(strip.label) || "All threads", list(facts), event.clientX, event.clientY);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { state } = this.app.model;
    const { key, shiftKey } = event;
    const [from, to] = this.span;
    const range = state.ranges.at(-1);
    const second = state.ranges.length > 1;
    const step = (to - from) / 100;
    const by = { ArrowLeft: -step, ArrowRight: step }[key];
    const row = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (by && range) this.select(shiftKey ? [range[0], range[1] + by] : [range[0] + by, range[1] + by], second);
    else if (by) this.select([from + 45 * step, from + 55 * step], false);
    else if (row) this.#step(row);
    else if (key === "+" || key === "=") this.#stretch(0.5, range ? (range[0] + range[1]) / 2 : (from + to) / 2);
    else if (key === "-") this.#stretch(2, range ? (range[0] + range[1]) / 2 : (from + to) / 2);
    else if (key === "0") this.app.change({ span: null });
    else if (key === "d" && range && !second) this.select([range[1], 2 * range[1] - range[0]], true);
    else if (key === "Escape") this.clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.app.selection.say(this.app.model.state.ranges.map((one) => rangeText(one)).join(", compared with ") || "the whole time");
  }

  /** Chooses the row above or below the chosen one.
   * @param {number} by */
  #step(by) {
    const keys = ["", ...this.strips.map(({ key }) => key).filter(Boolean)];
    const at = keys.indexOf(this.app.model.state.threads[0] ?? "");
    const key = keys[Math.min(Math.max(at + by, 0), keys.length - 1)];
    if (keys[at] !== key) this.app.change({ threads: key ? [key] : [] });
  }

  /** The nodes of the function below the pointer, or else of the search; null if there is neither.
   * @returns {{ nodes: Uint8Array, isFound: boolean } | null} */
  #marked() {
    const { model, selection } = this.app;
    const { marks, memo, names, whole } = model;
    const { hover } = selection;
    const part = hover && model.parts[hover.part];
    const id = part && hover.node > 0 ? part.tree.name[hover.node] : -1;
    if (id >= 0 && id !== names.all) {
      return memo.get("hovered in time", [id], () => {
        const one = new Uint8Array(names.texts.length);
        one[id < names.given ? id : names.madeFrom.get(id) ?? id] = 1;
        return { nodes: atOnce(belowMarked(whole, one)), isFound: false };
      });
    }
    return marks && memo.get("found in time", [marks], () => ({ nodes: atOnce(belowMarked(whole, marks)), isFound: true }));
  }

  redraw() {
    const { times, canvas, app } = this;
    if (!times || !this.strips.length) return;
    const { model } = app;
    const { state, theme } = model;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (!width) return;
    const marked = this.#marked();
    const inputs = [marked, width, ratio, theme.back, this.strips, state.ranges, this.pending, state.span];
    if (inputs.every((input, n) => input === this.drawn[n])) return;
    if (width !== this.drawn[1]) requestAnimationFrame(() => this.#showPills(times));
    this.drawn = inputs;
    const began = performance.now();
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(this.height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    const style = window.getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const { pending } = this;
    const ranges = pending ? (pending.second ? [state.ranges[0], pending.range] : [pending.range]) : state.ranges;
    paintRows({
      context, width, times, span: this.span, strips: this.strips, marked: marked && marked.nodes, ranges,
      chosen: state.threads, isHeat: !this.strips[0].label, memo: model.memo,
      colours: { ink: colour("--soft"), line: colour("--line"), bar: colour("--accent"), back: theme.back, tint: marked?.isFound ? model.about.found : colour("--accent"), dark: theme.dark },
    });
    this.took = performance.now() - began;
  }
}
