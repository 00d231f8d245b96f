// Regressions: a test for each thing that was wrong with the page once.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, inChromium, small } from "./picture.js";
import { address, box, boxes, clickOn, makeEmptyPage, openPage, refine, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
const deep = `${Array.from({ length: 120 }, (_, n) => `f${n}`).join(";")} 1\n`;

async function tap(page, path) {
  const { left, top, width } = await box(page, path);
  await page.touchscreen.tap(left + width / 2, top + 9);
  await settled(page);
}

test("a search does not move the root", async () => {
  for (const profile of [small, deep]) {
    const page = await view(profile);
    const { top } = await box(page, "all");
    await search(page, "nosuch");
    assert.equal(await text(page, "found"), "No match");
    const now = await box(page, "all");
    assert.equal(now.top, top);
    assert.ok(now.inSight);
  }
});

test("the tip follows the frame under the mouse when the wheel moves it", async () => {
  const page = await view(deep);
  const { left, top } = await box(page, "all");
  await page.mouse.move(left + 50, top + 9);
  await settled(page);
  assert.match(await text(page, "tip"), /^all/);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction(() => !document.getElementById("tip").textContent.startsWith("all"));
  await settled(page);
  const under = await page.evaluate(() => {
    const { stage, model } = globalThis.flame;
    const { x, y } = stage.mouse;
    const place = stage.placeAt(x, y);
    return model.names.texts[model.parts[0].tree.name[place.node]];
  });
  assert.ok((await text(page, "tip")).startsWith(under));
});

test("after Focus the page says what its shares are of", async () => {
  const page = await view(small);
  await refine(page, "Focus", "parse");
  assert.match(await text(page, "chips"), /Shown: 400 of 1,000 \(40\.00%\); shares are of what is shown/);
  const { left, top, width } = await box(page, "main;parse;tree");
  await page.mouse.move(left + width / 2, top + 9);
  assert.match(await text(page, "tip"), /Total100, 25\.00%/);
});

test("rows of the table have the frame's menu, by mouse and by key", async () => {
  const page = await view(small, { hash: "#view=table" });
  await page.click('#list tbody button:has-text("lex")', { button: "right" });
  assert.ok(await page.isVisible("#menu"));
  assert.match(await text(page, "menu"), /^lexCallers and calleesSearch for itFocus/);
  await page.keyboard.press("Escape");
  await page.focus('#list tbody button:has-text("lex")');
  await page.keyboard.press("m");
  await page.click("#menu >> text=Focus: only stacks with it");
  await settled(page);
  assert.match(await address(page), /do=focus:\^lex\$/);
});

test("a link to a deep zoom is short, and leads there in a file made anew", async () => {
  const path = Array.from({ length: 900 }, (_, n) => `a_function_with_a_long_name::${n % 30}::and_more`);
  const page = await view(`${path.join(";")} 5\nother 5\n`);
  await page.evaluate(() => globalThis.flame.navigation.zoomTo({ part: 0, node: 890 }));
  await settled(page);
  const hash = await page.evaluate(() => location.hash);
  assert.ok(hash.length < 100, hash);
  const again = await view(`${path.join(";")} 6\n${path.slice(0, 400).join(";")};x 5\nzother 5\n`, { hash });
  assert.equal(await again.evaluate(() => globalThis.flame.model.main.depth[globalThis.flame.model.zoomed]), 890);
  await page.keyboard.press("Backspace");
  await settled(page);
  assert.equal(await address(page), "");
});

test("chips show names as they are, not escaped", async () => {
  const page = await view("m;f(x)* 5\nm;g 2\n");
  await clickOn(page, "m;f(x)*", { button: "right" });
  await page.click("#menu >> text=Hide it");
  await settled(page);
  assert.equal(await page.locator("#chips .chip span").first().textContent(), "Hide: f(x)*");
  await refine(page, "Ignore", "^(a|b)$");
  assert.equal(await page.locator("#chips .chip span").nth(1).textContent(), "Ignore: ^(a|b)$");
});

test("an empty profile has no controls that do nothing, and says why it is empty", async () => {
  const page = await openPage(makeEmptyPage("# command: ./app\n# warning: all samples were lost\n"));
  assert.equal(await text(page, "title"), "./app");
  assert.match(await text(page, "loading"), /no stacks.*all samples were lost/);
  for (const id of ["refine-open", "tab-flame", "query", "save-open", "hint"]) assert.ok(await page.isHidden(`#${id}`), id);
});

test("on a phone a tap opens a sheet: number, name, what to do", inChromium("its protocol has no fingers"), async () => {
  const page = await view(`main;${"a_very_long_name_".repeat(12)};leaf 30\nmain;b 10\n`, phone);
  await tap(page, "leaf");
  const sheet = await page.locator("#sheet").innerText();
  assert.match(sheet, /^30, 75\.00%\s+leaf\s+Zoom in\s+Show all\s+More …$/);
  const edge = await page.locator("#sheet").boundingBox();
  assert.ok(edge.x >= 0 && edge.x + edge.width <= 390 && Math.abs(edge.y + edge.height - 844) < 2, JSON.stringify(edge));
  await page.click("#sheet >> text=More");
  const menu = await page.locator("#menu").boundingBox();
  assert.ok(Math.abs(menu.y + menu.height - 844) < 2 && menu.width >= 380, JSON.stringify(menu));
  await page.click("#menu >> text=Zoom in");
  await settled(page);
  assert.match(await address(page), /zoom=main;/);
});

test("fingers have rows and buttons of 40 pixels, and the table fits", async () => {
  const page = await view(small, phone);
  const { top } = await box(page, "main");
  assert.equal(top - (await box(page, "all")).top, 40);
  await page.click("#tab-table");
  await settled(page);
  const sizes = await page.evaluate(() => ({
    rows: [...document.querySelectorAll("#list tbody tr")].map((row) => row.getBoundingClientRect().height),
    over: document.getElementById("list").scrollWidth - document.getElementById("list").clientWidth,
    buttons: [...document.querySelectorAll(".bar button")].filter((one) => one.offsetHeight && !one.matches(".link")).map((one) => one.offsetHeight),
  }));
  assert.ok(Math.min(...sizes.rows) >= 40 && sizes.over <= 0, JSON.stringify(sizes));
  assert.ok(Math.min(...sizes.buttons) >= 36, JSON.stringify(sizes));
});

test("at 320 pixels nothing is wider than the screen", async () => {
  for (const folded of [small, "m;a 5 9\nm;b 7 1\n"]) {
    for (const hash of ["", "#view=table", "#q=a&do=hide:x"]) {
      const page = await view(folded, { ...phone, viewport: { width: 320, height: 600 }, hash });
      const over = await page.evaluate(() => [...document.querySelectorAll("header, .bar, footer, #map, main, .bar button:not(.tabs *, #controls *, #status *), input:not(#controls *), select:not(#status *)")]
        .filter((one) => one.getBoundingClientRect().width && one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.id || one.className));
      assert.deepEqual(over, []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.context().close();
    }
  }
});

test("on a phone on its side, half of the screen is for frames", async () => {
  const page = await view(small, { ...phone, viewport: { width: 844, height: 390 } });
  const { height } = await page.locator("#stage").boundingBox();
  assert.ok(height >= 195, `${height}`);
});

test("joined emoji stay joined, what steers letters is shown, names cannot reorder the line", async () => {
  const page = await view("main;👩‍👩‍👧‍👦 5\nmain;a\u200db 3\nmain;x\u202ey 2\nmain;שלום 4\n");
  const shown = await page.evaluate(() => { const { names } = globalThis.flame.model; return names.texts.map((_, id) => names.show(id)); });
  for (const name of ["👩‍👩‍👧‍👦", "a\ufffdb", "x\ufffdy"]) assert.ok(shown.includes(name), name);
  await clickOn(page, "main;שלום");
  assert.equal(await page.locator("#chosen bdi").textContent(), "שלום");
  assert.equal(await page.locator("#chosen bdi").evaluate((one) => getComputedStyle(one).unicodeBidi), "isolate");
});

test("a search ignores case unless there is a capital, and says what that costs", async () => {
  const page = await view("Main;Parse 5\nMain;parse 3\n");
  await search(page, "parse");
  assert.match(await text(page, "found"), /^Matched: 100\.00%/);
  await search(page, "Parse");
  assert.match(await text(page, "found"), /^Matched: 62\.50%/);
  await search(page, "PARSE");
  assert.equal(await text(page, "found"), "No match · 2 matches if case is ignored");
  await search(page, "\\S\\W?arse");
  assert.match(await text(page, "found"), /^Matched: 100/);
  await page.focus("#query");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.equal(await address(page), "");
  assert.equal(await page.inputValue("#query"), "");
});

test("a function lights up wherever it is", async () => {
  const page = await view("a;f 5\nb;f 5\nc;g 5\n");
  const { left, top } = await box(page, "a;f");
  const pixel = async (path) => {
    const one = (await boxes(page)).find((frame) => frame.path === path);
    return page.evaluate(([x, y]) => {
      const { canvas } = globalThis.flame.stage;
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const edge = canvas.getBoundingClientRect();
      return [...copy.getImageData(Math.floor(x - edge.left), Math.floor(y - edge.top), 1, 1).data].join();
    }, [one.left + one.width / 2, one.top]);
  };
  const before = { f: await pixel("b;f"), g: await pixel("c;g") };
  await page.mouse.move(left + 20, top + 9);
  await settled(page);
  assert.notEqual(await pixel("b;f"), before.f);
  assert.equal(await pixel("c;g"), before.g);
});
