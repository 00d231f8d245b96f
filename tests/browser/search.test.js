// Search: what matches, how much that is, and the box one types into.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, click, draw, frames, large, matchedShare, reload, says, searchFor, show, small } from "./picture.js";

afterEach(allQuiet);

const hits = async (page) => (await frames(page)).filter((f) => f.classes.includes("hit")).map((f) => f.name).sort();
const selected = async (page) => (await frames(page)).filter((f) => f.classes.includes("selected")).map((f) => f.name);
const box = ".box input";
const typed = (page) => page.$eval(box, (input) => input.value);
const isOpen = (page) => page.locator(box).isVisible();

/** Presses keys and says whether the page kept them from the browser. */
async function keptFromBrowser(page, keys) {
  await page.evaluate(() => addEventListener("keydown", (event) => (window.lastKey = event), { capture: true }));
  await page.keyboard.press(keys);
  return page.evaluate(() => window.lastKey.defaultPrevented);
}

test("matching frames are coloured; the share is that of the folded text", async () => {
  const profile = large(400);
  const ruled = (term) => new RegExp(term, /[A-Z]/.test(term) ? "" : "i");
  const drawings = [[small, ["lex", "^re", "eval|call", "a", ".", "nothing at all", "main", "[Rr]ead"]], [profile, ["^b", "c+::W", "operator", "g"]]];
  for (const [folded, terms] of drawings) {
    const page = await show(draw(folded, "--minwidth", "0"));
    for (const term of terms) {
      await searchFor(page, term);
      assert.equal(await says(page, "matched"), matchedShare(folded, ruled(term)).replace("NaN", "0"), term);
      const wanted = (await frames(page)).filter((f) => ruled(term).test(f.name)).map((f) => f.name).sort();
      assert.deepEqual(await hits(page), wanted, term);
    }
  }
});

test("matches take the search colour, and give it back", async () => {
  const page = await show(draw(small, "--search-color", "#123456"));
  const before = await frames(page);
  await searchFor(page, "lex");
  assert.equal((await frames(page)).find((f) => f.name === "lex").fill, "rgb(18, 52, 86)");
  await page.keyboard.press("Escape");
  assert.deepEqual((await frames(page)).map((f) => f.fill), before.map((f) => f.fill));
  assert.equal(await says(page, "matched"), null);
});

test("after a zoom the share of the whole stays, and that of the zoomed part is beside it", async () => {
  const page = await show(draw(small));
  await searchFor(page, "(?-i)^re");
  assert.equal(await says(page, "matched"), "Matched: 10.0%");
  await click(page, "parse");
  assert.equal(await says(page, "matched"), "Matched: 10.0%" + matchedShare(small, /^re/, "main;parse").replace("Matched:", ", here"));
  assert.equal(await says(page, "matched"), "Matched: 10.0%, here 25.0%");
  await click(page, "tree");
  assert.equal(await says(page, "matched"), "Matched: 10.0%, here 0.0%");
  await page.keyboard.press("r");
  assert.equal(await says(page, "matched"), "Matched: 10.0%");
  // Below a match everything matches.
  await searchFor(page, "parse");
  await click(page, "tree");
  assert.equal(await says(page, "matched"), "Matched: 40.0%, here 100%");
});

test("where frames are left out, what matches is said to be a least", async () => {
  const folded = "main;wide 995\nmain;wide;narrow_alloc 4\nmain;Alloc 1\n";
  const page = await show(draw(folded, "--minwidth", "3%"));
  await searchFor(page, "alloc");
  assert.equal(await says(page, "matched"), "Matched: no frame that is drawn");
  await click(page, "wide");
  assert.equal(await says(page, "matched"), "Matched: no frame that is drawn");
  await searchFor(page, "wide|alloc");
  assert.equal(await says(page, "matched"), "Matched: at least 99.9%, here 100%");
  await page.keyboard.press("r");
  assert.equal(await says(page, "matched"), "Matched: at least 99.9%");
  const whole = await show(draw(folded, "--minwidth", "0"));
  await searchFor(whole, "alloc");
  assert.equal(await says(whole, "matched"), matchedShare(folded, /alloc/i));
  await click(whole, "wide");
  assert.equal(await says(whole, "matched"), "Matched: 0.5%, here 0.4%");
});

test("case is ignored unless there is a capital, or by button, key and address", async () => {
  const page = await show(draw(small));
  await searchFor(page, "^read$");
  assert.deepEqual(await hits(page), ["Read", "read"]);
  await searchFor(page, "(?-i)^read$");
  assert.deepEqual(await hits(page), ["read"]);
  await searchFor(page, "^Read$");
  assert.deepEqual(await hits(page), ["Read"]);
  await page.click("#ignorecase");
  assert.deepEqual(await hits(page), ["Read", "read"]);
  assert.equal(await says(page, "matched"), matchedShare(small, /^read$/i));
  assert.equal(await page.getAttribute("#ignorecase", "aria-pressed"), "true");
  await reload(page);
  assert.deepEqual(await hits(page), ["Read", "read"]);
  await page.keyboard.press("i");
  assert.deepEqual(await hits(page), ["Read"]);
  await page.keyboard.press("Control+i");
  assert.deepEqual(await hits(page), ["Read", "read"]);
});

