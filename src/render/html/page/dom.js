// Elements, made and found. Text is only ever text.

/** @param {string} id
 * @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/** An element with its attributes and children.
 * @param {string} name
 * @param {Record<string, string | boolean | ((event: any) => void)>} attributes
 * @param {(Node | string)[]} inside
 * @returns {HTMLElement} */
export function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false) element.setAttribute(key, value);
  }
  element.append(...inside);
  return element;
}

/** Pairs of a word and a text.
 * @param {[string, string][]} pairs */
export function list(pairs) {
  return make("dl", {}, ...pairs.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
}

/** An item of a menu, which it closes.
 * @param {HTMLElement} menu
 * @param {string} label
 * @param {() => unknown} act */
export function menuItem(menu, label, act) {
  return make("button", {
    role: "menuitem",
    click: () => {
      menu.hidePopover();
      act();
    },
  }, label);
}

/** A bar as long as a share.
 * @param {number} share */
export function meter(share) {
  const inside = make("i");
  inside.style.width = `${(100 * Math.min(share, 1)).toFixed(2)}%`;
  return make("div", { class: "meter" }, inside);
}

/** A colour and what it stands for.
 * @param {string} colour
 * @param {string} label
 * @param {string} [kind] a class
 * @returns {HTMLElement} */
export function swatch(colour, label, kind = "") {
  const square = make("i", { class: kind });
  square.style.background = colour;
  return make("span", {}, square, label);
}

/** Puts a panel below the button that opens it, or at a point, within the window.
 * @param {HTMLElement} panel
 * @param {{ left: number, bottom: number, right?: number }} at */
export function placeAt(panel, { left, bottom, right = left }) {
  const { offsetWidth: width, offsetHeight: height } = panel;
  const room = document.documentElement;
  const x = left + width > room.clientWidth - 8 ? Math.max(right - width, 8) : left;
  const y = Math.max(Math.min(bottom + 6, room.clientHeight - height - 8), 8);
  panel.style.left = `${Math.min(x, Math.max(room.clientWidth - width - 8, 8))}px`;
  panel.style.top = `${y}px`;
}

/** Copies a text; without the modern way, the old one.
 * @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** Hands a file to the reader.
 * @param {Blob} blob
 * @param {string} name */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
