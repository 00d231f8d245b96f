// Names written by somebody who means harm, or by a broken program.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, click, draw, frames, reload, says, searchFor, show, visible } from "./picture.js";

afterEach(allQuiet);

const names = [
  "<img src=x onerror=window.harmed=1>", "</script><script>window.harmed=1</script>", "]]><script>window.harmed=1</script>",
  "</title><a href='javascript:window.harmed=1'>x</a>", "</svg><script>window.harmed=1</script>", "\" onload=\"window.harmed=1", "' onclick='window.harmed=1",
  "&lt &ampamp &#60 &", "${window.harmed=1}", "javascript:window.harmed=1", "<!-- comment", "<![CDATA[", "%s%n%00",
  "right\u202eto left\u202c and \u2066isolated\u2069", "zero\u200bwidth\ufeff", "tab\there", "bell\u0007 escape\u001b[31m", "nel\u0085 ls\u2028 ps\u2029",
  "lone (bracket", "name (1 samples, 99.99%)", "(", " ", "\\", "[unknown]", "__proto__", "constructor", "\ufffe\uffff",
];

const folded = Buffer.concat([
  Buffer.from(names.map((name, i) => `main;${name};inside ${1000 + i}\n`).join("")),
  Buffer.from("main;invalid \xff\xfe\xc3( utf-8;inside 1000\n", "latin1"),
]);

test("nothing in a name runs, breaks the picture, or is lost", async () => {
  const page = await show(draw(folded));
  const drawn = await visible(page);
  assert.equal(drawn.filter((name) => name === "inside").length, names.length + 1);
  for (const name of names.filter((one) => /^[ -~]+$/.test(one))) assert.ok(drawn.includes(name), name);
  assert.ok(drawn.some((name) => name.startsWith("invalid ") && name.endsWith("( utf-8")));
  assert.equal(await page.evaluate(() => document.querySelectorAll("#frames img, #frames script, #frames a").length), 0);
  assert.equal(await page.evaluate(() => document.querySelector("parsererror")), null);

  // Each is selected, told about, zoomed into and searched for.
  for (const name of drawn.filter((one) => one !== "inside" && one !== "all" && one !== "main")) {
    await click(page, name);
    assert.ok((await frames(page)).find((f) => f.name === name).classes.includes("selected"), name);
    if (name.length < 60) await searchFor(page, name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
    if (name.length < 60) assert.match(await says(page, "matched"), /100%$/, name);
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
  }
  assert.equal(await page.evaluate(() => window.harmed), undefined);
});

test("a hostile name survives the address", async () => {
  const path = draw(folded);
  for (const name of names.filter((one) => /^[ -~]+$/.test(one))) {
    const page = await show(path, { hash: "#path=" + encodeURIComponent("main;" + name) });
    assert.deepEqual(await visible(page), ["all", "main", name, "inside"].sort(), name);
    await page.context().close();
  }
});

test("marks that reorder text are shown as what they are", async () => {
  const page = await show(draw(folded));
  const shown = await page.evaluate(() => [...document.querySelectorAll(".frame text")].map((t) => t.textContent).join(""));
  assert.doesNotMatch(shown, /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/);
});

test("hostile titles, counts and legends are text too", async () => {
  const evil = "</text></script>]]><script>window.harmed=1</script>\"'\\u0022";
  const page = await show(draw("a;b 1\n", "--title", evil, "--subtitle", evil, "--countname", evil, "--nametype", evil, "--notes", evil));
  await page.setViewportSize({ width: 2400, height: 600 });
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  assert.ok((await says(page, "details")).includes("script>"));
  assert.ok((await page.textContent("#title")).startsWith("</text></script>"));
  assert.equal(await page.evaluate(() => window.harmed), undefined);
});

test("a search that is hostile itself is text too", async () => {
  const page = await show(draw("a;b 1\n"), { hash: "#s=" + encodeURIComponent("<img src=x onerror=window.harmed=1>(") });
  assert.equal(await says(page, "matched"), "Bad pattern");
  await page.keyboard.press("/");
  assert.ok((await page.textContent(".box [role=alert]")).length >= 0);
  assert.equal(await page.evaluate(() => window.harmed), undefined);
});

test("a very deep stack neither breaks nor blocks the viewer", async () => {
  const deep = Array.from({ length: 5000 }, (_, i) => `f${i}`).join(";");
  const page = await show(draw(`${deep} 1\nf0;other 1\n`));
  await page.keyboard.press("k");
  await searchFor(page, "f4999");
  assert.equal(await says(page, "matched"), "Matched: 50.0%");
  await page.keyboard.press("z");
  await reload(page);
  assert.equal((await visible(page)).length, 5001);
});
