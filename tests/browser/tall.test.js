// An SVG that is taller than the window.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, draw, drawn, show, small } from "./picture.js";

afterEach(allQuiet);

const deep = `${Array.from({ length: 150 }, (_, n) => `f${n}`).join(";")} 1\n`;

/** The texts that are wholly in the window, by their ids. */
const inWindow = (page) => page.evaluate(() => [...document.querySelectorAll("svg.fg > text")].filter((one) => {
  const { top, bottom, width } = one.getBoundingClientRect();
  return width > 0 && one.textContent.trim() && top >= 0 && bottom <= innerHeight;
}).map((one) => one.id));

test("a tall picture opens at its root, with title and status in sight wherever it is scrolled", async () => {
  const page = await show(draw(deep));
  const root = await page.evaluate(() => document.querySelector(".frame rect").getBoundingClientRect());
  assert.ok(root.top > 0 && root.bottom < 800, JSON.stringify(root));
  for (const y of [null, 900, 0]) {
    if (y !== null) await page.evaluate((to) => scrollTo(0, to), y);
    await drawn(page);
    await page.mouse.move(600, 400);
    await drawn(page);
    const seen = await inWindow(page);
    for (const id of ["title", "search", "details"]) assert.ok(seen.includes(id), `${id} at ${y}: ${seen}`);
  }
});

test("a picture that fits, or hangs from its root, opens as it is", async () => {
  for (const path of [draw(small), draw(deep, "--inverted")]) {
    const page = await show(path);
    assert.equal(await page.evaluate(() => scrollY), 0);
    assert.ok((await inWindow(page)).includes("title"));
  }
});
