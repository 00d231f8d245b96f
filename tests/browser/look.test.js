// The first look: header, colours, words.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, draw, fixture, frames, run, save, show, small } from "./picture.js";
import { address, boxes, clickOn, colourOf, coloursOf, openPage, rows, settled, text, view } from "./viewer.js";

afterEach(allQuiet);

test("the hottest functions of waits are those that wait, not the tracer", async () => {
  const page = await view("main;read;schedule_[k];__schedule_[k];__traceiter_sched_switch_[k];bpf_trace_run4_[k];bpf_prog_9_[k] 60\nmain;lock;schedule_[k];sched_switch_[k] 30\nmain;schedule_[k] 10\n");
  assert.match(await text(page, "answer"), /^Hottest selfread 60\.0%lock 30\.0%schedule 10\.0%$/);
});

/** The contrast of two colours, `rgb(…)` or `#rrggbb`, by the rules of the WCAG. */
function contrast(...colours) {
  const [a, b] = colours.map((colour) => {
    const parts = colour.startsWith("#") ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/[\d.]+/g).slice(0, 3).map(Number);
    const [r, g, b_] = parts.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b_ + 0.05;
  });
  return Math.max(a, b) / Math.min(a, b);
}

test("the header names the three hottest functions, and leads to them", async () => {
  const page = await view("# command: ./app\nmain;a 50\nmain;b 30\nmain;c;a 10\nmain;c;d 7\nmain;c 3\n");
  assert.equal(await text(page, "answer"), "Hottest selfa 60.0%b 30.0%d 7.0%");
  await page.click('#answer button:has-text("b")');
  await settled(page);
  assert.match(await address(page), /view=butterfly&of=b/);
});

test("what weighed too little to be kept is not among the hottest functions", async () => {
  const page = await view("[other] 50\nmain;a 30\nmain;b 15\nmain;b;[other] 5\n");
  assert.equal(await text(page, "answer"), "Hottest selfa 30.0%b 15.0%55.0% in [other]");
  await page.click("#tab-butterfly");
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.flame.model.names.texts[globalThis.flame.model.focus]), "a");
  await page.click("#tab-table");
  assert.deepEqual((await rows(page)).map(([name, self]) => [name, self]), [["a", "30"], ["b", "15"], ["main", "0"], ["[other]", "55"]]);
  assert.doesNotMatch(await text(await view("main;a 30\n"), "answer"), /other/);
  const alone = await view("[other] 50\n");
  assert.equal(await text(alone, "answer"), "Hottest self100.0% in [other]");
});

test("a comparison begins with the verdict and the legend", async () => {
  const page = await view("# unit: ns\nm;grew 10001 30002\nm;shrank 40003 20001\nm;same 25000 25000\nm;new 0 15000\nm;tiny 1 1\n");
  assert.equal(await text(page, "title"), "Comparison");
  assert.equal(await text(page, "answer"), "slower: grew +20 µs (+200%); faster: shrank -20 µs (-50%); new: new +15 µs; whole 75 → 90 µs  ~ (+20%)  (p=0.046 n=1+1)");
  assert.equal(await text(page, "legend"), "+ slower− fastermay be noisenewgonesame");
  const bytes = await view("# unit: bytes\nm;a 100 100\nm;b 7 7\n");
  assert.match(await text(bytes, "answer"), /^no change; whole 107 → 107 B/);
  assert.match(await text(bytes, "legend"), /^\+ more− less/);
  assert.equal(await text(await view(small), "legend"), "");
});

test("colours have a meaning by default: module, package, kind", async () => {
  const mode = (page) => page.evaluate(() => globalThis.flame.model.state.colour);
  assert.equal(await mode(await view("rustc::main;llvm::run 5\nrustc::main;llvm::opt 5\nstd::io 5\n", {})), "module");
  assert.equal(await mode(await view("main;x_[k] 5\nmain;y_[j] 5\nmain 5\n")), "kind");
  assert.equal(await mode(await view(small)), "function");
  assert.equal(await mode(await view(small, {}, "--colors", "java")), "name");
  assert.equal(await mode(await view("a 1 2\n")), "change");
  const go = await openPage(save("html", run("fg-render", "", "--format", "html", fixture("pprof/cpu/input.pb.gz"))));
  assert.equal(await mode(go), "package");
});

