// Measures the time line of a page of 400 thousand samples, and holds it to its budgets:
//
//   node time_budgets.mjs
//
// FG_BIN is the folder of the programs, CHROMIUM the browser. As in budgets.mjs, actions are measured in
// processor milliseconds of the page's thread, and the least of several runs counts.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { LONGEST, longestTask, longestWhile } from "./longest_task.mjs";

const project = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binaries = resolve(process.env.FG_BIN ?? join(project, "target/release"));
const SAMPLES = 400_000;
const RUNS = 3;
/** Bytes of the file for each sample; seconds more than without times; milliseconds of a selection, of the longest task of opening and of every step, and of
 * drawing what is below the pointer. */
const budgets = { bytes: 3, open: 1, selection: 50, longest: LONGEST, hover: 32 };

/** Samples every 200 µs of a program of 40 threads, in stacks of eight frames. */
function recording() {
  let state = 20261122;
  const random = (most) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % most;
  };
  const lines = [];
  let leaf = [];
  for (let n = 0; n < SAMPLES; n++) {
    const thread = Math.floor(n / 500) % 40;
    if (n % 3 === 0) leaf = Array.from({ length: 7 }, (_, depth) => random(depth < 4 ? 12 : 3));
    lines.push(`work${thread} 7/${thread + 8} ${(10 + n * 0.0002).toFixed(6)}: 200000 cpu-clock: `);
    leaf.forEach((name, depth) => lines.push(`\t 1000 f${depth}_${name} (/a)`));
    lines.push("\t 2000 main (/a)", "");
  }
  return lines.join("\n") + "\n";
}

const folder = mkdtempSync(join(tmpdir(), "fg-time-budgets-"));
const late = [];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
try {
  const input = join(folder, "a.perf");
  writeFileSync(input, recording());
  const write = (name, ...options) => {
    const path = join(folder, name);
    const { status, stderr } = spawnSync(join(binaries, "fg-render"), ["-q", ...options, "-o", path, input], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return path;
  };
  const [plain, timed] = [await measure(write("plain.html", "--no-time"), false), await measure(write("timed.html"), true)];
  const bytes = (statSync(join(folder, "timed.html")).size - statSync(join(folder, "plain.html")).size) / SAMPLES;
  let longest = Infinity;
  for (let run = 0; run < RUNS; run++) longest = Math.min(longest, await longestTask(browser, join(folder, "timed.html")));
  const found = { bytes, open: timed.open - plain.open, selection: timed.selection, longest };
  for (let run = 0; run < RUNS; run++) {
    for (const [what, value] of Object.entries(await steps(join(folder, "timed.html")))) found[what] = Math.min(found[what] ?? Infinity, value);
  }
  for (const [what, value] of Object.entries(found)) {
    const most = budgets[what] ?? LONGEST;
    console.log(`${what}: ${value.toFixed(2)}, at most ${most}`);
    if (value > most) late.push(what);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(late.length ? 1 : 0);

/** The longest task of each step of a reader, and the 95th of a hundred drawings of what is below the pointer. */
async function steps(path) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.flame?.stage.took > 0, null, { timeout: 120_000, polling: 100 });
  const found = {};
  const step = async (what, act, given) => {
    found[what] = await longestWhile(browser, page, async () => {
      await page.evaluate(act, given);
      await page.waitForFunction(() => !globalThis.flame.work, null, { timeout: 120_000 });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    });
  };
  for (const view of ["table", "callers", "butterfly", "tree", "bottomup", "time", "icicle", "flame"]) await step(view, (one) => globalThis.flame.change({ view: one }), view);
  await step("search", () => globalThis.flame.change({ query: "f3_1" }));
  await step("only", () => globalThis.flame.change({ only: true }));
  await step("focus", () => globalThis.flame.change({ query: "", only: false, chips: [{ op: "focus", value: "f2_5" }] }));
  await step("order", () => globalThis.flame.change({ chips: [], order: "weight" }));
  await step("compare", () => globalThis.flame.change({ order: "name", ranges: [[10, 30], [40, 60]], colour: "change", shares: true }));
  await step("all", () => globalThis.flame.change({ ranges: [], colour: "module", shares: false }));
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const ticks = async () => (await client.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const hovers = [];
  for (let n = 0; n < 100; n++) {
    const from = await ticks();
    await page.evaluate(([x, y]) => {
      const { stage } = globalThis.flame;
      stage.canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, pointerType: "mouse", bubbles: true }));
      stage.drawNow();
    }, [20 + 14 * n, 820 - 19 * (n % 6)]);
    hovers.push(1000 * (await ticks() - from));
  }
  found.hover = hovers.sort((a, b) => a - b)[94];
  await page.close();
  return found;
}

async function measure(path, hasTimes) {
  const best = { open: Infinity, selection: Infinity };
  for (let run = 0; run < RUNS; run++) {
    const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    const client = await page.context().newCDPSession(page);
    await client.send("Performance.enable", { timeDomain: "threadTicks" });
    const ticks = async () => (await client.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
    await page.waitForFunction(() => globalThis.flame?.stage.took > 0, null, { timeout: 120_000, polling: 10 });
    best.open = Math.min(best.open, await ticks());
    for (let n = 0; hasTimes && n < 4; n++) {
      const from = await ticks();
      await page.evaluate((at) => {
        globalThis.flame.timeline.select([at, at + 20], false);
        globalThis.flame.stage.drawNow();
      }, 10 + n);
      best.selection = Math.min(best.selection, 1000 * (await ticks() - from));
    }
    await page.close();
  }
  return best;
}
