// The source of a function: its lines with their weights, before and after in a comparison.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { allQuiet, run, save } from "./picture.js";
import { clickOn, openPage, settled, text } from "./viewer.js";

afterEach(allQuiet);

const CODE = `import sys\n\ndef work():\n    total = 0 # <script>alert(1)</script>\n${"    total += 1\n".repeat(40)}    return total\n\ndef main():\n    work()\n`;
const STACKS = "main (run.py:47);work (run.py:4) 50\nmain (run.py:47);work (run.py:45) 20\nmain (run.py:47);gone (lost.py:3) 30\n";

/** A page of stacks beside whose source fg-render is started. */
function page(stacks = STACKS) {
  const folder = mkdtempSync(join(tmpdir(), "fg-source-"));
  try {
    mkdirSync(join(folder, "app"));
    writeFileSync(join(folder, "app/run.py"), CODE);
    return save("html", run("fg-render", stacks, "--format", "html", ...(stacks === STACKS ? ["--input-format", "py-spy"] : []), "--source-path", join(folder, "app")));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The rows of the listing as texts. */
const lines = (shown) => shown.locator("#source tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent).join(" | ")));

async function source(shown, path) {
  await clickOn(shown, path, { button: "right" });
  await shown.click("#menu >> text=Source");
  await settled(shown);
}

test("the menu opens the source with the weight of each line", async () => {
  const shown = await openPage(page());
  await source(shown, "main (run.py:47);work (run.py:4)");
  assert.match(await text(shown, "source"), /work.*run\.py · self 70.*70\.00%.*total 70/);
  const all = await lines(shown);
  assert.ok(all.includes("50 | 50 | 4 |     total = 0 # <script>alert(1)</script>"), all.join("\n"));
  assert.ok(all.includes("20 | 20 | 45 |     return total"), all.join("\n"));
  assert.ok(all.includes(" |  | 3 | def work():"), all.join("\n"));
  assert.ok(all.includes("⋯ 16 lines"), all.join("\n"));
  assert.equal(await shown.locator("#source tr[style]").count(), 2);
  await shown.keyboard.press("Escape");
  assert.equal(await shown.locator("#source:popover-open").count(), 0);
  await shown.click("#details-open");
  assert.match(await text(shown, "details"), /Source codethe lines around the hot ones of run\.py/);
});

test("code that is not in the page can be chosen", async () => {
  const shown = await openPage(page());
  await source(shown, "main (run.py:47);gone (lost.py:3)");
  assert.deepEqual(await lines(shown), ["30 | 30 | 3 | "]);
  assert.match(await text(shown, "source"), /The code is not in this page/);
  await shown.setInputFiles("#source input", { name: "lost.py", mimeType: "text/plain", buffer: Buffer.from("one\ntwo\nthree\n") });
  await shown.waitForFunction(() => document.querySelectorAll("#source tbody tr").length > 1);
  assert.deepEqual((await lines(shown)).slice(0, 3), [" |  | 1 | one", " |  | 2 | two", "30 | 30 | 3 | three"]);
});

test("the lines of a comparison have both weights, and add up to the function", async () => {
  const after = STACKS.replace("4) 50", "4) 10").replace("45) 20", "45) 45");
  const folder = mkdtempSync(join(tmpdir(), "fg-source-"));
  let folded;
  try {
    writeFileSync(join(folder, "before"), STACKS);
    writeFileSync(join(folder, "after"), after);
    folded = run("fg-diff", "", join(folder, "before"), join(folder, "after"));
  } finally {
    rmSync(folder, { recursive: true });
  }
  const shown = await openPage(page(folded));
  await source(shown, "main (run.py:47);work (run.py:4)");
  assert.deepEqual(await shown.locator("#source th").allTextContents(), ["Self before", "Self after", "Total before", "Total after", "Line", "Code"]);
  assert.match(await text(shown, "source"), /work.*run\.py · 70 samples → 55 samples, −21\.4%/);
  const all = await lines(shown);
  assert.ok(all.includes("50 | 10 | 50 | 10 | 4 |     total = 0 # <script>alert(1)</script>"), all.join("\n"));
  assert.ok(all.includes("20 | 45 | 20 | 45 | 45 |     return total"), all.join("\n"));
  await shown.keyboard.press("Escape");
  await source(shown, "main (run.py:47)");
  assert.ok((await lines(shown)).includes(" |  | 100 | 85 | 47 | def main():"), (await lines(shown)).join("\n"));
  await shown.keyboard.press("Escape");
  // A name without its line has the source of all its lines.
  await shown.evaluate(() => globalThis.flame.navigation.refine("strip", "line"));
  await settled(shown);
  await source(shown, "main (run.py);work (run.py)");
  assert.match(await text(shown, "source"), /70 samples → 55 samples/);
});

test("a page without code, and one without lines", async () => {
  const without = await openPage(save("html", run("fg-render", STACKS, "--format", "html", "--input-format", "py-spy", "--no-source")));
  await source(without, "main (run.py:47);work (run.py:4)");
  assert.deepEqual(await lines(without), ["50 | 50 | 4 | ", "20 | 20 | 45 | "]);
  const plain = await openPage(save("html", run("fg-render", "main;work 1\n", "--format", "html")));
  await clickOn(plain, "main;work", { button: "right" });
  assert.equal(await plain.locator("#menu >> text=Source").count(), 0);
});
