// Zoom, and everything that remembers it: address, history, reload.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, click, draw, drawn, frame, frames, near, reload, save, says, searchFor, show, small, travel, visible } from "./picture.js";

afterEach(allQuiet);

const everything = ["Read", "all", "call", "eval", "eval", "gc", "idle", "lex", "main", "parse", "read", "run", "start", "tree"];
const zoomedIntoParse = ["all", "lex", "main", "parse", "read", "tree"];

test("a click zooms; callers stay, faded; Reset Zoom undoes it", async () => {
  const page = await show(draw(small));
  assert.deepEqual(await visible(page), everything);
  assert.equal(await says(page, "reset"), null);
  await click(page, "parse");
  assert.deepEqual(await visible(page), zoomedIntoParse);
  for (const name of ["all", "main", "parse"]) {
    const f = await frame(page, name);
    near(f.left, 0);
    near(f.width, 1180);
    assert.equal(f.classes.includes("parent"), name !== "parse", name);
  }
  // lex has 300 of parse's 400, tree the rest, right of it
  near((await frame(page, "lex")).width, 1180 * 0.75);
  near((await frame(page, "tree")).left, 1180 * 0.75);
  near((await frame(page, "tree")).width, 1180 * 0.25);

  assert.equal(await says(page, "reset"), "Reset Zoom");
  await page.click("#reset");
  assert.deepEqual(await visible(page), everything);
  assert.equal(await says(page, "reset"), null);
  near((await frame(page, "parse")).width, 1180 * 0.4);
  assert.ok((await frames(page)).every((f) => !f.classes.includes("parent")));
});

test("a click on a faded caller zooms out to it", async () => {
  const page = await show(draw(small));
  await click(page, "read");
  await click(page, "main");
  near((await frame(page, "main")).width, 1180);
  near((await frame(page, "idle")).width, (1180 * 200) / 900);
  assert.ok(!(await visible(page)).includes("start"));
});

test("an icicle graph, with its root above, zooms as well", async () => {
  const page = await show(draw(small, "--inverted"));
  await click(page, "parse");
  assert.deepEqual(await visible(page), zoomedIntoParse);
  assert.ok((await frame(page, "all")).y < (await frame(page, "read")).y);
});

test("names get room by zooming, and the label follows", async () => {
  const long = "a_function_with_quite_a_long_name_that_says_what_it_does";
  const page = await show(draw(`main;${long} 1\nmain;other 199\n`));
  assert.equal((await frame(page, long)).label, "");
  await click(page, long);
  assert.equal((await frame(page, long)).label, long);
  await page.keyboard.press("r");
  assert.equal((await frame(page, long)).label, "");
});

test("Back and Forward walk the zooms", async () => {
  const page = await show(draw(small));
  await click(page, "main");
  await click(page, "parse");
  await click(page, "lex");
  await travel(page, "back");
  assert.deepEqual(await visible(page), zoomedIntoParse);
  await travel(page, "back");
  near((await frame(page, "main")).width, 1180);
  await travel(page, "back");
  assert.deepEqual(await visible(page), everything);
  await travel(page, "forward");
  await travel(page, "forward");
  assert.deepEqual(await visible(page), zoomedIntoParse);
});

test("Backspace and u go one zoom back, and outward after a reload", async () => {
  const page = await show(draw(small));
  await click(page, "parse");
  await click(page, "read");
  await page.keyboard.press("Backspace");
  assert.deepEqual(await visible(page), zoomedIntoParse);
  await page.keyboard.press("u");
  assert.deepEqual(await visible(page), everything);

  await click(page, "read");
  await reload(page);
  assert.deepEqual(await visible(page), ["all", "lex", "main", "parse", "read"]);
  await page.keyboard.press("u"); // lex is the nearest caller that is wider
  near((await frame(page, "lex")).width, 1180);
  near((await frame(page, "read")).width, 1180 / 3);
});

test("the address keeps zoom and search, and a reload restores them", async () => {
  const page = await show(draw(small));
  await click(page, "parse");
  await searchFor(page, "^re");
  const state = new URLSearchParams(new URL(page.url()).hash.slice(1));
  assert.equal(state.get("path"), "main;parse");
  assert.equal(state.get("s"), "^re");
  assert.ok(state.has("x") && state.has("y"));
  await reload(page);
  assert.deepEqual(await visible(page), zoomedIntoParse);
  assert.equal(await says(page, "matched"), "Matched: 20.0%, here 25.0%");
  await page.keyboard.press("0");
  await page.keyboard.press("Escape");
  assert.equal(new URL(page.url()).hash, "");
});

