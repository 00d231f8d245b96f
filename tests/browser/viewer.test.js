// Views, zooming, the keyboard, the address.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { allQuiet, draw, frames, inChromium, large, reload, run, show, small, some, travel } from "./picture.js";
import { address, box, boxes, clickOn, colourOf, coloursOf, inSight, makeEmptyPage, makePage, openPage, rows, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

test("flames stand on their root, icicles hang from it", async () => {
  const page = await view(small);
  const all = await boxes(page);
  const of = (path) => all.find((one) => one.path === path);
  assert.ok(of("main").top < of("").top && of("main;parse").top < of("main").top);
  // The frame of a caller holds those it calls; widths are shares.
  assert.ok(Math.abs(of("main").width / of("").width - 0.9) < 1e-9);
  assert.ok(Math.abs(of("main;run").width / of("").width - 0.3) < 1e-9);
  assert.ok(of("main;run").left >= of("main").left);
  await page.keyboard.press("2");
  await settled(page);
  assert.ok((await box(page, "main")).top > (await box(page, "all")).top);
  assert.equal(await page.getAttribute("#tab-icicle", "aria-selected"), "true");
});

test("callers are leaf first, the heaviest first", async () => {
  const page = await view(small);
  await page.click("#tab-callers");
  await settled(page);
  const top = (await boxes(page)).filter((one) => one.path && !one.path.includes(";"));
  const self = new Map();
  for (const line of small.trim().split("\n")) {
    const cut = line.lastIndexOf(" ");
    const leaf = line.slice(0, cut).split(";").at(-1);
    self.set(leaf, (self.get(leaf) ?? 0) + Number(line.slice(cut + 1)));
  }
  assert.deepEqual(new Map(top.map((one) => [one.name, one.weight])), self);
  const weights = top.map((one) => one.weight);
  assert.deepEqual(weights, [...weights].sort((a, b) => b - a));
  assert.ok((await boxes(page)).some((one) => one.path === "call;eval;eval;run;main"));
});

test("a butterfly has callers above and callees below, recursion counted once", async () => {
  const page = await view(small, { hash: "#view=butterfly&of=eval" });
  const all = await boxes(page);
  const middle = all.find((one) => one.path === "eval" && one.part === 1);
  assert.equal(middle.weight, 200);
  const above = all.filter((one) => one.part === 0);
  assert.deepEqual(above.map((one) => one.path), ["eval;run", "eval;run;main"]);
  assert.ok(above.every((one) => one.top < middle.top && one.weight === 200));
  const below = all.filter((one) => one.part === 1 && one !== middle);
  assert.deepEqual(below.map((one) => one.path).sort(), ["eval;eval", "eval;eval;call", "eval;gc"]);
  assert.ok(below.every((one) => one.top > middle.top));
  // A caller that is clicked is the next one to be looked at.
  await clickOn(page, "eval;run", { part: 0 });
  assert.match(await address(page), /of=run/);
});

test("the table is what fg-render --format top says", async () => {
  for (const folded of [small, large(400)]) {
    const page = await view(folded, { hash: "#view=table&sort=total" });
    for (let more = page.locator(".more button"); await more.count(); ) await more.click();
    const shown = (await rows(page)).map(([name, self, total]) => [name.trim(), self, total].join(" "));
    const top = JSON.parse(run("fg-render", folded, "--format", "json"));
    assert.ok(shown.length > 5 && top);
    const lines = run("fg-render", folded, "--format", "top", "--limit", "0").toString().trimEnd().split("\n").slice(3);
    const told = lines.map((line) => {
      const [self, , , total, , ...name] = line.trim().split(/\s+/);
      return [name.join(" ").replace(/_\[[kijw]\]$/, ""), self, total].join(" ");
    });
    assert.deepEqual(shown.sort(), told.sort());
    await page.context().close();
  }
});

test("the table sorts by every column, filters, and opens a function", async () => {
  const page = await view(small, { hash: "#view=table" });
  const column = async (n) => (await rows(page)).map((row) => row[n]);
  const numbers = async (n) => (await column(n)).map((cell) => Number(cell.replaceAll(",", "")));
  for (const [label, n] of [["Self", 1], ["Total", 2], ["Stacks", 3]]) {
    const head = page.locator(`th button:has-text("${label}")`);
    if (!(await head.textContent()).includes("▼")) await head.click();
    const down = await numbers(n);
    assert.deepEqual(down, [...down].sort((a, b) => b - a), label);
    await head.click();
    const up = await numbers(n);
    assert.deepEqual(up, [...up].sort((a, b) => a - b), label);
    assert.equal(await page.getAttribute(`th:has-text("${label}")`, "aria-sort"), "ascending");
  }
  await page.click('th button:has-text("Function")');
  const names = await column(0);
  assert.deepEqual(names, [...names].sort());
  await search(page, "eval|gc");
  assert.deepEqual((await column(0)).sort(), ["eval", "gc"]);
  await page.click('#list button:has-text("gc")');
  assert.match(await address(page), /view=butterfly/);
  assert.match(await text(page, "path"), /gc/);
});

test("stacks are counted once for a function that calls itself", async () => {
  const page = await view("a;b;a;b 1\na;b 2\na 4\n", { hash: "#view=table" });
  assert.deepEqual((await rows(page)).sort(), [["a", "4", "7", "3"], ["b", "3", "3", "2"]]);
});

test("a click zooms, the path leads back, so do back and forward", async () => {
  const page = await view(small);
  await clickOn(page, "main;run");
  const run_ = await box(page, "main;run");
  assert.ok(run_.width > 1190);
  assert.match(await address(page), /zoom=main;run/);
  await clickOn(page, "main;run;eval");
  assert.ok((await box(page, "main;run;eval")).width > 1190);
  await travel(page, "back");
  await settled(page);
  assert.ok((await box(page, "main;run")).width > 1190 && (await box(page, "main;run;eval")).width < 1000);
  await travel(page, "back");
  await settled(page);
  assert.ok((await box(page, "main;run")).width < 400);
  await travel(page, "forward");
  await settled(page);
  assert.ok((await box(page, "main;run")).width > 1190);
  await page.click('#path button:has-text("all")');
  await settled(page);
  assert.ok((await box(page, "main;run")).width < 400);
  await page.keyboard.press("Backspace");
  await page.waitForFunction(() => location.hash.includes("run"));
});

test("keys walk to the frames above, below and beside, in flames and icicles", async () => {
  const page = await view(small);
  const chosen = () => text(page, "chosen");
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    await settled(page);
    return (await chosen()).split(":")[0];
  };
  assert.equal(await press("ArrowUp"), "all");
  assert.equal(await press("ArrowUp"), "main");
  assert.equal(await press("k"), "parse");
  assert.equal(await press("h"), "idle");
  assert.equal(await press("ArrowRight"), "parse");
  assert.equal(await press("l"), "run");
  assert.equal(await press("ArrowRight"), "run");
  assert.equal(await press("j"), "main");
  assert.equal(await press("ArrowDown", "ArrowDown"), "all");
  assert.match(await chosen(), /all: 1,000, 100\.00%/);
  await press("k", "k", "l", "Enter");
  assert.match(await address(page), /zoom=main;run/);
  await press("0");
  assert.equal(await address(page), "");
  await press("2", "ArrowDown");
  assert.equal(await press("ArrowDown"), "main");
  assert.equal(await press("ArrowUp"), "all");
});

