// The viewers' matcher of names, held against the table that the programs' matcher is held against.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { linear } from "../../src/render/html/page/linear.js";
import { expression } from "../../src/render/html/page/expression.js";

const cases = JSON.parse(readFileSync(new URL("../search/cases.json", import.meta.url), "utf8"));

for (const { pattern, case: mode, refused, found = [], not = [] } of cases) {
  test(`${pattern} (${refused ? "refused" : mode ?? "smart"})`, () => {
    if (refused) return assert.throws(() => expression(pattern, mode), SyntaxError);
    const regex = expression(pattern, mode);
    for (const name of found) assert.ok(regex.test(name), `finds ${JSON.stringify(name)}`);
    // The linear matcher follows the same rule.
    if (regex instanceof RegExp) {
      const other = linear(regex.source, regex.flags);
      for (const name of [...found, ...not]) assert.equal(other.test(name), regex.test(name), `linear: ${JSON.stringify(name)}`);
    }
    for (const name of not) assert.ok(!regex.test(name), `does not find ${JSON.stringify(name)}`);
  });
}
