// Files in and out: open, drop, export, and the command line that does the same.

import { post, upload } from "./api.js";

const $ = (id) => document.getElementById(id);
const MOST_BYTES = 100_000_000;

const BLUR = ["blur_map.npz", "sigma.tif", "sigma.png", "sigma_colour.png", "stderr.png", "sharper.png", "flags.png", "remade.png", "overview.png", "summary.json"];
const DEPTH = ["depth.npz", "depth_mm.png", "depth.tif", "depth.pfm", "depth.npy", "depth.exr", "points.ply", "overview.png", "summary.json"];

export function startFiles(onMessage) {
  const dialog = $("open-dialog");
  const say = (text) => { $("open-message").textContent = text; };
  const open = async (files) => {
    try {
      say("");
      await send(files, (text) => { say(text); onMessage(text); });
      for (const id of ["file-first", "file-second", "file-result"]) $(id).value = "";
      dialog.close();
      onMessage("");
    } catch (error) {
      say(error.message);
      onMessage(error.message, true);
    }
  };
  $("open").onclick = () => dialog.showModal();
  $("open-go").onclick = () => {
    const [first, second, result] = ["file-first", "file-second", "file-result"].map((id) => $(id).files[0]);
    if (result) open([result]);
    else if (first && second) open([first, second]);
    else say("choose a first and a second image, or a result");
  };
  $("open-example").onclick = async () => {
    try { await post("/api/open", { what: "example" }); dialog.close(); } catch (error) { say(error.message); }
  };
  dropping(open);
}

async function send(files, say) {
  const large = files.find((file) => file.size > MOST_BYTES);
  if (large) throw new Error(`${large.name} has more than 100 MB; open large files by name: relblur view FIRST SECOND`);
  if (files.length === 1 && files[0].name.toLowerCase().endsWith(".npz")) {
    await upload("result", files[0], (share) => say(`sending ${files[0].name}: ${Math.round(100 * share)} %`));
    await post("/api/open", { what: "result" });
    return;
  }
  if (files.length !== 2) throw new Error(files.length === 1 ? "one image is not a pair; drop both together" : "drop two images, or one result");
  for (const [slot, file] of [["first", files[0]], ["second", files[1]]]) {
    await upload(slot, file, (share) => say(`sending ${file.name}: ${Math.round(100 * share)} %`));
  }
  await post("/api/open", { what: "pair" });
}

function dropping(open) {
  const veil = $("drop");
  let depth = 0;
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (carries(event)) { depth += 1; veil.hidden = false; } });
  addEventListener("dragleave", (event) => { if (carries(event) && --depth <= 0) { depth = 0; veil.hidden = true; } });
  addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    open([...event.dataTransfer.files].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })));
  });
}

function link(name, text, className = "") {
  return Object.assign(document.createElement("a"), { href: `/api/export/${name}`, textContent: text, className, download: name.split("/").pop() });
}

function group(title, names) {
  const box = Object.assign(document.createElement("div"), { className: "group" });
  box.append(...names.map((name) => link(name, name.split("/").pop())));
  return [Object.assign(document.createElement("h3"), { textContent: title }), box];
}

export function fillExports(state) {
  const has = (name) => state.planes.some((plane) => plane.name === name);
  const saved = state.source === "result";
  const key = [has("s") && state.final, has("depth"), saved, JSON.stringify(state.commands)].join();
  const place = $("files");
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const parts = [];
  if (has("s") && state.final) {
    parts.push(link("relblur_blur.zip", "Everything about blur (.zip)", "big"));
    parts.push(...group("one by one", saved ? BLUR.slice(0, 3) : BLUR));
  } else parts.push(Object.assign(document.createElement("p"), { className: "dim", textContent: "The map is not finished." }));
  if (has("depth")) {
    parts.push(link("relblur_depth.zip", "Everything about depth (.zip)", "big"));
    parts.push(...group("one by one", saved ? ["depth/depth.npz"] : [...DEPTH.map((name) => `depth/${name}`), "camera.toml"]));
  }
  place.replaceChildren(...parts);
  $("commands").replaceChildren(...Object.entries(state.commands).map(([name, text]) => command(name, text)));
  if (!Object.keys(state.commands).length) $("commands").textContent = state.live ? "A clip is being measured; its command is in the terminal." : "A saved result was opened; its pair is not known.";
}

function command(name, text) {
  const box = Object.assign(document.createElement("div"), { className: "command" });
  const row = Object.assign(document.createElement("div"), { className: "row" });
  const copy = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
  copy.setAttribute("aria-label", `Copy the command for ${name}`);
  copy.onclick = async () => {
    try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  };
  row.append(Object.assign(document.createElement("span"), { textContent: name === "estimate" ? "blur" : name }), copy);
  const code = Object.assign(document.createElement("p"), { className: "code", textContent: text });
  box.append(row, code);
  return box;
}
