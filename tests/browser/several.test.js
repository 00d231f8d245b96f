// A page of several recordings: a small picture of each in the same colours, and the difference of two by one click.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { allQuiet, run, save } from "./picture.js";
import { address, makePage, openPage, savedStacks, settled, text } from "./viewer.js";

afterEach(allQuiet);

const RUNS = {
  "old.folded": "# unit: ms\n# host: ci-1\nmain;lex 400\nmain;parse 500\n",
  "new.folded": "# unit: ms\n# host: ci-1\nmain;lex 400.5\nmain;parse 1500\nmain;check 30\n",
  "other.folded": "# unit: ms\n# host: ci-2\nmain;lex 410\nmain;parse 480\n",
};

/** Files of these names and texts, and the page of them all. */
function pageOf(runs) {
  const folder = mkdtempSync(join(tmpdir(), "fg-several-"));
  const paths = Object.entries(runs).map(([name, content]) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  });
  return { paths, page: save("html", run("fg-render", "", "--each", "--format", "html", ...paths)) };
}

test("each recording is a small picture that shows it, with its host where hosts differ", async () => {
  const page = await openPage(pageOf(RUNS).page);
  await page.waitForFunction(() => [...document.querySelectorAll("#several small")].every((one) => one.textContent));
  assert.deepEqual(await page.$$eval("#several bdi", (all) => all.map((one) => one.textContent)), Object.keys(RUNS));
  assert.deepEqual(await page.$$eval("#several small", (all) => all.map((one) => one.textContent)),
    ["900 ms · ci-1", "1.93 s · ci-1", "890 ms · ci-2"]);
  const painted = await page.$$eval("#several canvas", (all) => all.map((one) => {
    const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
    // The second row: lex, whose colour is the same in all.
    const at = 4 * (7 * devicePixelRatio * one.width + 30 * devicePixelRatio);
    return [...data.slice(at, at + 4)].join();
  }));
  assert.ok(painted[0].endsWith(",255"), painted[0]);
  assert.equal(painted[2], painted[0]);
  await page.click("#several .card >> nth=1");
  await settled(page);
  assert.equal(await page.inputValue("#value"), "new.folded");
  assert.match(await text(page, "facts"), /^1\.93 s/);
  assert.equal(await page.$eval("#several .card[aria-pressed=true] bdi", (one) => one.textContent), "new.folded");
  await page.click("#several .card >> nth=1");
  await settled(page);
  assert.equal(await page.inputValue("#value"), "all 3 files");
});

test("one click shows the difference of two recordings, with the verdict of fg-diff", async () => {
  const { paths, page: path } = pageOf(RUNS);
  const page = await openPage(path);
  await page.click("#several .card + button:visible >> nth=0");
  await settled(page);
  assert.equal(await page.inputValue("#value"), "old.folded → new.folded");
  assert.equal(String(await savedStacks(page)).trim(), String(run("fg-diff", "", "--absolute", "--no-header", paths[0], paths[1])).trim());
  const judged = await openPage(makePage(run("fg-diff", "", paths[0], paths[1])));
  assert.equal(await text(page, "answer"), await text(judged, "answer"));
  assert.match(await text(page, "facts"), /^900 ms → 1\.93 s/);
  // The address opens it again; the other side is one click away.
  const again = await openPage(path, { hash: await address(page) });
  assert.equal(await text(again, "answer"), await text(page, "answer"));
  await page.click("#several .card >> nth=2");
  await settled(page);
  assert.equal(await page.$eval("#legend", (one) => /slower/.test(one.textContent)), false);
  await page.click("#several .card + button:visible >> nth=1");
  await settled(page);
  assert.equal(await page.inputValue("#value"), "other.folded → new.folded");
});

test("other pages have nothing of it", async () => {
  const page = await openPage(makePage("main;lex 1\n"));
  assert.equal(await page.$("#several"), null);
  assert.equal(await page.evaluate(() => globalThis.flame.parts.length), 0);
});
