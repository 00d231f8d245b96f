/* The width of texts, the part of a text that fits into a frame, and the ink on a colour. */

// The ink, black or white, that is easier to read on a colour.
function inkOn(hex) {
  const light = [1, 3, 5].map((at) => {
    const share = parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000" : "#fff";
}

// Asking the browser for the length of thousands of texts is what makes a zoom
// slow, so characters are measured once each, on a canvas, and added up.
const measure = (function () {
  const widths = new Map();
  let canvas = null;
  let scale = 1;

  function prepare() {
    const sample = "The quick brown fox; main::run<T>(0x1234)";
    const probe = make(SVG, "text", {}, box, sample);
    const style = getComputedStyle(probe);
    canvas = document.createElementNS(XHTML, "canvas").getContext("2d");
    if (canvas) {
      canvas.font = style.fontSize + " " + style.fontFamily;
      let sum = 0;
      for (const c of sample) sum += canvas.measureText(c).width;
      // The picture may hint or scale its glyphs otherwise than the canvas does.
      scale = (sum && probe.getComputedTextLength() / sum) || 1;
    }
    probe.remove();
  }

  function widthOf(c) {
    let w = widths.get(c);
    if (w === undefined) {
      w = canvas ? canvas.measureText(c).width * scale : config.fontSize * config.fontWidth;
      widths.set(c, w);
    }
    return w;
  }

  function lengthOf(text) {
    let sum = 0;
    for (const c of text) sum += widthOf(c);
    return sum;
  }

  // The text, or as much of it as fits with two dots where it was cut, or "".
  function fit(text, room, keepEnd) {
    const dots = 2 * widthOf(".");
    if (room < dots) return "";
    const all = [...text.slice(keepEnd ? -2000 : 0, keepEnd ? undefined : 2000)];
    const cutAlready = all.join("").length < text.length;
    let sum = 0;
    let safe = 0; // how many characters leave room for the dots
    for (let i = 0; i < all.length; i++) {
      sum += widthOf(keepEnd ? all[all.length - 1 - i] : all[i]);
      if (sum > room) return cut();
      if (sum + dots <= room) safe = i + 1;
    }
    return cutAlready ? cut() : text;

    function cut() {
      if (!safe) return "";
      return keepEnd ? ".." + all.slice(-safe).join("") : all.slice(0, safe).join("") + "..";
    }
  }

  return { prepare, lengthOf, fit };
})();
