// Everything that is in the file besides the stacks.

/** @import { Model } from "./model.js" */

import { list, make } from "./dom.js";
import { percent } from "./numbers.js";

/** @param {Model} model */
export function detailsPanel({ about, changes, names, numbers, source, whole }) {
  const count = (/** @type {number} */ number) => number.toLocaleString("en");
  const pairs = (/** @type {[string, string][]} */ all) => all.map(([key, value]) => /** @type {[string, string]} */ ([
    names.harmless(key[0].toUpperCase() + key.slice(1)), names.harmless(value)]));
  const weight = (/** @type {number} */ one) => {
    const [scaled, exact] = [numbers.withSamples(one), numbers.exactly(one)];
    return scaled === exact ? exact : `${scaled}, exactly ${exact}`;
  };
  /** @type {[string, string][]} */
  const facts = about.details.some(([, text]) => text === about.title) ? [] : [["Title", about.title]];
  if (about.subtitle) facts.push(["Subtitle", about.subtitle]);
  facts.push(...about.details);
  const total = changes.sides(whole, 0, false);
  if (about.differential) facts.push(["Total before", weight(total.before)], ["Total after", weight(total.after)]);
  else facts.push(["Total", weight(total.after)]);
  facts.push(["Frames", count(whole.n - 1)], ["Functions", count(names.given)]);
  if (about.labels.length) facts.push(["Labels", about.labels.join(", ")]);
  if (names.places) {
    const known = names.places.kinds.filter((kind, id) => kind > 0 || (names.places?.moduleOf[id] ?? 0) > 0).length;
    const modules = names.places.modules.length - 1;
    facts.push(["Kinds and modules", `${count(modules)} ${modules === 1 ? "module" : "modules"}; known for ${percent(known, names.given)} of the functions`]);
  }
  if (source) {
    const files = source.files.filter(({ runs }) => runs).map(({ name }) => names.harmless(name));
    facts.push(["Source code", files.length ? `the lines around the hot ones of ${files.join(", ")}` : "lines and weights, no code"]);
  }
  facts.push(["Written by", about.tool]);
  if (about.notes) facts.push(["Notes", about.notes]);
  const parts = [];
  if (about.warnings.length) {
    parts.push(make("h2", {}, "Warnings"), make("ul", { class: "warnings" }, ...about.warnings.map((one) => make("li", {}, names.harmless(one)))));
  }
  parts.push(make("h2", {}, "This profile"), list(pairs(facts)));
  about.sides?.forEach((side, n) => {
    if (side.length) parts.push(make("h2", {}, n === 0 ? "Before" : "After"), list(pairs(side)));
  });
  if (!numbers.exact) parts.push(make("p", {}, "Sums are larger than a browser counts exactly: their last digits are rounded. fg-collapse reads the exact weights from this file."));
  parts.push(make("p", {}, "Nothing else is in this file. Every fg program reads it."));
  return parts;
}
