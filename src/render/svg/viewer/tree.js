/* The call tree, read back from the picture: every frame knows its place. */

function readFrames() {
  const rows = [];
  for (const rect of box.querySelectorAll("rect[data-w]")) {
    const g = rect.parentNode;
    const title = childOf(g, "title");
    const caption = title ? title.textContent : "";
    const cut = nameLength(caption);
    const link = g.parentNode.localName === "a";
    const after = { x: Number(rect.getAttribute("data-x")), w: Number(rect.getAttribute("data-w")) };
    const name = g.getAttribute("data-n") ?? caption.slice(0, cut);
    rows.push({
      g, rect, name, caption,
      numbers: caption.slice(cut), // the weight as the tooltip says it, in parentheses
      stop: link ? g.parentNode : g, // takes the keyboard focus: a link must, to be followed
      link,
      text: childOf(g, "text"),
      label: printable(name),
      x: after.x, w: after.w, after, union: placeInUnion(rect) || after,
      y: Number(rect.getAttribute("y")),
      depth: 0, index: 0, end: 0, parent: null, lastChild: null,
      // the attributes that are drawn at present, so that draw() skips those that stay
      drawn: { left: -1, share: -1, label: null, textX: -1, hidden: false, faded: false, hit: false },
    });
  }
  return rows;
}

// The length of the name in a tooltip `name (325 ms (162 samples), 12.34%)`: a parenthesis at the end
// belongs to the weight, with all that it encloses. Weights are never read from this text.
function nameLength(caption) {
  if (!caption.endsWith(")")) return caption.length;
  let depth = 0;
  for (let i = caption.length - 1; i > 0; i--) {
    if (caption[i] === ")") depth++;
    else if (caption[i] === "(" && --depth === 0) return caption[i - 1] === " " ? i - 1 : caption.length;
  }
  return caption.length;
}

// The place of the frame in the union of before and after.
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
