// The head of the page: title, one line on what was measured, warnings.

/** @import { Model } from "./model.js" */

import { byId, make } from "./dom.js";

/** @param {Model} model */
export function showHeader({ about, names, numbers, whole }) {
  byId("title").textContent = names.harmless(about.title);
  byId("title").title = names.harmless(about.title);
  const facts = byId("facts");
  const parts = lineOf({ about, numbers, whole }).map((part) => names.harmless(part));
  facts.append(make("b", {}, parts[0]), ...parts.slice(1).map((part) => ` · ${part}`));
  facts.title = facts.textContent ?? "";
  const warnings = byId("warnings");
  warnings.hidden = about.warnings.length === 0;
  const others = about.warnings.length - 1;
  warnings.textContent = `⚠ ${names.harmless(about.warnings[0] ?? "")}${others > 0 ? ` (and ${others} more)` : ""}`;
}

/** The parts of the line below the title, the total first.
 * @param {Pick<Model, "about" | "numbers" | "whole">} model */
function lineOf({ about, numbers, whole }) {
  const total = about.differential ? about.measured ?? "" : numbers.amount(whole.total[0]);
  if (about.subtitle) return [total, about.subtitle];
  if (about.differential) return [total];
  // Without a unit the line does not begin with the total.
  const measured = about.measured?.split(" · ") ?? [];
  return about.unit === null ? [total, ...measured] : measured;
}
