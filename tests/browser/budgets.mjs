// Measures the page of `fg-render --format html` on profiles of 10 thousand, 100 thousand and a
// million stacks, and holds it to its budgets:
//
//   node budgets.mjs [STACKS …] [--beside FOLDER]
//
// FG_BIN is the folder of release builds, CHROMIUM the browser. --beside also opens other
// tools' files of the same profiles, FOLDER/10000.async-profiler.html and the like, if they are there,
// and the folded text itself in speedscope, up to 100 thousand stacks.
// The least time of several runs counts, as other programs may run meanwhile; actions on an open page
// are measured in processor milliseconds of its thread, which others do not lengthen.
// The table it prints is kept in benches/results.

import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";
import { chromium } from "playwright-core";
import { LONGEST, longestTask } from "./longest_task.mjs";

const project = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binaries = resolve(process.env.FG_BIN ?? join(project, "target/release"));
const words = process.argv.slice(2);
const besides = words.includes("--beside") ? words.splice(words.indexOf("--beside"), 2)[1] : "";
const sizes = words.length ? words.map(Number) : [10_000, 100_000, 1_000_000];

/** The budgets. Opening in seconds, heap in MB, redraws and the longest task of opening in milliseconds; writing is the
 * time of reading the text and making the page, over that of compressing the text as `gzip -1` does, which a faster reader of
 * ours does not change. */
const budgets = {
  bytesANode: 1.5, redraw: 16, writing: 1, longest: LONGEST,
  100_000: { open: 0.5, heap: 100 },
  1_000_000: { open: 2.5 },
};

const RUNS = 3;

