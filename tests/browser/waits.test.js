// Waits on the time line: below the processor time of a recording that has both, in a paler tone. Of pages that this
// machine may not record, the painting is called by itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Memo } from "../../src/render/html/page/memo.js";
import { Times } from "../../src/render/html/page/timeline_data.js";
import { paintRows } from "../../src/render/html/page/timeline_paint.js";

/** Samples of a thread: the millisecond, the weight in milliseconds, how long each lasts, 0 for a moment. */
function timesOf(samples) {
  const varints = (numbers) => Uint8Array.from(numbers.flatMap((number) => (number < 128 ? [number] : [(number & 127) | 128, number >> 7])));
  const sections = {
    "time-deltas": varints(samples.map(([at], n) => at - (samples[n - 1]?.[0] ?? 0))), "time-stacks": varints(samples.map(() => 0)),
    "time-weights": varints(samples.map(() => 0)), "time-values": varints(samples.map(([, weight]) => weight)),
    "time-durations": varints(samples.map(([, , lasts]) => lasts)),
  };
  const time = { length: 400e6, step: 1e6, coarse: false, samples: samples.length, threads: [["main", "main", 1, 1, samples.length]] };
  const steps = Times.read({ time, unit: "ms", scales: [] }, (name) => sections[name], (name) => sections[name], new Uint32Array([1]), 1000);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The bars that are painted: the opacity, the place and the height of each. */
function painted(times) {
  const bars = [];
  const context = {
    globalAlpha: 1, fillStyle: "",
    fillRect(x, y, width, height) {
      if (this.fillStyle === "bar") bars.push([this.globalAlpha, x, y, height]);
    },
    fillText() {}, measureText: () => ({ width: 0 }), strokeRect() {},
  };
  const strips = [{ label: "main", key: "", threads: [0], keys: ["main"], top: 0, height: 40 }];
  const colours = { ink: "ink", line: "line", bar: "bar", back: "back", tint: "tint", dark: false };
  paintRows({ context, width: 400, times, span: [0, 0.4], strips, marked: null, ranges: [], chosen: [], isHeat: false, memo: new Memo(), colours });
  return bars;
}

test("waits are paler than what runs, and both add up", () => {
  const times = timesOf([[0, 100, 0], [100, 200, 200], [300, 100, 0]]);
  assert.ok(times.hasWaits);
  const bars = painted(times);
  const at = (x) => bars.filter(([, left]) => left === x).map(([alpha]) => alpha);
  assert.deepEqual(at(50), [0.3, 0.78], "runs");
  assert.deepEqual(at(200), [0.3], "waits");
  assert.deepEqual(at(350), [0.3, 0.78], "runs again");
});

test("calls that all last, and samples of moments, are no waits", () => {
  for (const samples of [[[0, 100, 100], [100, 200, 200]], [[0, 100, 0], [100, 100, 0]], [[0, 0, 0], [100, 100, 100]]]) {
    const times = timesOf(samples);
    assert.equal(times.hasWaits, false);
    assert.ok(painted(times).every(([alpha]) => alpha === 0.78));
  }
});
