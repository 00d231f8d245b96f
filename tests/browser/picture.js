// Draws pictures with the real fg-render and opens them in a real browser, with
// a watch over everything a page must not do: complain, ask, or call anybody.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import playwright from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
/** The folder of the project. */
export const project = resolve(here, "../..");
// The binaries and the browser: Chromium, or with FIREFOX=PATH that.
const binaries = resolve(process.env.FG_BIN ?? join(project, "target/debug"));
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const firefoxPath = process.env.FIREFOX;

/** For `test(NAME, inChromium(WHY), …)`: skips what Firefox cannot be asked for. */
export const inChromium = (why) => ({ skip: firefoxPath ? `in Firefox: ${why}` : false });

/** All of a list each night, with FG_THOROUGH=1; by day one of `step` of it, from place `first` on. */
export const some = (list, step, first = 0) => (process.env.FG_THOROUGH ? list : list.filter((_, n) => n % step === first % step));

/** The milliseconds in which everything has to happen. */
const PATIENCE = 120_000;

/** The running browsers, by what only a setting of theirs says. */
const browsers = new Map();
let folder;
let serial = 0;
const open = new Set(); // the pages of the running test, with their complaints

before(async () => {
  assert.ok(existsSync(join(binaries, "fg-render")), `no fg-render in ${binaries}: cargo build, or set FG_BIN`);
  folder = mkdtempSync(join(tmpdir(), "fg-browser-"));
});

/** Starts a browser for pages of these options, or gives the one that runs. */
function browserFor(options) {
  // A page of Firefox has the colours, motion and pointers that the browser is set to have.
  const settings = firefoxPath ? JSON.stringify([options.colorScheme ?? "light", options.reducedMotion, Boolean(options.hasTouch)]) : "";
  if (!browsers.has(settings)) browsers.set(settings, firefoxPath ? startFirefox(...JSON.parse(settings)) : startChromium());
  return browsers.get(settings);
}

