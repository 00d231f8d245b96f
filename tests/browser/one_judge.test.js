// Two ranges of time compared in the page are judged as fg-diff judges them, and every part of the page tells of the same functions.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, run, save } from "./picture.js";
import { boxes, coloursOf, makePage, openPage, rows, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** A program of 40 functions in phases of 50 ms, some of which get slower or faster after 8 s. */
function phases() {
  let state = 20261125;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const lines = [];
  for (let n = 0; n < 8000; n++) {
    const isLate = n >= 4000;
    const weights = Array.from({ length: 40 }, (_, f) => (1 + 30 / (f + 1)) * (f % 7 === Math.floor(n / 25) % 7 ? 2.5 : 1)
      * (isLate && [1, 6, 20].includes(f) ? 1.6 : isLate && [3, 9].includes(f) ? 0.6 : 1));
    let at = random() * weights.reduce((sum, one) => sum + one);
    const f = weights.findIndex((one) => (at -= one) < 0);
    lines.push(`app  7/7  ${(100 + n / 500).toFixed(6)}:    2000000 cpu-clock: \n\t 10 f${f} (/bin/app)\n\t 20 g${f % 5} (/bin/app)\n\t 30 main (/bin/app)\n\n`);
  }
  return lines.join("");
}

const RANGES = ["--before-time", "0s..8s", "--after-time", "8s..16s"];

test("p and verdicts of two ranges are those of fg-diff", async () => {
  const recording = phases();
  const path = save("perf", recording);
  const wanted = JSON.parse(String(run("fg-diff", "", "-n", ...RANGES, "--format=json", path)));
  const page = await openPage(makePage(recording), { hash: "#time=0s..8s&time=8s..16s&colour=change&as=shares" });
  const ours = await page.evaluate(() => {
    const { changes, names } = globalThis.flame.model;
    const { significant, p } = changes.judged();
    return names.texts.map((name, id) => ({ name, p: [p[0][id], p[1][id]], significant: [significant[0][id] === 1, significant[1][id] === 1] }));
  });
  const byName = new Map(ours.map((one) => [one.name, one]));
  let tested = 0;
  for (const row of wanted.rows) {
    const own = byName.get(row.name);
    [row.self, row.total].forEach((change, kind) => {
      if (change.p === null) return;
      tested++;
      assert.ok(Math.abs(own.p[kind] - change.p) <= 1e-9 + 1e-6 * change.p, `${row.name} ${kind}: ${own.p[kind]}, not ${change.p}`);
      assert.equal(own.significant[kind], change.significant, row.name);
    });
  }
  assert.ok(tested > 60, `${tested}`);
  assert.ok(wanted.rows.some((row) => row.self.significant));
});

test("header, graph, table and tip tell of the same functions", async () => {
  const page = await openPage(makePage(phases()), { hash: "#time=0s..8s&time=8s..16s&colour=change&as=shares&change=self&view=icicle" });
  const significant = await page.evaluate(() => {
    const { changes, names } = globalThis.flame.model;
    const [own] = changes.significant();
    return names.texts.filter((_, id) => own[id]).sort();
  });
  assert.ok(significant.length > 2, significant.join());
  // The header counts them and names the largest.
  const answer = await text(page, "answer");
  const [, slower, faster] = /self: (\d+) significantly slower, (\d+) faster/.exec(answer) ?? [];
  assert.equal(Number(slower) + Number(faster), significant.length, answer);
  for (const name of await page.$$eval("#answer .link", (all) => all.map((one) => one.textContent))) assert.ok(significant.includes(name), name);
  // The graph has colours for them alone.
  const frames = (await boxes(page)).filter((one) => one.inSight && one.node > 0);
  const colours = await coloursOf(page, frames.map(({ path }) => path));
  const coloured = new Set(frames.filter((_, n) => colours[n] !== "rgb(208, 208, 208)").map(({ name }) => name));
  for (const name of coloured) assert.ok(significant.includes(name), `${name} has a colour`);
  for (const name of significant) assert.ok(coloured.has(name), `${name} is grey`);
  // So has the table, and the tip says it.
  const one = frames.find(({ name }) => name === significant[0]);
  await page.mouse.move(one.left + one.width / 2, one.top + 9);
  assert.match(await text(page, "tip"), /the self change is significant, p/);
  await page.click("#tab-table");
  await settled(page);
  const own = await page.$$eval("#list tbody tr", (all) => all.filter((row) => row.cells[4].matches(".up, .down")).map((row) => row.cells[0].textContent));
  assert.deepEqual(own.sort(), significant);
  assert.ok((await rows(page)).length > 10);
});

test("a function that is slower in one place and faster in another is one function", async () => {
  const page = await view("a;work 4000 6000\nb;work 6000 4000\nc;rest 90000 90000\n", { hash: "#change=self" });
  assert.match(await text(page, "answer"), /^no change; whole 100,000 → 100,000/);
  const colours = await coloursOf(page, ["a;work", "b;work"]);
  assert.deepEqual(colours, ["rgb(208, 208, 208)", "rgb(208, 208, 208)"]);
});

test("a folded run has the verdict and the p of its first function", async () => {
  const page = await view("main;x;a;b;c;leaf 100 900\nmain;y 900 100\n", { hash: "#fold=1" });
  const told = await page.evaluate(() => {
    const { changes, names, parts: [{ tree }] } = globalThis.flame.model;
    return [...tree.name.keys()].filter((i) => names.folds.has(tree.name[i])).map((i) => [changes.isSignificant(tree, i), changes.pText(tree, i)]);
  });
  assert.deepEqual(told, [[true, "p=0.014"]]);
});

test("a comparison has the verdict of fg-diff, of all runs, and each name opens its function", async () => {
  const line = (/** @type {number} */ n, /** @type {number} */ lex) => `# unit: ns\n# period: 1000 ns\nmain;lex ${(lex + (n * 7) % 5) * 1000}\nmain;read ${(4000 + (n * 13) % 900) * 1000}\nmain;rest ${(5000 + n) * 1000}\n`;
  const sides = [["--before", 2000], ["--after", 2600]].map(([option, lex]) => [option, ...[1, 2, 3, 4, 5].map((n) => save("folded", line(n * 3, Number(lex))))]);
  const report = JSON.parse(String(run("fg-diff", "", "--json", ...sides.flat())));
  const page = await view(String(run("fg-diff", "", ...sides.flat())), { hash: "#view=icicle" });
  assert.equal(await text(page, "answer"), report.verdict);
  assert.match(report.verdict, /^slower: lex /);
  const significant = await page.evaluate(() => {
    const { changes, names } = globalThis.flame.model;
    const [own, total] = changes.significant();
    return names.texts.filter((_, id) => own[id] || total[id]).sort();
  });
  assert.deepEqual(significant, report.rows.filter((row) => row.significant).map(({ name }) => name).sort());
  await page.click("#answer .link");
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.flame.model.names.texts[globalThis.flame.model.focus]), "lex");
});
