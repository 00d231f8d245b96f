// Pictures without scripts, and pictures that are a part of something else.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { afterEach, test } from "node:test";
import { allQuiet, click, draw, frame, frames, inChromium, large, near, save, says, searchFor, show, small, visible } from "./picture.js";

afterEach(allQuiet);


test("without scripts it is a picture, with no control that does nothing", inChromium("its driver cannot turn scripts off"), async () => {
  const page = await show(draw(small), { javaScriptEnabled: false });
  const shown = await page.locator("svg.fg > text").evaluateAll((texts) => texts.filter((t) => t.textContent.trim() && t.getClientRects().length).map((t) => t.id));
  assert.deepEqual(shown, ["title"]);
  assert.ok((await frames(page)).every((f) => f.visible));
  assert.equal((await frame(page, "parse")).label, "parse");
});

test("in an <img> it draws itself", async () => {
  const path = draw(large(300));
  const page = await show(save("html", `<!doctype html><body style="margin:0"><img src="${basename(path)}" width="1200">`));
  const { naturalWidth, complete } = await page.$eval("img", ({ naturalWidth, complete }) => ({ naturalWidth, complete }));
  assert.ok(complete && naturalWidth >= 1200);
  const png = (await page.screenshot()).length;
  const empty = await show(save("html", "<!doctype html><body>"));
  assert.ok(png > 3 * (await empty.screenshot()).length);
});

test("in an <object> it works, and keeps its own state", async () => {
  const path = draw(small);
  const page = await show(save("html", `<!doctype html><body style="margin:0"><object data="${basename(path)}" type="image/svg+xml" style="width:800px;height:400px"></object>`));
  const inner = page.frames().find((f) => f.url().endsWith(".svg"));
  await inner.waitForSelector("svg.live");
  await inner.locator("rect[data-w='400']").click();
  assert.equal((await visible(inner)).includes("start"), false);
  near((await frame(inner, "parse")).width, 780);
});

test("two pictures in one HTML page do not meet, nor touch the page", async () => {
  const inline = (...options) => readFileSync(draw(small, ...options), "utf8").replace(/^<\?xml.*?\?>\s*/s, "").replace(/<!DOCTYPE[^>]*>/, "");
  const html = `<!doctype html><meta charset="utf-8"><title>host</title><style>body{margin:0}</style><p id="title">Host <input id="own"></p>
    <div id="one">${inline()}</div><div id="two">${inline("--colors", "blue")}</div>`;
  const page = await show(save("html", html));
  await page.waitForFunction(() => document.querySelectorAll("svg.live").length === 2);
  const state = () => page.evaluate(() => ["one", "two"].map((id) => [...document.querySelectorAll(`#${id} .frame rect`)].filter((r) => getComputedStyle(r).visibility === "visible").length));
  const [all] = await state();

  await page.fill("#own", "");
  await page.focus("#own");
  await page.keyboard.type("r/?kz"); // typed into the page: no business of the pictures
  assert.equal(await page.inputValue("#own"), "r/?kz");
  assert.equal(await page.locator(".box, .panel").count(), 0);

  await page.locator("#two .frame rect[data-w='400']").first().click();
  assert.deepEqual(await state(), [all, 6]);
  assert.equal(new URL(page.url()).hash, "");
  await page.keyboard.press("/");
  await page.keyboard.type("lex");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#two .hit").count(), 1);
  assert.equal(await page.locator("#one .hit").count(), 0);
  await page.keyboard.press("u");
  assert.deepEqual(await state(), [all, all]);
  assert.equal(await page.textContent("p#title"), "Host ");
});

test("light and dark: background and texts change, and can be read", async () => {
  const path = draw(small);
  const luminance = (page, selector, property) => page.$eval(selector, (element, name) => {
    const [r, g, b] = (getComputedStyle(element)[name].match(/[\d.]+/g) ?? [0, 0, 0]).map((c) => (c / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }, property);
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

  const dark = await show(path, { colorScheme: "dark" });
  await dark.keyboard.press("k");
  await searchFor(dark, "lex");
  const ground = await luminance(dark, "#background", "fill");
  assert.ok(ground < 0.05);
  for (const id of ["#title", "#details", "#matched", "#search", "#copy-stack"]) {
    assert.ok(contrast(ground, await luminance(dark, id, "fill")) > 7, id);
  }
  await dark.keyboard.press("?");
  assert.ok(contrast(await luminance(dark, "#help .sheet", "fill"), await luminance(dark, "#help .mark", "fill")) > 7);
  await dark.keyboard.press("/");
  assert.ok(contrast(await luminance(dark, ".box > div", "backgroundColor"), await luminance(dark, ".box input", "color")) > 7);

  const light = await show(path, { colorScheme: "light" });
  assert.match(await light.$eval("#background", (rect) => getComputedStyle(rect).fill), /^url/);
  assert.ok((await luminance(light, "#title", "fill")) < 0.05);
});

test("colours the user chose stay in the dark", async () => {
  const page = await show(draw(small, "--bgcolors", "#ffffff"), { colorScheme: "dark" });
  assert.match(await page.$eval("#background", (rect) => getComputedStyle(rect).fill), /^url|^rgb\(255/);
  assert.equal(await page.$eval("#title", (text) => getComputedStyle(text).fill), "rgb(0, 0, 0)");
});

test("a profile without stacks says so, quietly", async () => {
  const { spawnSync } = await import("node:child_process");
  const { join } = await import("node:path");
  const binary = join(process.env.FG_BIN ?? new URL("../../target/debug", import.meta.url).pathname, "fg-render");
  const { stdout, status } = spawnSync(binary, [], { input: "" });
  assert.equal(status, 2);
  const page = await show(save("svg", stdout));
  assert.match(await page.evaluate(() => document.documentElement.textContent), /no (valid )?stack/i);
  for (const key of ["k", "/", "?", "Enter", "Escape"]) await page.keyboard.press(key);
});
