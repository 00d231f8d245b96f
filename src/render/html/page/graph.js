// The call graph of the heaviest functions of the view: each once, below those that call it.

/** @import { App } from "./app.js" */
/** @import { Tree } from "./types.js" */

import { byId, make } from "./dom.js";
import { percent } from "./numbers.js";
import { extras } from "./parts.js";
import { shorterForms } from "./short.js";
import { functions } from "./table.js";
import { atOnce } from "./steps.js";

/** The most functions, the least share of one, and that of a call. */
const MOST_NODES = 60;
const LEAST_NODE = 0.005;
const LEAST_CALL = 0.001;
/** The most letters of a name; the pixels between boxes, and between rows. */
const NAME_LETTERS = 32;
const BESIDE = 18;
const BELOW = 54;

const GRAPH_STYLE = "#graph{inset:3vh 2vw;max-width:none;max-height:none;width:96vw;height:94vh}#graph svg{display:block;margin:8px auto 0;max-width:100%}"
  + "#graph path{fill:none;stroke:var(--soft)}#graph marker path{fill:var(--soft);stroke:none}#graph a{cursor:pointer}#graph rect{stroke:var(--edge)}"
  + "#graph a:hover rect,#graph a:focus-visible rect{stroke:var(--accent);stroke-width:3}#graph text{text-anchor:middle}#graph .call{fill:var(--ink);font-size:11px;paint-order:stroke;stroke:var(--panel);stroke-width:3px}";

/** A box, or a place that a line passes on its way down; `id` is -1 then.
 * @typedef {{ id: number, row: number, x: number, wide: number, high: number, size: number, above: Spot[], below: Spot[] }} Spot */
/** @typedef {{ from: number, to: number, weight: number, direct: boolean }} Call */

extras.push((app) => {
  byId("style").append(GRAPH_STYLE);
  const panel = make("div", { id: "graph", class: "panel", popover: "", tabindex: "0", "aria-label": "Call graph" });
  byId("menu").after(panel);
  byId("refine-open").before(make("button", { id: "graph-open", title: `The calls between the ${MOST_NODES} heaviest functions of this view`, click: () => open(app, panel) }, "Graph"));
  return () => {};
});

/** @param {App} app
 * @param {HTMLElement} panel */
function open(app, panel) {
  const { model } = app;
  const { names, numbers, tree } = model;
  const whole = tree.total[0] || 1;
  const rows = atOnce(functions(tree, names.texts.length)).filter(({ id, total }) => id !== names.other && id !== names.all && !model.heats.threads?.[id] && total >= LEAST_NODE * whole);
  const all = rows.length;
  rows.sort((a, b) => b.total - a.total || a.id - b.id).splice(MOST_NODES);
  const byName = new Map(rows.map((row) => [row.id, row]));
  const calls = callsBetween(tree, byName, LEAST_CALL * whole);
  const heaviest = Math.max(...rows.map(({ self }) => self), 1);
  const shapes = new Map(rows.map(({ id, self }) => {
    const size = 11 + 8 * Math.sqrt(self / heaviest);
    const text = shorterForms(names.show(id)).find((one) => one.length <= NAME_LETTERS) ?? names.show(id);
    const label = text.length > NAME_LETTERS ? `${text.slice(0, NAME_LETTERS - 9)}…${text.slice(-8)}` : text;
    return [id, { size, label, wide: Math.max(label.length * size * 0.6, 116) + 16, high: size + 27 }];
  }));
  const { layers, width, height, tops } = layOut(rows.map(({ id }) => id), calls, shapes);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, style: `min-width:${Math.min(width, 0.6 * width)}px`, role: "group", "aria-label": "Functions and calls" },
    svg("defs", {}, svg("marker", { id: "tip-of-call", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }))));
  const spots = layers.flat();
  const boxOf = new Map(spots.filter(({ id }) => id >= 0).map((spot) => [spot.id, spot]));
  const titled = (/** @type {Element} */ element, /** @type {string} */ text) => {
    element.prepend(svg("title", {}, text));
    return element;
  };
  const labels = [];
  const short = (/** @type {number} */ weight) => percent(weight, whole).replace(/\.(.)\d%/, ".$1%");
  for (const { from, to, weight, direct, path } of calls) {
    const [d, x, y] = path ? along(path, tops) : around(/** @type {Spot} */ (boxOf.get(from)), /** @type {Spot} */ (boxOf.get(to)), tops);
    const text = `${names.show(from)} → ${names.show(to)}: ${numbers.withSamples(weight)}, ${percent(weight, whole)}${direct ? "" : ", through others"}`;
    drawing.append(titled(svg("path", { d, "stroke-width": 0.7 + 5 * (weight / whole), "stroke-dasharray": direct ? "none" : "4 4", "stroke-opacity": 0.75, "marker-end": "url(#tip-of-call)" }), text));
    // What leads up has none: it would lie on other boxes.
    if (path && weight >= 0.03 * whole) labels.push(svg("text", { class: "call", x, y: y + 4 }, short(weight)));
  }
  for (const [id, { size, label, wide, high }] of shapes) {
    const spot = /** @type {Spot} */ (boxOf.get(id));
    const row = /** @type {import("./table.js").Row} */ (byName.get(id));
    const [left, top] = [spot.x - wide / 2, tops[spot.row]];
    const { fill, ink } = model.paints.of({ tree, up: false, skip: 0 }, tree.name.indexOf(id));
    const chosen = () => {
      panel.hidePopover();
      app.navigation.butterfly(id);
    };
    const link = svg("a", { tabindex: 0, role: "button" },
      svg("rect", { x: left, y: top, width: wide, height: high, rx: 5, fill }),
      svg("text", { x: spot.x, y: top + size + 4, "font-size": size, fill: ink }, label),
      svg("text", { x: spot.x, y: top + size + 19, "font-size": 11, fill: ink }, `self ${short(row.self)} of ${short(row.total)}`));
    link.addEventListener("click", chosen);
    link.addEventListener("keydown", (event) => /** @type {KeyboardEvent} */ (event).key === "Enter" && chosen());
    drawing.append(titled(link, `${names.show(id)}: self ${numbers.withSamples(row.self)}, total ${numbers.withSamples(row.total)}`));
  }
  drawing.append(...labels);
  const left = all > rows.length ? `the ${rows.length} heaviest of ${all.toLocaleString("en")} functions` : `${rows.length} functions`;
  panel.replaceChildren(
    make("button", { class: "close", "aria-label": "Close", click: () => panel.hidePopover() }, "×"),
    make("h2", {}, `Call graph: ${left}`),
    make("p", {}, "Callers above what they call; the larger a name, the more it weighs itself. A broken line leads through functions that are not shown. A click shows callers and callees."),
    drawing);
  panel.showPopover();
}

