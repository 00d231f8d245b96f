// Pages of `fg-render --format html`, made by the real program and looked at from outside: by what
// is on the screen, by the address, and by the place of frames, computed here once more.

import assert from "node:assert/strict";
import { downloaded, run, save, show } from "./picture.js";

/** Folded text to a file with a page; the path of the file. */
export function makePage(folded, ...options) {
  return save("html", run("fg-render", folded, "--format", "html", ...options));
}

/** The same of text without stacks, of which fg-render says so by its status. */
export function makeEmptyPage(folded) {
  try {
    run("fg-render", folded, "--format", "html");
  } catch (error) {
    return save("html", error.stdout);
  }
  return assert.fail("fg-render found stacks");
}

/** Opens a page and waits until it shows something. */
export async function openPage(path, options = {}) {
  const page = await show(path, options);
  await page.waitForFunction(() => document.getElementById("loading").hidden || /no stacks|cannot/.test(document.getElementById("loading").textContent));
  await settled(page);
  return page;
}

export async function view(folded, options = {}, ...arguments_) {
  return openPage(makePage(folded, ...arguments_), options);
}

/** Waits for everything that was asked for to be drawn, however long it is worked on. */
export async function settled(page) {
  await page.waitForFunction(() => !globalThis.flame?.work);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Every frame that is laid out: its path, place on the screen, and colour of its middle. */
export function boxes(page) {
  return page.evaluate(() => {
    const { model, stage } = globalThis.flame;
    const edge = stage.canvas.getBoundingClientRect();
    const { from, to } = model.window;
    const high = model.scene.rowHeight;
    const found = [];
    model.scene.parts.forEach((part, index) => {
      const { tree } = part;
      const starts = [];
      for (let i = 0; i < tree.n; i++) {
        const depth = tree.depth[i];
        const start = starts[depth] ?? 0;
        starts[depth] = start + tree.width[i];
        starts[depth + 1] = start + tree.own[i];
        if (depth < part.skip) continue;
        // The lanes of a chart have names beside them.
        const wide = stage.width - model.scene.left - model.scene.right;
        const left = edge.left + model.scene.left + (Math.max(start - from, 0) / (to - from)) * wide;
        const right = edge.left + model.scene.left + (Math.min(start + tree.width[i] - from, to - from) / (to - from)) * wide;
        const row = depth - part.skip;
        const start0 = part.top ?? model.scene.base;
        const top = edge.top - stage.box.scrollTop + (part.up ? start0 - (row + 1) * high : start0 + row * high);
        if (part.rows !== undefined && row >= part.rows || i > 0 && tree.name[i] === model.names.all) continue;
        const path = [];
        for (let k = i; k > 0; k = tree.parent[k]) path.unshift(model.names.texts[tree.name[k]]);
        found.push({
          name: i ? model.names.texts[tree.name[i]] : "all", path: path.join(";"), part: index, node: i, left, top, width: right - left,
          weight: tree.total[i], before: tree.totalBefore?.[i] ?? 0,
          inSight: right - left >= 0.5 && top >= edge.top - 1 && top + high <= edge.top + stage.height + 1,
        });
      }
    });
    return found;
  });
}

/** Frames in sight, as `path weight`. */
export async function inSight(page) {
  return (await boxes(page)).filter((box) => box.inSight).map((box) => box.path || "all").sort();
}

export async function box(page, path, part) {
  const all = (await boxes(page)).filter((one) => (one.path === path || one.name === path) && (part === undefined || one.part === part));
  assert.ok(all.length, `no frame ${JSON.stringify(path).slice(0, 200)}`);
  return all.find((one) => one.inSight) ?? all[0];
}

export async function clickOn(page, path, options = {}) {
  const { left, top, width } = await box(page, path, options.part);
  await page.mouse.click(left + width / 2, top + 9, options);
  await settled(page);
}

/** The colours of frames, left of where letters are. */
export async function coloursOf(page, paths) {
  const places = [];
  for (const one of await boxes(page)) {
    const wanted = paths.indexOf(one.path);
    if (wanted >= 0) places[wanted] ??= [one.left + Math.min(3, one.width / 2), one.top + 4];
  }
  return page.evaluate((all) => {
    const { canvas, ratio } = globalThis.flame.stage;
    const edge = canvas.getBoundingClientRect();
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return all.map(([x, y]) => {
      const [r, g, b] = copy.getImageData(Math.round((x - edge.left) * ratio), Math.round((y - edge.top) * ratio), 1, 1).data;
      return `rgb(${r}, ${g}, ${b})`;
    });
  }, places);
}

export const colourOf = async (page, path) => (await coloursOf(page, [path]))[0];

export const text = (page, id) => page.evaluate((one) => document.getElementById(one).textContent, id);
export const address = (page) => page.evaluate(() => decodeURIComponent(location.hash));

export async function search(page, term) {
  await page.fill("#query", term);
  await page.waitForFunction((wanted) => globalThis.flame.model.state.query === wanted, term);
  await settled(page);
}

/** The stacks of the view, as the page saves them. */
export async function savedStacks(page) {
  return saved(page, "Folded stacks of this view");
}

/** The file that an item of the menu Save hands out. */
export function saved(page, label) {
  return downloaded(page, async () => {
    await page.click("#save-open");
    await page.click(`#save >> text=${label}`);
  });
}

export async function refine(page, label, expression) {
  await page.click("#refine-open");
  if (expression !== undefined) await page.fill("#refine input", expression);
  await page.click(`#refine >> text="${label}"`);
  await settled(page);
}

/** The rows of the table as texts. */
export function rows(page) {
  return page.evaluate(() => [...document.querySelectorAll("#list tbody tr")].map((row) => [...row.cells].map((cell) => {
    const small = cell.querySelector("small")?.textContent ?? "";
    const whole = cell.textContent ?? "";
    return small ? whole.slice(0, whole.length - small.length) : whole;
  })));
}

/** A comparison of functions with long names, of which some changed much. */
export function longNamesCompared() {
  let state = 7;
  const random = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 16) % below;
  };
  const name = () => `application::process_request_of_component_${random(240)}`;
  const lines = Array.from({ length: 300 }, () => {
    const before = 10 + random(190);
    const after = Math.floor(before * [0, 0.5, 1, 1, 1, 1.5, 2][random(7)]);
    return `main;${Array.from({ length: 2 + random(7) }, name).join(";")} ${before}000000 ${after}000000\n`;
  });
  return "# unit: ns\n" + lines.join("");
}
