/* Mouse, pen and touch. */

function frameOf(event) {
  for (let node = event.target; node && node !== box; node = node.parentNode) {
    const f = byElement.get(node);
    if (f) return f;
  }
  return null;
}

function listenToPointer() {
  let touch = false;
  let hold = 0; // the timer of a long press
  let held = false; // a long press has zoomed: the click that follows is its end
  let lastTap = { frame: null, time: 0 };
  let mouse = ""; // where the mouse was: frames also move below a mouse at rest

  const release = () => clearTimeout(hold);

  box.addEventListener("pointerover", (event) => {
    const place = event.screenX + " " + event.screenY;
    const f = frameOf(event);
    if (event.pointerType !== "touch" && f && place !== mouse) showDetails(f);
    mouse = place;
  });
  box.addEventListener("pointerleave", () => showDetails(view.current));

  box.addEventListener("pointerdown", (event) => {
    const f = frameOf(event);
    touch = event.pointerType === "touch";
    held = false;
    release();
    if (!touch || !f || f.link || !event.isPrimary) return;
    hold = setTimeout(() => {
      held = true;
      select(f, false);
      zoomTo(f);
    }, HOLD_MS);
  });
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release); // the finger moved: the browser scrolls
  box.addEventListener("contextmenu", (event) => {
    const f = frameOf(event);
    if (touch && f && !f.link) event.preventDefault();
  });

  box.addEventListener("click", (event) => {
    const f = frameOf(event);
    if (!f) return;
    // A link is followed by a plain click; with a modifier the frame zooms.
    if (f.link && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (held) {
      held = false;
      return;
    }
    const second = lastTap.frame === f && event.timeStamp - lastTap.time < DOUBLE_TAP_MS;
    lastTap = { frame: second ? null : f, time: event.timeStamp };
    select(f, false);
    f.stop.focus({ preventScroll: true });
    if (!touch || second) zoomTo(f);
  });

  box.addEventListener("focusin", (event) => {
    const f = frameOf(event);
    if (f && f !== view.current) select(f, false);
  });
}
