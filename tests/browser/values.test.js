// Several values in one page: a menu of them, which everything on the page follows.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { allQuiet, fixture, run, save, travel } from "./picture.js";
import { address, makePage, openPage, refine, rows, savedStacks, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** Two events of perf: `draw` takes processor time for two seconds, and `load` page faults at their end. */
function events() {
  const lines = [];
  const sample = (at, event, weight, leaf, name = "app") => lines.push(`${name}  7/7  ${(100 + at / 1000).toFixed(6)}:    ${weight} ${event}: `, `\t   1000 ${leaf} (/bin/app)`, "\t   2000 main (/bin/app)", "");
  for (let at = 0; at < 2000; at += 10) {
    sample(at, "cpu-clock", 10000000, "draw");
    if (at >= 1500) sample(at + 1, "page-faults", 3, "load");
  }
  return lines.join("\n") + "\n";
}

const choose = async (page, name) => {
  await page.selectOption("#value", name);
  await settled(page);
};
const heapPath = fixture(`pprof/heap/${readdirSync(fixture("pprof/heap")).find((name) => name.startsWith("input"))}`);
const heapPage = () => save("html", run("fg-render", "", "--format", "html", heapPath));

test("a page of several values has a menu, and the header, the hottest functions and the colours follow it", async () => {
  const page = await view(events());
  assert.deepEqual(await page.$$eval("#value option", (all) => all.map((one) => one.textContent)), ["cpu-clock", "page-faults"]);
  assert.equal(await page.inputValue("#value"), "cpu-clock");
  assert.match(await text(page, "facts"), /^2 s/);
  assert.match(await text(page, "answer"), /^Hottest self ?draw 100\.0%$/);
  await choose(page, "page-faults");
  assert.match(await text(page, "facts"), /^150 page-faults/);
  assert.match(await text(page, "answer"), /^Hottest self ?load 100\.0%$/);
  assert.match(await address(page), /^#value=page-faults/);
  await choose(page, "cpu-clock");
  assert.equal(await address(page), "");
  await travel(page, "back");
  await settled(page);
  assert.match(await text(page, "facts"), /^150 page-faults/);
  assert.equal(await page.inputValue("#value"), "page-faults");
});

test("a link opens a value, and an unknown one the first", async () => {
  const path = makePage(events());
  const page = await openPage(path, { hash: "#value=page-faults&view=table" });
  assert.deepEqual((await rows(page)).map((row) => row[0]).sort(), ["app", "load", "main"]);
  const other = await openPage(path, { hash: "#value=nonsense" });
  assert.match(await text(other, "facts"), /^2 s/);
});

test("the time line is that of the value, on one clock", async () => {
  const page = await view(events());
  const weights = () => page.evaluate(() => {
    const { times } = globalThis.flame.model;
    return { samples: times.n, first: times.seconds(times.at[0]) };
  });
  assert.deepEqual(await weights(), { samples: 200, first: 0 });
  await choose(page, "page-faults");
  const { samples, first } = await weights();
  assert.equal(samples, 50);
  assert.ok(Math.abs(first - 1.501) < 1e-6, `${first}`);
  await page.evaluate(() => globalThis.flame.timeline.select([1.5, 1.6], false));
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.flame.model.tree.total[0]), 30);
  assert.match(await text(page, "time-pills"), /10 samples/);
  // The range is kept, and is one of the other value's time.
  await choose(page, "cpu-clock");
  assert.equal(await page.evaluate(() => globalThis.flame.model.tree.total[0]), 100000000);
});

