// Pages with malicious names and titles, things that a page must never do, and accessibility.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { allQuiet, fixture, large, project, run, save, small, some } from "./picture.js";
import { boxes, box, clickOn, makePage, openPage, refine, savedStacks, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

const names = [
  "<img src=x onerror=window.harmed=1>", "</script><script>window.harmed=1</script>", "<!--<script>", "]]><script>window.harmed=1</script>",
  "</title></style><a href='javascript:window.harmed=1'>x</a>", "\" onload=\"window.harmed=1", "' onclick='window.harmed=1",
  "&lt &amp &#60 &", "${window.harmed=1}", "javascript:window.harmed=1", "%s%n%00%", "#&=do=hide:x", "a=b&c",
  "right\u202eto left\u202c and \u2066isolated\u2069", "zero\u200bwidth\ufeff", "tab\there", "bell\u0007 escape\u001b[31m", "ls\u2028 ps\u2029",
  "lone (bracket", "(", " ", "", "\\", "__proto__", "constructor", "toString", "\ufffe\uffff", "\u{1f525}",
];
const folded = Buffer.concat([
  ...names.map((name, i) => Buffer.from(`main;${name};inside ${1000 + i}\n`)),
  Buffer.from("main;invalid \xff\xfe\xc3( utf-8;inside 1000\n", "latin1"),
]);

test("nothing in a name runs, whatever is done with it", async () => {
  const page = await view(folded);
  const drawn = (await boxes(page)).filter((one) => one.path.startsWith("main;") && one.name !== "inside");
  assert.equal(drawn.length, names.length + 1);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  for (const { path, name, node } of drawn) {
    const { left, top, width } = (await boxes(page)).find((one) => one.node === node);
    await page.mouse.move(left + width / 2, top + 9);
    await page.mouse.click(left + width / 2, top + 9, { button: "right" });
    await page.keyboard.press("Escape");
    await clickOn(page, path);
    assert.ok((await box(page, path)).width > 1190, `zooms into ${JSON.stringify(name)}`);
    // And the address leads there again.
    await page.reload();
    await page.waitForFunction(() => document.getElementById("loading").hidden);
    await settled(page);
    assert.ok((await box(page, path)).width > 1190, `finds ${JSON.stringify(name)} again`);
    await page.keyboard.press("0");
    await settled(page);
  }
  for (const view_ of ["3", "4", "5"]) await page.keyboard.press(view_);
  for (const id of ["details-open", "save-open", "colours-open", "help-open"]) {
    await page.click(`#${id}`);
    await page.keyboard.press("Escape");
  }
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, iframe, object, a[href], body script:not([type])").length), 0);
  assert.ok(elements > 0);
  assert.deepEqual((await savedStacks(page)).toString("latin1"), run("fg-collapse", folded).toString("latin1"));
});

test("hostile titles, units, facts and searches are text too", async () => {
  const evil = "</script><img src=x onerror=window.harmed=1>\"'&";
  const page = await view(`# event: ${evil}\n# host: ${evil}\na;b 1\n`, { hash: `#q=${encodeURIComponent(evil)}&of=${encodeURIComponent(evil)}` }, "--title", evil, "--subtitle", evil, "--notes", evil, "--countname", evil);
  assert.equal(await page.title(), evil);
  assert.equal(await text(page, "title"), evil);
  await page.click("#details-open");
  assert.ok((await text(page, "details")).includes(evil));
  await page.keyboard.press("Escape");
  await refine(page, "Hide", "<img src=x onerror=window.harmed=1>");
  assert.equal(await page.evaluate(() => window.harmed ?? document.querySelectorAll("img").length), 0);
});

test("what steers letters is not let through to the screen", async () => {
  const page = await view(folded, { hash: "#view=table" });
  const shown = await text(page, "list");
  assert.doesNotMatch(shown, /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/);
});

test("names of a megabyte, stacks of thousands, a hundred thousand roots", async () => {
  const long = "x".repeat(1 << 20);
  const page = await view(`m;${long};y 5\nm;${long}2;y 4\n`);
  await clickOn(page, `m;${long}`);
  assert.ok((await page.evaluate(() => location.hash.length)) < 400);
  await page.reload();
  await page.waitForFunction(() => document.getElementById("loading").hidden);
  await settled(page);
  assert.ok((await box(page, `m;${long}`)).width > 1190);
  await page.keyboard.press("5");
  await settled(page);
  await page.context().close();

  const deep = await view(`${Array.from({ length: 70_000 }, (_, n) => `f${n % 7}`).join(";")} 1\n`);
  for (const key of ["2", "3", "4", "5", "1"]) {
    await deep.keyboard.press(key);
    await settled(deep);
  }
  await deep.evaluate(() => globalThis.flame.stage.box.scrollTo(0, 0));
  await settled(deep);
  assert.equal(await deep.evaluate(() => globalThis.flame.model.main.n), 70_001);
  await deep.context().close();

  const wide = await view(Array.from({ length: 100_000 }, (_, n) => `root${n};f 1\n`).join(""));
  await wide.click("#threads-open");
  assert.equal(await wide.locator("#threads label").count(), 500);
});

test("sums beyond what a browser counts are marked as rounded, single weights stay exact", async () => {
  const big = "a;b 9007199254740993\na;c 9007199254740881\n";
  const page = await view(big);
  await page.click("#details-open");
  assert.match(await text(page, "details"), /≈ 18,014,398,509,481,87\d/);
  assert.match(await text(page, "details"), /rounded/);
  assert.equal(run("fg-collapse", readFileSync(makePage(big))).toString(), big);
});

test("nothing is asked for, kept, or let in", async () => {
  const path = makePage(large(200));
  const source = readFileSync(path, "utf8");
  assert.match(source, /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:;/);
  assert.doesNotMatch(source, /https?:\/\/(?!www\.w3\.org)/);
  const page = await openPage(path, { viewport: { width: 1024, height: 700 } });
  await search(page, "a");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => { try { return localStorage.length + sessionStorage.length; } catch { return 0; } }), 0);
  assert.equal(await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => !one.name.startsWith("data:")).length), 0);
  assert.equal((await page.context().cookies()).length, 0);
});

