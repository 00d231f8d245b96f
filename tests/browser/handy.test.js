// Habits from other viewers: their keys and gestures, numbers in
// handy units, paper, narrow screens.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, doubleClick, inChromium } from "./picture.js";
import { address, box, boxes, clickOn, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

const small = "main;eval;lex 30\nmain;eval;read 20\nmain;gc 10\nmain;gc;lex 40\n";

async function tipOf(page, path) {
  const { left, top, width } = await box(page, path);
  await page.mouse.move(left + width / 2, top + 9);
  return text(page, "tip");
}

test("Ctrl-F searches here, and the browser's own search is left to it when asked again", async () => {
  const page = await view(small);
  await page.evaluate(() => {
    window.taken = [];
    window.addEventListener("keydown", (event) => event.key === "f" && window.taken.push(event.defaultPrevented));
  });
  await page.keyboard.press("Control+f");
  assert.equal(await page.evaluate(() => document.activeElement.id), "query");
  await page.keyboard.press("Control+f");
  assert.deepEqual(await page.evaluate(() => window.taken), [true, false]);
});

test("plus and minus stretch around the chosen frame", async () => {
  const page = await view(small);
  await page.evaluate(() => globalThis.flame.selection.select({ part: 0, node: globalThis.flame.model.whole.n - 1 }));
  const before = await box(page, "main;gc;lex");
  await page.keyboard.press("+");
  await settled(page);
  // The middle of the frame, at 80 of 100, stays where it is.
  assert.deepEqual(await page.evaluate(() => globalThis.flame.model.window), { from: 40, to: 90 });
  await page.keyboard.press("-");
  await settled(page);
  assert.ok(Math.abs((await box(page, "main;gc;lex")).width - before.width) < 1);
});

test("a double click beside all frames shows all again", async () => {
  const page = await view(small);
  await clickOn(page, "main;eval");
  assert.match(await address(page), /zoom=main;eval/);
  // Below the root of a shallow graph is room.
  const { left, top } = await box(page, "all");
  await doubleClick(page, left + 5, top + 60);
  await settled(page);
  assert.equal(await address(page), "");
});

test("a tooltip tells the share of the caller, and what all calls of the function weigh", async () => {
  const page = await view(small);
  const tip = await tipOf(page, "main;gc;lex");
  assert.match(tip, /Total40, 40\.00%/);
  assert.match(tip, /Of its caller80\.00%/);
  assert.match(tip, /All calls of it70, 70\.00%/);
  assert.doesNotMatch(await tipOf(page, "main;eval;read"), /All calls/);
});

test("one sample is one, frames without a name say so, times and bytes are scaled", async () => {
  const page = await view("# unit: samples\na 1\n;b 4\n");
  assert.match(await tipOf(page, "a"), /Total1 sample,/);
  await page.keyboard.press("5");
  await settled(page);
  assert.match(await text(page, "list"), /\(no name\)/);
  for (const [unit, folded, cell] of [["ns", "a 1500000\nb 700\n", /1\.5 ms/], ["bytes", "a 3145728\nb 12\n", /3\.15 MB/]]) {
    const table = await view(`# unit: ${unit}\n${folded}`, { hash: "#view=table" });
    assert.match(await text(table, "list"), cell);
    assert.match(await text(table, "list"), unit === "ns" ? /700 ns/ : /12 B/);
    await table.context().close();
  }
});

test("on paper the whole height is there, in light colours", inChromium("its protocol has no paper"), async () => {
  const deep = Array.from({ length: 120 }, (_, n) => `f${n}`).join(";") + " 1\n";
  const page = await view(deep, { colorScheme: "dark" });
  const { height, light } = await page.evaluate(() => {
    dispatchEvent(new Event("beforeprint"));
    const paper = document.getElementById("paper");
    const [r] = paper.getContext("2d").getImageData(2, 2, 1, 1).data;
    return { height: paper.height / devicePixelRatio, light: document.documentElement.dataset.theme === "light" && r > 40 };
  });
  // Above them the title and the total.
  assert.equal(height, 121 * 19 + 46);
  assert.ok(light);
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.isVisible("#paper"));
  assert.ok(await page.isHidden("#search"));
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await settled(page);
  assert.equal(await page.locator("#paper").count(), 0);
  assert.equal(await page.evaluate(() => globalThis.flame.model.theme.dark), true);
  assert.ok((await boxes(page)).length > 100);
});

test("on a narrow screen the table keeps its names while the rest scrolls", async () => {
  const page = await view("main;a_rather_long_name_of_a_function 5 7\nmain;b 3 1\n", { hash: "#view=table", viewport: { width: 390, height: 700 } });
  const place = () => page.evaluate(() => {
    const cell = document.querySelector("#list tbody td").getBoundingClientRect();
    const list = document.getElementById("list");
    return { left: cell.left, width: cell.width, scrolls: list.scrollWidth > list.clientWidth };
  });
  const before = await place();
  assert.ok(before.width >= 170 && before.scrolls, JSON.stringify(before));
  await page.evaluate(() => { document.getElementById("list").scrollLeft = 300; });
  assert.equal((await place()).left, before.left);
});
