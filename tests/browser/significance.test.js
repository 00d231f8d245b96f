// The page's test of changes against the library's, on shared vectors: see src/significance.rs.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { compareShares, judge } from "../../src/render/html/page/significance.js";

const vectors = new URL("../fixtures/significance.json", import.meta.url);

test("probabilities and verdicts are those of the library", { skip: !existsSync(vectors) && "no shared vectors" }, () => {
  const all = JSON.parse(readFileSync(vectors, "utf8"));
  assert.ok(all.length > 5);
  for (const { before_hits: x, before_total: n, after_hits: y, after_total: m, alpha, min_effect: minEffect, p, is_sure: isSure } of all) {
    const here = compareShares({ x, n, y, m });
    assert.ok(Math.abs(here - p) <= 1e-9 + 1e-6 * p, `${x}/${n} and ${y}/${m}: ${here}, not ${p}`);
    const [verdict] = judge({ alpha, minEffect }, [1, 1], [n, m], Float64Array.of(x), Float64Array.of(y));
    assert.equal(verdict === 1, isSure, `${x}/${n} and ${y}/${m}`);
  }
});
