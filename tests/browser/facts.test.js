// The facts on the page: units, warnings, details, threads, kinds and modules.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, fixture, run, save } from "./picture.js";
import { box, boxes, colourOf, openPage, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

/** The page of a recording among the fixtures. */
const pageOf = (path) => openPage(save("html", run("fg-render", "", "--format", "html", fixture(path))));

const facts = [
  "# unit: ns", "# event: cpu-clock:u", "# period: 2000000 ns", "# samples: 162 samples", "# command: ./app --its args",
  "# host: box", "# start: 2026-11-21T10:00:00Z", "# duration: 8.6 s", "# producer: perf 6.1.0", "# comment: <i>night</i> run",
];
const recorded = `${facts.join("\n")}\napp;main;read_[k] 24000000\napp;main;work 300000000\n`;

async function tipOf(page, path) {
  const { left, top, width } = await box(page, path);
  await page.mouse.move(left + width / 2, top + 9);
  return text(page, "tip");
}

test("title, line and details are the recording's facts", async () => {
  const page = await view(recorded);
  assert.equal(await page.title(), "./app --its args");
  assert.equal(await text(page, "title"), "./app --its args");
  assert.equal(await text(page, "facts"), "324 ms CPU in 8.6 s · 162 samples · cpu-clock:u · 2026-11-21");
  await page.click("#details-open");
  const details = await text(page, "details");
  for (const part of ["Hostbox", "Producerperf 6.1.0", "Comment<i>night</i> run", "A sample weighs2 ms", "Start2026-11-21 10:00:00 UTC",
    "Total324 ms (162 samples), exactly 324,000,000 ns", "Frames4", "Functions4", "Written byfg-render"]) {
    assert.ok(details.includes(part), `${part} in ${details}`);
  }
  assert.ok(await page.isHidden("#warnings"));
});

test("weights are scaled, with the samples", async () => {
  const page = await view(recorded);
  assert.match(await tipOf(page, "app;main;work"), /Total300 ms \(150 samples\), 92\.59%/);
  await page.keyboard.press("5");
  await settled(page);
  assert.match(await text(page, "list"), /300 ms/);
  await page.fill("#query", "work");
  await page.waitForFunction(() => /300 ms \(150 samples\)/.test(document.getElementById("found").textContent));
});

test("nothing is called samples unless it is", async () => {
  const page = await view("a;b 3\na 1\n");
  assert.equal(await text(page, "facts"), "4");
  assert.match(await tipOf(page, "a;b"), /Total3, 75\.00%/);
  await page.click("#details-open");
  assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /sample/i);
});

test("warnings are in sight, all of them in the details", async () => {
  const page = await view("# warning: half of the frames have no symbols\n# warning: 12 stacks are cut\na 1\n");
  assert.equal(await text(page, "warnings"), "⚠ half of the frames have no symbols (and 1 more)");
  await page.click("#warnings");
  assert.ok(await page.isVisible("#details"));
  assert.match(await text(page, "details"), /^Warningshalf of the frames have no symbols12 stacks are cut/);
});

test("a comparison has the facts of both sides", async () => {
  const page = await view("# columns: before, after\n# unit: ns\n# before.command: ./old\n# after.command: ./new\n# before.host: here\n# after.host: there\n# after.warning: 3 stacks are cut\na 94000000 156000000\n");
  assert.equal(await page.title(), "./old → ./new");
  assert.equal(await text(page, "facts"), "before 94 ms · after 156 ms");
  assert.equal(await text(page, "warnings"), "⚠ after: 3 stacks are cut");
  await page.click("#details-open");
  const details = await text(page, "details");
  assert.match(details, /Before.*\.\/old.*here.*After.*\.\/new.*there/s);
  await page.keyboard.press("Escape");
  assert.match(await tipOf(page, "a"), /94 ms → 156 ms/);
});

test("functions are no threads", async () => {
  for (const page of [await pageOf("pprof/heap/input.pb.gz"), await view("runtime.main;main.f 3\nruntime.goexit 2\n"), await view("main;a 1\nstart_thread;b 2\n")]) {
    assert.ok(await page.isHidden("#threads-open"));
    await page.context().close();
  }
});

