// Files: open, drop, export, and the equivalent commands.

import { post, upload } from "./api.js";

const $ = (id) => document.getElementById(id);
const MOST_BYTES = 100_000_000;
const IMAGES = /\.(png|jpe?g|mpo|webp|tiff?|avif|hei[cf]|bmp|gif|p[gpn]m|hdr|exr|npy|dng|cr[23]|nef|arw|orf|rw2|raf)$/i;

export function startFiles(onMessage) {
  const dialog = $("open-dialog");
  const say = (text) => { $("open-message").textContent = text; };
  const open = async (files) => {
    try {
      say("");
      await send(files, (text) => { say(text); onMessage(text); });
      for (const id of ["file-many", "file-folder"]) $(id).value = "";
      dialog.close();
      onMessage("");
    } catch (error) {
      say(error.message);
      onMessage(error.message, true);
    }
  };
  $("open").onclick = () => dialog.showModal();
  $("open-go").onclick = () => {
    const many = [...$("file-many").files];
    open(many.length ? many : ofFolder([...$("file-folder").files].filter((file) => file.webkitRelativePath.split("/").length === 2)));
  };
  $("open-example").onclick = async () => {
    try { await post("/api/open", { what: "example" }); dialog.close(); } catch (error) { say(error.message); }
  };
  dropping(open);
}

// Returns the images of a folder, or the result in it.
const ofFolder = (files) => files.filter((file) => file.name.endsWith(".npz") || (IMAGES.test(file.name) && !file.name.startsWith(".")));

async function send(files, say) {
  const result = files.find((file) => file.name.toLowerCase().endsWith(".npz"));
  const chosen = result ? [result] : [...files].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  if (!chosen.length) throw new Error("choose two images or more, a folder of them, or a result");
  const large = chosen.find((file) => file.size > MOST_BYTES);
  if (large) throw new Error(`${large.name} has more than 100 MB; open large files by name: relblur view FILE FILE ...`);
  const total = chosen.reduce((sum, file) => sum + file.size, 0), ids = [];
  let sent = 0;
  for (const file of chosen) {
    ids.push(await upload(file, (share) => say(`uploading ${file.name}: ${Math.round((100 * (sent + share * file.size)) / total)} % of ${chosen.length === 1 ? "it" : "all"}`)));
    sent += file.size;
  }
  await post("/api/open", { files: ids });
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
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()), files = [...event.dataTransfer.files];
    if (entries.some((entry) => entry?.isDirectory)) filesOf(entries).then(open);
    else open(files);
  });
}

// Returns dropped files, and the files of dropped folders.
async function filesOf(entries) {
  const found = [];
  for (const entry of entries) {
    if (entry?.isFile) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    if (!entry?.isDirectory) continue;
    const reader = entry.createReader(), inside = [];
    for (let more; (more = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length;) inside.push(...more);
    found.push(...ofFolder(await filesOf(inside.filter((each) => each.isFile))));
  }
  return found;
}

function link(name, text, className = "") {
  return Object.assign(document.createElement("a"), { href: `/api/export/${name}`, textContent: text, className, download: name.split("/").pop() });
}

const text = (kind, textContent, className = "") => Object.assign(document.createElement(kind), { textContent, className });

export function fillExports(state) {
  const place = $("files"), { exports: names, commands } = state;
  const key = JSON.stringify([names, commands]);
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const parts = names.length ? [link("relblur.zip", "Everything (.zip)", "big")] : [text("p", "The map is not finished.", "dim")];
  for (const [title, inFolder] of [["one by one", false], ["depth", true]]) {
    const listed = names.filter((name) => name.startsWith("depth/") === inFolder);
    if (!listed.length) continue;
    const box = text("div", "", "group");
    box.append(...listed.map((name) => link(name, name.split("/").pop())));
    parts.push(text("h3", title), box);
  }
  place.replaceChildren(...parts);
  $("commands").replaceChildren(...Object.entries(commands).map(([name, words]) => command(name, words)));
  if (!Object.keys(commands).length) $("commands").textContent = "A saved result is open, without its images.";
}

function command(name, words) {
  const box = text("div", "", "command"), row = text("div", "", "row"), copy = text("button", "Copy"), code = text("p", words, "code");
  copy.type = "button";
  copy.setAttribute("aria-label", `Copy the command for ${name}`);
  copy.onclick = async () => {
    try { await navigator.clipboard.writeText(words); copy.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  };
  row.append(text("span", name === "estimate" ? "blur" : name), copy);
  box.append(row, code);
  return box;
}
