// The opening of a page: what there is at the load event, which pictures of pages are taken at.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { allQuiet, difference, drawn, large, save, show, small, thumbnail } from "./picture.js";
import { box, makeEmptyPage, makePage, openPage } from "./viewer.js";

afterEach(allQuiet);

/** Notes what a page shows when it has loaded. */
const init = () => window === top && addEventListener("load", () => {
  globalThis.atLoad = { loading: document.getElementById("loading").hidden, drawn: Boolean(globalThis.flame), said: document.body.innerText.trim() };
});

test("a page has loaded when it shows the profile", async () => {
  for (const folded of [small, large(), large(30_000)]) {
    const page = await openPage(makePage(folded), { init });
    assert.deepEqual(await page.evaluate(() => [globalThis.atLoad.loading, globalThis.atLoad.drawn]), [true, true]);
    assert.equal(await page.locator("iframe").count(), 0);
  }
});

test("a page that has nothing to show has loaded when it says so", async () => {
  const empty = await show(makeEmptyPage("# unit: ns\n"), { init });
  assert.match(await empty.evaluate(() => globalThis.atLoad.said), /There are no stacks in the input/);
  const text = readFileSync(makePage(small), "utf8");
  for (const name of ["texts", "script"]) {
    const damaged = await show(save("html", text.replace(`data-${name}"`, 'data-none"')), { init, damaged: true });
    const said = await damaged.evaluate(() => globalThis.atLoad.said);
    assert.equal(said, `This page cannot be shown: the part "${name}" of this page is missing; fetch it again, or draw it again`);
  }
});

test("a picture that the browser itself takes shows the page as it is", async () => {
  const [width, height] = [1000, 700];
  const frame = await show(save("html", "<title>pictures</title>"), {});
  for (const folded of [small, large(), large(30_000)]) {
    const path = makePage(folded);
    const page = await openPage(path, { viewport: { width, height } });
    const different = await difference(frame, thumbnail(path, width, height), await page.screenshot());
    assert.ok(different < 0.02, `${(100 * different).toFixed(1)} percent of the pixels differ`);
  }
});

test("a window that grows or shrinks keeps the root in sight, and is drawn at once", async () => {
  const page = await openPage(makePage(large()), { viewport: { width: 1000, height: 500 } });
  await page.evaluate(() => {
    const { box, canvas } = globalThis.flame.stage;
    const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    globalThis.blank = 0;
    globalThis.sizes = 0;
    // Called behind the page's own observer, and before the screen is drawn. A canvas of a new size is black.
    new ResizeObserver(() => {
      copy.drawImage(canvas, -10, 20 - canvas.height);
      globalThis.sizes++;
      if (copy.getImageData(0, 0, 1, 1).data.every((value, n) => n === 3 || value === 0)) globalThis.blank++;
    }).observe(box);
  });
  for (const height of [900, 400, 440, 1000]) {
    await page.setViewportSize({ width: 1000, height });
    await drawn(page);
    assert.ok((await box(page, "all")).inSight, `${height} high`);
  }
  const [sizes, blank] = await page.evaluate(() => [globalThis.sizes, globalThis.blank]);
  // The first is that of the beginning; a busy browser may see two of the others as one.
  assert.ok(sizes >= 2, `${sizes} sizes`);
  assert.equal(blank, 0);
});