test("threads are told by labels, by their own frames, by the producer", async () => {
  for (const [folded, labels] of [
    ["# labels: time, thread\ntime=000000.000s;thread=io;a 3\ntime=000000.000s;thread=main;a 1\ntime=000001.000s;thread=main;b 1\n", ["io", "main"]],
    ["P7;T0:9;main;f 3\nP7;T0:8;g 5\n", ["P7 T0:8", "P7 T0:9"]],
    ["process 7:\"py\";thread (9): pool;f 1\nprocess 7:\"py\";main 4\n", ["process 7:\"py\"", "process 7:\"py\" thread (9): pool"]],
    ["sh-20/21;main 2\nperl-20/22;main 1\n", ["sh-20/21", "perl-20/22"]],
    ["# producer: fg-record 0.1.0\nsh;f 2\ncc1;g 1\n", ["sh", "cc1"]],
  ]) {
    const page = await view(folded);
    assert.equal(await text(page, "threads-open"), "All threads");
    await page.click("#threads-open");
    assert.deepEqual(await page.locator("#threads label span:first-of-type").allTextContents(), labels);
    await page.locator("#threads label input").last().check();
    await settled(page);
    const command = (await text(page, "chips")).replace(/Copy$/, "");
    const label = /--with-label (\S+)/.exec(command);
    const selection = label ? ["--with-label", label[1]] : ["-e", /-e '?(.*?\(;\|\$\))'? out/.exec(command)[1].replaceAll("'\\''", "'")];
    const kept = /weight (\S+)/.exec(run("fg-filter", folded, "-c", ...selection).toString().split("kept")[1])[1];
    assert.equal(String((await box(page, "all")).weight), kept, command);
    await page.context().close();
  }
});

test("the values of a label can be chosen", async () => {
  const page = await view("# labels: time, endpoint\ntime=000000.000s;endpoint=/api;a 3\ntime=000000.000s;endpoint=;gc 1\ntime=000001.000s;endpoint=/api;b 2\ntime=000001.000s;endpoint=/home;b 2\n");
  assert.equal(await text(page, "threads-open"), "endpoint: all");
  await page.click("#threads-open");
  assert.match(await text(page, "threads"), /^endpoint/);
  assert.deepEqual(await page.locator("#threads label span:first-of-type").allTextContents(), ["/api", "/home", "no endpoint"]);
  await page.locator("#threads label input").first().check();
  await settled(page);
  assert.equal(await text(page, "threads-open"), "endpoint: 1");
  assert.equal((await box(page, "all")).weight, 5);
});

test("first frames that may be either are called so", async () => {
  const page = await view("nginx;a 3\nbash;c 10\n");
  assert.equal(await text(page, "threads-open"), "All first frames");
  await page.click("#threads-open");
  assert.match(await text(page, "threads"), /does not say whether its first frames are threads or functions/);
  await page.check('#threads label:has-text("nginx") input');
  await settled(page);
  assert.equal((await box(page, "all")).weight, 3);
});

test("kinds and modules are those of the recording, and survive the page", async () => {
  const page = await pageOf("pprof/cpu/input.pb.gz");
  const known = () => page.evaluate(() => {
    const { names } = globalThis.flame.model;
    return names.places && [...names.texts.keys()].filter((id) => names.places.moduleOf[id] > 0).map((id) => [names.texts[id], names.places.modules[names.places.moduleOf[id]]]);
  });
  const modules = await known();
  assert.ok(modules?.length, "the recording has modules");
  await page.click("#colours-open");
  await page.click('#colours button:has-text("Module")');
  assert.ok((await text(page, "colours")).includes(modules[0][1]));
  await page.keyboard.press("Escape");
  const colours = new Map();
  for (const one of (await boxes(page)).filter((frame) => frame.inSight && frame.width > 20 && frame.path)) {
    const module = modules.find(([name]) => name === one.name)?.[1];
    if (!module) continue;
    const colour = await colourOf(page, one.path);
    assert.equal(colours.get(module) ?? colour, colour, `${one.name} of ${module}`);
    colours.set(module, colour);
  }
  assert.ok(colours.size > 0);
});

test("a colouring whose data is missing is disabled and says why", async () => {
  const page = await view("a;b 1\na;c 2\n", { hash: "#colour=kind" });
  assert.equal(await colourOf(page, "a;b"), await colourOf(page, "a;c"));
  await page.click("#colours-open");
  assert.match(await text(page, "colours"), /does not say which frames are kernel/);
  assert.match(await text(page, "colours"), /does not say which module/);
  assert.match(await text(page, "colours"), /do not begin with a package/);
  for (const [label, disabled] of [["Module", true], ["Package", true], ["Kind", true], ["Function", false], ["Hot", false]]) {
    assert.equal(await page.isDisabled(`#colours button:text-is("${label}")`), disabled, label);
  }
  await page.keyboard.press("Escape");
  await settled(page);
  assert.equal(await colourOf(page, "a;b"), await colourOf(page, "a;c"));
});

test("annotations tell kinds where there are no places", async () => {
  const page = await view("m;x_[k] 5\nm;y_[i] 5\nm;z_[j] 5\n", { hash: "#colour=kind" });
  await page.click("#colours-open");
  assert.match(await text(page, "colours"), /kernelinlinedcompiled at run timenot known/);
});
