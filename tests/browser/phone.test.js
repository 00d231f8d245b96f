// The page on a phone: what is in sight before anything is tapped.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, inChromium } from "./picture.js";
import { box, longNamesCompared, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const FINGERS = inChromium("its protocol has no fingers");
const stacks = "# command: ./app\nmain;read;parse 50\nmain;write 30\nmain;idle 20\n";

test("on a phone the frames have more than half of the screen, above the hottest functions", FINGERS, async () => {
  const page = await view(stacks, phone);
  const main = await page.locator("main").boundingBox();
  assert.ok(main.height > 422, JSON.stringify(main));
  assert.match(await text(page, "sheet"), /^Tap to read.*Hottest selfparse 50\.0%write 30\.0%idle 20\.0%totalread 50\.0%frommain$/);
  const { top } = await box(page, "all");
  // The root is at the top: a finger scrolls down.
  assert.ok(Math.abs(top - main.y) < 2, `the root at ${top} is not at the start of ${JSON.stringify(main)}`);
  // A tapped frame takes their place, and nothing moves.
  const one = await box(page, "write");
  await page.touchscreen.tap(one.left + one.width / 2, one.top + 9);
  await settled(page);
  assert.match(await page.locator("#sheet").innerText(), /^30, 30\.00%\s+write/);
  assert.deepEqual(await page.locator("main").boundingBox(), main);
  const other = await view(stacks, phone);
  await other.click("#sheet >> text=parse");
  await settled(other);
  assert.equal(await other.evaluate(() => globalThis.flame.model.state.view), "butterfly");
});

test("on a phone the controls are one row, and the search is wider while it is used", FINGERS, async () => {
  const page = await view(stacks, phone);
  const row = (id) => page.locator(`#${id}`).boundingBox();
  assert.equal((await row("query")).y, (await row("refine-open")).y);
  for (const id of ["case", "only", "next"]) assert.ok(await page.isHidden(`#${id}`), id);
  await page.fill("#query", "write");
  await settled(page);
  assert.equal((await row("query")).y, (await row("refine-open")).y);
  assert.ok((await row("search")).width > 250);
  for (const id of ["case", "only", "next"]) assert.ok(await page.isVisible(`#${id}`), id);
});

test("the verdict of a comparison stays above the frames", FINGERS, async () => {
  const page = await view("main;a 100 200\nmain;b 50 50\n", phone);
  assert.match(await text(page, "answer"), /whole 150 → 250/);
  // Its controls take no more than the row of steps and colours.
  const [map, stage] = await Promise.all(["status", "stage"].map((id) => page.locator(`#${id}`).boundingBox()));
  assert.ok(map.height < 50 && stage.y - map.y < 60 && stage.y < 300, JSON.stringify([map, stage]));
  assert.equal(await text(page, "sheet"), "Tap to read · tap again to zoom · hold for more");
});

test("on a phone the verdict leaves the frames half of the screen, and the hottest functions fit", FINGERS, async () => {
  const compared = await view(longNamesCompared(), phone);
  const [answer, main] = await Promise.all(["#answer", "main"].map((one) => compared.locator(one).boundingBox()));
  assert.ok(answer.height <= 90 && main.height > 422, JSON.stringify([answer, main]));
  // No part of it is cut: what is too long for a line goes on in the next one.
  const cut = await compared.$$eval("#answer span", (all) => all.filter((one) => !one.querySelector(".link") && one.scrollWidth > one.clientWidth).map((one) => one.textContent));
  assert.deepEqual(cut, []);
  const names = ["runtime.asyncPreemptAtSafePoint", "runtime.memclrNoHeapPointersChunked", "regexp.(*Regexp).tryBacktrack"];
  const go = await view(names.map((one, n) => `main.main;regexp.(*Regexp).doExecuteAll;${one} ${30 - n}\n`).join("") + "main.main;idle 40\n", phone);
  const sheet = await go.$eval("#sheet", ({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight]);
  assert.ok(sheet[0] <= sheet[1], String(sheet));
  assert.match(await text(go, "sheet"), /fromdoExecuteAll$/);
});

test("in the table of a phone names are short, and whole in the title", FINGERS, async () => {
  const name = "std::map<std::basic_string<char, std::char_traits<char> >, int>::find";
  const page = await view(`main;${name} 7\nmain;b 3\n`, { ...phone, hash: "#view=table" });
  const row = await page.$eval("#list tbody tr button", (button) => [button.textContent, button.title]);
  assert.equal(row[0], "std::map::find");
  assert.ok(row[1].startsWith(`${name}: `), row[1]);
});

test("a phone on its side has one row of the time line, and more than a third of the screen for frames", FINGERS, async () => {
  const samples = [1, 2, 3].map((n) => `pool  7/${100 + n}  ${(1 + n / 100).toFixed(6)}:  1 cycles: \n\t 10 f (/bin/app)\n\n`).join("");
  const page = await view(samples, { ...phone, viewport: { width: 844, height: 390 } });
  assert.equal(await page.locator("#time-labels > *").count(), 1);
  const main = await page.locator("main").boundingBox();
  assert.ok(main.height > 130, JSON.stringify(main));
});

test("where the page is magnified so much that all does not fit, it scrolls to the frames", async () => {
  for (const [folded, viewport] of [[stacks, { width: 480, height: 300 }], ["# unit: ns\nm;a 5 9\nm;b 7 1\n", { width: 320, height: 256 }]]) {
    const page = await view(folded, { viewport, deviceScaleFactor: 3 });
    const main = page.locator("main");
    await main.evaluate((element) => element.scrollIntoView({ block: "end" }));
    const { y, height } = await main.boundingBox();
    assert.ok(height >= viewport.height / 2 && y + height <= viewport.height + 1, `${y} and ${height} of ${viewport.height}`);
    assert.ok((await box(page, "all")).inSight);
    // What fits does not scroll.
    await page.setViewportSize({ width: 1200, height: 800 });
    assert.equal(await page.evaluate(() => document.body.scrollHeight - document.body.clientHeight), 0);
  }
});

test("forced colours show which view is chosen", inChromium("its protocol cannot ask for them"), async () => {
  const page = await view(stacks, { forcedColors: "active" });
  const outline = (id) => page.evaluate((one) => getComputedStyle(document.getElementById(one)).outlineStyle, id);
  assert.deepEqual([await outline("tab-flame"), await outline("tab-table")], ["solid", "none"]);
});
