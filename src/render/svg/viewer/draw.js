/* Places every frame for the zoom. */

function readSize() {
  const pad = Number(box.getAttribute("x")) || 0;
  // The height is the drawing's own, also while help makes it taller.
  const height = size ? size.height : Number(root.getAttribute("height")) || 0;
  const width = fluid ? root.getBoundingClientRect().width || 1200 : Number(config.width);
  size = { width, height, pad, inner: Math.max(1, width - 2 * pad) };
  if (fluid) box.setAttribute("width", size.inner);
}

function draw() {
  const zoomed = view.zoomed;
  for (const f of frames) {
    if (!f.w) hideFrame(f, true);
    else if (contains(zoomed, f)) place(f, (f.x - zoomed.x) / zoomed.w, f.w / zoomed.w, false);
    else if (contains(f, zoomed)) place(f, 0, 1, true);
    else hideFrame(f, true);
  }
  show(ui.reset, zoomed !== top);
}

// By visibility and not by display: taking 8,000 frames out of the layout and
// back costs a browser 100 ms each way, hiding them 40.
function hideFrame(f, hidden) {
  if (f.drawn.hidden === hidden) return;
  f.drawn.hidden = hidden;
  for (const part of [f.rect, f.text]) {
    if (!part) continue;
    if (hidden) part.setAttribute("visibility", "hidden");
    else part.removeAttribute("visibility");
  }
}

// Puts a frame at a share of the width. Attributes that `drawn` has already stay.
function place(f, left, share, faded) {
  const drawn = f.drawn;
  hideFrame(f, false);
  if (drawn.faded !== faded) f.g.classList.toggle("parent", faded);
  drawn.faded = faded;
  if (drawn.left !== left) f.rect.setAttribute("x", percent(left));
  if (drawn.share !== share) f.rect.setAttribute("width", percent(share));
  drawn.left = left;
  drawn.share = share;
  placeText(f, left * size.inner, share * size.inner);
}

function placeText(f, left, width) {
  const drawn = f.drawn;
  const label = measure.fit(f.label, width - 2 * TEXT_PAD, !config.truncateRight);
  if (label && !f.text) f.text = make(SVG, "text", { y: f.y + size.baseline }, f.g);
  if (drawn.label !== label && f.text) f.text.textContent = label;
  drawn.label = label;
  const x = left + TEXT_PAD;
  if (label && drawn.textX !== x) {
    f.text.setAttribute("x", x.toFixed(2));
    drawn.textX = x;
  }
}

function percent(share) {
  return Number((100 * share).toFixed(6)) + "%";
}

function zoomTo(f) {
  if (f === view.zoomed) return;
  view.trail.push(view.zoomed);
  setZoom(f);
  saveState("pushState");
}

// One step back: to the zoom before this one, or, after a reload, to the
// nearest caller that is wider.
function unzoom() {
  let back = view.trail.pop();
  if (!back) {
    back = view.zoomed;
    while (back.parent && back.w <= view.zoomed.w) back = back.parent;
  }
  if (back === view.zoomed) return;
  setZoom(back);
  saveState("pushState");
}

function setZoom(f) {
  view.zoomed = f;
  draw();
  const current = view.current;
  if (current && current.drawn.hidden) select(f, box.contains(document.activeElement));
  showMatched();
}
