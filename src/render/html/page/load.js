// Starts the page: its script, style and elements are sections as well, which makes the page half as large.

import { section } from "./sections.js";

// The page is here to its end: see page.html.
Object.assign(window, { complete: true });

/** @param {string} text */
function say(text) {
  const line = document.getElementById("loading");
  if (line) line.textContent = text;
}

if (typeof DecompressionStream === "undefined") {
  say("This page needs a newer browser, of 2023 or later. fg-collapse reads the profile back out of it.");
} else {
  try {
    const [style, body, code] = (await Promise.all([section("style"), section("body"), section("script")]))
      .map((bytes) => new TextDecoder().decode(bytes ?? new Uint8Array()));
    /** @type {HTMLElement} */ (document.getElementById("style")).textContent = style;
    // Our own markup: nothing of a profile is in it.
    document.querySelector("main")?.replaceWith(...new DOMParser().parseFromString(body, "text/html").body.childNodes);
    const script = document.createElement("script");
    script.type = "module";
    script.textContent = code;
    document.body.append(script);
  } catch (error) {
    say(`This page cannot be shown: ${error instanceof Error ? error.message : error}`);
  }
}
