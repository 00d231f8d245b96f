/* Vanished frames: widths are those after, or the larger of before and after of each stack. */

function toggleGhosts() {
  if (!config.ghosts) return;
  showGhosts(!view.ghosts);
  view.trail = view.trail.filter((f) => f.w);
  let zoomed = view.zoomed;
  while (!zoomed.w && zoomed.parent) zoomed = zoomed.parent;
  setZoom(zoomed);
  saveState("replaceState");
}

// The places of all frames; draw() has to follow.
function showGhosts(on) {
  view.ghosts = on;
  for (const f of frames) {
    const place = on ? f.union : f.after;
    f.x = place.x;
    f.w = place.w;
  }
  ui.ghosts.classList.toggle("on", on);
  ui.ghosts.setAttribute("aria-pressed", String(on));
}
