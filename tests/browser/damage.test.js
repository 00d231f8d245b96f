// Pages that were cut short or changed on their way: they say so, and show nothing wrong.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { allQuiet, large, save, show } from "./picture.js";
import { makePage } from "./viewer.js";

afterEach(allQuiet);

const whole = () => readFileSync(makePage(large(300)), "utf8");

/** All that can be seen of a damaged page. */
async function said(text) {
  const page = await show(save("html", text), { damaged: true });
  await page.waitForFunction(() => /incomplete|cannot be shown/.test(document.body.innerText));
  return page.evaluate(() => document.body.innerText.trim());
}

test("a page that was cut short says so", async () => {
  const text = whole();
  const head = text.indexOf("</head>");
  for (const at of [head, head + 2000, text.indexOf("<script type=\"application") + 500, text.length >> 1, text.length - 20]) {
    assert.match(await said(text.slice(0, at)), /^This page is incomplete: [^\n]*$/, `cut at ${at}`);
  }
});

test("a page with a changed section names it, and shows no toolbar", async () => {
  const text = whole();
  const sections = [...text.matchAll(/id="data-([a-z-]+)">([^<]+)</g)];
  assert.ok(sections.length > 10);
  for (const { 0: all, 1: name, 2: data, index } of sections) {
    const at = index + all.indexOf(">") + 1 + (data.length >> 1);
    const other = text[at] === "A" ? "B" : "A";
    const message = await said(text.slice(0, at) + other + text.slice(at + 1));
    assert.equal(message, `This page cannot be shown: the part "${name}" of this page is damaged; fetch it again, or draw it again`);
  }
});

test("a page without one of its sections names it", async () => {
  const text = whole();
  for (const name of ["rises", "texts", "values", "script", "style"]) {
    assert.match(await said(text.replace(`data-${name}`, "data-other")), new RegExp(`^This page cannot be shown: the part "${name}" of this page is missing`));
  }
});
