// The time line of the page: made by the real program from perf script's text, used as a reader would.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deflateSync, inflateSync } from "node:zlib";
import { doubleClick, inChromium, run, save, travel } from "./picture.js";
import { address, box, makePage, openPage, search, settled, text, view } from "./viewer.js";

const SECONDS = 10;

/** A worker that draws and parses in turns, and waits for 80 ms of each second while a timer writes a log. */
function stalling() {
  const lines = [];
  for (let at = 0; at < SECONDS * 1000; at += 2) {
    const stalls = at % 1000 < 80;
    const leaf = stalls ? "flush_log" : Math.floor(at / 10) % 2 ? "parse" : "draw";
    const [name, tid] = stalls ? ["timer", 9] : ["worker", 8];
    lines.push(`${name}  7/${tid}  ${(100 + at / 1000).toFixed(6)}:    2000000 cpu-clock: `);
    lines.push(`\t   1000 ${leaf} (/bin/app)`, "\t   2000 main (/bin/app)", "");
  }
  return lines.join("\n") + "\n";
}

const recording = stalling();
const page = () => openPage(makePage(recording));
/** Of each second, 460 samples of 2 ms are the worker's and 40 the timer's. */
const SAMPLES = 500 * SECONDS;

const labels = (one) => one.$$eval("#time-labels > *", (all) => all.map((label) => label.textContent));
const pills = (one) => one.$$eval("#time-pills .pill span", (all) => all.map((pill) => pill.textContent));
const total = (one) => one.evaluate(() => globalThis.flame.model.tree.total[0]);

/** Drags over the strip, from one second to another. */
async function drag(one, from, to, y = 10) {
  const { x, y: top, width } = await one.locator("#time-canvas").boundingBox();
  const at = (seconds) => x + (seconds / (SECONDS - 0.002)) * width;
  await one.mouse.move(at(from), top + y);
  await one.mouse.down();
  await one.mouse.move(at((from + to) / 2), top + y);
  await one.mouse.move(at(to), top + y);
  await one.mouse.up();
  await settled(one);
}

test("a recording with times has a row for each thread", async () => {
  const one = await page();
  assert.deepEqual(await labels(one), ["All threads100.0%", "worker92.0%", "timer8.0%"]);
  const held = await one.evaluate(() => {
    const { times, whole } = globalThis.flame.model;
    return { samples: times.n, weight: times.weight.reduce((a, b) => a + b, 0), total: whole.total[0] };
  });
  assert.equal(held.samples, SAMPLES);
  assert.equal(held.weight, held.total);
});

test("without times, or without a wish for them, there is no time line", async () => {
  const ways = [[makePage("main;parse 40\nmain 2\n")], [makePage(recording, "--no-time")]];
  for (const [path] of ways) {
    const one = await openPage(path);
    assert.equal(await one.isVisible("#timeline"), false);
    assert.equal(await one.isVisible("#tab-time"), false);
    await one.keyboard.press("8");
    assert.equal(await one.evaluate(() => globalThis.flame.model.state.view), "flame");
  }
});

test("a drag chooses a range, which the link keeps and the cross clears", async () => {
  const one = await page();
  await drag(one, 2, 4);
  const [pill] = await pills(one);
  assert.match(pill, /^2\.0 – 4\.0 s · 2 s · 1,000 samples$/);
  assert.equal(await total(one), 1000 * 2_000_000);
  assert.match(await address(one), /time=2s\.\.4s/);
  assert.match(await text(one, "chips"), /fg-filter --time 2s\.\.4s/);
  await travel(one, "back");
  await settled(one);
  assert.equal(await total(one), SAMPLES * 2_000_000);
  await travel(one, "forward");
  await settled(one);
  await one.click("#time-pills .pill button");
  await settled(one);
  assert.equal(await total(one), SAMPLES * 2_000_000);
  assert.deepEqual(await pills(one), []);
  const again = await openPage(makePage(recording), { hash: "#time=2s..4s" });
  assert.deepEqual(await pills(again), [pill]);
});

