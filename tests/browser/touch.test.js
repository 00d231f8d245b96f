// Fingers: a tap tells, a double tap or a long press zooms.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { allQuiet, draw, drawn, frame, inChromium, near, passed, save, says, show, small, spot, visible } from "./picture.js";

afterEach(allQuiet);

const FINGERS = inChromium("its protocol has no fingers");
const phone = { hasTouch: true, isMobile: true, viewport: { width: 400, height: 700 } };

/** Events have the time that the test says: between two taps a busy machine may do much else. */
const clock = () => {
  globalThis.clock = 1000;
  Object.defineProperty(Event.prototype, "timeStamp", { get: () => globalThis.clock });
};

const later = (page, milliseconds) => page.evaluate((ms) => void (globalThis.clock += ms), milliseconds);

/** Presses for some time; without one, or with a move, nothing comes between the events. */
async function press(page, name, milliseconds, move = 0) {
  const { x, y } = await spot(page, name);
  const client = await page.context().newCDPSession(page);
  const send = (type, ...touchPoints) => client.send("Input.dispatchTouchEvent", { type, touchPoints });
  const begun = [send("touchStart", { x, y })];
  if (move) begun.push(send("touchMove", { x: x + move, y }));
  if (milliseconds) {
    await Promise.all(begun);
    await passed(page, milliseconds);
  }
  await Promise.all([...begun, send("touchEnd")]);
  await drawn(page);
}

const whole = async (page) => (await visible(page)).includes("start");

test("a tap selects and tells, a double tap zooms", FINGERS, async () => {
  const page = await show(draw(small), { ...phone, init: clock });
  const at = await spot(page, "parse");
  await page.touchscreen.tap(at.x, at.y);
  assert.ok((await frame(page, "parse")).classes.includes("selected"));
  assert.match(await says(page, "details"), /parse \(400, 40\.00%\)/);
  assert.ok(await whole(page));
  await later(page, 400);
  await page.touchscreen.tap(at.x, at.y); // too late to be the second
  assert.ok(await whole(page));
  await later(page, 300);
  await page.touchscreen.tap(at.x, at.y);
  assert.equal(await whole(page), false);
  near((await frame(page, "parse")).width, (await frame(page, "all")).width);
});

test("two quick taps on two frames are two taps", FINGERS, async () => {
  const page = await show(draw(small), { ...phone, init: clock });
  for (const name of ["parse", "run"]) {
    const at = await spot(page, name);
    await page.touchscreen.tap(at.x, at.y);
  }
  assert.ok(await whole(page));
  assert.ok((await frame(page, "run")).classes.includes("selected"));
});

test("a long press zooms, a short or a moving one does not", FINGERS, async () => {
  const page = await show(draw(small), { ...phone, init: clock });
  await press(page, "parse", 700, 40);
  assert.ok(await whole(page));
  await press(page, "parse", 0);
  assert.ok(await whole(page));
  await later(page, 400);
  await press(page, "parse", 700);
  assert.equal(await whole(page), false);
  near((await frame(page, "parse")).width, (await frame(page, "all")).width);
});

test("a tap on a link follows it", FINGERS, async () => {
  const target = save("html", "<title>elsewhere</title>");
  const page = await show(draw(small, "--nameattr", save("txt", `parse\thref=${target}\n`)), phone);
  const at = await spot(page, "parse");
  await page.touchscreen.tap(at.x, at.y);
  await page.waitForURL("**/*.html");
});

test("pinching is left to the browser", async () => {
  const page = await show(draw(small), phone);
  assert.equal(await page.$eval(".frame", (g) => getComputedStyle(g).touchAction), "manipulation");
});
