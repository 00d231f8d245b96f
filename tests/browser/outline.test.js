// The call tree as an outline: rows, keys, the menu.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, large, small } from "./picture.js";
import { address, search, settled, view } from "./viewer.js";

afterEach(allQuiet);

/** The rows on the page: what their cells say. */
const rows = (page) => page.evaluate(() => [...document.querySelectorAll("#outline [role=rowgroup] [role=row]")].map((row) => `${row.getAttribute("aria-level")} ${row.querySelector("bdi").textContent} ${row.firstChild.textContent}`));
const focused = (page) => page.evaluate(() => document.activeElement.querySelector("bdi")?.textContent);

test("the tree opens where the weight is, and row by row", async () => {
  const page = await view(small, { hash: "#view=tree" });
  assert.equal(await page.getAttribute('#outline [role=row]:has-text("parse") .name', "title"), "parse");
  assert.deepEqual(await rows(page), ["1 all 100.00%", "2 main 90.00%", "2 start 10.00%"].flatMap((row) => row === "2 main 90.00%" ? [row, "3 parse 40.00%", "3 run 30.00%", "3 idle 20.00%"] : [row]));
  await page.click('#outline [role=row]:has-text("parse")');
  assert.deepEqual((await rows(page)).slice(2, 5), ["3 parse 40.00%", "4 lex 30.00%", "4 tree 10.00%"]);
  assert.equal(await page.getAttribute('#outline [role=row]:has-text("parse")', "aria-expanded"), "true");
  await page.click('#outline [role=row]:has-text("parse")');
  assert.equal((await rows(page)).length, 6);
});

test("the keys of a treegrid walk, open and close; the star opens the heaviest path", async () => {
  const page = await view(small, { hash: "#view=tree" });
  await page.focus("#outline [tabindex='0']");
  for (const [key, name] of [["ArrowDown", "main"], ["ArrowLeft", "main"], ["ArrowRight", "main"], ["ArrowRight", "parse"], ["ArrowLeft", "main"], ["End", "start"], ["Home", "all"], ["*", "read"]]) {
    await page.keyboard.press(key);
    assert.equal(await focused(page), name, key);
  }
  assert.deepEqual((await rows(page)).slice(0, 5), ["1 all 100.00%", "2 main 90.00%", "3 parse 40.00%", "4 lex 30.00%", "5 read 10.00%"]);
  await page.keyboard.press("b");
  await settled(page);
  assert.match(await address(page), /view=butterfly&of=read/);
});

test("the tree has the frame's menu and takes part in searches", async () => {
  const page = await view(small, { hash: "#view=tree" });
  await page.click('#outline [role=row]:has-text("run")', { button: "right" });
  await page.click("#menu >> text=Hide it");
  await settled(page);
  assert.match(await address(page), /do=hide:\^run\$/);
  await search(page, "^gc$");
  await page.press("#query", "Enter");
  await settled(page);
  assert.equal(await focused(page), "gc");
  assert.equal(await page.locator("#outline .found").count(), 1);
});

test("bottom up, functions are on top and their callers below", async () => {
  const page = await view(small, { hash: "#view=bottomup" });
  assert.deepEqual((await rows(page)).slice(0, 4), ["1 all 100.00%", "2 idle 20.00%", "2 lex 20.00%", "2 call 15.00%"]);
  await page.click('#outline [role=row]:has-text("lex")');
  assert.deepEqual((await rows(page)).slice(2, 5), ["2 lex 20.00%", "3 parse 20.00%", "4 main 20.00%"]);
});

test("of a large tree only the rows in sight are on the page", async () => {
  const page = await view(large(3000), { hash: "#view=bottomup" });
  await page.focus("#outline [tabindex='0']");
  for (let n = 0; n < 30; n++) await page.keyboard.press(n % 2 ? "*" : "ArrowDown");
  await settled(page);
  const { all, shown } = await page.evaluate(() => ({ all: globalThis.flame.outline.rows.length, shown: document.querySelectorAll("#outline [role=row]").length }));
  assert.ok(all > 100 && shown < 60, `${shown} of ${all}`);
  await page.keyboard.press("End");
  assert.equal(await focused(page), await page.evaluate(() => { const { rows: list, tree } = globalThis.flame.outline; return globalThis.flame.model.names.show(tree.name[list.at(-1)]); }));
});

test("a comparison has both sides in its tree", async () => {
  const page = await view("m;a 10 30\nm;b 5 0\n", { hash: "#view=tree" });
  const text = await page.locator('#outline [role=row]:has-text("a")').nth(1).innerText();
  assert.ok((await page.locator("#outline").innerText()).replace(/\s+/g, " ").includes("10 30 +200.0%"), text);
});

test("a row of the tree zooms and copies its stack", async () => {
  const page = await view(small, { hash: "#view=tree", permissions: ["clipboard-read", "clipboard-write"] });
  const row = '#outline [role=row]:has-text("gc")';
  await page.focus("#outline [tabindex='0']");
  for (let n = 0; n < 30 && !(await page.locator(row).count()); n++) await page.keyboard.press(n % 2 ? "ArrowDown" : "ArrowRight");
  await page.click(row, { button: "right" });
  await page.click("#menu >> text=Copy stack");
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  assert.equal(await copied(), "main;run;eval;gc");
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.focus("#outline [tabindex='0']");
  await page.keyboard.press("C");
  assert.equal(await copied(), "main;run;eval;gc");
  await page.click(row, { button: "right" });
  await page.click("#menu >> text=Zoom in");
  await settled(page);
  assert.match(await address(page), /^#zoom=main;run;eval;gc$/);
});