test("a range weighs what fg-filter says", async () => {
  const path = save("perf.txt", recording);
  const folded = run("fg-filter", "", "--time", "3.05s..7.31s", "--no-header", path).toString();
  const expected = folded.trim().split("\n").reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  const one = await openPage(makePage(recording), { hash: "#time=3.05s..7.31s" });
  assert.equal(await total(one), expected);
});

test("a second range with Shift shows the difference by the rules of fg-diff", async () => {
  const one = await page();
  assert.equal(await one.isVisible("#compare"), false);
  await drag(one, 2, 2.08);
  await one.keyboard.down("Shift");
  await drag(one, 6.1, 6.9);
  await one.keyboard.up("Shift");
  assert.equal((await pills(one)).length, 2);
  assert.ok(await one.isVisible("#compare"));
  const judged = await one.evaluate(() => {
    const { changes, names, tree, about } = globalThis.flame.model;
    const found = {};
    for (let i = 1; i < tree.n; i++) {
      if (tree.end[i] === i + 1) found[names.texts[tree.name[i]]] = [tree.before[i] > 0, tree.self[i] > 0, changes.isSignificant(tree, i)];
    }
    return { found, differential: about.differential };
  });
  assert.ok(judged.differential);
  assert.deepEqual(judged.found, { flush_log: [true, false, true], parse: [false, true, true], draw: [false, true, true] });
  // The command does the same to the recording, also with steps of refining.
  const [shown] = (await text(one, "chips")).match(/fg-diff .*(?=Copy)/);
  // A pixel is a few milliseconds, and Firefox's pointer is between two.
  assert.match(shown, /^fg-diff -n --before-time 2(\.00\d+)?s\.\.2\.0[78]\d*s --after-time 6\.[01]\d*s\.\.6\.[89]\d*s RECORDING$/);
  const recorded = save("perf.txt", recording);
  const both = (...options) => run("fg-diff", "", ...options).toString().trim().split("\n").filter((line) => !line.startsWith("#"));
  const lines = both(...shown.replace(" -n ", " --absolute ").split(" ").slice(1, -1), recorded);
  const shownWeights = await one.evaluate(() => [globalThis.flame.model.base.totalBefore[0], globalThis.flame.model.base.total[0]]);
  const column = (n) => lines.reduce((sum, line) => sum + Number(line.split(" ").at(n)), 0);
  assert.deepEqual(shownWeights, [column(-2), column(-1)]);
  // Both sides are there in a link, too.
  const again = await openPage(makePage(recording), { hash: await address(one) });
  assert.deepEqual(await pills(again), await pills(one));
  await one.keyboard.press("Tab");
  await one.focus("#time-canvas");
  await one.keyboard.press("Escape");
  await settled(one);
  assert.equal(await one.isVisible("#compare"), false);
  assert.equal(await total(one), SAMPLES * 2_000_000);
});

