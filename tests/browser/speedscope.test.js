// speedscope itself, as npm has it, opens what fg-render writes for it, and pprof's format.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inChromium, run, save, show, small, twoThreads } from "./picture.js";

const require = createRequire(import.meta.url);
const app = join(dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");

/** The numbers that it reads are the same in all browsers. */
const inSpeedscope = inChromium("speedscope's own page is not what is tested");

/** The rows of the sandwich view: total and self weight of each function. */
async function functions(name, file) {
  // The way the speedscope program hands a file to the page.
  const data = JSON.stringify(file.toString("base64"));
  const script = save("js", `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ${data})`);
  const page = await show(app, { hash: `#localProfilePath=${encodeURIComponent(pathToFileURL(script).pathname)}` });
  await page.getByText("Sandwich").click();
  await page.waitForSelector("table tr td");
  const rows = await page.$$eval("table tr", (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  return Object.fromEntries(rows.map(([total, self, symbol]) => [symbol, `${total.split(" ")[0]} ${self.split(" ")[0]}`]));
}

// Small weights read the same from both: of 1000 in all.
const expected = {
  "Symbol Name": "Total Self", main: "900 0", parse: "400 0", lex: "300 200", read: "100 100", tree: "100 100",
  run: "300 0", eval: "200 0", call: "150 150", gc: "50 50", Read: "100 100", idle: "200 200", start: "100 100",
};

test("speedscope reads its own format", inSpeedscope, async () => {
  const file = run("fg-render", small, "--format", "speedscope");
  assert.deepEqual(await functions("profile.speedscope.json", file), expected);
});

test("speedscope reads pprof", inSpeedscope, async () => {
  const file = run("fg-render", small, "--format", "pprof");
  assert.deepEqual(await functions("profile.pb.gz", file), expected);
});

test("speedscope reads Chrome's trace format", inSpeedscope, async () => {
  const file = run("fg-render", small, "--format", "chrome-trace");
  const { "Symbol Name": heading, ...rows } = await functions("trace.json", file);
  assert.equal(heading, "Total Self");
  const numbers = ([name, row]) => [name, row.split(" ").map(Number.parseFloat).join(" ")];
  const { "Symbol Name": _, ...weights } = expected;
  assert.deepEqual(Object.fromEntries(Object.entries(rows).map(numbers)), weights);
});

test("a range of time weighs in speedscope what fg-filter says", inSpeedscope, async () => {
  const recording = save("perf.txt", twoThreads());
  const range = "1.05s..3.31s";
  const stacks = run("fg-filter", "", "--time", range, "--with-label", "thread=worker", "--no-header", recording).toString();
  const weights = {};
  for (const line of stacks.trim().split("\n")) {
    const [stack, weight] = [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))];
    weights[stack.split(";").at(-1)] = weight;
  }
  assert.deepEqual(Object.keys(weights).sort(), ["draw", "parse"]);
  // The same range with its times, as a file that speedscope lays out along them.
  const labelled = run("fg-collapse", "", "--label", "time=2ms", "--label", "thread", recording);
  const part = run("fg-filter", labelled, "--time", range, "--with-label", "thread=worker", "--drop-label", "thread");
  const file = run("fg-render", part, "--format", "speedscope");
  const [profile, more] = JSON.parse(file).profiles;
  assert.deepEqual([profile.type, more], ["evented", undefined]);
  const seen = await functions("range.speedscope.json", file);
  const nanoseconds = (text) => Number.parseFloat(text) * { s: 1e9, ms: 1e6 }[/[a-z]+/.exec(text)[0]];
  for (const [name, weight] of Object.entries(weights)) {
    const own = nanoseconds(seen[name].split(" ")[1]);
    assert.ok(Math.abs(own - weight) < weight * 0.005, `${name}: ${seen[name]}, not ${weight}`);
  }
});
