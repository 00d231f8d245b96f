// Takes a picture of a page when it is drawn: exactly as large as asked for, with nothing blank.
//
//   node screenshot.mjs PAGE PICTURE [light|dark] [WIDTHxHEIGHT] [#ADDRESS] [SELECTOR …]
//
// Each SELECTOR is clicked before, one after the other.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, picture, theme = "light", size = "1280x760", address = "", ...clicks] = process.argv.slice(2);
if (!page || !picture) {
  console.error("usage: node screenshot.mjs PAGE PICTURE [light|dark] [WIDTHxHEIGHT] [#ADDRESS] [SELECTOR …]");
  process.exit(2);
}
const [width, height] = size.split("x").map(Number);
const known = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = known.find((path) => path && existsSync(path));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const hasTouch = width < 600;
const tab = await browser.newPage({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce", hasTouch, isMobile: hasTouch });
await tab.goto(pathToFileURL(resolve(page)).href + address);
await tab.waitForSelector("#loading", { state: "hidden" });
for (const selector of clicks) await tab.click(selector, selector.startsWith("#frames") ? { button: "right", position: { x: width / 3, y: height / 3 } } : {});
await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
await tab.screenshot({ path: picture });
await browser.close();
