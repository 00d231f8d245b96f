// Runs of frames as one frame; zooms that move.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, until } from "./picture.js";
import { address, box, boxes, clickOn, coloursOf, savedStacks, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

const RUN = "main;a;b;c;d;leaf 60\nmain;a;b;c;d;other 30\nmain;x;y;leaf 10\n";
const paths = async (page) => (await boxes(page)).map((one) => one.path).sort();

test("runs of frames with one callee become one frame", async () => {
  const page = await view(RUN);
  await page.click("#frames", { position: { x: 5, y: 5 } });
  await page.keyboard.press("f");
  await settled(page);
  const run = "main;a;⋯ 2: b … c";
  assert.ok(!(await paths(page)).includes(run), "two frames are no run");
  const long = await view("main;a;b;c;d;e;leaf 60\nmain;a;b;c;d;e;other 30\nmain;x;y;leaf 10\n", { hash: "#fold=1" });
  const shown = await paths(long);
  assert.ok(shown.includes("main;a;⋯ 3: b … d;e;leaf"), shown.join("\n"));
  assert.ok(shown.includes("main;x;y;leaf"), shown.join("\n"));
  assert.equal((await box(long, "main;a;⋯ 3: b … d")).weight, 90);
  const { left, top } = await box(long, "main;a;⋯ 3: b … d");
  await long.mouse.move(left + 20, top + 9);
  await until(async () => /b › c › d/.test(await text(long, "tip")), "the tip names the frames");
  // What is searched for is not hidden.
  await search(long, "^c$");
  assert.ok((await paths(long)).includes("main;a;b;c;d;e;leaf"));
  await search(long, "");
  await clickOn(long, "main;a;⋯ 3: b … d", { button: "right" });
  await long.click("#menu >> text=Show all frames");
  await settled(long);
  assert.ok((await paths(long)).includes("main;a;b;c;d;e;leaf"));
  assert.equal(await address(long), "");
});

test("a run has the colour of its first frame", async () => {
  const page = await view("main;one::a;one::b;one::c;one::d;one::e;two::f 60\nmain;two::g 40\n", { hash: "#fold=1&colour=package" });
  const [run, plain] = await coloursOf(page, ["main;one::a;⋯ 4: one::b … one::e", "main;one::a"]);
  assert.equal(run, plain);
});

test("runs of unknown frames become one of them", async () => {
  const page = await view("main;[unknown];[unknown];[unknown];leaf 6\nmain;[unknown];[unknown];x 3\nmain;[unknown] 1\n");
  await page.keyboard.press("f");
  await settled(page);
  assert.deepEqual(await paths(page), ["", "main", "main;[unknown]", "main;[unknown];leaf", "main;[unknown];x"]);
  const { weight } = await box(page, "main;[unknown]");
  assert.equal(weight, 10);
  assert.deepEqual((await savedStacks(page)).toString().trim().split("\n"), [
    "main;[unknown] 1", "main;[unknown];[unknown];[unknown];leaf 6", "main;[unknown];[unknown];x 3"]);
  await search(page, "unknown");
  assert.ok((await paths(page)).includes("main;[unknown];[unknown];[unknown];leaf"), "what is searched for is not hidden");
});

test("a folded comparison keeps both sides", async () => {
  const page = await view("m;a;b;c;d;e 10 20\nm;f 5 0\n", { hash: "#fold=1" });
  const folded = await box(page, "m;a;⋯ 3: b … d");
  assert.deepEqual([folded.before, folded.weight], [10, 20]);
});

test("a zoom moves, and at once for those who asked for less motion", async () => {
  const still = await view(RUN);
  await clickOn(still, "main;x");
  assert.equal(await still.evaluate(() => globalThis.flame.model.moved), null);
  const init = () => {
    globalThis.windows = [];
    const ask = globalThis.requestAnimationFrame.bind(globalThis);
    globalThis.requestAnimationFrame = (act) => ask((time) => {
      const { model } = globalThis.flame ?? {};
      if (model?.moved) globalThis.windows.push(model.moved.from);
      act(time);
    });
  };
  const page = await view(RUN, { reducedMotion: "no-preference", init });
  const { left, top } = await box(page, "main;x");
  await page.mouse.click(left + 5, top + 9);
  await until(() => page.evaluate(() => globalThis.windows.length > 0 && globalThis.flame.model.moved === null), "it moved and came to rest");
  const [first, target] = await page.evaluate(() => [globalThis.windows[0], globalThis.flame.model.window.from]);
  assert.ok(first < target, `${first} of ${target}`);
});