test("views and refining are those of the value", async () => {
  const page = await view(events());
  await refine(page, "Focus", "load|draw");
  for (const name of ["page-faults", "cpu-clock"]) {
    await choose(page, name);
    const leaf = name === "cpu-clock" ? "draw" : "load";
    for (const tab of ["table", "tree", "bottomup"]) {
      await page.click(`#tab-${tab}`);
      await settled(page);
      const shown = await text(page, tab === "table" ? "list" : "outline");
      assert.ok(shown.includes(leaf) && !shown.includes(leaf === "draw" ? "load" : "draw"), `${name} ${tab}: ${shown}`);
    }
    await page.click("#tab-callers");
    await settled(page);
    assert.ok(await page.evaluate((wanted) => {
      const { model } = globalThis.flame;
      const { tree } = model.parts[0];
      return tree.n > 1 && model.names.texts[tree.name[1]] === wanted;
    }, leaf));
    await page.click("#tab-flame");
    await settled(page);
  }
});

test("every value of a heap profile is the one that fg-collapse reads, and fg-collapse reads it out of the page", async () => {
  const path = heapPage();
  const page = await openPage(path);
  const names = await page.$$eval("#value option", (all) => all.map((one) => one.value));
  assert.deepEqual([...names].sort(), ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
  const stacks = (bytes) => bytes.toString().split("\n").filter((line) => line && !line.startsWith("# ")).sort();
  for (const name of names) {
    await choose(page, name);
    const wanted = stacks(run("fg-collapse", "", "--value", name, heapPath));
    assert.ok(wanted.length > 2);
    assert.deepEqual(stacks(await savedStacks(page)), wanted, name);
    assert.deepEqual(stacks(run("fg-collapse", readFileSync(path), "--value", name)), wanted, name);
  }
});

test("without several values, or with one that was chosen, there is no menu", async () => {
  for (const page of [await view("main;a 1\n"), await openPage(save("html", run("fg-render", "", "--format", "html", "--value", "alloc_space", heapPath)))]) {
    assert.equal(await page.isVisible("#value"), false);
  }
});

test("--each has a menu of all files together and of each, which fg-collapse reads out of the page", async () => {
  const runs = ["main;parse 30\nmain;draw 10\n", "main;parse 20\nmain;new_one 50\n"];
  const paths = runs.map((run_) => save("folded", `# unit: ns\n${run_}`));
  const names = paths.map((path) => path.split("/").pop());
  const path = save("html", run("fg-render", "", "--format", "html", "--each", ...paths));
  const page = await openPage(path, { hash: "#view=table" });
  assert.deepEqual(await page.$$eval("#value option", (all) => all.map((one) => one.value)), ["all 2 files", ...names]);
  const totals = { "all 2 files": ["main 110", "new_one 50", "parse 50", "draw 10"], [names[0]]: ["main 40", "parse 30", "draw 10"], [names[1]]: ["main 70", "new_one 50", "parse 20"] };
  for (const [name, wanted] of Object.entries(totals)) {
    await choose(page, name);
    assert.deepEqual((await rows(page)).map((row) => `${row[0]} ${parseInt(row[2])}`).sort(), wanted.sort(), name);
  }
  const stacks = (bytes) => bytes.toString().split("\n").filter((line) => line && !line.startsWith("# ")).sort();
  names.forEach((name, n) => assert.deepEqual(stacks(run("fg-collapse", readFileSync(path), "--value", name)), stacks(runs[n]), name));
  // The same file twice; standard input, which is kept to be read again.
  const twice = await openPage(save("html", run("fg-render", runs[0], "--format", "html", "--each", paths[0], paths[0], "-")));
  assert.deepEqual(await twice.$$eval("#value option", (all) => all.map((one) => one.value)), ["all 3 files", paths[0], `${paths[0]} (again)`, "standard input"]);
});

test("the menu is in sight on a phone", async () => {
  const page = await openPage(heapPage(), { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
  assert.ok(await page.isVisible("#value"));
  const { right, wide } = await page.evaluate(() => ({ right: document.getElementById("value").getBoundingClientRect().right, wide: document.documentElement.scrollWidth }));
  assert.ok(right <= 320 && wide <= 320, `${right}, ${wide}`);
});
