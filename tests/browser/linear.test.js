// The matcher of expressions that would take forever, held against JavaScript's own and against the clock of steps.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expression } from "../../src/render/html/page/expression.js";
import { isSlow, linear } from "../../src/render/html/page/linear.js";

test("expressions that take forever elsewhere end", () => {
  const name = "a_very_long_name_of_a_function".repeat(200);
  for (const slow of ["(\\w+)+;;", "(a|a)*b;", "(a*)*$x", "(?:\\w*\\w*)*!", "(.*)(.*)(.*)(.*)(.*)(.*)x;y", "((a?){30}){30}!"]) {
    const regex = expression(slow);
    assert.equal(regex.test(name), false, slow);
  }
  assert.throws(() => expression("((a{100}){100}){100}*"), SyntaxError);
});

test("common expressions are left to the browser", () => {
  for (const quick of ["lex", "^main$", "foo|bar", "(foo|bar)::new", "a.*b", "(abc)+", "^(?:std|core)::.*::drop$"]) assert.equal(isSlow(quick), false, quick);
});

test("both matchers find the same", () => {
  const sources = ["(a+)+b", "^(a|b)*c$", "(?:x(?:yz?)*)+w", "(\\w+\\s?)*!", "(a{2,3}){2}b", "(?:[^;]+;)*end$", "(ä|\\p{Lu})+z", "(?:.|\\n)*q", "(a*?b)+?c", "(|a)+d"];
  const texts = ["", "b", "aab", "aaaab", "abab", "ababc", "xyyzyw", "xw", "hello world!", "hello world", "aaaaab", "aaaab", "one;two;end", "end", "äÄÖz", "Zz", "a\nq", "bbc", "d", "ad", "😀q", "aaaaaabx"];
  for (const source of sources) {
    for (const flags of ["su", "isu"]) {
      const [ours, theirs] = [linear(source, flags), new RegExp(source, flags)];
      for (const text of texts) assert.equal(ours.test(text), theirs.test(text), `${source} ${flags} on ${JSON.stringify(text)}`);
    }
  }
});
