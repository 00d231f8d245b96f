/* Help and legend: panels drawn over the picture. */

// A panel of rows, each a mark (keys, or a colour) and a text. The help stands in
// the middle, the legend below the controls, out of the way.
function panel(id, label, rows, atRight) {
  let group = null;

  function open() {
    const line = config.fontSize * 1.5;
    const bold = 1.15; // marks are bold, and wider than measured
    const markWidth = Math.max(...rows.map((row) => (row.color ? 14 : bold * measure.lengthOf(row.mark)))) + 14;
    const width = markWidth + Math.max(...rows.map((row) => measure.lengthOf(row.text))) + 28;
    const height = line * rows.length + 16;
    const sight = inSight();
    const x = Math.max(0, atRight ? sight.right - width - 6 : (sight.left + sight.right - width) / 2);
    const first = 2.6 * config.fontSize; // below the controls
    const y = Math.max(first, Math.min(sight.top + first, size.height - height - 6));
    group = make(SVG, "g", { id, class: "panel", role: "note", "aria-label": label, transform: "translate(" + x + "," + y + ")" }, root);
    make(SVG, "rect", { class: "sheet", width, height, rx: 6 }, group);
    rows.forEach((row, i) => {
      const base = 8 + line * (i + 0.72);
      if (row.color) make(SVG, "rect", { class: "swatch", x: 14, y: base - 11, width: 14, height: 14, fill: row.color }, group);
      else make(SVG, "text", { class: "mark", x: 14, y: base }, group, row.mark);
      make(SVG, "text", { x: 14 + markWidth, y: base }, group, row.text);
    });
    group.addEventListener("click", close);
    makeRoom(y + height + 6);
  }

  function close() {
    if (!group) return false;
    group.remove();
    group = null;
    makeRoom(0);
    return true;
  }

  function toggle() {
    if (!close() && rows.length) open();
  }

  return { toggle, close, useful: rows.length > 0 };
}

// A shallow picture is lower than the help: it grows while the help is open.
function makeRoom(height) {
  const needed = Math.max(size.height, Math.ceil(height));
  root.setAttribute("height", needed);
  if (root.hasAttribute("viewBox")) root.setAttribute("viewBox", "0 0 " + size.width + " " + needed);
}

const help = panel("help", "Keys", [
  ...commands
    .filter((one) => one.shown !== "g" || (config.legend || []).length)
    .filter((one) => one.shown !== "v" || config.ghosts)
    .map((one) => ({ mark: one.shown, text: one.about })),
  { mark: "Ctrl-click", text: "zoom into a frame that is a link" },
  { mark: "double tap, hold", text: "zoom, on a touch screen" },
]);
const legend = panel("legend", "Colours", (config.legend || []).map((one) => ({ color: one.color, text: one.label })), true);
