// The call graph of a page: the functions and calls of `--format dot`, callers above callees, each box a way to its function.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, run } from "./picture.js";
import { address, settled, view } from "./viewer.js";

afterEach(allQuiet);

const web = "main;read;lex 40\nmain;parse;lex 30\nmain;parse;expr;parse;expr 20\nmain;parse;expr;lex 5\nmain;emit;write;sys_write 60\nmain;log;write;sys_write 10\nmain;tiny 0.01\n";

test("it has the functions and calls of dot, callers above callees", async () => {
  const page = await view(web);
  await page.click("#graph-open");
  const titles = await page.$$eval("#graph title", (all) => all.map((one) => one.textContent));
  const boxes = titles.filter((one) => !one.includes(" → "));
  assert.equal(boxes.length, 9, "without tiny, which is no half percent");
  assert.ok(boxes.includes("lex: self 75, total 75"), boxes.join("\n"));
  // The numbers of the lines, held against those of dot.
  const dot = run("fg-render", web, "--format", "dot", "--min-percent", "0.5").toString();
  const names = new Map([...dot.matchAll(/^(n\d+) \[label="([^"\\]+)/gm)].map(([, id, name]) => [id, name]));
  const wanted = [...dot.matchAll(/^(n\d+) -> (n\d+) /gm)].map(([, from, to]) => `${names.get(from)} → ${names.get(to)}`).sort();
  assert.ok(wanted.length > 8, dot);
  assert.deepEqual(titles.filter((one) => one.includes(" → ")).map((one) => one.split(":")[0]).sort(), wanted);
  assert.ok(titles.includes("parse → expr: 25, 15.15%"), titles.join("\n"));
  const top = await page.$$eval("#graph a", (all) => Object.fromEntries(all.map((one) => [one.querySelector("text").textContent, one.getBoundingClientRect().top])));
  for (const [above, below] of [["main", "read"], ["read", "lex"], ["parse", "expr"], ["expr", "lex"], ["emit", "write"], ["write", "sys_write"]]) {
    assert.ok(top[above] < top[below], `${above} over ${below}`);
  }
  const covered = await page.$$eval("#graph rect", (all) => {
    const edges = all.map((one) => one.getBoundingClientRect());
    return edges.some((a, n) => edges.some((b, k) => k > n && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
  });
  assert.ok(!covered, "no box lies on another");
});

test("a box leads to callers and callees of its function, and the graph follows the view", async () => {
  const page = await view(web);
  await page.click("#graph-open");
  await page.click("#graph a:has(text:text-is('write'))");
  await settled(page);
  assert.match(await address(page), /^#view=butterfly&of=write/);
  await page.evaluate(() => { location.hash = "#do=focus:read"; });
  await settled(page);
  await page.click("#graph-open");
  assert.match(await page.textContent("#graph h2"), /3 functions/);
  await page.keyboard.press("Escape");
  assert.ok(await page.isHidden("#graph"));
});

test("a page of few functions has no graph", async () => {
  const page = await view("a;b 1\na;c 2\n");
  assert.equal(await page.$("#graph-open"), null);
});
