/* Brings the picture to life. Must come last. */

function resize() {
  readSize();
  size.baseline = baselineOf(top);
  draw();
  layoutTexts();
  followScroll();
}

function baselineOf(f) {
  const height = Number(f.rect.getAttribute("height")) || config.fontSize + 3;
  const y = f.text ? Number(f.text.getAttribute("y")) : NaN;
  return Number.isFinite(y) ? y - f.y : height - 4.5;
}

function start() {
  box = root.querySelector("#frames");
  const rows = box ? readFrames() : [];
  if (!rows.length) return; // a picture that only says there is nothing to see
  frames = growTree(rows);
  top = frames[0];
  view.zoomed = top;
  for (const f of frames) {
    byElement.set(f.g, f);
    if (names.has(f.name)) names.get(f.name).push(f);
    else names.set(f.name, [f]);
    if (f.link) f.stop.setAttribute("tabindex", "-1");
  }

  root.classList.add("live");
  root.querySelector("#background").setAttribute("height", "100%"); // see makeRoom
  root.setAttribute("role", "group");
  box.setAttribute("role", "tree");
  box.setAttribute("aria-label", "Call tree");
  root.style.setProperty("--fg-hit", config.searchColor);
  root.style.setProperty("--fg-hit-ink", inkOn(config.searchColor));
  if (fluid) {
    root.removeAttribute("viewBox");
    root.setAttribute("width", "100%");
  }
  measure.prepare();
  findTexts();
  moveStop(top);
  resize();
  if (ownsPage) {
    restoreState();
    window.addEventListener("popstate", restoreState);
  } else {
    showMatched();
  }
  toRoot();
  followScroll();
  window.addEventListener("scroll", followScroll);
  listenToPointer();
  (ownsPage ? window : root).addEventListener("keydown", onKey);
  if (fluid) new ResizeObserver(resize).observe(root);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