test("packages are told from names of many languages", async () => {
  const names = [["llvm::run", "llvm"], ["<alloc::vec::Vec<T> as X>::f", "alloc"], ["void shop::g<int>(x)", "shop"], ["encoding/json.(*decodeState).object", "encoding/json"],
    ["github.com/x/y.F", "github.com/x/y"], ["Ljava/util/HashMap;::getNode", "java/util"], ["java.util.HashMap.get", "java.util"], ["runtime.mallocgc", "runtime"], ["fib (orders.py:15)", "orders.py"],
    ["main.<locals>.f (orders.py:15)", "orders.py"], ["parse (/app/node_modules/@a/b/i.js:1)", "@a/b"], ["thread (7): calc (1)", ""], ["vfs_read_[k]", "[kernel]"], ["main", ""], ["[libc.so.6]", "[libc.so.6]"],
    ["[libstdc++.so.6+0xa2a40]", "[libstdc++.so.6]"], ["Orders$Tiered.price", "Orders"], ["Orders.lambda$main$2", "Orders"], ["Orders.<init>", "Orders"],
    ["JS:*handle /srv/shop/app.js:12:3", "/srv/shop/app.js"], ["LazyCompile:~ /srv/app.js:1:1", "/srv/app.js"], ["Builtins_Call", "Builtins"], ["JS:^zlibBuffer node:zlib:94:20", "node:zlib"], ["main.main.func2.1", "main"]];
  const { packageInName } = await import("../../src/render/html/page/colour.js");
  for (const [name, wanted] of names) if (!name.endsWith("_[k]")) assert.equal(packageInName(name), wanted, name);
});

test("heavy modules never share a colour, the whole is neutral", async () => {
  const folded = Array.from({ length: 8 }, (_, n) => `lib${n}::f 10\n`).join("");
  const page = await view(folded, { hash: "#colour=module" });
  const colours = await coloursOf(page, Array.from({ length: 8 }, (_, n) => `lib${n}::f`));
  assert.equal(new Set(colours).size, 8);
  for (const mode of ["module", "function", "name"]) {
    await page.evaluate((one) => { location.hash = `colour=${one}`; }, mode);
    await settled(page);
    assert.equal(await colourOf(page, ""), "rgb(226, 223, 215)", mode);
  }
});