test("Ctrl-F, Cmd-F, F3, / and the button open the box; a second Ctrl-F is the browser's", async () => {
  const page = await show(draw(small));
  for (const keys of ["Control+f", "Meta+f", "F3", "/"]) {
    assert.equal(await isOpen(page), false, keys);
    assert.equal(await keptFromBrowser(page, keys), true, keys);
    assert.equal(await isOpen(page), true, keys);
    if (keys !== "/") assert.equal(await keptFromBrowser(page, keys), false, `second ${keys}`);
    await page.keyboard.press("Escape");
  }
  await page.click("#search");
  assert.equal(await isOpen(page), true);
});

test("typing searches at once; the picture's keys rest meanwhile", async () => {
  const page = await show(draw(small));
  await page.keyboard.press("/");
  await page.keyboard.type("run");
  await page.waitForFunction(() => document.querySelector("#matched").textContent === "Matched: 30.0%");
  assert.equal(await typed(page), "run"); // r and u did not reset, n did not walk
  assert.equal(new URL(page.url()).hash, "");
  await page.keyboard.press("Escape");
  assert.equal(await isOpen(page), false);
  assert.deepEqual(await hits(page), []);
});

test("Escape closes the box also when the focus has left it", async () => {
  const page = await show(draw(small));
  await page.keyboard.press("/");
  await page.keyboard.type("lex");
  await page.waitForFunction(() => document.querySelector("#matched").textContent !== "");
  await click(page, "parse");
  await page.keyboard.press("Escape");
  assert.equal(await isOpen(page), false);
  assert.deepEqual(await hits(page), []);
});

test("the box opens in sight when a tall picture is scrolled", async () => {
  const page = await show(draw("a;".repeat(120) + "leaf 1\n"));
  await page.evaluate(() => scrollTo(0, 1000));
  await page.keyboard.press("/");
  const { y } = await page.locator(box).boundingBox();
  assert.ok(y > 0 && y < 100, `at ${y}`);
  assert.equal(await page.evaluate(() => scrollY), 1000);
});

test("Reset Search clears, and the box remembers what was searched", async () => {
  const page = await show(draw(small));
  await searchFor(page, "lex");
  await page.keyboard.press("Control+f");
  assert.equal(await typed(page), "lex");
  await page.keyboard.press("Enter");
  assert.equal(await says(page, "search"), "Reset Search");
  await page.click("#search");
  assert.deepEqual(await hits(page), []);
  assert.equal(await says(page, "search"), "Search");
});

test("a bad expression throws nothing and says so", async () => {
  const page = await show(draw(small));
  for (const bad of ["lex(", "[z-a]", "*", "\\", "(?<n"]) {
    await page.keyboard.press("/");
    await page.keyboard.type(bad);
    await page.keyboard.press("Enter");
    assert.equal(await isOpen(page), true, bad);
    assert.notEqual(await page.textContent(".box [role=alert]"), "", bad);
    assert.equal(await says(page, "matched"), "Bad pattern");
    assert.deepEqual(await hits(page), []);
    await page.keyboard.press("Escape");
  }
  const linked = await show(draw(small), { hash: "#s=lex(" });
  assert.equal(await says(linked, "matched"), "Bad pattern");
});

test("n and N go round the matches in the zoomed part", async () => {
  const page = await show(draw(small));
  await searchFor(page, "e$"); // Enter goes to the first
  const order = [];
  for (let i = 0; i < 4; i++) {
    order.push(...(await selected(page)));
    await page.keyboard.press("n");
  }
  assert.deepEqual(order, ["idle", "parse", "tree", "idle"]);
  assert.match(await says(page, "details"), /^\[2\/3\] .*parse/);
  await page.keyboard.press("N");
  assert.deepEqual(await selected(page), ["idle"]);
  await page.keyboard.press("N");
  assert.deepEqual(await selected(page), ["tree"]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  assert.deepEqual(await selected(page), ["tree"]);
});

test("where no box can be embedded, the browser asks", async () => {
  const page = await show(draw(small), { init: "delete window.SVGForeignObjectElement; window.prompt = () => 'lex';" });
  await page.keyboard.press("Control+f");
  assert.equal(await says(page, "matched"), "Matched: 30.0%");
  assert.deepEqual(await hits(page), ["lex"]);
});
