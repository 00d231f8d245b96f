// Draws the file that is dropped on page.html. fg_tools.wasm lies beside it.
import { load } from "./fg_tools.mjs";

const [message, picture, file] = ["message", "picture", "file"].map((id) => document.getElementById(id));
const draw = await load(await (await fetch("fg_tools.wasm")).arrayBuffer());

async function show(recording) {
  if (!recording) return;
  message.textContent = "";
  try {
    const page = draw(new Uint8Array(await recording.arrayBuffer()), "html");
    URL.revokeObjectURL(picture.src);
    picture.src = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    picture.hidden = false;
  } catch (error) {
    picture.hidden = true;
    message.textContent = `${recording.name}: ${error.message.replace(/^input:? ?/, "")}`;
  }
}

file.addEventListener("change", () => show(file.files[0]));
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
document.addEventListener("dragleave", () => document.body.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  show(event.dataTransfer.files[0]);
});
document.body.dataset.ready = "yes";
