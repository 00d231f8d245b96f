/* The view in the address: a link, a reload and the Back button bring it back. */

function stateText() {
  const state = new URLSearchParams();
  if (view.zoomed !== top) {
    state.set("x", view.zoomed.rect.getAttribute("data-x"));
    state.set("y", view.zoomed.rect.getAttribute("y"));
    const path = stackOf(view.zoomed);
    if (path.length <= LONGEST_PATH) state.set("path", path);
  }
  if (view.ghosts) state.set("vanished", "1");
  if (view.term) state.set("s", view.term);
  if (view.ignoreCase) state.set("ic", "1");
  return state.toString();
}

function saveState(how) {
  if (!ownsPage) return;
  const text = stateText();
  const bare = location.href.split("#")[0];
  // An empty fragment overrules a state given as ?x=...&y=..., as others write it.
  const url = bare + (text || location.search ? "#" + text : "");
  if (url === location.href) return;
  try {
    history[how](null, "", url);
  } catch (error) {
    // A document without an address of its own (data:, srcdoc) may not have
    // one set, and some browsers refuse many changes a minute: the view stays.
  }
}

function restoreState() {
  const hasFragment = location.href.includes("#");
  const state = new URLSearchParams(hasFragment ? location.hash.slice(1) : location.search);
  view.trail = [];
  showGhosts(config.ghosts && state.get("vanished") === "1");
  const found = findFrame(state);
  setZoom(found.w ? found : top);
  search(state.get("s") || "", state.get("ic") === "1");
}

// By the path of names, which outlives a new recording; of several frames with
// one path (a flame chart) the one at the same place. Without a path, by place.
function findFrame(state) {
  const at = (f) => f.after.x === Number(state.get("x"));
  if (!state.has("path")) {
    const placed = state.has("x") && frames.find((f) => at(f) && f.y === Number(state.get("y")));
    return placed || top;
  }
  let found = [top];
  for (const name of state.get("path").split(";")) {
    found = found.flatMap(childrenOf).filter((f) => f.name === name);
  }
  return found.find(at) || found[0] || top;
}
