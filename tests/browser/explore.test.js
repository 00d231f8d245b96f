// Searching, refining, comparing, saving: each against what the other programs say.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, inChromium, large, run, small, some, travel } from "./picture.js";
import { address, box, boxes, clickOn, coloursOf, refine, rows, saved, savedStacks, search, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** The stacks and the weight that `fg-filter -c` keeps. */
function counted(folded, ...options) {
  const [, stacks, weight] = /kept stacks (\d+) weight (\S+)/.exec(run("fg-filter", folded, "-c", ...options).toString());
  return { stacks: Number(stacks), weight: Number(weight) };
}

test("a search counts what fg-filter counts", async () => {
  const profile = large(800);
  const page = await view(profile);
  const total = counted(profile, "").weight;
  const patterns = ["aa", "AA", "^g+::", "operator\\(\\)<T>$", "(b|dd+)$", "[ce]+_\\[k\\]$", "nosuch", "."];
  for (const [pattern, matchCase] of patterns.flatMap((one) => [[one, false], [one, true]])) {
    await search(page, pattern);
    if ((await page.getAttribute("#case", "aria-pressed")) !== String(matchCase)) await page.click("#case");
    await settled(page);
    const one = pattern.replace(/^\^(.*)$/, "(^|;)$1").replace(/\$$/, "(;|$)");
    let wanted = { stacks: 0, weight: 0 };
    try {
      wanted = counted(profile, ...(matchCase ? ["-s"] : []), one);
    } catch (error) {
      assert.equal(error.status, 1);
    }
    const line = await text(page, "found");
    if (!wanted.stacks) {
      assert.ok(line.startsWith("No match"), line);
      continue;
    }
    assert.ok(line.startsWith(`Matched: ${((100 * wanted.weight) / total).toFixed(2)}% · self `), `${pattern}: ${line}`);
    assert.ok(line.includes(`· ${wanted.stacks.toLocaleString("en")} stack`), `${pattern}: ${line}, not ${wanted.stacks}`);
    assert.ok(line.endsWith(` · ${wanted.weight.toLocaleString("en")}`), `${pattern}: ${line}`);
  }
});

test("self shares, next and previous match, ticks, only what matches", async () => {
  const page = await view(small);
  await search(page, "^eval$");
  assert.match(await text(page, "found"), /^Matched: 20\.00% · self 0\.00% · 2 stacks · 200$/);
  await page.click("#case");
  await search(page, "^(lex|read)$");
  assert.match(await text(page, "found"), /^Matched: 30\.00% · self 30\.00%/);
  assert.deepEqual(await coloursOf(page, ["main;parse;lex"]), ["rgb(230, 0, 230)"]);
  const names = [];
  for (const key of ["n", "n", "n", "N"]) {
    await page.locator("#frames").focus();
    await page.keyboard.press(key);
    await settled(page);
    names.push((await text(page, "chosen")).split(":")[0]);
  }
  assert.deepEqual(names, ["lex", "read", "lex", "read"]);
  await page.click("#only");
  await settled(page);
  assert.deepEqual((await savedStacks(page)).toString(), "main;parse;lex 200\nmain;parse;lex;read 100\n");
  assert.match(await text(page, "chips"), /fg-filter --focus '\(\?-i\)\^\(lex\|read\)\$' out\.folded/);
});

test("a bad expression says so, and nothing else happens", async () => {
  const page = await view(small);
  await search(page, "(");
  assert.match(await text(page, "found"), /Unterminated group|unterminated parenthetical/);
  assert.equal(await page.getAttribute("#query", "aria-invalid"), "true");
  await search(page, "gc");
  assert.equal(await page.getAttribute("#query", "aria-invalid"), "false");
  await page.click("#refine-open");
  await page.fill("#refine input", "[");
  await page.click('#refine >> text="Hide"');
  assert.match(await text(page, "refine"), /unterminated/i);
  assert.ok(await page.isHidden("#chips"));
});

const names = [
  "std::vector<int, std::allocator<int> >::at", "Vec::<T>::new", "<Vec<T> as Into<U>>::into", "foo<a>::operator< <b>", "a::operator<<<int>",
  "f<A->B>", "Foo.<init>", "<module> (x.py)", "map<int", "g<(1)>_[i]", "h<a(b>c)", "operator<=><int>",
];

test("steps of refining give what fg-filter gives", async () => {
  const profiles = [
    small, large(500),
    "a;b;a;b;c 2\na;b;b;b;c 1\na;b;c 4\nb;a 1\n",
    names.map((name, n) => `m;${name};x ${n + 1}\nm;${name};x;y 3\n`).join(""),
    "a;b 1.5\na;bb 0.25\nc 2\n",
    "a;b 3 4\na;c 0 7\nd 5 0\na;b;b 1 1\n",
    "f (a.py:12);x.py:g:3 1\nf (a.py:14);x.py:g:4 2\nT0:7;h file.js:10:5_[j] 4\nT0:7;h file.js:11:5_[j] 8\na::b:1;c.d::12 16\n",
  ];
  const steps = [
    [["Focus", "b"]], [["Ignore", "^(a|lex)"]], [["Hide", "a+"]], [["Hide", "."]], [["Show from", "b|eval"]],
    [["Collapse recursion"]], [["Shorten templates"]], [["Strip lines"]], [["Strip lines"], ["Shorten templates"]],
    [["Hide", "^b"], ["Collapse recursion"], ["Ignore", "gc"]], [["Show from", "[ab]"], ["Focus", "b"], ["Hide", "^a$"]],
    [["Rename", "s/^([a-c])/<$1>/"]], [["Rename", "s|(?<one>[ab])|${one};$$|g"]], [["Rename", "s/A|B/\\//gi"], ["Focus", "/"]], [["Rename", "s/^[^a].*$/x/"], ["Hide", "x"]],
  ];
  const always = { "Collapse recursion": ["--recursion", "direct"], "Shorten templates": ["--strip", "templates"], "Strip lines": ["--strip", "line"] };
  const options = { Focus: "--focus", Ignore: "--ignore", Hide: "--hide", "Show from": "--show-from", Rename: "--rename" };
  for (const [n, profile] of profiles.entries()) {
    const page = await view(profile);
    for (const chips of some(steps, 3, n)) {
      const words = [];
      for (const [label, value] of chips) {
        await refine(page, label, value);
        words.push(...(always[label] ?? [options[label], value]));
      }
      let wanted;
      try {
        wanted = run("fg-filter", profile, ...words);
      } catch (error) {
        wanted = error.stdout;
      }
      const lines = (text_) => text_.toString().split("\n").sort();
      assert.deepEqual(lines(await savedStacks(page)), lines(wanted), words.join(" "));
      // The command that is shown does just that.
      const shown = await page.evaluate(() => document.querySelector("#chips code").title);
      assert.ok(shown.startsWith("fg-filter --") && shown.endsWith(" out.folded"), shown);
      await page.evaluate(() => { location.hash = ""; });
      await page.waitForFunction(() => document.getElementById("chips").hidden);
    }
    await page.context().close();
  }
});

test("chips are taken back one by one", async () => {
  const page = await view(small);
  await refine(page, "Hide", "eval");
  await refine(page, "Ignore", "idle");
  assert.equal((await box(page, "all")).weight, 800);
  await page.click('[aria-label="Remove Hide: eval"]');
  await settled(page);
  assert.ok((await boxes(page)).some((one) => one.name === "eval"));
  await page.click('[aria-label="Remove Ignore: idle"]');
  await settled(page);
  assert.equal((await box(page, "all")).weight, 1000);
  assert.ok(await page.isHidden("#chips"));
  await travel(page, "back");
  await settled(page);
  assert.equal((await box(page, "all")).weight, 800);
});

test("each step has its command, the last one is undone, and functions are merged by one name", async () => {
  const page = await view("m;f-1 5\nm;f-2 3\nm;g 2\n");
  await clickOn(page, "m;f-1", { button: "right" });
  await page.click("#menu >> text=Rename or merge");
  assert.equal(await page.inputValue("#refine input"), "s/^f\\-1$/f-1/");
  await page.fill("#refine input", "s/^f-[0-9]$/f/");
  await page.click("#refine >> text=Rename");
  await settled(page);
  assert.equal((await savedStacks(page)).toString(), "m;f 8\nm;g 2\n");
  await refine(page, "Hide", "g");
  assert.deepEqual(await page.$$eval("#chips .chip span", (all) => all.map((one) => one.title.split("\n")[1])),
    ["fg-filter --rename 's/^f-[0-9]$/f/' out.folded", "fg-filter --hide g out.folded"]);
  await page.click("#chips >> text=Undo");
  await settled(page);
  assert.equal((await savedStacks(page)).toString(), "m;f 8\nm;g 2\n");
  await page.click("#refine-open");
  await page.fill("#refine input", "f");
  await page.click("#refine >> text=Rename");
  assert.match(await page.textContent("#refine [role=alert]"), /write s\/R\/TEXT\//);
});

test("the menu of a frame refines by its very name", async () => {
  const page = await view("m;f(x)* 5\nm;f(x)*y 3\nm;g 2\n");
  await clickOn(page, "m;f(x)*", { button: "right" });
  await page.click("#menu >> text=Hide it");
  await settled(page);
  assert.deepEqual((await savedStacks(page)).toString(), "m 5\nm;f(x)*y 3\nm;g 2\n");
  const shown = await page.evaluate(() => document.querySelector("#chips code").title);
  assert.equal(shown, "fg-filter --hide '^f\\(x\\)\\*$' out.folded");
  const filtered = run("fg-filter", "m;f(x)* 5\nm;f(x)*y 3\nm;g 2\n", "--hide", "^f\\(x\\)\\*$").toString();
  assert.equal(filtered, "m 5\nm;f(x)*y 3\nm;g 2\n");
});

const change = "m;grew 10 30\nm;shrank 40 20\nm;same 25 25\nm;new 0 15\nm;gone 20 0\nm;gone;deep 5 0\n";

test("a differential page opens comparing, by total or self, absolute or in shares", async () => {
  const page = await view(change, {}, "--alpha", "1");
  assert.ok(await page.isVisible("#compare"));
  assert.ok(await page.isHidden("#noise"), "all may be taken for a change");
  const paths = ["m", "m;grew", "m;shrank", "m;same", "m;new"];
  const [m, grew, shrank, same, fresh] = await coloursOf(page, paths);
  const tone = (colour) => {
    const [r, , b] = colour.match(/\d+/g).map(Number);
    return Math.sign(r - b);
  };
  assert.deepEqual([m, grew, shrank, same, fresh].map(tone), [-1, 1, -1, 0, 1]);
  assert.equal(same, "rgb(255, 255, 255)");
  assert.equal(grew, "rgb(230, 110, 0)");
  assert.equal(shrank, "rgb(50, 120, 220)");
  // m itself did not change at all; all it calls did.
  await page.selectOption("#change", "self");
  await settled(page);
  assert.deepEqual(await coloursOf(page, ["m"]), ["rgb(255, 255, 255)"]);
  await page.selectOption("#change", "total");
  // 100 before, 90 after: what stayed the same has a larger share.
  await page.click("#shares");
  await settled(page);
  const [whole, stayed] = await coloursOf(page, ["m", "m;same"]);
  assert.deepEqual([tone(whole), tone(stayed)], [0, 1]);
  assert.match(await address(page), /as=shares/);
});

test("changes that may be noise are grey, as in the SVG, until one asks for all", async () => {
  const folded = "m;grew 1000 1500\nm;rest 9000 9000\nm;wobbles 500 510\nm;z 1 3\n";
  const svg = run("fg-render", folded).toString();
  const page = await view(folded);
  const paths = ["m;grew", "m;rest", "m;wobbles"];
  const grey = "rgb(208, 208, 208)";
  for (const [n, colour] of (await coloursOf(page, paths)).entries()) {
    const name = paths[n].slice(2);
    const drawn = svg.match(new RegExp(`<title>${name} [^]*?fill="(#[0-9a-f]{6})"`))?.[1];
    assert.equal(colour === grey, drawn === "#d0d0d0", `${name}: ${colour}, ${drawn}`);
  }
  assert.deepEqual((await coloursOf(page, paths)).map((colour) => colour === grey), [false, true, true]);
  const { left, top, width } = await box(page, "m;wobbles");
  await page.mouse.move(left + width / 2, top + 9);
  assert.match(await text(page, "tip"), /the change is not significant/);
  await page.click("#insignificant");
  await settled(page);
  assert.ok(!(await coloursOf(page, paths)).includes(grey));
  assert.match(await address(page), /insignificant=shown/);
  await page.click("#insignificant");
  await page.keyboard.press("5");
  await settled(page);
  const classes = await page.$$eval("#list tbody tr", (all) => all.map((row) => [row.cells[0].textContent, row.cells[5].className]));
  assert.match(Object.fromEntries(classes).grew, /up/);
  assert.match(Object.fromEntries(classes).wobbles, /insignificant/);
});

test("widths are those after, before, or both; what is gone can be reached", async () => {
  const page = await view(change);
  const width = async (path) => {
    const found = await box(page, path);
    return found.width / (await box(page, "all")).width;
  };
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);
  near(await width("m;grew"), 30 / 90);
  near(await width("m;gone"), 0);
  await page.selectOption("#widths", "before");
  await settled(page);
  near(await width("m;grew"), 10 / 100);
  near(await width("m;gone"), 25 / 100);
  near(await width("m;new"), 0);
  await page.selectOption("#widths", "union");
  await settled(page);
  near(await width("m;gone"), 25 / 135);
  near(await width("m;new"), 15 / 135);
  await clickOn(page, "m;gone", { button: "right" });
  await page.keyboard.press("Escape");
  assert.match(await text(page, "chosen"), /^gone: 25 → 0, − gone$/);
});

test("the table of a comparison is sorted by the largest change, the tooltip says both", async () => {
  const page = await view(change, { hash: "#view=table" });
  const shown = await rows(page);
  assert.deepEqual(shown[0].map((cell) => cell.trim()), ["gone", "0", "0", "2", "−20", "−25"]);
  assert.deepEqual(shown.map((row) => Math.abs(Number(row[5].replace("−", "-")))), [25, 20, 20, 15, 10, 5, 0]);
  await page.keyboard.press("1");
  await settled(page);
  const { left, top, width } = await box(page, "m;grew");
  await page.mouse.move(left + width / 2, top + 9);
  const tip = await text(page, "tip");
  assert.match(tip, /10 → 30/);
  assert.match(tip, /\+200\.0%, \+23\.33 pp/);
});

test("saved stacks are those of the view, byte by byte", async () => {
  const odd = Buffer.concat([Buffer.from("a;\u202eb 3\n"), Buffer.from("a;\xff\xfe 1\n", "latin1"), Buffer.from("c;d e 0.5\n")]);
  const page = await view(odd);
  assert.deepEqual(await savedStacks(page), run("fg-collapse", odd));
  await clickOn(page, "a");
  assert.deepEqual((await savedStacks(page)).toString("latin1").split("\n").length, 3);
  const zoomed = await view(small, { hash: "#zoom=main;run" });
  assert.deepEqual((await savedStacks(zoomed)).toString().split("\n").sort(), run("fg-filter", small, "^main;run(;|$)").toString().split("\n").sort());
});

test("pictures are saved as PNG and SVG", async () => {
  const page = await view(small + "x;<b>&\"\u0001 1\n");
  for (const [label, check] of [
    ["Picture, PNG", (bytes) => assert.equal(bytes.subarray(1, 4).toString(), "PNG")],
    ["Picture, SVG", (bytes) => assert.match(String(bytes), /font-weight="bold">Profile<\/text>/)],
    ["Picture, SVG", async (bytes) => {
      const problem = await page.evaluate((one) => {
        const parsed = new DOMParser().parseFromString(one, "image/svg+xml");
        return parsed.querySelector("parsererror")?.textContent ?? `${parsed.querySelectorAll("rect").length}`;
      }, bytes.toString());
      assert.match(problem, /^1[0-9]$/);
    }],
  ]) {
    await check(await saved(page, label));
  }
});

test("the words above a narrow picture stand in as many lines as they need", async () => {
  const folded = Array.from({ length: 8 }, (_, n) => `library_number_${n}::f ${20 - n}\n`).join("");
  const page = await view(`# command: ${"word ".repeat(30)}\n${folded}`, { viewport: { width: 390, height: 700 }, hash: "#colour=module" });
  const svg = String(await saved(page, "Picture, SVG"));
  const texts = [...svg.matchAll(/<text x="([\d.]+)" y="(\d+)"[^>]*>([^<]*)<\/text>/g)].map(([, x, y, words]) => [Number(x), Number(y), words]);
  const legend = texts.filter(([, , words]) => /^library_number_\d [\d.]+%$/.test(words));
  assert.equal(legend.length, 8);
  assert.ok(new Set(legend.map(([, y]) => y)).size >= 4, JSON.stringify(legend));
  for (const [x, , words] of texts) assert.ok(x + words.length * 6 <= 390, `${x}: ${words}`);
  assert.equal(texts.map(([, , words]) => words).join("").match(/word/g).length, 30);
  const frames_ = [...svg.matchAll(/<title>[^<]*<\/title><rect x="[\d.]+" y="([\d.]+)"/g)].map(([, y]) => Number(y));
  assert.ok(Math.min(...frames_) > Math.max(...legend.map(([, y]) => y)));
});

test("names, stacks and links are copied", async () => {
  const page = await view(small, { permissions: ["clipboard-read", "clipboard-write"] });
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await clickOn(page, "main;run;eval", { button: "right" });
  await page.click("#menu >> text=Copy stack");
  assert.equal(await copied(), "main;run;eval");
  await page.keyboard.press("c");
  await page.waitForFunction(async () => (await navigator.clipboard.readText()) === "eval");
  await page.click("#save-open");
  await page.click("#save >> text=Copy folded stacks");
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("main;idle 200\n"));
  await page.keyboard.press("3");
  await settled(page);
  await clickOn(page, "gc;eval;run", { button: "right" });
  await page.click("#menu >> text=Copy stack");
  assert.equal(await copied(), "run;eval;gc");
});

