// Text stays inside its box: measured in the browser, not by the viewer's own sums.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { allQuiet, draw, drawn, large, says, searchFor, show, small } from "./picture.js";

afterEach(allQuiet);

/** Every label that sticks out of its frame, and how many labels there are. */
function labels(page) {
  return page.evaluate(() => {
    const out = [];
    let count = 0;
    let cut = 0;
    for (const g of document.querySelectorAll(".frame")) {
      const text = g.querySelector("text");
      const rect = g.querySelector("rect");
      if (!text || !text.textContent || getComputedStyle(rect).visibility !== "visible") continue;
      count++;
      const title = g.querySelector("title").textContent;
      if (text.textContent !== title.slice(0, title.lastIndexOf(" ("))) cut++;
      const inner = text.getBBox();
      const outer = rect.getBBox();
      // Fonts for other scripts bring heights of their own.
      const plain = /^[ -~]*$/.test(text.textContent);
      const within = inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width + 0.1
        && (!plain || (inner.y >= outer.y - 2 && inner.y + inner.height <= outer.y + outer.height + 3));
      if (!within) out.push({ text: text.textContent, inner: [inner.x, inner.width], outer: [outer.x, outer.width] });
    }
    return { out, count, cut };
  });
}

/** Texts around the frames that overlap each other or leave the picture. */
function collisions(page) {
  return page.evaluate(() => {
    const texts = [...document.querySelectorAll("svg.fg > text")]
      .filter((t) => t.textContent.trim() && t.getClientRects().length)
      .map((t) => ({ name: t.id, box: t.getBoundingClientRect() }));
    const width = document.documentElement.getBoundingClientRect().width;
    const bad = texts.filter((t) => t.box.left < 0 || t.box.right > width).map((t) => t.name + " sticks out");
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      const apart = a.box.right <= b.box.left || b.box.right <= a.box.left || a.box.bottom <= b.box.top || b.box.bottom <= a.box.top;
      if (!apart) bad.push(`${a.name} over ${b.name}`);
    }));
    return bad;
  });
}

const alphabets = [
  "main;der Größe nach sortieren;ääääöööüüüß 10", "main;関数の名前がとても長い場合;深い 7", "main;Функция::вызов(строка) 9",
  "main;دالة باسم طويل جدا;שם של פונקציה ארוכה מאוד 8", "main;👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦;e\u0301\u0301\u0301e\u0301\u0301 6", "main;fi ffi ffl AVAVAVA ToToTo;WWWW....iiii 9",
].flatMap((line, i) => Array.from({ length: 12 }, (_, k) => line.replace(/ \d+$/, `;${"x".repeat(k)} ${(i + 1) * (k + 1)}`))).join("\n") + "\n";

const corpus = process.env.FG_SHARED ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../../shared");
const recording = join(corpus, "corpus/py-spy/raw.txt");

const profiles = [["small", small], ["large", large(1000)], ["alphabets", alphabets]];
const settings = [[], ["--truncate-text-left"], ["--fonttype", "monospace"], ["--fonttype", "serif", "--fontsize", "20", "--height", "26"], ["--fontsize", "7.5"]];

for (const [name, folded] of profiles) {
  test(`labels fit at every width, zoomed or not: ${name}`, async () => {
    for (const options of settings) {
      const page = await show(draw(folded, ...options));
      let cut = 0;
      for (const width of [600, 1200, 2400]) {
        await page.setViewportSize({ width, height: 800 });
        await page.waitForFunction((w) => Number(document.querySelector("#frames").getAttribute("width")) === w, width - 20);
        for (const keys of ["0", "k", "k", "Enter", "k", "Enter"]) {
          await page.keyboard.press(keys);
          const found = await labels(page);
          assert.deepEqual(found.out, [], `${options} at ${width}`);
          assert.ok(found.count > 0);
          cut += found.cut;
        }
        await page.keyboard.press("0");
        await page.evaluate(() => document.activeElement?.blur());
      }
      if (name !== "small") assert.ok(cut > 0, "some names are too long for their frame");
    }
  });
}

test("labels fit in a real recording", { skip: !existsSync(recording) && `no ${recording}` }, async () => {
  const page = await show(draw(readFileSync(recording)));
  assert.deepEqual((await labels(page)).out, []);
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  assert.deepEqual((await labels(page)).out, []);
});

test("a label uses the room it has", async () => {
  const page = await show(draw("a;" + "m".repeat(400) + " 1\n", "--fonttype", "monospace"));
  const unused = await page.evaluate(() => {
    const g = [...document.querySelectorAll(".frame")].find((f) => f.textContent.startsWith("mmm"));
    return g.querySelector("rect").getBBox().width - g.querySelector("text").getBBox().width;
  });
  assert.ok(unused < 16, `${unused} px are left`);
});

test("names are cut at the end, or at the start when asked", async () => {
  const long = "first" + "_middle".repeat(60) + "_last";
  const label = async (...options) => {
    const page = await show(draw(`a;${long} 1\n`, ...options));
    return page.evaluate(() => [...document.querySelectorAll(".frame text")].map((t) => t.textContent).find((t) => t.includes("middle")));
  };
  assert.match(await label(), /^first_middle.*\.\.$/);
  assert.match(await label("--truncate-text-left"), /^\.\..*middle_last$/);
});

test("a megabyte of a name costs nothing much", async () => {
  const page = await show(draw(`a;${"x".repeat(1 << 20)} 1\n`));
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  assert.deepEqual((await labels(page)).out, []);
  assert.match(await says(page, "details"), /xxx\.\. \(1, 100\.00%\)$/);
});

test("the texts around the frames keep apart at every width", async () => {
  for (const options of [["--title", "A title of some length, of the kind people like to give"], ["--colors", "java"], ["--subtitle", "and a second line", "--fontsize", "16"], ["--width", "500"]]) {
    const page = await show(draw(large(300), ...options));
    for (const width of [600, 1200, 2400]) {
      await page.setViewportSize({ width, height: 800 });
      await drawn(page);
      for (const act of [() => {}, () => page.keyboard.press("k"), () => page.keyboard.press("k"), () => page.keyboard.press("Enter"), () => searchFor(page, "a"), () => page.keyboard.press("n"), () => page.keyboard.press("Escape"), () => page.keyboard.press("0")]) {
        await act();
        assert.deepEqual(await collisions(page), [], `${options} at ${width}`);
      }
    }
  }
});