function startChromium() {
  return playwright.chromium.launch({
    executablePath: browserPath,
    timeout: PATIENCE,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
}

/** Firefox as it is shipped, by WebDriver BiDi. */
async function startFirefox(colours, motion, hasTouch) {
  const pointers = hasTouch ? 1 : 6; // coarse; or fine and able to hover
  const browser = await playwright.firefox.launch({
    channel: "moz-firefox",
    executablePath: firefoxPath,
    timeout: PATIENCE,
    firefoxUserPrefs: {
      "layout.css.prefers-color-scheme.content-override": colours === "dark" ? 0 : 1,
      "ui.prefersReducedMotion": Number(motion === "reduce"),
      "ui.primaryPointerCapabilities": pointers,
      "ui.allPointerCapabilities": pointers,
      "dom.events.testing.asyncClipboard": true,
      "network.captive-portal-service.enabled": false,
      "network.connectivity-service.enabled": false,
    },
  });
  // Firefox 153 does not know the command; the settings above say the same.
  const session = Object.getPrototypeOf(browser._connection.toImpl(browser)._browserSession);
  const { send } = session;
  if (!session.asks) {
    session.asks = true;
    session.send = function (method, values) {
      return method === "emulation.setMediaFeaturesOverride" ? Promise.resolve({}) : send.call(this, method, values);
    };
  }
  return browser;
}

after(async () => {
  for (const browser of browsers.values()) await (await browser).close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Lets time pass on the page's own clock: its timers that end sooner have run, however busy the machine is. */
export const passed = (page, milliseconds) => page.evaluate((ms) => new Promise((done) => setTimeout(done, ms)), milliseconds);

/** Waits until something is so. */
export async function until(isSo, what) {
  for (const end = Date.now() + PATIENCE; !(await isSo());) assert.ok(Date.now() < end, `not so after two minutes: ${what}`);
}

/**
 * Goes "back" or "forward" within a document, and waits until its scripts have heard of that. The page is asked: the
 * browser's own buttons may not know yet of the steps that the page has just added.
 */
export const travel = (page, way) =>
  page.evaluate((to) => new Promise((done) => {
    // The script's own listener is older, and so called first.
    addEventListener("popstate", () => done(), { once: true });
    history[to]();
  }), way);

/** Loads the page once more, from the address that it has given itself: the browser may not know of that yet. */
export async function reload(page) {
  const loaded = page.waitForEvent("load");
  await page.evaluate(() => void setTimeout(() => location.reload()));
  await loaded;
}

/** Waits until what follows from a new size of the window is drawn: observers run before each frame. */
export const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** A small profile every number of which is easy to check by head; 1000 in all. */
export const small = [
  "main;parse;lex 200",
  "main;parse;lex;read 100",
  "main;parse;tree 100",
  "main;run;eval;eval;call 150",
  "main;run;eval;gc 50",
  "main;run;Read 100",
  "main;idle 200",
  "start 100",
].join("\n") + "\n";

/** A deep and wide profile, the same in every run: names of all lengths. */
export function large(stacks = 3000) {
  let state = 1;
  const random = (n) => (state = (state * 48271) % 2147483647) % n;
  const lines = new Map();
  for (let i = 0; i < stacks; i++) {
    const frames = [];
    for (let depth = 3 + random(20); depth > 0; depth--) {
      const id = Math.min(random(7), random(7));
      frames.push("abcdefg"[id].repeat(1 + id) + "::WWWW_iiii::operator()<T>".slice(0, 3 + random(4) * 8) + "_[k]".repeat(id % 2));
    }
    const stack = frames.join(";");
    lines.set(stack, (lines.get(stack) ?? 0) + 1 + random(50));
  }
  return [...lines].map(([stack, weight]) => `${stack} ${weight}\n`).join("");
}

/** Two threads in turns, as perf script writes them: 2 ms a sample. */
export function twoThreads() {
  const lines = [];
  for (let at = 0; at < 4000; at += 2) {
    const isTimer = at % 1000 < 80;
    lines.push(`${isTimer ? "timer  7/9" : "worker  7/8"}  ${(100 + at / 1000).toFixed(6)}:    2000000 cpu-clock: `);
    lines.push(`\t   1000 ${isTimer ? "flush_log" : Math.floor(at / 10) % 2 ? "parse" : "draw"} (/bin/app)`, "\t   2000 main (/bin/app)", "");
  }
  return lines.join("\n") + "\n";
}

/** Folded text to a file with a picture; the path of the file. */
export function draw(folded, ...options) {
  const svg = execFileSync(join(binaries, "fg-render"), options, {
    input: folded, maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "ignore"],
  });
  return save("svg", svg);
}

/** A recording among the fixtures. */
export const fixture = (path) => join(project, "tests/fixtures", path);

/** Runs one of the programs on folded text; returns its output. */
export function run(tool, folded, ...options) {
  const path = join(binaries, tool);
  return execFileSync(path, options, { input: folded, maxBuffer: 1 << 30, stdio: ["pipe", "pipe", "ignore"] });
}

export function save(extension, content) {
  const path = join(folder, `picture${serial++}.${extension}`);
  writeFileSync(path, content);
  return path;
}

/** Opens a file. `options`: of the browser context, and `hash`, `query`, `init`; the script of a `damaged` page may throw. */
export async function show(path, { hash = "", query = "", init, damaged = false, ...options } = {}) {
  // What moves is somewhere else a moment later.
  const asked = { viewport: { width: 1200, height: 800 }, reducedMotion: "reduce", ...options };
  const browser = await browserFor(asked);
  if (firefoxPath) for (const option of ["permissions", "isMobile", "reducedMotion", "colorScheme"]) delete asked[option];
  const context = await browser.newContext(asked);
  // A machine may be busy: what does not come at all takes longer than this.
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const watch = { complaints: [], context };
  if (!damaged) page.on("pageerror", (error) => watch.complaints.push(`threw: ${error.stack ?? error}`));
  page.on("console", (message) => watch.complaints.push(`console: ${message.text()}`));
  page.on("dialog", (dialog) => {
    watch.complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(pathToFileURL(folder).href)) watch.complaints.push(`asked for ${request.url()}`);
  });
  open.add(watch);
  if (init) await page.addInitScript(init);
  await page.goto(pathToFileURL(path).href + query + hash);
  return page;
}

/** The share of the numbers of pixels in which two PNGs differ; `page` is one whose policy allows data. */
export function difference(page, ...files) {
  return page.evaluate(async (encoded) => {
    const pixels = [];
    for (const file of encoded) {
      const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${file}`)).blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      canvas.drawImage(bitmap, 0, 0);
      pixels.push(canvas.getImageData(0, 0, bitmap.width, bitmap.height));
    }
    const [ours, theirs] = pixels;
    if (ours.width !== theirs.width || ours.height !== theirs.height) return 1;
    let count = 0;
    for (let i = 0; i < ours.data.length; i++) count += Math.abs(ours.data[i] - theirs.data[i]) > 32 ? 1 : 0;
    return count / ours.data.length;
  }, files.map((file) => file.toString("base64")));
}

/** The picture of a file that the browser takes by its own option --screenshot, as programs for thumbnails do. */
export function thumbnail(path, width, height) {
  const picture = save("png", "");
  const profile = mkdtempSync(join(folder, "profile-"));
  const own = firefoxPath ? ["--profile", profile, `--window-size=${width},${height}`, "--screenshot", picture]
    : ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", `--user-data-dir=${profile}`, `--window-size=${width},${height}`, `--screenshot=${picture}`];
  execFileSync(firefoxPath ?? browserPath, ["--headless", ...own, pathToFileURL(path).href], { timeout: PATIENCE, stdio: "ignore" });
  return readFileSync(picture);
}

/** A double click at a point. */
export async function doubleClick(page, x, y) {
  await page.mouse.dblclick(x, y);
  // By this protocol Firefox takes two clicks for two.
  if (firefoxPath) await page.evaluate(([clientX, clientY]) => document.elementFromPoint(clientX, clientY).dispatchEvent(new MouseEvent("dblclick", { clientX, clientY, bubbles: true, cancelable: true })), [x, y]);
}

/** The bytes of the file that a page hands to its reader when something is done. */
export async function downloaded(page, act) {
  if (firefoxPath) {
    // It does not tell of downloads: the page's own part is watched.
    await page.evaluate(() => {
      const { createObjectURL } = URL;
      URL.createObjectURL = (blob) => {
        blob.arrayBuffer().then((bytes) => (globalThis.handedOut = [...new Uint8Array(bytes)]));
        return createObjectURL(blob);
      };
    });
    await act();
    const bytes = await page.waitForFunction(() => globalThis.handedOut);
    const all = await bytes.jsonValue();
    await page.evaluate(() => (globalThis.handedOut = null));
    return Buffer.from(all);
  }
  const waiting = page.waitForEvent("download");
  await act();
  const chunks = [];
  for await (const chunk of await (await waiting).createReadStream()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** To be called after each test: closes its pages; they must have kept quiet. */
export async function allQuiet() {
  const complaints = [...open].flatMap((watch) => watch.complaints);
  for (const watch of open) await watch.context.close();
  open.clear();
  assert.deepEqual(complaints, []);
}

/** The name in a tooltip `name (325 ms, 162 samples, 12.34%)`: the weight is in the last parentheses. */
export function nameOf(title) {
  let depth = 0;
  for (let i = title.length - 1; i > 0 && title.endsWith(")"); i--) {
    if (title[i] === ")") depth++;
    else if (title[i] === "(" && --depth === 0) return title.slice(0, i - 1);
  }
  return title;
}

/** The drawn frames: name, place in px within #frames, classes, label, colour. */
export async function frames(page) {
  const drawn = await page.evaluate(() => {
    const box = document.querySelector("#frames");
    // Firefox leaves the place of an inner picture out of its own matrix, and has it in those of what is inside.
    const origin = box.querySelector(".frame").getScreenCTM().e;
    return [...box.querySelectorAll(".frame")].map((g) => {
      const rect = g.querySelector("rect");
      const title = g.querySelector("title").textContent;
      // Without its outline, which some browsers add to what it takes on the screen.
      const [place, scale] = [rect.getBBox(), rect.getScreenCTM()];
      const text = g.querySelector("text");
      return {
        title,
        left: scale.a * place.x + scale.e - origin,
        width: scale.a * place.width,
        y: Number(rect.getAttribute("y")),
        visible: getComputedStyle(rect).visibility === "visible",
        classes: [...g.classList],
        label: text && getComputedStyle(text).visibility === "visible" ? text.textContent : "",
        fill: getComputedStyle(rect).fill,
      };
    });
  });
  return drawn.map((one) => ({ name: nameOf(one.title), ...one }));
}

export async function frame(page, name) {
  const found = (await frames(page)).filter((f) => f.name === name);
  assert.ok(found.length, `no frame ${JSON.stringify(name)}`);
  return found[0];
}

export const visible = async (page) => (await frames(page)).filter((f) => f.visible).map((f) => f.name).sort();

/** A point of a frame to click; scrolls the frame into sight. */
export async function spot(page, name) {
  const titles = await page.$$eval("#frames .frame", (all) => all.map((g) => g.querySelector("title")?.textContent ?? ""));
  const index = titles.findIndex((title) => nameOf(title) === name);
  assert.ok(index >= 0, `no frame ${name}`);
  return page.evaluate((at) => {
    const g = document.querySelectorAll("#frames .frame")[at];
    g.scrollIntoView({ block: "nearest" });
    const r = g.querySelector("rect").getBoundingClientRect();
    const left = Math.max(0, r.left);
    return { x: (left + Math.min(innerWidth, r.right)) / 2, y: r.top + r.height / 2 };
  }, index);
}

export async function click(page, name, options) {
  const { x, y } = await spot(page, name);
  if (options?.modifiers) for (const key of options.modifiers) await page.keyboard.down(key);
  await page.mouse.click(x, y);
  if (options?.modifiers) for (const key of options.modifiers) await page.keyboard.up(key);
}

/** The content of a text, or null when it is not shown. */
export function says(page, id) {
  return page.evaluate((one) => {
    const element = document.getElementById(one);
    return element && element.getClientRects().length ? element.textContent : null;
  }, id);
}

export async function searchFor(page, term) {
  await page.keyboard.press("/");
  await page.keyboard.type(term);
  await page.keyboard.press("Enter");
}

export function near(actual, expected, tolerance = 0.5) {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not about ${expected}`);
}

/**
 * The share of weight whose stack matches, from the folded text alone; with
 * `below`, of the stacks that begin with that path.
 */
export function matchedShare(folded, pattern, below = "") {
  let total = 0;
  let matched = 0;
  for (const line of folded.trimEnd().split("\n")) {
    const cut = line.lastIndexOf(" ");
    const stack = line.slice(0, cut);
    const weight = Number(line.slice(cut + 1));
    if (below && stack !== below && !stack.startsWith(below + ";")) continue;
    total += weight;
    if (stack.split(";").some((name) => pattern.test(name))) matched += weight;
  }
  const share = (100 * matched) / total;
  return share === 100 ? "Matched: 100%" : `Matched: ${share.toFixed(1)}%`;
}