test("fingers tap, hold, move and stretch", inChromium("its protocol has no fingers"), async () => {
  const page = await view(small, { hasTouch: true, viewport: { width: 800, height: 1000 } });
  const at = async (path) => {
    const { left, top, width } = await box(page, path);
    return [left + width / 2, top + 9];
  };
  await page.touchscreen.tap(...(await at("main;run")));
  await settled(page);
  assert.match(await text(page, "chosen"), /^run:/);
  await page.touchscreen.tap(...(await at("main;run")));
  await settled(page);
  assert.match(await address(page), /zoom=main;run/);
  await travel(page, "back");
  await settled(page);
  const client = await page.context().newCDPSession(page);
  const [x, y] = await at("main");
  const touch = (type, ...points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, py], id) => ({ x: px, y: py, id })) });
  await touch("touchStart", [x - 50, y], [x + 50, y]);
  for (let n = 1; n <= 5; n++) await touch("touchMove", [x - 50 - 20 * n, y], [x + 50 + 20 * n, y]);
  await touch("touchEnd");
  await settled(page);
  const wide = (await page.evaluate(() => { const { from, to } = globalThis.flame.model.window; return to - from; }));
  assert.ok(wide < 500, `stretched to ${wide} of 1000`);
  await touch("touchStart", [x, y]);
  // The timer of a long press, which began before, has run.
  await page.evaluate(() => new Promise((done) => setTimeout(done, 700)));
  await touch("touchEnd");
  assert.ok(await page.isVisible("#menu"));
});

