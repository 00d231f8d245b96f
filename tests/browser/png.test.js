// The PNG is the picture that a browser draws of the SVG. Needs fg-render with the feature png.

import assert from "node:assert/strict";
import { test } from "node:test";
import { difference, draw, large, run, save, show } from "./picture.js";

test("the PNG is what the browser draws", async (t) => {
  const options = ["--width", "1200", "--fonttype", "DejaVu Sans", "--title", "Ähnlich ≤"];
  const folded = large();
  let png;
  try {
    png = run("fg-render", folded, "--format", "png", ...options.filter((o) => !/font|DejaVu/.test(o)));
  } catch {
    t.skip("fg-render was built without the feature png");
    return;
  }
  // An image runs no script, as the PNG has none.
  const svg = draw(folded, ...options);
  const page = await show(save("html", `<body style="margin:0"><img style="display:block" src="${svg.split("/").pop()}">`));
  const size = await page.evaluate(async () => {
    await document.images[0].decode();
    return { width: document.images[0].width, height: document.images[0].height };
  });
  await page.setViewportSize(size);
  const drawn = await page.screenshot();
  const different = await difference(page, png, drawn);
  // Letters have other edges, and a browser without the font other letters.
  assert.ok(different < 0.05, `${100 * different} percent of the pixels differ`);
});
