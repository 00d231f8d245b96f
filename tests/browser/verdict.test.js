// The line on top and the weights of threads: they are those of what is shown, at every step.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, run, save, small, twoThreads } from "./picture.js";
import { clickOn, longNamesCompared, openPage, refine, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** A page of a recording with times. */
const recorded = (recording, options = {}) => openPage(save("html", run("fg-render", recording, "--format", "html")), options);

/** The shares of the rows of the time line. */
const shares = (page) => page.$$eval("#time-labels > *", (all) => all.map((row) => [row.querySelector("span span")?.textContent + (row.querySelector("span")?.lastChild.textContent ?? ""), row.querySelector("small")?.textContent]));

test("the line on top is that of the chosen thread and range", async () => {
  const page = await recorded(twoThreads());
  assert.match(await text(page, "answer"), /^Hottest self(draw|parse) 46\.0%(draw|parse) 46\.0%flush_log 8\.0%/);
  await page.click("#time-labels button:has-text('timer')");
  await settled(page);
  assert.match(await text(page, "answer"), /^Hottest selfflush_log 100\.0%/);
  const ranged = await recorded(twoThreads(), { hash: "#time=0s..0.08s" });
  assert.match(await text(ranged, "answer"), /^Hottest selfflush_log 100\.0%/);
  const [, ...rows] = await shares(ranged);
  assert.deepEqual(rows.map(([, share]) => share), ["0.0%", "100.0%"]);
  const compared = await recorded(twoThreads(), { hash: "#time=0s..0.5s&time=1s..1.08s" });
  assert.match(await text(compared, "answer"), /^−84\.\d% in all/);
});

test("it is that of what is focused, searched for and zoomed into, and says the branch with its caller", async () => {
  const page = await view(small);
  assert.equal(await text(page, "answer"), "Hottest selflex 20.0%idle 20.0%call 15.0%totalparse 40.0%frommain");
  await clickOn(page, "main;run");
  assert.equal(await text(page, "answer"), "Hottest selfcall 50.0%Read 33.3%gc 16.7%totaleval 66.7%");
  await page.keyboard.press("0");
  await refine(page, "Focus", "^lex$");
  assert.match(await text(page, "answer"), /^Hottest selflex 66\.7%read 33\.3%/);
  await page.click("#chips button");
  await settled(page);
  await search(page, "^gc$");
  await page.click("#only");
  await settled(page);
  assert.match(await text(page, "answer"), /^Hottest selfgc 100\.0%/);
  assert.deepEqual(await page.$eval("#answer", (line) => [line.role, line.ariaLive]), ["status", "polite"]);
});

test("a thread is no branch: the heaviest function in one is", async () => {
  const page = await view("P7;T0:9;run;parse 20\nP7;T0:9;run;read 15\nP7;T0:10;wait 33\nP7;T0:11;spin 32\n");
  assert.equal(await text(page, "answer"), "Hottest selfwait 33.0%spin 32.0%parse 20.0%totalrun 35.0%");
});

test("no name in the verdict of a comparison is crushed by the others", async () => {
  const page = await view(longNamesCompared(), { viewport: { width: 1280, height: 800 } });
  const widths = await page.$$eval("#answer .link", (all) => all.map((one) => one.getBoundingClientRect().width));
  assert.ok(widths.length >= 4 && widths.every((width) => width > 80), `${widths}: ${await text(page, "answer")}`);
});

test("the weights of threads follow the steps of refining", async () => {
  const page = await recorded(twoThreads());
  await refine(page, "Focus", "flush_log");
  const [, ...rows] = await shares(page);
  assert.deepEqual(rows.map(([, share]) => share), ["0.0%", "100.0%"]);
  await page.click("#threads-open");
  assert.deepEqual(await page.$$eval("#threads label .num", (all) => all.map((one) => one.textContent)), ["0.00%", "100.00%"]);
  const folded = await view("# labels: thread\nthread=a;f 30\nthread=a;g 10\nthread=b;g 60\n");
  await refine(folded, "Ignore", "^f$");
  await folded.click("#threads-open");
  const weights = (page) => page.$$eval("#threads label", (all) => all.map((one) => one.textContent));
  assert.deepEqual(await weights(folded), ["b85.71%", "a14.29%"]);
  // A search with a mistake changes nothing of that, neither while it is there nor when it is gone.
  const wrong = await view("# labels: thread\nthread=a;f 30\nthread=a;g 10\nthread=b;g 60\n", { hash: "#do=ignore:^f$&q=(" });
  await wrong.click("#threads-open");
  assert.deepEqual(await weights(wrong), ["b85.71%", "a14.29%"]);
  await wrong.evaluate(() => globalThis.flame.change({ query: "" }));
  await settled(wrong);
  assert.deepEqual(await weights(wrong), ["b85.71%", "a14.29%"]);
});

test("much without a name is said, with what helps", async () => {
  const broken = await view("# producer: perf 6.1\na;[unknown];f 60\na;g 40\n");
  assert.match(await text(broken, "answer"), /60\.0% is in \[unknown\]: record with --call-graph dwarf$/);
  const stripped = await view("a;[unknown] 60\na;g 40\n");
  assert.match(await text(stripped, "answer"), /60\.0% is in \[unknown\]: symbols are missing$/);
  assert.doesNotMatch(await text(await view("a;[unknown] 6\na;g 94\n"), "answer"), /unknown\]:/);
});
