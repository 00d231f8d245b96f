// Large graphs: the colours and names of frames that are narrow, and threads that are many.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet } from "./picture.js";
import { address, box, inSight, savedStacks, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** The colours of a row of pixels of the canvas, as numbers. */
const row = (page, y) => page.evaluate((line) => {
  const { stage: { canvas, ratio } } = globalThis.flame;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, Math.round(line * ratio), canvas.width, 1);
  return Array.from({ length: canvas.width }, (_, x) => [...data.slice(4 * x, 4 * x + 3)]);
}, y);

test("frames too narrow to tell apart have the colour of their heaviest module", async () => {
  // A third of the width is of llvm, another of rustc, each in ten thousand functions.
  const functions = (module) => Array.from({ length: 10_000 }, (_, n) => `main (app);f${n} (${module}) 1\n`).join("");
  const page = await view(`${functions("a.so")}${functions("b.so")}main (app);g (c.so) 10000\n`, { hash: "#view=icicle&colour=module&order=weight" });
  const edge = await page.locator("#frames").boundingBox();
  const { top } = (await box(page, "main (app);g (c.so)"));
  const colours = await row(page, top - edge.y + 9);
  const own = await page.evaluate(() => {
    const { model } = globalThis.flame;
    return ["a.so", "b.so"].map((module) => model.paints.groups("module")(module));
  });
  // Functions of both are beside each other where they weigh the same: every column has one of the two, or a mix of them.
  const spread = ([r, g, b]) => Math.max(r, g, b) - Math.min(r, g, b);
  const narrow = colours.slice(Math.ceil(colours.length / 3) + 5, -5);
  assert.ok(own.every((colour) => spread(colour) > 40));
  const coloured = narrow.filter((colour) => spread(colour) > 15).length / narrow.length;
  assert.ok(coloured > 0.9, `${coloured}`);
});

test("names that are cut before they differ show their ends", async () => {
  const stacks = Array.from({ length: 16 }, (_, n) => `compile_module_${String(n).padStart(2, "0")};f 10\n`).join("");
  const page = await view(stacks, { viewport: { width: 1100, height: 700 }, init: () => {
    globalThis.words = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (word, ...rest) {
      globalThis.words.push(word);
      return fillText.call(this, word, ...rest);
    };
  } });
  const words = [...new Set(await page.evaluate(() => globalThis.words))];
  for (const end of ["00", "07", "15"]) assert.ok(words.some((word) => word.startsWith("…") && word.endsWith(end)), words.join());
});

test("many threads of a pool are one, few are so by a click, and the command says how", async () => {
  const threads = (count) => Array.from({ length: count }, (_, n) => `lto_cgu.${String(n).padStart(2, "0")};opt;f${n % 2} 10\n`).join("");
  const many = await view(`# producer: perf 6.1\n${threads(30)}rustc;main 5\n`);
  assert.deepEqual((await inSight(many)).slice(0, 3), ["all", "lto_cgu", "lto_cgu;opt"]);
  assert.match(await text(many, "chips"), /Merged: 30 threads of lto_cgu/);
  assert.match(await text(many, "chips"), /--rename 's\|\^lto_cgu\[-_\.\\s#:\]\*\[0-9\]\+\(\?:\/\[0-9\]\+\)\?\$\|lto_cgu\|'/);
  assert.equal(String(await savedStacks(many)), "lto_cgu;opt;f0 150\nlto_cgu;opt;f1 150\nrustc;main 5\n");
  await many.click("#chips .chip button");
  await settled(many);
  assert.match(await address(many), /pools=none/);
  assert.ok((await inSight(many)).includes("lto_cgu.07"));
  const few = await view(`# producer: perf 6.1\n${threads(4)}rustc;main 5\n`);
  assert.ok((await inSight(few)).includes("lto_cgu.03"));
  await few.click("#controls >> text=Merge lto_cgu");
  await settled(few);
  assert.ok((await inSight(few)).includes("lto_cgu;opt;f1"));
  assert.ok(await few.isHidden("#pools"));
  const both = await view(`# producer: perf 6.1\n${threads(30)}worker-1;main 5\nworker-2;main 5\n`);
  assert.equal(await text(both, "pools"), "Merge worker");
});

test("the panel of threads opens on more of them than a function takes arguments", async () => {
  // Letters at their ends, so that no pool is made of them.
  const threads = Array.from({ length: 130_000 }, (_, n) => `t${n}x;f 1\n`).join("");
  const page = await view(`# producer: perf 6.1\n${threads}`);
  await page.click("#threads-open");
  assert.equal(await page.locator("#threads label .num").count() > 100, true);
});
