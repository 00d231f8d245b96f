/* The texts around the frames: controls above, details and matches below. */

function control(id, text, label, run) {
  const element = root.querySelector("#" + id) || make(SVG, "text", { id }, root, text);
  element.classList.add("control");
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "0");
  element.setAttribute("aria-label", label);
  element.addEventListener("click", run);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.stopPropagation();
    act(event, run);
  });
  return element;
}

function findTexts() {
  const text = (id) => root.querySelector("#" + id) || make(SVG, "text", { id }, root);
  ui = {
    title: text("title"), details: text("details"), matched: text("matched"),
    reset: control("reset", "Reset Zoom", "Reset zoom", () => zoomTo(top)),
    search: control("search", "Search", "Search", () => (view.term ? clearSearch() : searchBox.open())),
    ignorecase: control("ignorecase", "Ignore case", "Ignore case", toggleCase),
    legend: control("legend-toggle", "Legend", "Legend of the colours", legend.toggle),
    ghosts: control("ghosts-toggle", "Vanished", "Show vanished frames", toggleGhosts),
    help: control("help-toggle", "?", "Help", help.toggle),
    copyName: control("copy-name", "Copy name", "Copy the frame's name", copyName),
    copyStack: control("copy-stack", "Copy stack", "Copy the frame's stack", copyStack),
  };
  ui.titleText = ui.title.textContent;
  ui.titleScale = parseFloat(getComputedStyle(ui.title).fontSize) / config.fontSize || 1;
  show(ui.search, true);
  show(ui.ignorecase, true);
  show(ui.legend, legend.useful);
  show(ui.ghosts, config.ghosts);
  ui.details.setAttribute("aria-live", "polite");
  ui.matched.setAttribute("aria-live", "polite");
}

// Lines texts up from the right edge, leftwards; says where they end.
function fromRight(elements, y) {
  let right = size.width - size.pad;
  for (const element of elements) {
    if (element.classList.contains("hide")) continue;
    element.setAttribute("x", right.toFixed(1));
    element.setAttribute("y", y);
    element.setAttribute("text-anchor", "end");
    element.removeAttribute("dx");
    right -= measure.lengthOf(element.textContent) + config.fontSize;
  }
  return right;
}

/* A picture that is taller than the window opens at its root, and the texts around the frames stay in sight. */

let edges = null; // the strips behind the texts

function followScroll() {
  if (!ownsPage) return;
  const sight = inSight();
  const bottom = Math.min(size.height, sight.top + window.innerHeight);
  const isTall = sight.top > 0 || bottom < size.height;
  const above = [ui.title, root.querySelector("#subtitle"), root.querySelector("#warning"), ui.reset, ui.search, ui.ignorecase, ui.legend, ui.ghosts, ui.help];
  const below = [ui.details, ui.matched, ui.copyName, ui.copyStack];
  if (isTall && !edges) {
    edges = [make(SVG, "rect", { class: "edge" }, root), make(SVG, "rect", { class: "edge" }, root)];
    for (const text of [...above, ...below]) if (text) root.appendChild(text);
  }
  const move = (elements, by) => elements.forEach((one) => one && (by ? one.setAttribute("transform", "translate(0," + by + ")") : one.removeAttribute("transform")));
  const [up, down] = [sight.top, bottom - size.height];
  move(above, up);
  move(below, down);
  if (!edges) return;
  const head = Number(box.querySelector("rect") ? Math.min(...frames.map((f) => f.y)) : 0);
  const foot = 2 * config.fontSize + 4;
  [[up, head, up > 0], [bottom - foot, foot, down < 0]].forEach(([y, height, shown], n) => {
    edges[n].setAttribute("y", y);
    edges[n].setAttribute("width", size.width);
    edges[n].setAttribute("height", height);
    show(edges[n], shown);
  });
}

function toRoot() {
  if (!ownsPage || config.inverted) return;
  const tall = size.height - window.innerHeight;
  if (tall > 0) window.scrollTo(0, tall);
}

function layoutTexts() {
  const topRow = ui.title.getAttribute("y") || 2 * config.fontSize;
  const bottomRow = ui.details.getAttribute("y") || size.height - config.fontSize;
  ui.reset.setAttribute("x", size.pad);
  ui.reset.setAttribute("y", topRow);
  ui.reset.setAttribute("text-anchor", "start");
  const right = fromRight([ui.help, ui.ignorecase, ui.search, ui.legend, ui.ghosts], topRow);
  const cut = measure.fit(ui.titleText, (2 * right - size.width) / ui.titleScale, false);
  const title = cut === ui.titleText || cut.length > 7 ? cut : ""; // a stump says nothing
  if (ui.title.textContent !== title) ui.title.textContent = title;

  // A narrow picture needs the room for the details; the keys still copy.
  const wide = size.width > 60 * config.fontSize;
  show(ui.copyName, wide && view.current !== null);
  show(ui.copyStack, view.current !== null);
  const end = fromRight([ui.matched, ui.copyStack, ui.copyName], bottomRow);
  ui.details.setAttribute("x", size.pad);
  ui.details.setAttribute("y", bottomRow);
  size.detailsRoom = end - size.pad;
  const details = detailsText(size.detailsRoom);
  if (ui.details.textContent !== details) ui.details.textContent = details;
}

// If room is short, the word before the name goes first, then the name's end, and
// the numbers last.
function detailsText(room) {
  const f = view.shown;
  if (!f) return "";
  const caption = printable(f.caption);
  const place = ui.details.dataset.prefix;
  const full = place + config.nametype + " " + caption;
  if (measure.lengthOf(full) <= room) return full;
  const numbers = printable(f.numbers);
  const name = measure.fit(place + printable(f.caption.slice(0, f.caption.length - f.numbers.length)), room - measure.lengthOf(numbers), false);
  return name ? name + numbers : measure.fit(place + caption, room, false);
}
