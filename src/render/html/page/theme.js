// Dark and light: the system's choice until the reader makes another one.

/** @import { App } from "./app.js" */

export class Theme {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => app.show());
  }

  /** @param {string} theme "light", "dark", or "" for the system's */
  set(theme) {
    const dark = theme === "dark" || (theme === "" && this.dark.matches);
    const root = document.documentElement;
    root.dataset.theme = theme;
    root.toggleAttribute("data-dark", dark);
    this.app.model.theme = dark
      ? { back: "#17181b", ink: "#f2efe9", dark }
      : { back: "#fbfaf8", ink: "#191a1e", dark };
  }

  toggle() {
    const isDark = this.app.model.theme.dark;
    this.app.change({ theme: isDark === this.dark.matches ? (isDark ? "light" : "dark") : "" });
  }
}
