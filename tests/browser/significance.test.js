// The page's test of changes against the library's, on shared vectors: see src/significance.rs.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { compareShares, judgeFunctions, studentOutside } from "../../src/render/html/page/significance.js";

const vectors = new URL("../fixtures/significance.json", import.meta.url);

test("probabilities and verdicts are those of the library", { skip: !existsSync(vectors) && "no shared vectors" }, () => {
  const all = JSON.parse(readFileSync(vectors, "utf8"));
  assert.ok(all.length > 5);
  for (const { before_hits: x, before_total: n, after_hits: y, after_total: m, alpha, min_effect: minEffect, p, is_sure: isSure } of all) {
    const here = compareShares({ x, n, y, m });
    assert.ok(Math.abs(here - p) <= 1e-9 + 1e-6 * p, `${x}/${n} and ${y}/${m}: ${here}, not ${p}`);
    const weights = { before: Float64Array.of(x), after: Float64Array.of(y) };
    const [[own], [all]] = judgeFunctions({ alpha, minEffect }, [n, m], [weights, weights]).significant;
    assert.equal(own, all);
    assert.equal(own === 1, isSure, `${x}/${n} and ${y}/${m}`);
  }
});

test("Student's t is that of tables", () => {
  for (const [t, freedom, p] of [[12.7062047, 1, 0.05], [2.2281389, 10, 0.05], [3.1692727, 10, 0.01], [2.0930241, 19, 0.05], [4.5868943, 10, 0.001], [1.9599640, Infinity, 0.05], [0, 5, 1]]) {
    assert.ok(Math.abs(studentOutside(t, freedom) - p) < 1e-7, `${t} ${freedom}: ${studentOutside(t, freedom)}`);
  }
});