test("the stalls show in the row of the worker", async () => {
  const one = await page();
  // The row is drawn where the worker ran, and empty where it stalled.
  const busy = await one.evaluate(() => {
    const { canvas, strips, times } = globalThis.flame.timeline;
    const strip = strips[1];
    const ratio = canvas.width / canvas.clientWidth;
    const context = canvas.getContext("2d");
    const alphaAt = (seconds) => {
      const x = Math.floor((seconds / times.all) * canvas.clientWidth) * ratio;
      return context.getImageData(x, (strip.top + strip.height - 4) * ratio, 1, 1).data[3];
    };
    return [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((second) => [alphaAt(second + 0.04) > 0, alphaAt(second + 0.5) > 0]);
  });
  assert.deepEqual(busy, Array.from({ length: SECONDS }, () => [false, true]));
});

test("a click on a row chooses the thread, and again all", async () => {
  const one = await page();
  await one.click("#time-labels >> text=timer");
  await settled(one);
  assert.equal(await total(one), 40 * SECONDS * 2_000_000);
  assert.match(await address(one), /in=timer/);
  assert.equal(await text(one, "threads-open"), "1 thread");
  const { x, y } = await one.locator("#time-canvas").boundingBox();
  const top = await one.evaluate(() => globalThis.flame.timeline.strips[2].top);
  await one.mouse.click(x + 300, y + top + 5);
  await settled(one);
  assert.equal(await total(one), SAMPLES * 2_000_000);
});

test("the function below the pointer and the search tint the time line", async () => {
  const one = await page();
  const picture = () => one.evaluate(() => globalThis.flame.timeline.canvas.toDataURL());
  const plain = await picture();
  const { left, top, width } = await box(one, "timer;main;flush_log");
  await one.mouse.move(left + width / 2, top + 9);
  await settled(one);
  const tinted = await picture();
  assert.notEqual(tinted, plain);
  await one.mouse.move(5, 5);
  await settled(one);
  assert.equal(await picture(), plain);
  await search(one, "flush_log");
  const found = await picture();
  assert.notEqual(found, plain);
  assert.notEqual(found, tinted);
});

test("the wheel zooms time, and a double click shows all", async () => {
  const one = await page();
  const { x, y, width } = await one.locator("#time-canvas").boundingBox();
  await one.mouse.move(x + width / 2, y + 10);
  await one.mouse.wheel(0, -500);
  await settled(one);
  const [from, to] = await one.evaluate(() => globalThis.flame.timeline.span);
  assert.ok(to - from < SECONDS / 2 && Math.abs((from + to) / 2 - SECONDS / 2) < 0.2, `${from} ${to}`);
  assert.match(await address(one), /span=/);
  await doubleClick(one, x + width / 2, y + 10);
  await settled(one);
  assert.equal(await one.evaluate(() => globalThis.flame.model.state.span), null);
});

test("the time line works by keyboard", async () => {
  const one = await page();
  await one.focus("#time-canvas");
  await one.keyboard.press("ArrowRight");
  await settled(one);
  const ranges = () => one.evaluate(() => globalThis.flame.model.state.ranges);
  const [[from, to]] = await ranges();
  assert.ok(from > 4 && to < 6);
  await one.keyboard.press("ArrowRight");
  await one.keyboard.press("Shift+ArrowRight");
  const [[moved, longer]] = await ranges();
  assert.ok(moved > from && longer - moved > to - from);
  await one.keyboard.press("d");
  assert.equal((await ranges()).length, 2);
  await one.keyboard.press("Escape");
  assert.deepEqual(await ranges(), []);
  await one.keyboard.press("ArrowDown");
  assert.deepEqual(await one.evaluate(() => globalThis.flame.model.state.threads), ["worker"]);
});

test("a thinned time line says how many samples it holds", async () => {
  const path = makePage(recording);
  const text = readFileSync(path, "utf8");
  // As of more samples than fit: some stand for the others of their stack.
  const some = text.replace(/(id="data-about">)([^<]+)/, (_, tag, data) => {
    const about = JSON.parse(inflateSync(Buffer.from(data, "base64")));
    Object.assign(about.time, { coarse: true, samples: 10 * SAMPLES });
    return tag + deflateSync(JSON.stringify(about)).toString("base64");
  });
  const [whole, thinned] = [await openPage(path), await openPage(save("html", some))];
  const title = (one) => one.getAttribute("#time-labels > :first-child", "title");
  assert.deepEqual([(await labels(whole))[0], await title(whole)], ["All threads100.0%", "All threads"]);
  assert.deepEqual([(await labels(thinned))[0], await title(thinned)],
    ["All threads100.0%10% of samples", "All threads: 5,000 of 50,000 samples, each with the weight of those that it stands for"]);
  // A range has a weight instead of a number of samples, which is not exact.
  for (const one of [whole, thinned]) {
    await one.evaluate(() => globalThis.flame.timeline.select([0, 1], false));
    await settled(one);
  }
  assert.deepEqual(await pills(whole), ["0.0 – 1.0 s · 1 s · 500 samples"]);
  assert.deepEqual(await pills(thinned), ["0.0 – 1.0 s · 1 s · about 1 s"]);
  // All of 40 samples against none of 460 are no chance; those that stand for ten each are but four.
  for (const [one, isTold] of [[whole, true], [thinned, false]]) {
    await one.evaluate(() => globalThis.flame.change({ ranges: [[0.08, 1], [0, 0.08]], colour: "change", shares: true }));
    await settled(one);
    const told = await one.evaluate(() => {
      const { changes, names } = globalThis.flame.model;
      return changes.significant()[1][names.texts.indexOf("flush_log")] === 1;
    });
    assert.equal(told, isTold);
  }
});

test("a finger chooses a range, and a button the next one", inChromium("its protocol has no fingers"), async () => {
  const one = await openPage(makePage(recording), { width: 390, height: 844, touch: true, hasTouch: true });
  const { x, y, width } = await one.locator("#time-canvas").boundingBox();
  const client = await one.context().newCDPSession(one);
  const swipe = async (from, to) => {
    const touch = (type, at) => client.send("Input.dispatchTouchEvent", { type, touchPoints: at === null ? [] : [{ x: x + at * width, y: y + 10 }] });
    await touch("touchStart", from);
    for (let n = 1; n <= 5; n++) await touch("touchMove", from + ((to - from) * n) / 5);
    await touch("touchEnd", null);
    await settled(one);
  };
  await swipe(0.2, 0.6);
  assert.equal((await pills(one)).length, 1);
  await one.click("#time-second");
  await swipe(0.7, 0.9);
  assert.equal((await pills(one)).length, 2);
});

/** The lanes of the chart: their names, the seconds of gaps in the first row, the number of leaves. */
const lanes = (one) => one.evaluate(() => {
  const { chart, names, times } = globalThis.flame.model;
  return chart.lanes.map(({ label, tree, rows }) => {
    const gaps = [];
    let leaves = 0;
    for (let i = 1; i < tree.n; i++) {
      if (tree.name[i] === names.all) gaps.push(times.seconds(tree.width[i]));
      else if (tree.end[i] === i + 1) leaves++;
    }
    return { label, rows, gaps, leaves, width: times.seconds(tree.width[0]) };
  });
});

test("the chart of time has a lane for each thread, its stacks as long as they took, and gaps", async () => {
  const one = await openPage(makePage(recording), { hash: "#view=time" });
  const [worker, timer] = await lanes(one);
  assert.deepEqual([worker.label, timer.label], ["worker", "timer"]);
  // The first stall is before its first sample: the root's own time. A column of pixels is 10 ms.
  assert.equal(worker.gaps.length, SECONDS - 1);
  for (const gap of worker.gaps) assert.ok(Math.abs(gap - 0.08) < 0.025, `${gap}`);
  assert.ok(Math.abs(worker.width - SECONDS) < 0.01);
  assert.equal(timer.gaps.length, SECONDS);
  assert.match(await text(one, "path"), /^2 lanes in the order of time; each \d.* shows its heaviest stack$/);
  // In a second, 10 ms of each function in turns; and two samples are two.
  const second = await openPage(makePage(recording), { hash: "#view=time&in=worker&span=2s..3s" });
  const [alone] = await lanes(second);
  assert.equal(alone.leaves, 92);
  const pair = await openPage(makePage(recording), { hash: "#view=time&in=worker&span=2.098s..2.102s" });
  const [draw, parse] = [await box(pair, "parse"), await box(pair, "draw")];
  assert.ok(draw.width > 400 && parse.width > 400, `${draw.width} ${parse.width}`);
});

test("a thread that a value does not have chooses nothing in the chart", async () => {
  const one = await openPage(makePage(recording), { hash: "#view=time&in=nobody" });
  assert.deepEqual((await lanes(one)).map(({ label }) => label), ["worker", "timer"]);
  assert.match(await text(one, "path"), /^2 lanes /);
});

test("the chart has the axis of the time line, and a click on a frame zooms both", async () => {
  const one = await openPage(makePage(recording), { hash: "#view=time&span=1s..3s" });
  const edge = await one.locator("#time-canvas").boundingBox();
  const { left, top, width } = await box(one, "main", 1);
  // The timer writes for 80 ms from the second second on.
  assert.ok(Math.abs(left - edge.x) < 3 && Math.abs(width - edge.width * 0.04) < 3, `${left} ${width} ${JSON.stringify(edge)}`);
  await one.mouse.click(left + width / 2, top + 9);
  await settled(one);
  const [from, to] = (await one.evaluate(() => globalThis.flame.model.state.span));
  assert.ok(Math.abs(from - 1) < 0.01 && Math.abs(to - 1.08) < 0.01, `${from} ${to}`);
  assert.match(await address(one), /span=1/);
});

test("nothing that was measured is without a pixel in the chart", async () => {
  // One short sample in each 50 ms, each of another stack.
  const sparse = Array.from({ length: 2000 }, (_, n) => `t  7/8  ${(n / 20).toFixed(6)}:    1000 cpu-clock: \n\t 10 f${n} (/bin/app)\n\n`).join("");
  const one = await openPage(makePage(sparse), { hash: "#view=time" });
  const painted = await one.evaluate(() => {
    const { stage, model } = globalThis.flame;
    const { left, right } = model.scene;
    const width = Math.round((stage.width - left - right) * stage.ratio);
    const line = stage.context.getImageData(Math.round(left * stage.ratio), 25, width, 1).data;
    const back = [...stage.context.getImageData(1, stage.canvas.height - 3, 1, 1).data].join();
    let count = 0;
    for (let x = 0; x < width; x++) if ([...line.slice(4 * x, 4 * x + 4)].join() !== back) count++;
    return count / width;
  });
  assert.ok(painted > 0.95, `${painted}`);
});

test("the lane of a pool opens its threads, and an empty range says so", async () => {
  const lines = Array.from({ length: 600 }, (_, n) => `pool  7/${100 + n % 60}  ${(1 + n / 100).toFixed(6)}:  1 cycles: \n\t 10 f (/bin/app)\n\t 20 main (/bin/app)\n\n`).join("");
  const one = await openPage(makePage(lines), { hash: "#view=time&lane=pool" });
  assert.deepEqual((await lanes(one)).map(({ label }) => label), ["pool ×60"]);
  await one.click("#lanes button");
  await settled(one);
  assert.equal((await lanes(one)).length, 61);
  assert.equal(await one.isVisible("#nothing"), false);
  const empty = await openPage(makePage("a  1/1  1.000000:  1 cycles: \n\t 10 f (/bin/app)\n\na  1/1  9.000000:  1 cycles: \n\t 10 f (/bin/app)\n\n"), { hash: "#time=2s..3s" });
  assert.equal(await text(empty, "nothing"), "No samples in 2.0 – 3.0 s");
});

test("the heat map has what repeats each second in one row", async () => {
  const one = await page();
  await one.click("#time-heat");
  await settled(one);
  assert.match(await address(one), /heat=1/);
  const rows = await one.evaluate(() => {
    const { model } = globalThis.flame;
    const { all } = model.memo.values.get("cells").value;
    return { cells: all.length, least: Math.min(...all.slice(0, 50)) };
  });
  assert.equal(rows.cells, 50 * SECONDS);
  assert.ok(rows.least > 0);
  await one.click("#time-labels");
});

test("several threads of one name are told apart, many are one row", async () => {
  const lines = (threads) => Array.from({ length: threads }, (_, n) => `pool  7/${100 + n}  ${(1 + n / 100).toFixed(6)}:  1 cycles: \n\t 10 f (/bin/app)\n\n`).join("");
  const few = await view(lines(3));
  assert.deepEqual((await labels(few)).slice(1).map((label) => label.replace(/\d\d\.\d%$/, "")), ["pool 100", "pool 101", "pool 102"]);
  const many = await view(lines(60));
  assert.deepEqual((await labels(many)).map((label) => label.replace(/100\.0%$/, "")), ["pool ×60"]);
});
