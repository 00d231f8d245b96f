/* Searching names: the matches, their share of the weight, and the box to type in. */

function search(term, ignoreCase) {
  let pattern = null;
  view.term = term;
  view.ignoreCase = ignoreCase;
  view.error = "";
  if (term) {
    try {
      pattern = expression(term, ignoreCase ? "ignored" : "smart");
    } catch (error) {
      // A half-typed expression is ordinary; there is no other way to ask.
      view.error = String(error.message);
    }
  }
  for (const [name, bearers] of names) {
    const hit = pattern !== null && pattern.test(name);
    for (const f of bearers) {
      if (f.drawn.hit !== hit) f.g.classList.toggle("hit", hit);
      f.drawn.hit = hit;
    }
  }
  showMatched();
}

function clearSearch() {
  search("", view.ignoreCase);
  saveState("replaceState");
}

function toggleCase() {
  search(view.term, !view.ignoreCase);
  saveState("replaceState");
}

// The share of a frame's weight that is below, in or above a match. A match inside a
// match is part of it and counts once.
function matchedShare(zoomed) {
  if (lineage(zoomed).some((f) => f.drawn.hit)) return 1;
  let sum = 0;
  let i = zoomed.index;
  while (i < zoomed.end) {
    const f = frames[i];
    if (f.drawn.hit) sum += f.w;
    i = f.drawn.hit ? f.end : i + 1;
  }
  return sum / zoomed.w;
}

// Frames that are too narrow to be drawn are not in the file: what matches among them is not known.
function matchedText() {
  if (!view.term) return "";
  if (view.error) return "Bad pattern";
  const of = (frame) => {
    const share = 100 * matchedShare(frame);
    if (share > 100 - 1e-9) return "100%";
    if (!config.leftOut) return share.toFixed(1) + "%";
    return share ? "at least " + share.toFixed(1) + "%" : "no frame that is drawn";
  };
  // The share of the whole is that of the page and of the programs.
  const all = of(frames[0]);
  const here = of(view.zoomed);
  return "Matched: " + all + (here === all ? "" : ", here " + here);
}

function showMatched() {
  ui.matched.textContent = matchedText();
  show(ui.matched, view.term !== "");
  ui.search.textContent = view.term ? "Reset Search" : "Search";
  ui.ignorecase.classList.toggle("on", view.ignoreCase);
  ui.ignorecase.setAttribute("aria-pressed", String(view.ignoreCase));
  searchBox.refresh();
  layoutTexts();
}

function stepMatch(direction) {
  const hits = frames.slice(view.zoomed.index, view.zoomed.end).filter((f) => f.drawn.hit && f.w);
  if (!hits.length) return;
  const from = view.current ? view.current.index : direction > 0 ? -1 : frames.length;
  let next = direction > 0 ? hits.findIndex((f) => f.index > from) : hits.findLastIndex((f) => f.index < from);
  if (next < 0) next = direction > 0 ? 0 : hits.length - 1;
  select(hits[next], true);
  showDetails(hits[next], "[" + (next + 1) + "/" + hits.length + "] ");
}

const searchBox = (function () {
  let timer = 0;

  const floating = floatingBox("Search", (panel, close) => {
    const input = make(XHTML, "input", {
      type: "text", "aria-label": "Regular expression", placeholder: "regular expression",
      autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    }, panel);
    const button = (text, label, run) => {
      const made = make(XHTML, "button", { type: "button", "aria-label": label, title: label }, panel, text);
      made.addEventListener("click", run);
      return made;
    };
    const ignoreCase = button("Aa", "Ignore case", () => search(input.value, !view.ignoreCase));
    button("\u2039", "Previous match", () => stepMatch(-1));
    button("\u203a", "Next match", () => stepMatch(1));
    button("\u00d7", "Close and clear", cancel);
    const error = make(XHTML, "p", { role: "alert" }, panel);

    function apply() {
      clearTimeout(timer);
      search(input.value, view.ignoreCase);
    }

    function cancel() {
      clearTimeout(timer);
      close();
      clearSearch();
    }

    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(apply, 100);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      apply();
      if (view.error) return;
      saveState("replaceState");
      close();
      stepMatch(event.shiftKey ? -1 : 1);
    });
    return { input, ignoreCase, error, cancel };
  });

  function open() {
    if (!canEmbed) {
      const term = window.prompt("Regular expression to search for", view.term);
      if (term === null) return;
      search(term, view.ignoreCase);
      saveState("replaceState");
      return;
    }
    const { input } = floating.open();
    input.value = view.term;
    refresh();
    input.focus();
    input.select();
  }

  function refresh() {
    if (!floating.isOpen()) return;
    const { ignoreCase, error, input } = floating.parts();
    error.textContent = view.error;
    input.setAttribute("aria-invalid", String(view.error !== ""));
    ignoreCase.setAttribute("aria-pressed", String(view.ignoreCase));
  }

  // As if Escape had been pressed in it, for when the focus is elsewhere.
  function close() {
    if (!floating.isOpen()) return false;
    floating.parts().cancel();
    return true;
  }

  return { open, refresh, close };
})();