test("code without a name is grey in the page and in the picture, and so is the kernel", async () => {
  const folded = "main;app::run;[perf-3828.map]_[j];lib::f 10\nmain;[unknown];x::g 10\nmain;app::run;0x7f00a1;y::h 10\nmain;sys::read;vfs_read_[k] 10\n";
  const nameless = ["main;app::run;[perf-3828.map]_[j]", "main;[unknown]", "main;app::run;0x7f00a1"];
  for (const mode of ["module", "package", "function", "name"]) {
    const page = await view(folded, { hash: `#colour=${mode}` });
    assert.deepEqual(await coloursOf(page, nameless), nameless.map(() => "rgb(218, 215, 208)"), mode);
    if (mode === "module") assert.equal(await colourOf(page, "main;sys::read;vfs_read_[k]"), "rgb(205, 194, 181)");
  }
  const drawn = await frames(await show(draw(folded)));
  const fills = drawn.filter(({ name }) => /^(\[perf-|\[unknown|0x)/.test(name)).map(({ fill }) => fill);
  assert.deepEqual(fills, nameless.map(() => "rgb(218, 215, 208)"));
  // The kernel of a recording has a module, whose colour it does not take.
  const perf = await openPage(save("html", run("fg-render", "a 7/7  1.000000:  1 cycles: \n\tffffffff81 do_read ([kernel.kallsyms])\n\t 10 f (/bin/app)\n\n", "--format", "html")), { hash: "#colour=module" });
  assert.equal(await colourOf(perf, "a;f;do_read"), "rgb(205, 194, 181)");
});

test("a thread is of no module, whatever its name looks like", async () => {
  const samples = ["tree/0:pool", "web::io"].map((name, n) => `${name}  7/${8 + n}  1.00${n}000:  1 cycles: \n\t 10 app::f (/bin/app)\n\n`).join("");
  const page = await openPage(save("html", run("fg-render", samples, "--format", "html")), { hash: "#colour=module" });
  assert.deepEqual(await coloursOf(page, ["tree/0:pool", "web::io"]), ["rgb(218, 215, 208)", "rgb(218, 215, 208)"]);
});

test("the legend tells files apart by their ends, and shows all shares", async () => {
  const files = ["threading.py", "json/encoder.py", "json/__init__.py", "email/__init__.py"];
  const folded = files.map((file, n) => `f${n} (/opt/python311/lib/python3.11/${file}:7) ${10 + n}\n`).join("");
  const page = await view(folded, { hash: "#colour=module" });
  assert.equal(await text(page, "legend"), "email/__init__.py 28.26%json/__init__.py 26.09%encoder.py 23.91%threading.py 21.74%");
  const swatches = await page.$$eval("#legend span", (all) => all.map((one) => [one.title, one.querySelector("i").offsetWidth, one.scrollWidth - one.clientWidth]));
  assert.deepEqual(swatches.map(([, width, hidden]) => [width, hidden]), files.map(() => [14, 0]));
  assert.ok(swatches[0][0].endsWith("/lib/python3.11/email/__init__.py"), swatches[0][0]);
});

test("the title is the program with its arguments, without its folder", async () => {
  const page = await view("# command: /home/user/app/bin/orders --in /tmp/x\nmain;a 1\n");
  assert.deepEqual(await page.$eval("#title", (one) => [one.textContent, one.title]), ["orders --in /tmp/x", "/home/user/app/bin/orders --in /tmp/x"]);
  assert.equal(await text(await view("# command: ./app\nmain;a 1\n", {}, "--title", "/api/orders is slow"), "title"), "/api/orders is slow");
});

test("the numbers of the table stand beside the names, however short these are", async () => {
  const at = async (folded) => {
    const page = await view(folded, { hash: "#view=table", viewport: { width: 1440, height: 900 } });
    return page.$eval("#list thead th:nth-child(2)", (one) => one.getBoundingClientRect().left);
  };
  assert.ok(await at("main;parse 6\nmain;read 4\n") < 320);
  assert.ok(await at(`${"long_name".repeat(30)} 6\n`) > 600);
  const long = await view(`main;${"outer::".repeat(20)}inner::find 6\n`, { hash: "#view=table" });
  assert.match((await rows(long))[0][0], /::inner::find$/);
});

test("buttons and links are at least 24 pixels high", async () => {
  const samples = [1, 2, 3].map((n) => `pool  7/${100 + n}  ${(1 + n / 10).toFixed(6)}:  1 cycles: \n\t 10 f (/bin/app)\n\n`).join("");
  for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
    const page = await view(samples, { viewport, hash: "#time=0s..0.15s&q=f" });
    const small = await page.$$eval("button, a, select, input", (all) => all.filter((one) => one.offsetWidth && !one.closest("#time-labels") && one.offsetHeight < 24).map((one) => `${one.id || one.textContent} ${one.offsetHeight}`));
    assert.deepEqual(small, [], JSON.stringify(viewport));
    const [tools, axis] = await page.evaluate(() => [document.getElementById("time-tools").getBoundingClientRect().right, document.getElementById("time-rows").getBoundingClientRect().left]);
    assert.ok(tools <= axis, `${tools} is beyond ${axis}`);
  }
});

test("every label of the page has a contrast of 4.5", async () => {
  const folded = Array.from({ length: 60 }, (_, n) => `m;lib${n % 20}::f${n}_[${"kijw"[n % 4]}] 10\n`).join("");
  for (const colorScheme of ["light", "dark"]) {
    for (const hash of ["#colour=name", "#colour=module", "#colour=kind", "#colour=function", "#colour=name&q=f1", "#colour=module&zoom=m;lib1::f1_[i]"]) {
      const page = await view(folded, { colorScheme, hash, init: () => {
        const { fillText } = CanvasRenderingContext2D.prototype;
        const { getContext } = HTMLCanvasElement.prototype;
        HTMLCanvasElement.prototype.getContext = function (kind, options) {
          return getContext.call(this, kind, { ...options, willReadFrequently: true });
        };
        window.inks = [];
        CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...rest) {
          const { a } = this.getTransform();
          const [r, g, b] = this.getImageData(Math.round((x - 3) * a), Math.round((y - 7) * a), 1, 1).data;
          window.inks.push([words, this.fillStyle, `rgb(${r}, ${g}, ${b})`]);
          fillText.call(this, words, x, y, ...rest);
        };
      } });
      const inks = await page.evaluate(() => window.inks);
      assert.ok(inks.length > (hash.includes("zoom") ? 1 : 2), hash);
      for (const [words, ink, back] of inks) assert.ok(contrast(ink, back) >= 4.5, `${colorScheme} ${hash} ${words}: ${ink} on ${back}`);
      await page.context().close();
    }
  }
});

