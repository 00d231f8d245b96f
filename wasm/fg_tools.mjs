// Calls fg_tools.wasm: see src/lib.rs.

/** The kinds of results. */
export const KINDS = { svg: 0, html: 1, folded: 2 };

/**
 * Prepares the module.
 * @param {BufferSource} wasm
 * @returns {Promise<(recording: Uint8Array, kind: keyof typeof KINDS) => Uint8Array>} draws, or throws an error with
 * the message
 */
export async function load(wasm) {
  const { instance } = await WebAssembly.instantiate(wasm, {});
  const { memory, fg_take, fg_draw, fg_free } = instance.exports;
  return (recording, kind) => {
    const room = fg_take(recording.length);
    new Uint8Array(memory.buffer, room, recording.length).set(recording);
    const answer = fg_draw(room, recording.length, KINDS[kind]);
    const [status, at, length] = new Uint32Array(memory.buffer, answer, 3);
    const bytes = new Uint8Array(memory.buffer, at, length).slice();
    fg_free(answer);
    if (status !== 0) throw new Error(new TextDecoder().decode(bytes));
    return bytes;
  };
}
