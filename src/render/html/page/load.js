// Starts the page: its script is a section as well, which makes the file half as large.

import { section } from "./sections.js";

/** @param {string} text */
function say(text) {
  const line = document.getElementById("loading");
  if (line) line.textContent = text;
}

if (typeof DecompressionStream === "undefined") {
  say("This page needs a newer browser, of 2023 or later. fg-collapse reads the profile back out of it.");
} else {
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = new TextDecoder().decode((await section("script")) ?? new Uint8Array());
  document.body.append(script);
}
