// Starts the page: reads the profile and shows it, or says why it cannot.

import { App } from "./app.js";
import { readProfile } from "./decode.js";
import { byId } from "./dom.js";
import { Model } from "./model.js";
import { initial } from "./state.js";
import { inSlices } from "./steps.js";

async function start() {
  try {
    const profile = await readProfile();
    const usual = await inSlices(initial(profile));
    const loading = byId("loading");
    if (profile.tree.n === 1) {
      byId("title").textContent = profile.about.title;
      document.body.classList.add("empty");
      const warnings = profile.about.warnings.map((one) => ` Warning: ${profile.names.harmless(one)}.`).join("");
      loading.textContent = "There are no stacks in the input: nothing was recorded, or a filter left nothing." + warnings;
      return;
    }
    const model = new Model(profile, usual);
    await inSlices(model.updating(usual));
    Object.assign(window, { flame: new App(model, usual) });
  } catch (error) {
    document.body.classList.add("failed");
    byId("loading").textContent = `This page cannot be shown: ${error instanceof Error ? error.message : error}`;
    throw error;
  } finally {
    // See load.js.
    document.getElementById("opening")?.remove();
  }
}

start();
