// Long work says so, and can be stopped. The page's clock runs fast here, so that everything takes long, and
// its timers without a delay wait until a test lets them run.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, until } from "./picture.js";
import { address, makePage, openPage, refine, savedStacks, search, settled, text } from "./viewer.js";

afterEach(allQuiet);

/** Stacks with a name of their own each, so deep that every tree of them takes some steps. */
const deep = Array.from({ length: 3000 }, (_, n) => {
  const frames = Array.from({ length: 10 }, (_, depth) => (depth % 2 ? `shared_${(n * 7 + depth * 3) % 40}` : `step_${depth}`));
  return `${frames.join(";")};a_leaf_with_a_long_name_${n} ${n + 1}\n`;
}).join("");

let path;
const page = async ({ file, ...options } = {}) => openPage(file ?? (path ??= makePage(deep)), options);

/** The page of a reader whose machine is slow. */
async function slowPage(options = {}) {
  const init = () => {
    let now = 0;
    performance.now = () => (now += 1000);
    const { setTimeout } = globalThis;
    const held = [];
    globalThis.slow = { holds: false, held, steps: 0, opening: 0 };
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (...message) {
      globalThis.slow.opening++;
      postMessage.apply(this, message);
    };
    globalThis.setTimeout = (act, delay, ...rest) => {
      if (!delay) globalThis.slow.steps++;
      return globalThis.slow.holds && !delay ? held.push(act) : setTimeout(act, delay, ...rest);
    };
  };
  const slow = await page({ init, ...options });
  await slow.evaluate(() => (globalThis.slow.holds = true));
  return slow;
}

const isWorking = (slow) => slow.isVisible("#working");
/** Lets all work go on. */
const release = (slow) => slow.evaluate(() => {
  globalThis.slow.holds = false;
  for (const act of globalThis.slow.held.splice(0)) act();
});

const WAYS = {
  callers: (slow) => slow.click("#tab-callers"),
  "bottom up": (slow) => slow.click("#tab-bottomup"),
  butterfly: (slow) => slow.click("#tab-butterfly"),
  table: (slow) => slow.click("#tab-table"),
  search: (slow) => slow.fill("#query", "a_leaf.*[13579]$"),
  hide: async (slow) => {
    await slow.click("#refine-open");
    await slow.fill("#refine input", "shared_");
    await slow.click("#refine >> text=\"Hide\"");
  },
  order: (slow) => slow.evaluate(() => globalThis.flame.change({ order: "weight" })),
};

for (const [name, start] of Object.entries(WAYS)) {
  test(`${name}: says that it takes long, can be stopped, and leaves all as it was`, async () => {
    const slow = await slowPage();
    const before = await slow.evaluate(() => [globalThis.flame.model.main.n, globalThis.flame.model.state.view]);
    for (const stop of [() => slow.click("#stop"), async () => {
      await slow.evaluate(() => document.activeElement?.blur());
      await slow.keyboard.press("Escape");
    }]) {
      await start(slow);
      await until(() => isWorking(slow), `${name} is worked on`);
      assert.match(await text(slow, "working"), /^Working on [\d,]+ frames …Stop$/);
      await slow.evaluate(() => document.querySelectorAll(":popover-open").forEach((panel) => panel.hidePopover()));
      await stop();
      assert.equal(await isWorking(slow), false);
      assert.deepEqual(await slow.evaluate(() => [globalThis.flame.model.main.n, globalThis.flame.model.state.view]), before);
      assert.equal(await address(slow), "");
      assert.equal(await slow.getAttribute("#tab-flame", "aria-selected"), "true");
      await slow.evaluate(() => globalThis.slow.held.splice(0).forEach((act) => act()));
    }
  });

  test(`${name}: what takes long ends as what does not`, async () => {
    const slow = await slowPage();
    await start(slow);
    await until(() => isWorking(slow), `${name} is worked on`);
    await release(slow);
    await settled(slow);
    assert.equal(await isWorking(slow), false);
    const quick = await page();
    await start(quick);
    await until(() => quick.evaluate(() => location.hash !== ""), `${name} is shown`);
    await settled(quick);
    const shown = (one) => one.evaluate(() => {
      const { main, outline, found, state } = globalThis.flame.model;
      return [main.n, outline.n, found, state, [...main.total.slice(0, 300)], [...main.name.slice(0, 300)]];
    });
    assert.deepEqual(await shown(slow), await shown(quick));
    assert.equal(await address(slow), await address(quick));
    assert.deepEqual(await savedStacks(slow), await savedStacks(quick));
  });
}

/** Half a million stacks of eight threads. */
function halfAMillion() {
  const lines = [];
  for (let n = 0; n < 500_000; n++) {
    const thread = Math.floor(n / 62_500);
    const within = n % 62_500;
    const frames = [`pool-7/${thread + 1}`, "run", `task_${Math.floor(within / 2500)}`, `part_${Math.floor(within / 50) % 50}`];
    // Some call themselves, some only one other.
    frames.push(...(n % 3 ? ["walk", "walk"] : ["enter", "pass", "step"]), `leaf_${within % 50}`);
    lines.push(`${frames.join(";")} ${1 + n % 7}`);
  }
  return `${lines.join("\n")}\n`;
}

