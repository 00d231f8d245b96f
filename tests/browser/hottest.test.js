// The page's order of the hottest functions, held against the table that the programs' order is held against.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hotter, sortRows } from "../../src/render/html/page/table.js";

const table = JSON.parse(readFileSync(new URL("../tally/hottest.json", import.meta.url), "utf8"));
const names = table.map((row) => row.name);

test("the hottest are in the order of the shared table", () => {
  for (const rows of [[...table], [...table].reverse()]) assert.deepEqual(rows.sort(hotter).map((row) => row.name), names);
});

test("so is the table of functions by self weight", () => {
  const rows = table.map((row, id) => ({ ...row, id, stacks: 0, before: 0, totalBefore: 0 }));
  const sorted = sortRows(rows.reverse(), "self", () => 0, (id) => names[id]);
  assert.deepEqual(sorted.map((row) => row.name), names);
});
