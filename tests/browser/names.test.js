// Names where there is little room: on narrow frames, in the line of the hottest functions, beside the time line.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { shorterForms } from "../../src/render/html/page/short.js";
import { allQuiet } from "./picture.js";
import { text, view } from "./viewer.js";

afterEach(allQuiet);

/** The words that a page draws on frames. */
async function drawnWords(folded, ...options) {
  const page = await view(folded, { init: () => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.words = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (words, ...rest) {
      window.words.add(words);
      fillText.call(this, words, ...rest);
    };
  } }, ...options);
  return page.evaluate(() => [...window.words]);
}

test("a frame without room for its name shows a shorter form of it, not the beginning of its package", async () => {
  const folded = [
    "java.util.concurrent.ThreadPoolExecutor$Worker.run 12",
    "std::vector<std::basic_string<char, std::char_traits<char> > >::push_back 12",
    "encoding/json.(*decodeState).object 8",
    "work (/usr/lib/python3.11/concurrent/futures/thread.py:58) 16",
    "plain_function_with_a_name_that_is_far_too_long 5",
    "rest 47",
  ].join("\n") + "\n";
  const words = await drawnWords(folded);
  for (const wanted of ["work (thread.py:58)", "rest"]) assert.ok(words.includes(wanted), `${wanted}: ${words}`);
  assert.ok(words.some((word) => /^(std::)?vector::push_back$/.test(word)), String(words));
  assert.ok(words.some((word) => /^(ThreadPoolExecutor\$Worker\.)?run$/.test(word)), String(words));
  assert.ok(words.some((word) => /^(\(\*decodeState\)\.)?object$/.test(word)), String(words));
  assert.ok(words.some((word) => /^plain_.*…$/.test(word)), String(words));
  const cut = await drawnWords(folded, "--truncate-text-left");
  assert.ok(cut.some((word) => /^….*Worker\.run$/.test(word)), String(cut));
  const compared = await drawnWords(folded.replace(/ (\d+)\n/g, " $1 $1\n").replace("12 12", "2 12"));
  assert.ok(compared.some((word) => /^\+ (ThreadPoolExecutor\$Worker\.)?run$/.test(word)), String(compared));
});

test("shorter forms of names keep what tells functions apart", () => {
  for (const [name, ...forms] of [
    ["void java.util.Formatter.print(java.util.Locale, int)", "void java.util.Formatter.print(java.util.Locale, int)", "java.util.Formatter.print", "util.Formatter.print", "Formatter.print", "print"],
    ["<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter", "<alloc::vec::Vec as core::iter::FromIterator>::from_iter", "Vec::from_iter", "from_iter"],
    ["v8::(anonymous namespace)::Invoke", "v8::(anonymous namespace)::Invoke", "(anonymous namespace)::Invoke", "Invoke"],
    ["net/http.(*conn).serve", "net/http.(*conn).serve", "http.(*conn).serve", "(*conn).serve", "serve"],
    ["JSONDecoder.raw_decode (json/decoder.py:353)", "JSONDecoder.raw_decode (decoder.py:353)", "JSONDecoder.raw_decode", "raw_decode"],
    ["JS:*handle /srv/shop/app.js:12:3", "JS:*handle app.js:12:3"],
    ["⋯ 3: std::thread::_Invoker<int>::run … core::fmt::write", "⋯ 3: std::thread::_Invoker::run … core::fmt::write", "⋯ 3: run … write", "⋯ 3"],
    ["Builtins_ArrayTimSort", "Builtins_ArrayTimSort", "ArrayTimSort"],
    // Alone these would say nothing, or something else.
    ["shop::handle::{{closure}}", "shop::handle::{{closure}}", "handle::{{closure}}"],
    ["main.main.func2.1", "main.main.func2.1", "main.func2.1"],
    ["memcpy.part.0.cold", "memcpy.part.0.cold"],
    ["libc.so.6", "libc.so.6"],
    ["./run.sh", "./run.sh"],
    ["operator new", "operator new"],
    ["operator()", "operator()"],
    ["(garbage collector)", "(garbage collector)"],
    ["a b c", "a b c"],
  ]) assert.deepEqual(shorterForms(name), forms, name);
  assert.deepEqual(shorterForms("a::".repeat(5000)), []);
});

test("hostile names are shortened at once", () => {
  for (const part of ["(", "()", "<", "a::", "a.", " ", "a ", "/", " (/", "[", ":1"]) {
    for (const name of [part.repeat(1999 / part.length), ` (${part.repeat(1990 / part.length)}:1)`]) assert.ok(shorterForms(name).length < 1000, part);
  }
});

test("where nearly all ends in one function, the header names its callers", async () => {
  const page = await view([
    "main;read;futex;schedule 50", "main;sleep;nap;schedule 35", "main;poll;schedule 10", "main;compute 5",
  ].join("\n") + "\n");
  assert.equal(await text(page, "answer"), "Hottest selfschedule 95.0%called fromfutex 50.0%nap 35.0%poll 10.0%");
  // Callers that differ in their templates only are one, and what has one caller is skipped.
  const heap = await view([
    "main;load;grow<int>;allocate<int>;operator new 60", "main;parse;grow<char>;allocate<char>;operator new 40",
  ].join("\n") + "\n");
  assert.equal(await text(heap, "answer"), "Hottest selfoperator new 100.0%called fromload 60.0%parse 40.0%");
  // A chain of single callers to the root tells nothing.
  const alone = await view("main;work;burn 99\nmain;work 1\n");
  assert.equal(await text(alone, "answer"), "Hottest selfburn 99.0%work 1.0%");
});

test("what is less than a thousandth is not among the hottest, and long names are shortened", async () => {
  const page = await view("main;a 100000\nmain;b 30000\nmain;c 1\n");
  assert.equal(await text(page, "answer"), "Hottest selfa 76.9%b 23.1%");
  const long = await view("main;std::map<std::basic_string<char, std::char_traits<char> >, std::less<int> >::find 6\nmain;b 4\n");
  assert.equal(await text(long, "answer"), "Hottest selfstd::map::find 60.0%b 40.0%");
});

test("beside the time line the ends of long names are in sight", async () => {
  const sample = (tid, at) => `a-very-long-name-of-a-pool-thread  7/${tid}  ${at.toFixed(6)}:  1 cycles: \n\t 10 f (/bin/app)\n\n`;
  const page = await view([1, 2, 3].map((n) => sample(100 + n, 1 + n / 100)).join(""));
  const ends = await page.$$eval("#time-labels button", (all) => all.slice(0, 3).map((button) => {
    const range = document.createRange();
    const end = button.firstElementChild.lastChild;
    range.selectNodeContents(end);
    const [{ right }, { right: edge }] = [range.getBoundingClientRect(), button.firstElementChild.getBoundingClientRect()];
    return [end.textContent, right <= edge + 1];
  }));
  assert.deepEqual(ends, [[" 101", true], [" 102", true], [" 103", true]]);
});

test("a weight of nothing is 0, without a unit", async () => {
  const page = await view("# unit: ns\nmain;a 7000000\nmain;b 3000000\n", { hash: "#view=table" });
  const cells = await page.$$eval("#list tbody tr", (all) => all.map((row) => [row.cells[0].textContent, row.cells[1].firstChild.textContent]));
  assert.deepEqual(cells, [["a", "7 ms"], ["b", "3 ms"], ["main", "0"]]);
});
