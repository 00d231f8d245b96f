// Starts the page: its script, style and elements are sections as well, which makes the page half as large.

import { lacking, section } from "./sections.js";

// The page is here to its end: see page.html.
Object.assign(window, { complete: true });

// The load event waits for the first picture: programs that photograph pages do so at that event, and a document
// within this one that is still open holds it back.
const opening = document.createElement("iframe");
opening.id = "opening";
opening.hidden = true;
document.body.append(opening);
opening.contentDocument?.open();

/** The bytes of a text as ../base85.rs writes them.
 * @param {string} text */
function fromBase85(text) {
  const bytes = new Uint8Array(Math.floor(text.length * 0.8));
  for (let i = 0, at = 0; at < bytes.length; i += 5) {
    let value = 0;
    for (const digit of text.slice(i, i + 5).padEnd(5, "w").replaceAll("~", "<")) value = value * 85 + digit.charCodeAt(0) - 35;
    for (let k = 24; k >= 0 && at < bytes.length; k -= 8) bytes[at++] = value >>> k;
  }
  return bytes;
}

/** @param {string} text */
function say(text) {
  const line = document.getElementById("loading");
  if (line) line.textContent = text;
  opening.remove();
}

if (typeof DecompressionStream === "undefined") {
  say("This page needs a newer browser, of 2023 or later. fg-collapse reads its profile.");
} else {
  try {
    // The last ones are parts that only some pages have: see parts.js.
    const [style, body, ...code] = await Promise.all(["style", "body", "script", "several", "graph"].map(async (name, n) => {
      const bytes = await section(name, fromBase85);
      if (!bytes && n < 3) throw lacking(name);
      return bytes ? new TextDecoder().decode(bytes) : "";
    }));
    /** @type {HTMLElement} */ (document.getElementById("style")).textContent = style;
    // Our own markup: nothing of a profile is in it.
    document.querySelector("main")?.replaceWith(...new DOMParser().parseFromString(body, "text/html").body.childNodes);
    const script = document.createElement("script");
    script.type = "module";
    script.textContent = code.join("\n");
    document.body.append(script);
  } catch (error) {
    say(`This page cannot be shown: ${error instanceof Error ? error.message : error}`);
  }
}
