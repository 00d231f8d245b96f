// The page's test of changes against the library's, on shared vectors: see src/significance.rs.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { compareShares } from "../../src/render/html/page/significance.js";

const vectors = new URL("../fixtures/significance.json", import.meta.url);

test("probabilities are those of the library", { skip: !existsSync(vectors) && "no shared vectors" }, () => {
  const all = JSON.parse(readFileSync(vectors, "utf8"));
  assert.ok(all.length > 5);
  for (const { before, of_before: n, after, of_after: m, p } of all) {
    const here = compareShares({ x: before, n, y: after, m });
    assert.ok(Math.abs(here - p) <= 1e-9 + 1e-6 * p, `${before}/${n} and ${after}/${m}: ${here}, not ${p}`);
  }
});
