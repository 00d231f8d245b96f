// speedscope itself, as npm has it, opens what fg-render writes for it, and pprof's format.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { run, save, show, small } from "./picture.js";

const require = createRequire(import.meta.url);
const app = join(dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");

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

test("speedscope reads its own format", async () => {
  const file = run("fg-render", small, "--format", "speedscope");
  assert.deepEqual(await functions("profile.speedscope.json", file), expected);
});

test("speedscope reads pprof", async () => {
  const file = run("fg-render", small, "--format", "pprof");
  assert.deepEqual(await functions("profile.pb.gz", file), expected);
});
