// Reads a recording by the module, in node: node try.mjs MODULE.wasm RECORDING [svg|html|folded]
import { readFileSync } from "node:fs";
import { load } from "./fg_tools.mjs";

const [module, recording, kind = "folded"] = process.argv.slice(2);
const draw = await load(readFileSync(module));
try {
  process.stdout.write(draw(new Uint8Array(readFileSync(recording)), kind));
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}
