// Copies of the view to keep: folded stacks and pictures.

/** @import { App } from "./app.js" */
/** @import { Model } from "./model.js" */

import { LINE, captionOf } from "./caption.js";
import { weightText } from "./describe.js";
import { css, partsOf, pixelOf } from "./colour.js";
import { copy, download } from "./dom.js";
import { draw } from "./draw.js";
import { ROW, eachVisible } from "./layout.js";
import { NarrowRow } from "./narrow.js";
import { isStack, pathTo } from "./tree.js";

/** No browser draws larger canvases. */
const HIGHEST = 16000;
/** The most letters of a name in a tooltip of a saved picture. */
const LONGEST_TITLE = 500;
/** The most bytes that are copied; more is for a file. */
const MOST_COPIED = 64 * 1024 * 1024;

/** @param {App} app
 * @param {"folded" | "copy" | "png" | "svg"} what */
export async function save(app, what) {
  const { model } = app;
  const name = (model.about.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "profile").toLowerCase();
  if (what === "folded") {
    download(new Blob(folded(model), { type: "text/plain" }), `${name}.folded`);
  } else if (what === "copy") {
    const blob = new Blob(folded(model));
    if (blob.size > MOST_COPIED) app.selection.say("too much for the clipboard: save it as a file");
    else await copy(await blob.text()).then(() => app.selection.say("folded stacks copied"));
  } else if (model.parts.length === 0) {
    app.selection.say("a table is no picture: choose another view");
  } else if (what === "png") {
    wholeView(app).toBlob((blob) => blob && download(blob, `${name}.png`), "image/png");
  } else {
    download(new Blob([drawing(app)], { type: "image/svg+xml" }), `${name}.svg`);
  }
}

/** The stacks of the view as folded text, byte by byte; in a zoom, the stacks through the zoomed frame.
 * @param {Model} model
 * @returns {Uint8Array<ArrayBuffer>[]} */
export function folded(model) {
  const { names, numbers, state } = model;
  // Callers and butterflies show the same stacks from another side.
  const straight = state.view === "flame" || state.view === "icicle";
  const { tree } = model;
  const from = straight && model.main === tree ? model.zoomed : 0;
  const pieces = [];
  let piece = new Uint8Array(1 << 20);
  let used = 0;
  const put = (/** @type {Uint8Array} */ bytes) => {
    if (used + bytes.length > piece.length) {
      pieces.push(piece.slice(0, used));
      used = 0;
      if (bytes.length > piece.length) piece = new Uint8Array(bytes.length);
    }
    piece.set(bytes, used);
    used += bytes.length;
  };
  const encoder = new TextEncoder();
  const semicolon = encoder.encode(";");
  /** @type {number[]} */
  const path = pathTo(tree, from).map((k) => tree.name[k]);
  path.pop();
  const above = path.length;
  const base = tree.depth[from];
  for (let i = from; i < tree.end[from]; i++) {
    if (i === 0) continue;
    path.length = above + tree.depth[i] - (from > 0 ? base : 1);
    path.push(tree.name[i]);
    if (!isStack(tree, i)) continue;
    path.forEach((id, n) => {
      if (n > 0) put(semicolon);
      put(names.bytesOf(id));
    });
    const before = tree.before ? ` ${numbers.plain(tree.before[i])}` : "";
    put(encoder.encode(`${before} ${numbers.plain(tree.self[i])}\n`));
  }
  pieces.push(piece.slice(0, used));
  return pieces;
}

/** The whole height of the view on one canvas, as far as a browser draws it.
 * @param {App} app */
export function wholeView({ model, stage }) {
  const { ratio, width } = stage;
  const { height, scroll, left } = extent(model, Math.floor(HIGHEST / ratio));
  const caption = captionOf(model, left, width);
  const top = caption.height;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round((height + top) * ratio);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  context.scale(ratio, ratio);
  // The frames are pixels, which no translation moves.
  const frames = document.createElement("canvas");
  frames.width = canvas.width;
  frames.height = Math.max(Math.round(height * ratio), 1);
  const inside = /** @type {CanvasRenderingContext2D} */ (frames.getContext("2d", { alpha: false }));
  inside.scale(ratio, ratio);
  draw(model, { context: inside, width, height, scroll, hover: null, selected: null });
  context.fillStyle = model.theme.back;
  context.fillRect(0, 0, width, height + top);
  context.drawImage(frames, 0, top, width, height);
  context.textBaseline = "middle";
  caption.lines.forEach((line, n) => {
    context.font = `${n ? "12px" : "bold 14px"} system-ui, sans-serif`;
    context.fillStyle = model.theme.ink;
    context.fillText(line, 8, 5 + (n + 0.5) * LINE, width - 16);
  });
  for (const { colour, label, x, y } of caption.colours) {
    context.fillStyle = colour;
    context.fillRect(x, y + 3, 12, 12);
    context.fillStyle = model.theme.ink;
    context.fillText(label, x + 17, y + LINE / 2);
  }
  return canvas;
}