/** An element of a drawing.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} inside */
function svg(name, attributes, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...inside);
  return element;
}

/** A line down through the rows, and the middle of its last stretch.
 * @param {Spot[]} path
 * @param {number[]} tops
 * @returns {[string, number, number]} */
function along(path, tops) {
  const points = path.map((spot, n) => [spot.x, tops[spot.row] + (n === 0 ? spot.high : n === path.length - 1 ? 0 : 20)]);
  let d = `M${points[0]}`;
  for (let n = 1; n < points.length; n++) {
    const [[left, top], [x, y]] = [points[n - 1], points[n]];
    const middle = (top + y) / 2;
    d += `C${left} ${middle} ${x} ${middle} ${x} ${y}`;
  }
  const [[left, top], [x, y]] = points.slice(-2);
  return [d, (left + x) / 2, (top + y) / 2];
}

/** A line that leads up, or to its own box: in a bow on the right.
 * @param {Spot} from
 * @param {Spot} to
 * @param {number[]} tops
 * @returns {[string, number, number]} */
function around(from, to, tops) {
  const [start, end] = [from, to].map((spot, n) => [spot.x + spot.wide / 2, tops[spot.row] + spot.high / 2 + (n ? -6 : 6)]);
  const bow = from === to ? 24 : 90;
  return [`M${start}C${start[0] + bow} ${start[1]} ${end[0] + bow} ${end[1]} ${end}`, Math.max(start[0], end[0]) + 0.75 * bow, (start[1] + end[1]) / 2];
}

/** The calls between some functions, each stack counted once; over functions that are not among them too.
 * @param {Tree} tree
 * @param {Map<number, unknown>} kept
 * @param {number} least
 * @returns {(Call & { path?: Spot[] })[]} */
function callsBetween({ n, name, parent, end, total }, kept, least) {
  /** @type {Map<number, Call & { until: number }>} */
  const calls = new Map();
  // The nearest kept frame of each frame: itself, or one above.
  const nearest = new Int32Array(n);
  const count = Math.max(...kept.keys(), 0) + 1;
  for (let i = 1; i < n; i++) {
    const above = nearest[parent[i]];
    nearest[i] = kept.has(name[i]) ? i : above;
    if (nearest[i] !== i || !above) continue;
    const key = name[above] * count + name[i];
    let call = calls.get(key);
    if (!call) calls.set(key, (call = { from: name[above], to: name[i], weight: 0, direct: false, until: 0 }));
    call.direct ||= above === parent[i];
    if (i < call.until) continue;
    call.until = end[i];
    call.weight += total[i];
  }
  return [...calls.values()].filter(({ weight }) => weight >= least).sort((a, b) => b.weight - a.weight);
}