test("keys choose views, search, menus and help", async () => {
  const page = await view(small);
  const views = ["flame", "icicle", "callers", "butterfly", "table"];
  for (let n = 5; n >= 1; n--) {
    await page.keyboard.press(String(n));
    await settled(page);
    assert.equal(await page.getAttribute(`#tab-${views[n - 1]}`, "aria-selected"), "true");
  }
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("#help"));
  await page.keyboard.press("Escape");
  assert.ok(!(await page.isVisible("#help")));
  await page.keyboard.press("/");
  await page.keyboard.type("read");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await text(page, "found"), /^Matched: 20\.00%/);
  assert.match(await text(page, "chosen"), /^read:/);
  for (const key of ["ArrowDown", "ArrowUp", "m"]) await page.keyboard.press(key);
  assert.ok(await page.isVisible("#menu"));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await address(page), /view=butterfly&q=read&of=read/);
});

test("Tab reaches every control", async () => {
  const page = await view(small);
  const reached = new Set();
  for (let n = 0; n < 40; n++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement?.id ?? ""));
  }
  for (const id of ["details-open", "save-open", "theme", "help-open", "tab-flame", "refine-open", "colours-open", "query", "case", "only", "frames"]) {
    assert.ok(reached.has(id), id);
  }
});

test("the address holds the view, for a reload and for a file made anew", async () => {
  const path = makePage(small);
  const hash = "#view=icicle&zoom=main;run&q=ev%61l&case=any&do=hide:^gc%24&order=weight&theme=dark&colour=kind";
  const page = await openPage(path, { hash });
  const seen = async (one) => [await inSight(one), await text(one, "found"), await text(one, "chips")];
  const before = await seen(page);
  assert.match(before[1], /Matched: 20\.00%/);
  await reload(page);
  await page.waitForFunction(() => document.getElementById("loading").hidden);
  await settled(page);
  assert.deepEqual(await seen(page), before);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  // The same link opens the same place of another recording.
  writeFileSync(path, run("fg-render", small.replace("main;run;Read 100", "main;run;Read 90") + "main;zzz 5\n", "--format", "html"));
  await reload(page);
  await page.waitForFunction(() => document.getElementById("loading").hidden);
  await settled(page);
  assert.deepEqual(await inSight(page), before[0]);
  assert.ok((await box(page, "main;run")).width > 1190);
});

