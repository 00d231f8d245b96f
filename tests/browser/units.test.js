// The page's scaler of weights against the examples of the library's: see src/profile/units.rs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Numbers, amount, grouped } from "../../src/render/html/page/numbers.js";

const examples = JSON.parse(readFileSync(new URL("../fixtures/units.json", import.meta.url), "utf8"));

test("every example is scaled as the library scales it", () => {
  assert.ok(examples.length > 25);
  for (const { weight, unit, text } of examples.filter(({ period }) => period === undefined)) {
    assert.equal(amount(Number(weight), unit, grouped(weight)), text, `${weight} ${unit}`);
  }
});

test("the page's steps and samples give the same texts", () => {
  for (const { weight, unit, text, period } of examples) {
    const decimals = weight.split(".")[1]?.length ?? 0;
    const steps = Math.round(Number(weight) * 10 ** decimals);
    const numbers = new Numbers({ unit, scales: [[0, decimals]], total: weight, before: "0", sampleWeight: period ?? null });
    assert.equal(numbers.withSamples(steps), text, `${weight} ${unit} of ${period}`);
  }
});

test("a column whose unit is a count has numbers only", () => {
  const numbers = (unit) => new Numbers({ unit, scales: [], total: "1", before: "0", sampleWeight: null });
  const cells = [["samples", 1719, "1,719"], ["samples", 1, "1"], ["cycles", 12345678901, "12.3 G"], ["odd unit", 3, "3"], ["ns", 1500, "1.5 µs"], [null, 1719, "1,719"]];
  for (const [unit, weight, cell] of cells) assert.equal(numbers(unit).cell(weight), cell);
});