/** The frames that are looked at before the page looks at its reader. */
const STEP = 20_000;

test("with half a million stacks everything says so, can be stopped, and goes on in small steps", async () => {
  const large = await slowPage({ file: makePage(halfAMillion()) });
  const frames = await large.evaluate(() => globalThis.flame.model.whole.n);
  assert.ok(frames > 500_000, `${frames} frames`);
  // Opened in steps as well: the frames are read, their threads found, the areas of names and the weights of the header added up.
  const opening = await large.evaluate(() => globalThis.slow.opening);
  assert.ok(opening >= 4 * Math.floor(frames / STEP), `${opening} steps for ${frames} frames`);
  const isAt = () => large.evaluate(() => [location.hash, globalThis.flame.model.state.view, globalThis.flame.model.main.n]);
  const whole = await isAt();
  const change = (part) => () => large.evaluate((one) => globalThis.flame.change(one), part);
  const refining = (op, value) => () => large.evaluate((words) => globalThis.flame.navigation.refine(...words), [op, value]);
  const ways = {
    callers: () => large.click("#tab-callers"),
    "bottom up": () => large.click("#tab-bottomup"),
    butterfly: () => large.click("#tab-butterfly"),
    table: () => large.click("#tab-table"),
    search: change({ query: "leaf_.*[13579]$" }),
    "matches only": change({ query: "leaf_.*[13579]$", only: true }),
    focus: refining("focus", "task_1"),
    ignore: refining("ignore", "task_1"),
    hide: refining("hide", "part_"),
    "show from": refining("show-from", "task_"),
    recursion: refining("recursion", "direct"),
    order: change({ order: "weight" }),
    fold: change({ fold: true }),
    thread: change({ threads: ["pool-7/3"] }),
  };
  for (const [name, start] of Object.entries(ways)) {
    await start();
    await until(() => isWorking(large), `${name} is worked on`);
    assert.equal(await text(large, "working"), `Working on ${frames.toLocaleString("en")} frames …Stop`);
    await large.click("#stop");
    assert.equal(await isWorking(large), false, name);
    assert.deepEqual(await isAt(), whole, name);
    await large.evaluate(() => Object.assign(globalThis.slow, { steps: 0, holds: false }));
    await release(large);
    await start();
    await settled(large);
    const steps = await large.evaluate(() => globalThis.slow.steps);
    assert.ok(steps >= Math.floor(frames / STEP) - 1, `${name}: ${steps} steps for ${frames} frames`);
    await large.evaluate(() => globalThis.flame.change({ ...globalThis.flame.usual }));
    await settled(large);
    assert.deepEqual(await isAt(), whole, name);
    // What was made is known: the next reader's work begins anew.
    await large.evaluate(() => globalThis.flame.model.memo.values.clear());
    await large.evaluate(() => (globalThis.slow.holds = true));
  }
});

test("a change while something is worked on is added to it", async () => {
  const slow = await slowPage();
  await slow.click("#tab-callers");
  await until(() => isWorking(slow), "callers are worked on");
  await slow.fill("#query", "shared_7");
  await until(() => slow.evaluate(() => globalThis.flame.pending?.query === "shared_7"), "the search is worked on");
  await release(slow);
  await settled(slow);
  assert.equal(await address(slow), "#view=callers&q=shared_7");
});

test("a link to what takes long shows the profile meanwhile", async () => {
  const init = () => {
    let now = 0;
    performance.now = () => (now += 1000);
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (act, delay, ...rest) => (delay ? setTimeout(act, delay, ...rest) : (globalThis.held = act, 0));
  };
  const { show } = await import("./picture.js");
  const slow = await show(path ??= makePage(deep), { init, hash: "#view=callers" });
  await until(() => isWorking(slow), "callers are worked on");
  assert.equal(await slow.isVisible("#loading"), false);
  assert.equal(await slow.evaluate(() => globalThis.flame.model.state.view), "flame");
  await until(() => slow.evaluate(() => (globalThis.held?.(), !globalThis.flame.work)), "callers are shown");
  assert.equal(await slow.evaluate(() => globalThis.flame.model.state.view), "callers");
});

test("what is quick does not say so", async () => {
  const quick = await page({ init: () => (performance.now = () => 0) });
  await quick.evaluate(() => {
    const bar = document.getElementById("working");
    new MutationObserver(() => (globalThis.said ||= !bar.hidden)).observe(bar, { attributes: true });
    globalThis.said = false;
  });
  await search(quick, "shared_1");
  await refine(quick, "Focus", "shared_");
  await quick.click("#tab-callers");
  await settled(quick);
  assert.equal(await quick.evaluate(() => globalThis.said), false);
});
