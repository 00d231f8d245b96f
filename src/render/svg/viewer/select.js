/* The selected frame: walking from frame to frame, telling about it, copying it. */

// Chooses the frame that keys and buttons act on; null for none.
function select(f, focus) {
  const old = view.current;
  if (old && old !== f) old.g.classList.remove("selected");
  view.current = f;
  if (f) {
    if (f.parent) f.parent.lastChild = f;
    f.g.classList.add("selected");
    moveStop(f);
    if (focus) f.stop.focus();
  }
  showDetails(f);
}

// Tab stops at one frame only, the one selected last; arrows lead on from there.
function moveStop(f) {
  if (view.tabStop) view.tabStop.stop.setAttribute("tabindex", "-1");
  view.tabStop = f;
  f.stop.setAttribute("tabindex", "0");
  f.stop.setAttribute("aria-label", f.caption);
  if (f.link) return;
  f.stop.setAttribute("role", "treeitem");
  f.stop.setAttribute("aria-level", String(f.depth + 1));
}

function showDetails(f, prefix) {
  view.shown = f;
  ui.details.dataset.prefix = prefix || "";
  layoutTexts();
}

// Up and down are directions on the screen; which of them leads to the caller
// depends on where the root is drawn.
function walk(direction) {
  const f = view.current;
  if (!f || f.drawn.hidden) return select(view.zoomed, true);
  const next = {
    up: () => (config.inverted ? f.parent : calleeOf(f)),
    down: () => (config.inverted ? calleeOf(f) : f.parent),
    left: () => neighbour(f, -1),
    right: () => neighbour(f, 1),
  }[direction]();
  if (next && !next.drawn.hidden) select(next, true);
}

// The callee visited last, else the widest; of a faded caller, the way back.
function calleeOf(f) {
  const choice = childrenOf(f).filter((c) => !c.drawn.hidden);
  if (choice.includes(f.lastChild)) return f.lastChild;
  return choice.reduce((best, c) => (best && best.w >= c.w ? best : c), null);
}

// The next frame of the same depth: a sibling while there is one, then a cousin.
function neighbour(f, step) {
  for (let i = f.index + step; i >= 0 && i < frames.length; i += step) {
    if (frames[i].depth === f.depth && !frames[i].drawn.hidden) return frames[i];
  }
  return null;
}

function copy(text) {
  if (!text) return;
  const byHand = () => copyBox.open(text);
  if (navigator.clipboard && window.isSecureContext) {
    navigator.clipboard.writeText(text).then(() => announce("Copied: " + text), byHand);
  } else {
    byHand();
  }
}

function copyName() {
  if (view.shown) copy(view.shown.name);
}

function copyStack() {
  if (view.shown) copy(stackOf(view.shown) || view.shown.name);
}

function announce(message) {
  ui.details.textContent = measure.fit(printable(message), size.detailsRoom, false);
}