/** Rows of boxes: each function below its callers, as far as calls do not go round in circles.
 * @param {number[]} ids the heaviest first
 * @param {(Call & { path?: Spot[] })[]} calls get their way through the rows, if they lead down
 * @param {Map<number, { wide: number, high: number, size: number }>} shapes */
function layOut(ids, calls, shapes) {
  /** @type {Map<number, number>} */
  const row = new Map(ids.map((id) => [id, 0]));
  const down = downward(ids, calls);
  for (let again = true, k = 0; again && k < ids.length; k++) {
    again = false;
    for (const { from, to } of down) {
      const least = /** @type {number} */ (row.get(from)) + 1;
      if (/** @type {number} */ (row.get(to)) >= least) continue;
      row.set(to, least);
      again = true;
    }
  }
  /** @type {Spot[][]} */
  const layers = [];
  const put = (/** @type {number} */ id, /** @type {number} */ at, { wide = 8, high = 40, size = 0 } = {}) => {
    const spot = { id, row: at, x: 0, wide, high, size, above: [], below: [] };
    (layers[at] ??= []).push(spot);
    return spot;
  };
  const boxes = new Map(ids.map((id) => [id, put(id, /** @type {number} */ (row.get(id)), shapes.get(id))]));
  for (const call of down) {
    const [from, to] = [call.from, call.to].map((id) => /** @type {Spot} */ (boxes.get(id)));
    call.path = [from];
    for (let at = from.row + 1; at < to.row; at++) call.path.push(put(-1, at));
    call.path.push(to);
    for (let k = 1; k < call.path.length; k++) {
      call.path[k - 1].below.push(call.path[k]);
      call.path[k].above.push(call.path[k - 1]);
    }
  }
  // First the order within rows, by the middle of the neighbours; then the places, as near to them as there is room.
  const mean = (/** @type {Spot[]} */ spots, /** @type {number} */ otherwise) => (spots.length ? spots.reduce((sum, { x }) => sum + x, 0) / spots.length : otherwise);
  for (const layer of layers) layer.forEach((spot, n) => (spot.x = n));
  for (let k = 0; k < 8; k++) {
    for (const layer of k % 2 ? [...layers].reverse() : layers) {
      const wanted = new Map(layer.map((spot) => [spot, mean(k % 2 ? spot.below : spot.above, spot.x)]));
      layer.sort((a, b) => /** @type {number} */ (wanted.get(a)) - /** @type {number} */ (wanted.get(b)));
      layer.forEach((spot, n) => (spot.x = n - layer.length / 2));
    }
  }
  for (const layer of layers) {
    let next = 0;
    for (const spot of layer) {
      spot.x = next + spot.wide / 2;
      next += spot.wide + BESIDE;
    }
    for (const spot of layer) spot.x -= next / 2;
  }
  for (let k = 0; k < 16; k++) {
    for (const layer of k % 2 ? [...layers].reverse() : layers) {
      const wanted = layer.map((spot) => mean(k % 2 ? spot.below : [...spot.above, ...(k > 7 ? spot.below : [])], spot.x));
      const apart = (/** @type {number} */ n) => (layer[n - 1].wide + layer[n].wide) / 2 + BESIDE;
      const [right, left] = [[...wanted], [...wanted]];
      for (let n = 1; n < layer.length; n++) right[n] = Math.max(wanted[n], right[n - 1] + apart(n));
      for (let n = layer.length - 1; n > 0; n--) left[n - 1] = Math.min(wanted[n - 1], left[n] - apart(n));
      layer.forEach((spot, n) => (spot.x = (left[n] + right[n]) / 2));
    }
  }
  const spots = layers.flat();
  const first = Math.min(...spots.map(({ x, wide }) => x - wide / 2)) - 20;
  for (const spot of spots) spot.x = Math.round(spot.x - first);
  let top = 4;
  const tops = layers.map((layer) => {
    const at = top;
    top += Math.max(...layer.map(({ high }) => high)) + BELOW;
    return at;
  });
  return { layers, tops, width: Math.max(...spots.map(({ x, wide }) => x + wide / 2), 0) + 32, height: top - BELOW + 8 };
}

/** The calls that lead down: without those that close a circle, of which the lightest are left out.
 * @param {number[]} ids
 * @param {(Call & { path?: Spot[] })[]} calls the heaviest first */
function downward(ids, calls) {
  /** @type {Map<number, Set<number>>} what each function leads to */
  const reached = new Map(ids.map((id) => [id, new Set([id])]));
  return calls.filter(({ from, to }) => {
    const below = /** @type {Set<number>} */ (reached.get(to));
    if (below.has(from)) return false;
    for (const set of reached.values()) if (set.has(from)) for (const id of below) set.add(id);
    return true;
  });
}