test("at 1024 and 3840 pixels nothing sticks out", async () => {
  for (const [width, height] of [[1024, 700], [3840, 1600], [390, 800]]) {
    const page = await view(change(), { viewport: { width, height }, hash: "#q=a&do=hide:x&view=icicle" }, "--title", "A title of some length, as people give them to their profiles");
    const over = await page.evaluate(() => {
      const wide = document.documentElement.clientWidth;
      // A narrow window scrolls the rows of controls and of steps.
      const scrolls = (one) => getComputedStyle(one).overflowX === "auto";
      return [...document.querySelectorAll("header, .bar, footer, #map, main, .tabs, button, input, select")].filter((one) => {
        const bar = one.parentElement?.closest(".bar");
        if (bar && scrolls(bar)) return false;
        const { left, right, width: w } = one.getBoundingClientRect();
        return w > 0 && (left < -0.5 || right > wide + 0.5);
      }).map((one) => one.id || one.className);
    });
    assert.deepEqual(over, [], `${width} wide`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth), false);
    await page.context().close();
  }
});

function change() {
  return small.trim().split("\n").map((line, n) => `${line} ${n * 30 + 5}\n`).join("");
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The findings of axe on a page. */
async function findingsOf(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  });
}

/** The page of a profile without stacks, which fg-render writes and fails. */
function emptyPage() {
  try {
    return run("fg-render", "# command: ./app\n", "--format", "html");
  } catch (error) {
    return error.stdout;
  }
}

test("a button of a sign has a name in words", async () => {
  const page = await view("a;b 5\n", { hash: "#do=hide:c" });
  const names = await page.$$eval("button", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute("aria-label") ?? one.textContent));
  assert.ok(names.includes("Previous match") && names.includes("Remove Hide: c"), names.join());
  assert.deepEqual(names.filter((name) => !/\p{L}/u.test(name)), []);
});

test("axe finds nothing in any view, theme or panel", async () => {
  const path = makePage(change(), "--title", "A comparison");
  const sourced = save("html", run("fg-render", "main (a.py:1);work (a.py:2) 5\nother (a.py:4) 2\n", "--format", "html", "--input-format", "py-spy"));
  const timed = save("html", run("fg-render", "", "-q", "--format", "html", join(project, "tests/perf_data/golden/stall.data.gz")));
  const values = save("html", run("fg-render", "", "-q", "--format", "html", fixture("pprof/heap/input.pb.gz")));
  const empty = save("html", emptyPage());
  for (const colorScheme of ["light", "dark"]) {
    const first = Number(colorScheme === "dark");
    for (const hash of some(["#q=eval&do=hide:gc&zoom=main", "#view=icicle", "#view=callers", "#view=butterfly", "#view=table", "#view=table&q=(", "#view=tree", "#view=bottomup"], 2, first)) {
      const page = await openPage(path, { colorScheme, hash, reducedMotion: "reduce" });
      for (const panel of ["", "refine", "colours", "save", "details", "help"]) {
        if (panel && hash !== "#view=icicle") continue;
        if (panel) await page.click(`#${panel}-open`);
        assert.deepEqual(await findingsOf(page), [], `${colorScheme} ${hash} ${panel}`);
        if (panel) await page.keyboard.press("Escape");
      }
      await page.context().close();
    }
    // Panels that only some pages have, and the sheet of a phone.
    const threads = await openPage(makePage("# producer: perf 6.1.0\nnginx;a 3\nbash;c 10\n"), { colorScheme });
    await threads.click("#threads-open");
    const listing = await openPage(sourced, { colorScheme });
    await clickOn(listing, "main (a.py:1)", { button: "right" });
    await listing.click("#menu >> text=Source");
    const phone = await openPage(path, { colorScheme, hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
    await phone.evaluate(() => globalThis.flame.selection.select({ part: 0, node: 1 }));
    await phone.waitForSelector("#sheet b");
    const menu = await openPage(path, { colorScheme });
    await clickOn(menu, "main", { button: "right" });
    const working = await openPage(path, { colorScheme });
    await working.evaluate(() => {
      document.getElementById("working-on").textContent = "Working on 12 frames …";
      document.getElementById("working").hidden = false;
    });
    const pages = [[threads, "threads"], [listing, "source"], [phone, "sheet"], [menu, "menu"], [working, "working"]];
    for (const hash of some(["", "#heat=1", "#time=1s..2s&time=4s..5s&colour=change&as=shares", "#view=time", "#in=worker&time=1s..2s"], 2, first)) {
      pages.push([await openPage(timed, { colorScheme, hash }), `times ${hash}`]);
    }
    pages.push([await openPage(values, { colorScheme }), "values"], [await openPage(empty, { colorScheme }), "empty"]);
    for (const [page, what] of pages) {
      assert.deepEqual(await findingsOf(page), [], `${colorScheme} ${what}`);
      await page.context().close();
    }
  }
});

test("the chosen frame is read out", async () => {
  const page = await view(small);
  assert.equal(await page.getAttribute("#chosen", "aria-live"), "polite");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await settled(page);
  assert.equal(await text(page, "chosen"), "main: 900, 90.00%");
});
