import js from "@eslint/js";

// The globals of the page's modules: the web platform, nothing else.
const platform = [
  "addEventListener", "atob", "Blob", "clearTimeout", "DecompressionStream", "DOMParser", "devicePixelRatio", "document", "history",
  "innerHeight", "innerWidth", "location", "matchMedia", "MessageChannel", "navigator", "performance", "requestAnimationFrame",
  "ResizeObserver", "Response", "setTimeout", "TextDecoder", "TextEncoder", "URL", "window",
];

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: Object.fromEntries(platform.map((name) => [name, "readonly"])) },
    rules: {
      eqeqeq: "error", "no-var": "error", "prefer-const": "error", "no-eval": "error", "no-implied-eval": "error",
      // Text is never parsed as HTML.
      "no-restricted-properties": ["error", ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({ property }))],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "localStorage", "sessionStorage", "eval"],
    },
  },
];
