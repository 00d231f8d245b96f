// The keyboard walk, details, copying, help, legend, and what a screen reader hears.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, click, draw, frame, frames, near, reload, save, says, searchFor, show, small, spot, until, visible } from "./picture.js";

afterEach(allQuiet);

const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? null);
const selected = async (page) => (await frames(page)).filter((f) => f.classes.includes("selected")).map((f) => f.name);

async function walk(page, keys) {
  const path = [];
  for (const key of keys) {
    await page.keyboard.press(key);
    path.push((await selected(page)).join());
  }
  return path;
}

test("arrows and hjkl walk to callee, caller and neighbours", async () => {
  const routes = [["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], ["k", "j", "h", "l"]];
  for (const [up, down, left, right] of routes) {
    const page = await show(draw(small));
    // The first key takes the root; up goes to the widest callee; left from the
    // first frame of a row goes nowhere; a row goes on in the cousins.
    assert.deepEqual(await walk(page, [up, up, up, up, left, right, right]), ["all", "main", "parse", "lex", "lex", "tree", "Read"]);
    assert.deepEqual(await walk(page, [down, down, up]), ["run", "main", "run"]); // back to where it came from
    assert.deepEqual(await walk(page, [down, down, down]), ["main", "all", "all"]);
  }
});

test("in an icicle graph down leads to the callee", async () => {
  const page = await show(draw(small, "--inverted"));
  assert.deepEqual(await walk(page, ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"]), ["all", "main", "parse", "main"]);
});

test("Enter zooms, the walk stays in the zoom, r and 0 leave it", async () => {
  const page = await show(draw(small));
  await walk(page, ["k", "k", "k"]);
  await page.keyboard.press("Enter");
  near((await frame(page, "parse")).width, 1180);
  assert.deepEqual(await walk(page, ["k", "l", "l"]), ["lex", "tree", "tree"]); // Read is out of sight
  assert.deepEqual(await walk(page, ["j", "j", "k"]), ["parse", "main", "parse"]); // not idle, which is hidden
  await page.keyboard.press("r");
  near((await frame(page, "parse")).width, 472);
  await page.keyboard.press("z");
  near((await frame(page, "parse")).width, 1180);
  await page.keyboard.press("0");
  near((await frame(page, "parse")).width, 472);
});

test("a link keeps its Enter", async () => {
  const target = save("html", "<title>elsewhere</title>");
  const page = await show(draw(small, "--nameattr", save("txt", `main\thref=${target}\n`)));
  await walk(page, ["k", "k"]);
  assert.match(await focused(page), /^main /);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/*.html");
});

test("Tab stops once in the frames, whatever was selected, links or not", async () => {
  const page = await show(draw(small, "--nameattr", save("txt", "lex\thref=about:blank\nidle\thref=about:blank\n")));
  const stops = () => page.evaluate(() => [...document.querySelectorAll("#frames .frame, #frames a")]
    .filter((e) => e.tabIndex === 0).map((e) => e.getAttribute("aria-label").split(" ")[0]));
  assert.deepEqual(await stops(), ["all"]);
  await walk(page, ["k", "k", "k", "k", "l"]);
  assert.deepEqual(await stops(), ["tree"]);
  await page.keyboard.press("Escape"); // nothing is selected, Tab still finds the frames
  assert.deepEqual(await stops(), ["tree"]);
  await reload(page);
  await click(page, "run");
  assert.deepEqual(await stops(), ["run"]);
});

test("a frame that has the focus is read out whole", async () => {
  const page = await show(draw(small));
  await walk(page, ["k", "k", "k"]);
  assert.equal(await focused(page), "parse (400, 40.00%)");
  const aria = await page.evaluate(() => {
    const { role, ariaLevel } = document.activeElement;
    return { role, ariaLevel, tree: document.querySelector("#frames").getAttribute("role"), details: document.querySelector("#details").getAttribute("aria-live") };
  });
  assert.deepEqual(aria, { role: "treeitem", ariaLevel: "3", tree: "tree", details: "polite" });
  for (const id of ["search", "ignorecase", "reset", "help-toggle"]) {
    assert.equal(await page.getAttribute(`#${id}`, "role"), "button", id);
    assert.ok(await page.getAttribute(`#${id}`, "aria-label"), id);
  }
});

test("controls answer to Enter and Space", async () => {
  const page = await show(draw(small));
  await page.focus("#ignorecase");
  await page.keyboard.press("Space");
  assert.equal(await page.getAttribute("#ignorecase", "aria-pressed"), "true");
  await page.keyboard.press("Enter");
  assert.equal(await page.getAttribute("#ignorecase", "aria-pressed"), "false");
});

test("the details tell of the frame below the mouse, then of the selected one", async () => {
  const page = await show(draw(small, "--countname", "ms", "--nametype", "Step:"));
  assert.equal((await says(page, "details") ?? "").trim(), "");
  const at = await spot(page, "lex");
  await page.mouse.move(at.x, at.y);
  assert.equal(await says(page, "details"), "Step: lex (300 ms, 30.00%)");
  await page.mouse.move(600, 5);
  assert.equal(await says(page, "details"), "");
  await click(page, "tree");
  await page.mouse.move(600, 5);
  assert.equal(await says(page, "details"), "Step: tree (100 ms, 10.00%)");
});

test("hovered and selected frames have an outline", async () => {
  const page = await show(draw(small));
  const stroke = (name) => page.evaluate((one) => {
    const g = [...document.querySelectorAll(".frame")].find((f) => f.textContent.startsWith(one + " ("));
    return getComputedStyle(g.querySelector("rect")).stroke;
  }, name);
  const none = await stroke("lex");
  const at = await spot(page, "lex");
  await page.mouse.move(at.x, at.y);
  assert.notEqual(await stroke("lex"), none);
  await page.mouse.move(600, 5);
  assert.equal(await stroke("lex"), none);
  await walk(page, ["k"]);
  assert.notEqual(await stroke("all"), none);
});

const clipboard = (answer) => `
  window.copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => (window.copied.push(text), Promise.${answer}) } });
`;

test("c and C copy name and stack, the buttons too", async () => {
  const page = await show(draw(small), { init: clipboard("resolve()") });
  await page.keyboard.press("c"); // nothing to copy yet
  await walk(page, ["k", "k", "k", "k"]);
  await page.keyboard.press("c");
  await page.keyboard.press("C");
  await page.click("#copy-name");
  assert.equal(await says(page, "details"), "Copied: lex");
  await page.click("#copy-stack");
  assert.deepEqual(await page.evaluate(() => window.copied), ["lex", "main;parse;lex", "lex", "main;parse;lex"]);
});

test("where the clipboard refuses, the text is there to be copied by hand", async () => {
  for (const init of [clipboard("reject(new Error('no'))"), "Object.defineProperty(navigator, 'clipboard', { value: undefined })"]) {
    const page = await show(draw(small), { init });
    await walk(page, ["k", "k", "k", "C"]);
    await page.waitForFunction(() => document.activeElement?.localName === "input");
    const chosen = await page.evaluate(() => {
      const { value, selectionStart, selectionEnd } = document.activeElement;
      return value.slice(selectionStart, selectionEnd);
    });
    assert.equal(chosen, "main;parse");
    await page.keyboard.press("Escape");
    assert.deepEqual(await walk(page, ["j"]), ["main"]);
  }
});

test("help opens and closes, and a shallow picture makes room for it", async () => {
  const page = await show(draw("a 1\n"));
  const height = await page.getAttribute("svg", "height");
  await page.keyboard.press("?");
  const rows = await page.locator("#help text").allTextContents();
  for (const key of ["Enter z", "? ", "Esc", "n", "N"]) assert.ok(rows.some((row) => row === key.trim()), key);
  assert.ok(!rows.includes("g"), "there is no legend to show");
  const { bottom } = await page.evaluate(() => {
    const sheet = document.querySelector("#help .sheet").getBoundingClientRect();
    return { bottom: document.documentElement.getBoundingClientRect().bottom - sheet.bottom };
  });
  assert.ok(bottom >= 0);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#help").count(), 0);
  assert.equal(await page.getAttribute("svg", "height"), height);
  await page.click("#help-toggle");
  assert.equal(await page.locator("#help").count(), 1);
  await page.click("#help");
  assert.equal(await page.locator("#help").count(), 0);
});

test("every key of the help does something", async () => {
  // Each key changes what can be seen, from a view in which it has something to do.
  const state = (page) => page.evaluate(() => document.documentElement.outerHTML.length + location.hash + document.querySelector("#details").textContent);
  for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "k", "j", "h", "l", "Enter", "z", "Backspace", "u", "0", "r", "/", "F3", "n", "N", "i", "c", "C", "g", "?", "Escape"]) {
    const page = await show(draw(small, "--colors", "java"), { init: clipboard("resolve()") });
    await click(page, "main");
    await searchFor(page, "e"); // goes to idle; parse beside it has neighbours all around
    assert.deepEqual(await walk(page, ["l"]), ["parse"]);
    const before = await state(page);
    await page.keyboard.press(key);
    // What does nothing ends in a timeout.
    if (key !== "z" && key !== "Enter") await until(async () => (await state(page)) !== before, key);
    else await page.waitForURL(/parse/);
  }
});

test("the legend tells what colours mean, where they mean something", async () => {
  for (const palette of ["java", "js", "perl", "python", "rust", "chain"]) {
    const page = await show(draw(small, "--colors", palette));
    await page.keyboard.press("g");
    assert.ok((await page.locator("#legend text").count()) >= 2, palette);
    const swatches = await page.$$eval("#legend rect:not(.sheet)", (rects) => rects.map((r) => getComputedStyle(r).fill));
    assert.ok(swatches.length >= 2 && new Set(swatches).size === swatches.length, `${palette}: ${swatches}`);
    await page.click("#legend-toggle");
    assert.equal(await page.locator("#legend").count(), 0);
  }
  const differential = await show(draw("a;b 1 2\na;c 2 1\n"));
  await differential.click("#legend-toggle");
  assert.deepEqual(await differential.locator("#legend text").allTextContents(), ["grew", "same", "shrank", "not significant"]);

  const plain = await show(draw(small));
  assert.equal(await says(plain, "legend-toggle"), null);
  await plain.keyboard.press("g");
  assert.equal(await plain.locator("#legend").count(), 0);
});

test("keys with Alt, and unknown ones, are left to the browser", async () => {
  const page = await show(draw(small));
  await page.evaluate(() => addEventListener("keydown", (event) => (window.lastKey = event), { capture: true }));
  for (const keys of ["Alt+k", "Control+k", "q", "PageDown", "Tab"]) {
    await page.keyboard.press(keys);
    assert.equal(await page.evaluate(() => window.lastKey.defaultPrevented), false, keys);
  }
  assert.deepEqual(await visible(page), await visible(page));
});