/** Numbers in [0, 1), the same in every run. */
function numbers(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/**
 * Writes a profile in frame order: a random call graph of some thousand functions walked from left
 * to right, each stack sharing a part with the one before. As in real recordings stacks are some
 * forty frames deep, a million of them share more than ten thousand do.
 */
function generate(path, stacks) {
  const random = numbers(20261121);
  const parts = ["parse", "emit", "resolve", "visit", "alloc", "codegen", "borrow", "check", "infer", "lower", "hash", "map", "iter", "fold", "query", "layout", "span", "token", "expr", "block"];
  const part = () => parts[Math.floor(random() * parts.length)];
  const count = stacks > 50_000 ? 12_000 : 3000;
  const functions = Array.from({ length: count }, (_, n) => `${part()}::${part()}<${part()}>::${part()}_${n}`);
  const callees = functions.map(() => {
    const some = new Set(Array.from({ length: 4 + Math.floor(random() ** 2 * 20) }, () => functions[Math.floor(random() * random() * count)]));
    return [...some].sort();
  });
  const index = new Map(functions.map((name, n) => [name, n]));
  const calledBy = (name) => callees[index.get(name)];
  const threads = Array.from({ length: 2000 }, (_, n) => `worker-${String(n).padStart(4, "0")}`);
  const shared = stacks > 300_000 ? 10 : 26;
  const file = openSync(path, "w");
  const stack = [];
  const at = [];
  let thread = -1;
  let text = "";
  let bytes = 0;
  const lists = (depth) => (depth === 0 ? threads : depth === 1 ? callees[Math.floor(thread / 3) % 40] : calledBy(stack[depth - 1]));
  for (let written = 0; written < stacks; written++) {
    let depth = Math.max(stack.length - 1 - Math.floor(random() * shared * 1.6), Math.min(stack.length - 1, 5), 0);
    while (depth > 0 && (depth >= stack.length || at[depth] + 1 >= lists(depth).length)) depth--;
    if (depth === 0 && at[0] + 1 >= threads.length) throw new Error(`only ${written} stacks, not ${stacks}`);
    let choice = depth < stack.length ? at[depth] + 1 : 0;
    const goal = Math.max(depth + 1, 20 + Math.floor(random() * 45));
    stack.length = at.length = depth;
    while (stack.length < goal) {
      if (stack.length === 0) thread = choice;
      at.push(choice);
      stack.push(lists(stack.length)[choice]);
      const next = lists(stack.length);
      choice = Math.floor((random() * random() * next.length) / 3);
    }
    text += `${stack.join(";")} ${1 + Math.floor(random() ** 3 * 40)}\n`;
    if (text.length > 1 << 20) {
      bytes += writeSync(file, text);
      text = "";
    }
  }
  bytes += writeSync(file, text);
  closeSync(file);
  return bytes;
}

/** The results of some runs. */
async function several(run) {
  const results = [];
  for (let n = 0; n < RUNS; n++) results.push(await run());
  return results;
}

/** Processor seconds of a program, the least of some runs. */
function seconds(program, ...arguments_) {
  let least = Infinity;
  for (let n = 0; n < RUNS; n++) {
    const { stderr, status } = spawnSync("bash", ["-c", 'TIMEFORMAT="%U %S"; time "$@" >/dev/null', "-", join(binaries, program), ...arguments_], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    const [user, system] = stderr.trim().split("\n").at(-1).split(" ").map(Number);
    least = Math.min(least, user + system);
  }
  return least;
}

/** Processor seconds of compressing a file. */
function compressing(path) {
  const bytes = readFileSync(path);
  const from = process.cpuUsage();
  deflateSync(bytes, { level: 1 });
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1e6;
}

/** Actions on an open page, each with the one that undoes it. */
const actions = [
  ["search", 'change({ query: "resolve.*_1[0-9]+$" })', 'change({ query: "" })'],
  ["hide", 'navigation.refine("hide", "alloc")', "change({ chips: [] })"],
  ["recursion", 'navigation.refine("recursion", "direct")', "change({ chips: [] })"],
  ["callers", 'change({ view: "callers" })'],
  ["table", 'change({ view: "table" })'],
];

async function measure(browser, path) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  /** Processor seconds of the page's thread so far. */
  const ticks = async () => (await client.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const began = performance.now();
  await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.flame?.stage.took > 0, null, { timeout: 120_000, polling: 10 });
  const wall = (performance.now() - began) / 1000;
  const open = await ticks();
  // Garbage of opening the page goes first.
  await client.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0, embedderHeapUsedSize = 0 } = await client.send("Runtime.getHeapUsage");
  const inside = await page.evaluate(async () => {
    const { model, stage } = globalThis.flame;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const redraws = [];
    const whole = model.main.width[0];
    for (let n = 0; n < 40; n++) {
      model.move((whole * n) / 100, whole * (1 - n / 200));
      stage.box.scrollTop = stage.room.offsetHeight - n * 20;
      stage.drawNow();
      redraws.push(stage.took);
      await frame();
    }
    redraws.sort((a, b) => a - b);
    return { nodes: model.whole.n - 1, redraw: redraws[20], worst: redraws[39] };
  });
  const times = {};
  for (const [name, change, back] of actions) {
    const from = await ticks();
    await page.evaluate((one) => { Function(`flame.${one}; flame.stage.drawNow();`)(); }, change);
    times[name] = 1000 * (await ticks() - from);
    if (back) await page.evaluate((one) => { Function(`flame.${one}`)(); }, back);
  }
  await context.close();
  return { ...inside, ...times, wall, open, heap: (usedSize + backingStorageSize + embedderHeapUsedSize) / 1e6 };
}

