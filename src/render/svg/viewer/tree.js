/* The call tree, read back from the picture: every frame knows its place. */

function readFrames() {
  const rows = [];
  for (const rect of box.querySelectorAll("rect[data-w]")) {
    const g = rect.parentNode;
    const title = childOf(g, "title");
    const caption = title ? title.textContent : "";
    const cut = caption.lastIndexOf(" (");
    const link = g.parentNode.localName === "a";
    const after = { x: Number(rect.getAttribute("data-x")), w: Number(rect.getAttribute("data-w")) };
    const name = g.getAttribute("data-n") ?? (cut < 0 ? caption : caption.slice(0, cut));
    rows.push({
      g, rect, name, caption,
      stop: link ? g.parentNode : g, // what takes the keyboard: a link must, to be followed
      link,
      text: childOf(g, "text"),
      label: printable(name),
      x: after.x, w: after.w, after, union: placeInUnion(rect) || after,
      y: Number(rect.getAttribute("y")),
      depth: 0, index: 0, end: 0, parent: null, lastChild: null,
      // what is drawn at present, so that draw() can skip what stays
      drawn: { left: -1, share: -1, label: null, textX: -1, hidden: false, faded: false, hit: false },
    });
  }
  return rows;
}

// Where the frame stands among all that is or was there.
function placeInUnion(rect) {
  const [x, w] = (rect.getAttribute("data-u") || "").split(" ").map(Number);
  return w ? { x, w } : null;
}

// Orders the frames as a tree from their places alone: a row is a depth, and
// by start, then depth, a caller comes right before what it calls. Where frames
// are gone, they have a width in the union only.
function growTree(rows) {
  const levels = [...new Set(rows.map((f) => f.y))].sort((a, b) => (config.inverted ? a - b : b - a));
  const depthOf = new Map(levels.map((y, depth) => [y, depth]));
  for (const f of rows) f.depth = depthOf.get(f.y);
  rows.sort((a, b) => a.union.x - b.union.x || a.depth - b.depth);
  const open = [];
  rows.forEach((f, index) => {
    while (open.length > f.depth) open.pop().end = index;
    f.index = index;
    f.parent = open.length ? open[open.length - 1] : null;
    open.push(f);
  });
  for (const f of open) f.end = rows.length;
  return rows;
}

function contains(outer, inner) {
  return outer.index <= inner.index && inner.index < outer.end;
}

function childrenOf(f) {
  const list = [];
  for (let i = f.index + 1; i < f.end; i = frames[i].end) list.push(frames[i]);
  return list;
}

function lineage(f) {
  const list = [];
  for (; f; f = f.parent) list.push(f);
  return list.reverse();
}

// The names from the root to the frame as folded text has them: without "all".
function stackOf(f) {
  return lineage(f).slice(1).map((one) => one.name).join(";");
}