test("what an address says wrong does no harm", async () => {
  const page = await view(small, { hash: "#view=nosuch&zoom=main;nosuch;%&q=(&do=nosuch:x&do=hide:(&in=nobody&of=%E0&widths=x&sort=y&x&=&theme=blue" });
  assert.match(await text(page, "found"), /invalid|unterminated/i);
  assert.equal(await page.getAttribute("#tab-flame", "aria-selected"), "true");
});

test("threads are listed, the heaviest first, and several can be chosen", async () => {
  const page = await view("# producer: perf 6.1.0\nnginx;a 3\nnginx;b 2\nbash;c 10\ncron 1\n");
  assert.equal(await text(page, "threads-open"), "All threads");
  await page.click("#threads-open");
  const labels = await page.locator("#threads label span:first-of-type").allTextContents();
  assert.deepEqual(labels, ["bash", "nginx", "cron"]);
  await page.check('#threads label:has-text("nginx") input');
  await page.check('#threads label:has-text("cron") input');
  await settled(page);
  assert.equal((await box(page, "all")).weight, 6);
  assert.match(await text(page, "chips"), /fg-filter -e '\(\?-i\)\^nginx\(;\|\$\)' -e '\(\?-i\)\^cron\(;\|\$\)' out\.folded/);
  await page.click('#threads button:has-text("All")');
  await settled(page);
  assert.equal((await box(page, "all")).weight, 16);
});

test("names have the colours that the SVG gives them", async () => {
  const names = Array.from({ length: 40 }, (_, n) => `f_${n * n}`).concat("java/util/Map.get_[j]", "read_[k]", "a::b", "-", "--", "x.py (lib/python3/x.py)", "node_modules/a.js:3_[j]", "std::fmt::write");
  const folded = names.map((name) => `m;${name} 20\n`).join("");
  const palettes = ["hot", "mem", "io", "red", "green", "blue", "yellow", "purple", "aqua", "orange", "wakeup", "chain", "java", "js", "perl", "python", "rust", "diff"];
  for (const palette of new Set(["io", ...some(palettes, 3)])) {
    const options = ["--colors", palette, ...(palette === "io" ? ["--random=7"] : [])];
    const svg = await show(draw(folded, ...options));
    const fills = new Map((await frames(svg)).map((one) => [one.name, one.fill]));
    const page = await view(folded, { hash: "#colour=name" }, ...options);
    const colours = await coloursOf(page, names.map((name) => `m;${name}`));
    names.forEach((name, n) => assert.equal(colours[n], fills.get(name.replace(/_\[[kijw]\]$/, "")), `${palette} ${name}`));
    await page.context().close();
    await svg.context().close();
  }
});

test("colours by module and by kind tell them apart", async () => {
  const page = await view("m;std::a 5\nm;std::b 5\nm;serde::c 5\nm;x_[k] 5\nm;y_[i] 5\nm;z_[j] 5\n", { hash: "#colour=module" });
  assert.equal(await colourOf(page, "m;std::a"), await colourOf(page, "m;std::b"));
  assert.notEqual(await colourOf(page, "m;std::a"), await colourOf(page, "m;serde::c"));
  await page.click("#colours-open");
  await page.click('#colours button:has-text("Kind")');
  await page.keyboard.press("Escape");
  await settled(page);
  const kinds = new Set();
  for (const path of ["m;std::a", "m;x_[k]", "m;y_[i]", "m;z_[j]"]) kinds.add(await colourOf(page, path));
  assert.equal(kinds.size, 4);
});

test("the header says what is known", async () => {
  const page = await view("# unit: ns\n# event: cycles\n# host: box <b>\n# command: perf record -g\na;b 1500000000\n", {}, "--title", "My <i>title</i>", "--subtitle", "night run");
  assert.equal(await text(page, "title"), "My <i>title</i>");
  const facts = await text(page, "facts");
  assert.equal(facts, "1.5 s · night run");
  await page.click("#details-open");
  const details = await text(page, "details");
  for (const part of ["1.5 s, exactly 1,500,000,000 ns", "perf record -g", "cycles", "box <b>"]) assert.ok(details.includes(part), `${part} in ${details}`);
  assert.match(details, /fg-render \d/);
});

test("dark and light follow the system until one chooses", async () => {
  const path = makePage(small);
  const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await openPage(path, { colorScheme: "dark" });
  const light = await openPage(path, { colorScheme: "light" });
  assert.notEqual(await back(dark), await back(light));
  const lightColour = await back(light);
  await dark.keyboard.press("t");
  assert.equal(await back(dark), lightColour);
  assert.match(await address(dark), /theme=light/);
});

test("a page that is open follows the system", inChromium("its protocol cannot change the system's colours"), async () => {
  const page = await view(small, { colorScheme: "light" });
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.emulateMedia({ colorScheme: "dark" });
  await settled(page);
  assert.notEqual(await back(), light);
});

test("without stacks the page says so", async () => {
  const page = await openPage(makeEmptyPage(""));
  assert.match(await text(page, "loading"), /no stacks/);
});