const folder = mkdtempSync(join(tmpdir(), "fg-budgets-"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc"] });
const late = [];
try {
  console.log("| stacks | frames | folded | file | bytes a frame | reading, CPU s | with writing | writing / gzip -1 | opens in, s | CPU s | longest task, ms | heap, MB | redraw, ms | worst | search | hide | recursion | callers | table |");
  console.log("|" + " ---: |".repeat(19));
  for (const stacks of sizes) {
    const input = join(folder, `${stacks}.folded`);
    const output = join(folder, `${stacks}.html`);
    const bytes = generate(input, stacks);
    // The cheapest of all pictures is little more than reading.
    const reading = seconds("fg-render", "-q", "--minwidth", "0.5", input);
    const writing = seconds("fg-render", "-q", "-o", output, input);
    const size = statSync(output).size;
    let best;
    for (let n = 0; n < RUNS; n++) {
      const one = await measure(browser, output);
      for (const key of Object.keys(one)) one[key] = Math.min(one[key], best?.[key] ?? Infinity);
      best = one;
    }
    const longest = Math.min(...await several(() => longestTask(browser, output)));
    // More is too much for the memory of a test.
    const ratio = stacks <= 100_000 ? writing / compressing(input) : NaN;
    const ms = (value) => value.toFixed(1);
    const bytesANode = size / best.nodes;
    console.log("| " + [
      stacks, best.nodes, `${(bytes / 1e6).toFixed(0)} MB`, `${(size / 1e6).toFixed(2)} MB`, bytesANode.toFixed(2), reading.toFixed(2), writing.toFixed(2), ratio.toFixed(2),
      best.wall.toFixed(2), best.open.toFixed(2), ms(longest), best.heap.toFixed(0), ms(best.redraw), ms(best.worst), ms(best.search), ms(best.hide), ms(best.recursion), ms(best.callers), ms(best.table),
    ].join(" | ") + " |");
    const hold = (what, value, most) => most !== undefined && value > most && late.push(`${stacks} stacks: ${what} ${value.toFixed(2)} > ${most}`);
    hold("bytes a frame", bytesANode, budgets.bytesANode);
    hold("opening", best.wall, budgets[stacks]?.open);
    hold("heap", best.heap, budgets[stacks]?.heap);
    if (stacks === 100_000) hold("redraw", best.redraw, budgets.redraw);
    if (stacks === 100_000) hold("writing beside gzip -1", ratio, budgets.writing);
    hold("longest task", longest, budgets.longest);
    if (besides) await beside(stacks, input);
    rmSync(input);
    rmSync(output);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
for (const line of late) console.error(`over budget: ${line}`);
process.exit(late.length ? 1 : 0);

/** Other tools' files of the same size: how long until the page has drawn and rests. */
async function beside(stacks, input) {
  if (stacks <= 100_000) await speedscope(stacks, input);
  for (const kind of ["async-profiler.html", "inferno.svg"]) {
    const path = join(besides, `${stacks}.${kind}`);
    if (!existsSync(path)) continue;
    const page = await browser.newPage();
    const began = performance.now();
    await page.goto(pathToFileURL(path).href, { waitUntil: "load", timeout: 300_000 });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    console.log(`beside: ${kind}, ${stacks} stacks, ${(statSync(path).size / 1e6).toFixed(1)} MB, opens in ${((performance.now() - began) / 1000).toFixed(2)} s`);
    await page.close();
  }
}

/** speedscope opens the folded text, handed to it the way its own program does. */
async function speedscope(stacks, input) {
  const app = join(dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release/index.html");
  const script = join(folder, "profile.js");
  writeFileSync(script, `speedscope.loadFileFromBase64("profile.folded", "${readFileSync(input).toString("base64")}")`);
  const page = await browser.newPage();
  const began = performance.now();
  try {
    await page.goto(`${pathToFileURL(app).href}#localProfilePath=${encodeURIComponent(pathToFileURL(script).pathname)}`, { waitUntil: "commit" });
    await page.getByText("Sandwich").waitFor({ timeout: 180_000 });
    console.log(`beside: speedscope, ${stacks} stacks, opens in ${((performance.now() - began) / 1000).toFixed(2)} s`);
  } catch (error) {
    console.log(`beside: speedscope, ${stacks} stacks, not within three minutes: ${String(error).split("\n")[0]}`);
  }
  await page.close();
}
