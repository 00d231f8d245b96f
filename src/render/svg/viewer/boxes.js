/* Boxes to type in, or to copy from: HTML inside the SVG. */

// The part of the picture in sight, in user units: a tall picture is scrolled, and a
// box must open in that part.
function inSight() {
  const area = root.getBoundingClientRect();
  const unit = area.width ? size.width / area.width : 1;
  return {
    left: Math.max(0, -area.left * unit),
    top: Math.max(0, -area.top * unit),
    right: Math.min(size.width, (window.innerWidth - area.left) * unit),
  };
}

// An HTML panel in the picture's upper right corner, made when first opened.
function floatingBox(label, fill) {
  let frame = null;
  let parts = null;

  function open() {
    if (!frame) {
      frame = make(SVG, "foreignObject", { class: "box", height: 64 }, root);
      const panel = make(XHTML, "div", { role: "dialog", "aria-label": label }, frame);
      panel.addEventListener("keydown", (event) => {
        // The picture's keys rest while somebody types; a second Ctrl-F is
        // the browser's own search.
        event.stopPropagation();
        if (event.key === "Escape") act(event, parts.cancel);
      });
      parts = fill(panel, close);
    }
    const sight = inSight();
    const width = Math.max(160, Math.min(340, sight.right - sight.left - 12));
    frame.setAttribute("width", width);
    frame.setAttribute("x", Math.max(0, sight.right - width - 6));
    frame.setAttribute("y", sight.top + 4);
    root.appendChild(frame); // above everything else
    show(frame, true);
    return parts;
  }

  function close() {
    if (!isOpen()) return;
    show(frame, false);
    // The keys go back to the picture at once, not when the browser next draws.
    const active = document.activeElement;
    if (active && frame.contains(active)) active.blur();
    if (view.current) view.current.stop.focus({ preventScroll: true });
  }

  function isOpen() {
    return frame !== null && !frame.classList.contains("hide");
  }

  return { open, close, isOpen, parts: () => parts };
}

const canEmbed = typeof SVGForeignObjectElement !== "undefined";

// Without access to the clipboard: the text, selected, to be copied by hand.
const copyBox = (function () {
  const floating = floatingBox("Copy", (panel, close) => {
    const input = make(XHTML, "input", { type: "text", readonly: "", "aria-label": "Text to copy" }, panel);
    make(XHTML, "p", { class: "note" }, panel, "Press Ctrl-C to copy, Esc to close");
    input.addEventListener("blur", close);
    return { input, cancel: close };
  });

  function open(text) {
    if (!canEmbed) return window.prompt("Copy:", text);
    const { input } = floating.open();
    input.value = text;
    input.focus();
    input.select();
  }

  return { open };
})();
