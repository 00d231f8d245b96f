/* The keys. */

// The keys, with their description in the help.
const commands = [
  { keys: ["ArrowUp", "k"], shown: "\u2191 k", about: "frame above", run: () => walk("up") },
  { keys: ["ArrowDown", "j"], shown: "\u2193 j", about: "frame below", run: () => walk("down") },
  { keys: ["ArrowLeft", "h"], shown: "\u2190 h", about: "frame to the left", run: () => walk("left") },
  { keys: ["ArrowRight", "l"], shown: "\u2192 l", about: "frame to the right", run: () => walk("right") },
  { keys: ["Enter", "z"], shown: "Enter z", about: "zoom into the frame", run: () => zoomTo(view.current || view.zoomed) },
  { keys: ["Backspace", "u"], shown: "Backspace u", about: "one zoom back", run: unzoom },
  { keys: ["0", "r"], shown: "0 r", about: "whole picture", run: () => zoomTo(top) },
  { keys: ["/", "F3"], shown: "/ Ctrl-F F3", about: "search (regular expression)", run: () => searchBox.open() },
  { keys: ["n"], shown: "n", about: "next match", run: () => stepMatch(1) },
  { keys: ["N"], shown: "N", about: "previous match", run: () => stepMatch(-1) },
  { keys: ["i"], shown: "i Ctrl-I", about: "ignore or match case", run: toggleCase },
  { keys: ["c"], shown: "c", about: "copy the frame's name", run: copyName },
  { keys: ["C"], shown: "C", about: "copy its stack", run: copyStack },
  { keys: ["g"], shown: "g", about: "legend of the colours", run: () => legend.toggle() },
  { keys: ["v"], shown: "v", about: "show or hide vanished frames", run: toggleGhosts },
  { keys: ["?"], shown: "?", about: "this help", run: () => help.toggle() },
  { keys: ["Escape"], shown: "Esc", about: "close, clear", run: escape },
];

function onKey(event) {
  if (event.isComposing || event.altKey) return;
  if (event.ctrlKey || event.metaKey) {
    const chord = event.key.toLowerCase();
    if (chord === "f" && !event.shiftKey) act(event, () => searchBox.open());
    else if (chord === "i" && event.ctrlKey && !event.shiftKey) act(event, toggleCase);
    return;
  }
  const command = commands.find((one) => one.keys.includes(event.key));
  if (!command) return;
  // A focused link keeps its Enter; z zooms into it.
  if (event.key === "Enter" && view.current && view.current.link) return;
  act(event, command.run);
}

function act(event, run) {
  event.preventDefault();
  run();
}

function escape() {
  if (help.close() || legend.close() || searchBox.close()) return;
  if (view.term) clearSearch();
  else select(null, false);
}