/** The part of a view that a picture of a height holds: the rows next to the root.
 * @param {Model} model
 * @param {number} most */
function extent({ scene, parts }, most) {
  // A shallow graph stands beside room; the two parts of a butterfly have it around them.
  const full = Math.max(parts.some(({ up }) => up) && parts.some(({ up }) => !up) ? scene.height : scene.content, ROW);
  const height = Math.min(full, most);
  const isUp = parts.length === 1 && parts[0].up;
  return { height, scroll: isUp ? full - height : 0, left: Math.round((full - height) / ROW) };
}

/** @param {App} app */
function drawing({ model, stage }) {
  const { scene, window, names } = model;
  const width = stage.width;
  const { height, scroll, left: cut } = extent(model, HIGHEST);
  const caption = captionOf(model, cut, width);
  const head = caption.height;
  /** @type {string[]} */
  const boxes = [];
  for (const part of scene.parts) {
    const { first, last } = scene.rowsBetween(part, scroll, scroll + height - 1);
    const room = width - scene.left - scene.right;
    const back = pixelOf(model.theme.back);
    const top = (/** @type {number} */ row) => scene.top(part, row) - scroll + head;
    /** @type {NarrowRow[]} */
    const narrow = [];
    eachVisible(part.tree, window, room, first, last, (node, x, w, row) => {
      if (node > 0 && part.tree.name[node] === names.all) return;
      const left = Math.max(x, 0) + scene.left;
      const wide = Math.min(x + w, room) + scene.left - left;
      const { fill, ink } = model.paints.of(part, node);
      const name = names.show(part.tree.name[node]);
      const letters = Math.floor((wide - 8) / 6.8);
      const label = name.length <= letters ? name : letters > 2 ? name.slice(0, letters - 1) + "…" : "";
      const text = label && `<text x="${(left + 4).toFixed(1)}" y="${top(row) + 13}" fill="${ink}">${inXml(label)}</text>`;
      const title = inXml(`${name.slice(0, LONGEST_TITLE)} (${weightText(model, part.tree, node)})`);
      boxes.push(`<g><title>${title}</title><rect x="${left.toFixed(2)}" y="${top(row)}" width="${Math.max(wide - (wide > 3 ? 1 : 0), 0.3).toFixed(2)}" height="${ROW - 1}" fill="${fill}"/>${text}</g>`);
    }, (node, x, w, row) => (narrow[row] ??= new NarrowRow(Math.ceil(room))).add(x, w, model.paints.of(part, node).pixel));
    narrow.forEach((one, row) => {
      for (let k = 0; k < one.covered.length; k++) {
        const pixel = one.pixel(k, back);
        const from = k;
        while (k + 1 < one.covered.length && one.pixel(k + 1, back) === pixel) k++;
        if (pixel !== back) boxes.push(`<rect x="${from + scene.left}" y="${top(row)}" width="${k + 1 - from}" height="${ROW - 1}" fill="${css(partsOf(pixel))}"/>`);
      }
    });
  }
  const { ink } = model.theme;
  const words = caption.lines.map((line, n) => `<text x="8" y="${18 + n * LINE}" fill="${ink}"${n ? "" : " font-weight=\"bold\""}>${inXml(line)}</text>`);
  for (const { colour, label, x, y } of caption.colours) {
    words.push(`<rect x="${x}" y="${y + 3}" width="12" height="12" fill="${colour}"/><text x="${x + 17}" y="${y + 13}" fill="${ink}">${inXml(label)}</text>`);
  }
  const size = `width="${width}" height="${height + head}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${width} ${height + head}" font-family="sans-serif" font-size="12">`
    + `<rect ${size} fill="${model.theme.back}"/>${words.join("\n")}${boxes.join("\n")}</svg>\n`;
}

/** Text in XML, without characters that XML cannot hold.
 * @param {string} text */
function inXml(text) {
  const safe = text.toWellFormed ? text.toWellFormed() : text;
  return safe.replace(/[\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
