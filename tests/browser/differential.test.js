// Two weights a line: what changed, in colours, outlines and words.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, click, draw, frame, near, says, searchFor, show, visible } from "./picture.js";

afterEach(allQuiet);

const changed = "main;gone;lex 500 0\nmain;new 0 400\nmain;parse 1000 1500\nmain;same 3000 3001\nmain;z 1 1\n";

/** The outline of a frame's box. */
function outline(page, name) {
  return page.evaluate((wanted) => {
    const g = [...document.querySelectorAll(".frame")].find((one) => one.querySelector("title").textContent.startsWith(wanted + " ("));
    const style = getComputedStyle(g.querySelector("rect"));
    return { dash: style.strokeDasharray, stroke: style.stroke, opacity: style.fillOpacity };
  }, name);
}

test("details tell before, after, percent and points", async () => {
  const page = await show(draw(changed));
  await click(page, "parse");
  assert.match(await says(page, "details"), /parse \(1,000 → 1,500, \+50\.0%, \+8\.38 pp\)$/);
  await page.keyboard.press("0");
  await click(page, "main");
  assert.match(await says(page, "details"), /main \(4,501 → 4,902.*500 in callees that are gone\)$/);
});

test("names are names: search and address know nothing of the numbers", async () => {
  const page = await show(draw(changed));
  await click(page, "parse");
  assert.equal(await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("path")), "main;parse");
  await page.keyboard.press("0");
  await searchFor(page, "samples|pp");
  assert.equal(await page.locator(".hit").count(), 0);
  await page.keyboard.press("Escape");
  await searchFor(page, "^parse$");
  assert.equal(await page.locator(".hit").count(), 1);
});

test("the legend explains the colours that are drawn", async () => {
  for (const [options, grew] of [[[], "#e66e00"], [["--negate"], "#3278dc"], [["--diff-colors", "red-blue"], "#ff4646"]]) {
    const page = await show(draw(changed, ...options));
    await page.keyboard.press("g");
    const rows = await page.$$eval("#legend text", (texts) => texts.map((text) => text.textContent));
    assert.deepEqual(rows, ["grew", "same", "shrank", "not significant"]);
    const swatches = await page.$$eval("#legend .swatch", (rects) => rects.map((rect) => rect.getAttribute("fill")));
    assert.equal(swatches[0], grew);
    const fill = await page.evaluate(() => [...document.querySelectorAll(".frame")].find((g) => g.textContent.startsWith("z (")).querySelector("rect").getAttribute("fill"));
    assert.equal(fill, swatches[3], "one sample is noise");
  }
});

test("what is gone is a ghost, what is new has a line around it", async () => {
  const after = await show(draw(changed));
  assert.ok(!(await visible(after)).includes("gone"));
  assert.equal((await outline(after, "new")).dash, "none");
  assert.notEqual((await outline(after, "new")).stroke, "none");
  assert.equal((await outline(after, "parse")).stroke, "none");

  const union = await show(draw(changed, "--widths", "union"));
  assert.ok((await visible(union)).includes("gone"));
  const ghost = await outline(union, "gone");
  assert.notEqual(ghost.dash, "none");
  assert.ok(Number(ghost.opacity) < 0.5);
  await click(union, "gone");
  assert.match(await says(union, "details"), /gone \(500 → 0, gone, -11\.11 pp\)$/);
  assert.deepEqual((await visible(union)).sort(), ["all", "gone", "lex", "main"]);
  assert.ok((await frame(union, "lex")).width > 1100);
});

test("what vanished is shown on request, and stays so in the address", async () => {
  const page = await show(draw(changed));
  const before = await visible(page);
  assert.ok(!before.includes("gone") && !before.includes("lex"));
  await searchFor(page, "^lex$");
  assert.match(await says(page, "matched"), / 0\.0%$/);
  await page.keyboard.press("Escape");

  await page.keyboard.press("v");
  assert.ok((await visible(page)).includes("gone"));
  assert.ok((await frame(page, "gone")).width > 100);
  assert.notEqual((await outline(page, "gone")).dash, "none");
  const union = await show(draw(changed, "--widths", "union"));
  for (const name of ["gone", "lex", "new", "parse", "same"]) {
    const [here, there] = [await frame(page, name), await frame(union, name)];
    near(here.left, there.left);
    near(here.width, there.width);
  }
  await click(page, "gone");
  assert.deepEqual((await visible(page)).sort(), ["all", "gone", "lex", "main"]);
  const again = await show(draw(changed), { hash: new URL(page.url()).hash });
  assert.deepEqual((await visible(again)).sort(), ["all", "gone", "lex", "main"]);

  // Back: the zoom was into what is not there any more.
  await page.keyboard.press("v");
  assert.deepEqual((await visible(page)).sort(), before.sort());
});

test("there is no such button where nothing vanished", async () => {
  const page = await show(draw("main;a 1 2\nmain;b 3 4\n"));
  assert.equal(await says(page, "ghosts-toggle"), null);
  await page.keyboard.press("v");
  assert.deepEqual(await visible(page), ["a", "all", "b", "main"]);
});