test("a link by name path finds the frame in another recording", async () => {
  const page = await show(draw("aaa 700\nmain;parse;new 10\nmain;parse;lex 90\n"), { hash: "#x=0&y=0&path=main%3Bparse" });
  assert.deepEqual(await visible(page), ["all", "lex", "main", "new", "parse"]);
});

test("a link by position works without a path, as query and as fragment", async () => {
  const path = draw(small);
  const first = await show(path);
  const place = await first.evaluate(() => {
    const rect = [...document.querySelectorAll("#frames rect")].find((r) => r.parentNode.textContent.startsWith("parse ("));
    return `x=${rect.dataset.x}&y=${rect.getAttribute("y")}`;
  });
  for (const address of [{ hash: "#" + place }, { query: "?" + place }]) {
    const page = await show(path, address);
    assert.deepEqual(await visible(page), zoomedIntoParse, JSON.stringify(address));
  }
  // A view that came as a query can be left, and stays left.
  const page = await show(path, { query: "?" + place + "&s=lex" });
  assert.equal(await says(page, "matched"), "Matched: 30.0%, here 75.0%");
  await page.keyboard.press("r");
  await page.keyboard.press("Escape");
  await reload(page);
  assert.deepEqual(await visible(page), everything);
});

test("of frames with one path, the one at the place is meant", async () => {
  const page = await show(draw("a;x 1\nb 1\na;y 1\n", "--flamechart"));
  const [first, second] = (await frames(page)).filter((f) => f.name === "a").sort((f, g) => f.left - g.left);
  assert.ok(second.left > first.left);
  await click(page, "y");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.deepEqual(await visible(page), ["a", "all", "y"]);
  await reload(page);
  assert.deepEqual(await visible(page), ["a", "all", "y"]);
});

test("nonsense in the address shows the whole picture", async () => {
  const path = draw(small);
  for (const hash of ["#x=abc", "#path=no%3Bsuch", "#%E0%A4%A", "#x=1e999&y=-1&s=", "#path="]) {
    assert.deepEqual(await visible(await show(path, { hash })), everything, hash);
  }
});

test("weights beyond 2^53 and fractions keep their tree", async () => {
  for (const unit of ["00000000000000000", ".25"]) {
    const page = await show(draw(small.replace(/ (\d+)$/gm, ` $1${unit}`)));
    await click(page, "parse");
    assert.deepEqual(await visible(page), zoomedIntoParse, unit);
    near((await frame(page, "lex")).width, 1180 * 0.75, 2);
  }
});

test("the width follows the window, and a fixed width does not", async () => {
  const page = await show(draw(small));
  for (const width of [600, 2400, 1200]) {
    await page.setViewportSize({ width, height: 800 });
    await page.waitForFunction((w) => Number(document.querySelector("#frames").getAttribute("width")) === w, width - 20);
    near((await frame(page, "all")).width, width - 20);
    near((await frame(page, "parse")).width, (width - 20) * 0.4);
  }
  const fixed = await show(draw(small, "--width", "900"));
  near((await frame(fixed, "all")).width, 880);
  await fixed.setViewportSize({ width: 600, height: 800 });
  await drawn(fixed);
  near((await frame(fixed, "all")).width, 880);
  await click(fixed, "parse");
  assert.deepEqual(await visible(fixed), zoomedIntoParse);
});

test("a linked frame is followed by a click, and zooms with Ctrl or z", async () => {
  const target = save("html", "<title>elsewhere</title>");
  const map = save("txt", `parse\thref=${target}\n`);
  const page = await show(draw(small, "--nameattr", map));
  await click(page, "parse", { modifiers: ["Control"] });
  assert.deepEqual(await visible(page), zoomedIntoParse);
  await page.keyboard.press("r");
  await page.keyboard.press("z");
  assert.deepEqual(await visible(page), zoomedIntoParse);
  await click(page, "parse");
  await page.waitForURL("**/*.html");
  assert.equal(await page.title(), "elsewhere");
});

test("a title of one's own does not change the name", async () => {
  const map = save("txt", "parse\ttitle=something else (really)\n");
  const page = await show(draw(small, "--nameattr", map));
  await searchFor(page, "^parse$");
  assert.equal(await says(page, "matched"), "Matched: 40.0%");
});
