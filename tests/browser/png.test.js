// The PNG is the picture that a browser draws of the SVG. Needs fg-render with the feature png.

import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, large, run, save, show } from "./picture.js";

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
  const different = await page.evaluate(async (files) => {
    const pixels = [];
    for (const file of files) {
      const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${file}`)).blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      canvas.drawImage(bitmap, 0, 0);
      pixels.push(canvas.getImageData(0, 0, bitmap.width, bitmap.height));
    }
    const [ours, theirs] = pixels;
    if (ours.width !== theirs.width || ours.height !== theirs.height) return 1;
    let count = 0;
    for (let i = 0; i < ours.data.length; i++) count += Math.abs(ours.data[i] - theirs.data[i]) > 32 ? 1 : 0;
    return count / ours.data.length;
  }, [png, drawn].map((file) => file.toString("base64")));
  // Letters have other edges, and a browser without the font other letters.
  assert.ok(different < 0.05, `${100 * different} percent of the pixels differ`);
});