test("wheel with Ctrl stretches around the pointer, without it scrolls", async () => {
  const page = await view(Array.from({ length: 200 }, (_, n) => Array.from({ length: n + 1 }, (_, d) => `f${d}`).join(";") + " 1\n").join(""));
  const before = await page.evaluate(() => globalThis.flame.stage.box.scrollTop);
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction((old) => globalThis.flame.stage.box.scrollTop < old, before);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await page.waitForFunction(() => { const { from, to } = globalThis.flame.model.window; return to - from < 150 && from > 10; });
});

test("the key s takes line numbers off names, so that before and after are one function", async () => {
  const page = await view("f (a.py:12) 3 0\nf (a.py:14) 0 4\n");
  await page.locator("#frames").focus();
  await page.keyboard.press("s");
  assert.equal((await savedStacks(page)).toString().trim().split("\n").at(-1), "f (a.py) 3 4");
  await page.keyboard.press("s");
  assert.equal((await savedStacks(page)).toString().trim().split("\n").length, 2);
  await page.context().close();
});

test("an expression that takes forever elsewhere hangs no page", async () => {
  const page = await view(small.replaceAll("lex", "lexical_analysis_of_a_very_long_name_that_goes_on_and_on"), { hash: `#q=${encodeURIComponent("(\\w+)+;;")}` });
  assert.match(await text(page, "found"), /^No match/);
  await search(page, "(?:lex(?:i|ical)*_?)+analysis");
  assert.match(await text(page, "found"), /^Matched: 30\.00%/);
});
