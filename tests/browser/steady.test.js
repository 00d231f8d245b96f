// Frames stay below the pointer; and the first seconds: title, colours explained, the graph where the eye begins.

import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, test } from "node:test";
import { allQuiet, run, save, small, twoThreads } from "./picture.js";
import { box, makePage, openPage, refine, saved, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** The upper edges of what a reader may be pointing at. */
const tops = (page) => page.evaluate(() => ["time-canvas", "stage"].map((id) => Math.round(document.getElementById(id).getBoundingClientRect().top)));

for (const [width, height] of [[1440, 900], [1024, 700]]) {
  test(`nothing jumps when a search, a step, a range or a comparison opens, at ${width} by ${height}`, async () => {
    const page = await openPage(makePage(twoThreads()), { viewport: { width, height } });
    const before = await tops(page);
    await search(page, "parse");
    assert.deepEqual(await tops(page), before, "search");
    await refine(page, "Focus", "main");
    assert.deepEqual(await tops(page), before, "step");
    await page.evaluate(() => globalThis.flame.timeline.select([0.5, 1], false));
    await settled(page);
    assert.deepEqual(await tops(page), before, "range");
    await page.evaluate(() => globalThis.flame.timeline.select([2, 2.5], true));
    await settled(page);
    assert.ok(await page.isVisible("#widths"));
    assert.deepEqual(await tops(page), before, "comparison");
  });
}

test("a page without a command is named after its file", async () => {
  const path = save("folded", small);
  const named = join(dirname(path), "nightly.folded");
  copyFileSync(path, named);
  assert.equal(await text(await openPage(save("html", run("fg-render", "", "--format", "html", named))), "title"), "nightly.folded");
  assert.equal(await text(await openPage(save("html", run("fg-render", "", "--format", "html", "--private", named))), "title"), "Profile");
  const several = await openPage(save("html", run("fg-render", "", "--format", "html", named, path)));
  assert.equal(await text(several, "title"), "nightly.folded and 1 more");
});

test("the colours are explained above the frames", async () => {
  const page = await view("main (app);f (liba.so) 60\nmain (app);g (libb.so) 30\nmain (app) 10\n");
  assert.equal(await text(page, "legend"), "liba.so 60.00%libb.so 30.00%app 10.00%");
});

test("no sky is above a shallow graph", async () => {
  const page = await view(small);
  const { top } = await box(page, "main;run;eval;eval;call");
  const stage = await page.locator("#stage").boundingBox();
  assert.ok(top - stage.y < 3, `${top - stage.y}`);
});

test("threads are spelled as their frames, and keep their ends", async () => {
  const lines = Array.from({ length: 30 }, (_, n) => `lto cgu.0${n % 3}  7/${100 + n % 3}  ${(1 + n / 100).toFixed(6)}:  1 cycles: \n\t 10 f (/bin/app)\n\n`).join("");
  const page = await view(lines);
  const labels = await page.$$eval("#time-labels > *", (all) => all.map((label) => label.querySelector("span").textContent));
  assert.deepEqual(labels.slice(1).sort(), ["lto_cgu.00", "lto_cgu.01", "lto_cgu.02"]);
});

test("a long name among the hottest leaves a short one whole", async () => {
  const long = `a_module_with_a_name_${"that_goes_on_and_".repeat(8)}on`;
  const page = await view(`main;${long} 60\nmain;clear_page 30\nmain;b 10\n`, { viewport: { width: 700, height: 700 } });
  const cut = await page.$$eval("#answer .link", (all) => all.map((one) => [one.textContent.slice(0, 10), one.scrollWidth > one.clientWidth + 1]));
  assert.deepEqual(cut.find(([name]) => name === "clear_page"), ["clear_page", false]);
});

test("a saved picture stands alone: title, what was measured, range, filter, colours", async () => {
  const page = await openPage(makePage(twoThreads(), "--title", "the nightly run"), { hash: "#time=0s..2s" });
  await refine(page, "Focus", "parse");
  const svg = String(await saved(page, "Picture, SVG"));
  const words = [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, word]) => word.replaceAll("&#38;", "&").replaceAll("&#34;", '"'));
  assert.equal(words[0], "the nightly run");
  assert.match(words[1], /4 s/);
  assert.match(words[2], /^Shown: .*0\.0 – 2\.0 s/);
  assert.match(words[3], /^fg-filter --time 0s\.\.2s --focus parse RECORDING$/);
  assert.ok(words.some((word) => /^app /.test(word)), words.join("|"));
  const png = await saved(page, "Picture, PNG");
  const height = png.readUInt32BE(20);
  assert.ok(height >= 4 * 18 + 3 * 19, `${height}`);
});

test("a stack of a hundred thousand frames makes a picture that can be opened, and says what is left out", async () => {
  const page = await view(`${Array.from({ length: 100_000 }, (_, n) => `f${n % 50}`).join(";")} 1\n`);
  const svg = String(await saved(page, "Picture, SVG"));
  assert.ok(svg.length < 1_000_000, `${svg.length}`);
  assert.match(svg, /9\d,\d{3} deeper rows are not drawn/);
  assert.match(svg, /<title>all \(/);
});

test("what is tapped is at least 24 pixels high", async () => {
  const page = await view(small, { hash: "#zoom=main;parse" });
  const low = await page.$$eval("#answer button, #path button, #chips button, header button", (all) => all.filter((one) => one.offsetHeight && one.offsetHeight < 24).map((one) => one.textContent));
  assert.deepEqual(low, []);
});

test("in a low window no controls lie on a warning", async () => {
  const warning = `# warning: ${"a long warning about stacks ".repeat(8)}\n`;
  const text_ = `${warning}${[1, 2, 3].map((n) => `main;function_of_a_long_name_${n} ${n}\n`).join("")}`;
  const page = await view(text_, { viewport: { width: 1024, height: 420 } });
  const [warnings, controls] = await Promise.all(["#warnings", "#tab-flame"].map((one) => page.locator(one).boundingBox()));
  assert.ok(warnings.y + warnings.height <= controls.y, JSON.stringify([warnings, controls]));
});
