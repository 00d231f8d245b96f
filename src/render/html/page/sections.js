// The sections of the page: zlib streams, in base64 or, those of the code, in base 85.

/** The bytes of a section, inflated; null when there is none. One that was changed has another checksum.
 * @param {string} name
 * @param {(text: string) => Uint8Array<ArrayBuffer>} [decode]
 * @returns {Promise<Uint8Array | null>} */
export async function section(name, decode = fromBase64) {
  const element = document.getElementById("data-" + name);
  if (!element) return null;
  const text = element.textContent ?? "";
  element.remove();
  try {
    const stream = new Blob([decode(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw broken(name, "damaged");
  }
}

/** @param {string} name
 * @param {string} how */
const broken = (name, how) => new Error(`the part "${name}" of this page is ${how}; fetch it again, or draw it again`);

/** The error of a page that lacks a section.
 * @param {string} name */
export const lacking = (name) => broken(name, "missing");

/** @param {string} text */
function fromBase64(text) {
  const quick = /** @type {{ fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }} */ (Uint8Array);
  if (quick.fromBase64) return quick.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