test("every label of the SVG has a contrast of 4.5, in all palettes and themes", async () => {
  const folded = Array.from({ length: 40 }, (_, n) => `m;lib${n % 20}::f${n}_[${"kijw"[n % 4]}] 10\n`).join("");
  for (const colorScheme of ["light", "dark"]) {
    for (const palette of ["hot", "mem", "io", "red", "blue", "purple", "aqua", "java", "chain"]) {
      const page = await show(draw(folded, "--colors", palette), { colorScheme });
      const inks = await page.evaluate(() => [...document.querySelectorAll("#frames .frame")].filter((g) => g.querySelector("text")?.textContent)
        .map((g) => [getComputedStyle(g.querySelector("text")).fill, getComputedStyle(g.querySelector("rect")).fill, getComputedStyle(g.querySelector("rect")).fillOpacity]));
      assert.ok(inks.length > 20);
      for (const [ink, back, opacity] of inks) assert.ok(opacity === "1" && contrast(ink, back) >= 4.5, `${colorScheme} ${palette}: ${ink} on ${back} at ${opacity}`);
      await page.context().close();
    }
  }
});

test("inputs and buttons have edges of 3 to 1", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await view(small, { colorScheme });
    await page.click("#refine-open");
    const edges = await page.evaluate(() => ["#query", "#only", "#refine-open", "#details-open", "#refine input", "#refine"].map((one) => {
      const { borderTopColor } = getComputedStyle(document.querySelector(one));
      return [one, borderTopColor, getComputedStyle(document.body).backgroundColor];
    }));
    for (const [one, edge, back] of edges) assert.ok(contrast(edge, back) >= 3, `${colorScheme} ${one}: ${edge} on ${back}`);
  }
});

test("a line says how to begin, until somebody has", async () => {
  const page = await view(small);
  assert.match(await page.innerText("#hint"), /^Hover to read · click to zoom · right-click for more · \/ searches · \? /);
  await clickOn(page, "main");
  assert.ok(await page.isHidden("#hint"));
  const phone = await view(small, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } });
  assert.match(await phone.innerText("#sheet"), /^Tap to read/);
});

test("the table has numbers, and no bars", async () => {
  const page = await view(small, { hash: "#view=table" });
  assert.equal(await page.locator("#list .meter").count(), 0);
  assert.equal((await boxes(page)).length, 0);
});

test("the SVG keeps the palette that users of flamegraph.pl expect", async () => {
  const page = await show(draw(small));
  for (const { fill } of await frames(page)) {
    const [r, g, b] = fill.match(/\d+/g).map(Number);
    assert.ok(r >= 205 && g <= 230 && b <= 55, fill);
  }
});
