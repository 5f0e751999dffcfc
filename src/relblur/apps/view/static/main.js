// The page: connects its parts and shows the state of the server.

import { follow, get, post } from "./api.js";
import { Cloud } from "./cloud.js";
import { fillExports, startFiles } from "./files.js";
import { showBox, showLine, showPixel } from "./findings.js";
import { fillForms, startForms } from "./forms.js";
import * as panes from "./panes.js";
import * as retouch from "./retouch.js";
import { about, flagNames, flagsAt, isHere, planeNamed, planesOf, rgbAt, shown, store, update, valueOf, valuesAt, withError } from "./values.js";

const $ = (id) => document.getElementById(id);
const tables = new Map();
const hint = $("findings").firstElementChild;
let renderer, cloud = null, size = "", openName = "", lastMessage = "", localMessage = null;

// -- colours -----------------------------------------------------------------------------------------------------

const gradient = (name) => {
  const table = tables.get(name);
  if (!table) return "none";
  const stops = Array.from({ length: 17 }, (_, i) => { const k = 3 * Math.round((255 * i) / 16); return `rgb(${table[k]} ${table[k + 1]} ${table[k + 2]})`; });
  return `linear-gradient(to right, ${stops.join(", ")})`;
};

// Transforms a value to the scale, linear or logarithmic, of colours and sliders.
const onScale = (info) => (info.ratio ? (value) => Math.log(Math.max(value, 1e-30)) : (value) => value);

store.colourOf = (plane, value) => {
  const table = plane && tables.get(plane.about.scale);
  if (!table || !Number.isFinite(value)) return [154, 154, 154];
  const at = onScale(plane.about), low = at(plane.low);
  const k = 3 * Math.round(255 * Math.min(1, Math.max(0, (at(value) - low) / (at(plane.high) - low || 1e-9))));
  return [table[k], table[k + 1], table[k + 2]];
};

async function loadTables() {
  const found = await get("/api/colours");
  for (const [name, hex] of Object.entries(found)) {
    const table = Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.substr(2 * i, 2), 16));
    tables.set(name, table);
    renderer.setTable(name, table);
  }
  panes.label();
  panes.redraw();
  showColours();
}

function showColours() {
  const plane = store.planes.get(panes.activePlane());
  const card = $("colours");
  card.hidden = !plane || plane.about.kind === "picture";
  if (card.hidden) return;
  const { about: info } = plane, isValue = info.kind === "value";
  $("colour-title").textContent = info.unit ? `${info.title} (${info.unit})` : info.title;
  card.querySelector(".ramp").hidden = card.querySelector(".sliders").hidden = $("reset-colours").hidden = !isValue;
  $("legend").hidden = isValue;
  if (!isValue) {
    const row = (name, colour, share) => { const box = document.createElement("span"), dot = document.createElement("i"); dot.style.background = colour; box.append(dot, `${name}${share === null ? "" : ` ${(100 * share).toFixed(1)} %`}`); return box; };
    $("legend").replaceChildren(row("no flag", "#f2f2f2", null), ...store.flags.filter((flag) => flag.share > 0).map((flag) => row(flag.name, flag.colour, flag.share)));
    return;
  }
  for (const [id, value] of [["low", plane.low], ["high", plane.high]]) {
    const slider = $(id);
    slider.min = onScale(info)(info.least);
    slider.max = onScale(info)(info.most);
    slider.value = onScale(info)(value);
    slider.setAttribute("aria-valuetext", `${shown(value)} ${info.unit}`);
    $(`${id}-value`).textContent = `${shown(value)} ${info.unit}`;
  }
  const table = tables.get(info.scale), pen = $("ramp").getContext("2d"), image = pen.createImageData(256, 1);
  if (table) for (let i = 0; i < 256; i++) image.data.set([table[3 * i], table[3 * i + 1], table[3 * i + 2], 255], 4 * i);
  pen.putImageData(image, 0, 0);
}

function setLimits(which, place) {
  const plane = store.planes.get(panes.activePlane());
  if (!plane) return;
  const value = plane.about.ratio ? Math.exp(place) : place;
  plane.touched = true;
  plane[which] = value;
  if (plane.about.signed) { const most = Math.abs(value); plane.low = -most; plane.high = most; }  // zero stays in the middle
  else if (plane.low >= plane.high) plane[which === "low" ? "high" : "low"] = value;
  showColours();
  panes.label();
  panes.redraw();
  if (cloud && plane.about.name.startsWith("depth")) cloud.paintPoints();
}

// -- read-out ----------------------------------------------------------------------------------------------------

function readout(pixel, name) {
  const place = $("readout");
  if (!pixel) return;
  const parts = [["", `${pixel.x}, ${pixel.y}`]];
  for (const [symbol, value, error, unit] of valuesAt(pixel.x, pixel.y)) parts.push([symbol, withError(value, error, unit)]);
  const info = about(name);
  if (info?.kind === "picture") { const colour = rgbAt(name, pixel.x, pixel.y); if (colour) parts.push([info.title, colour.join(" ")]); }
  else if (info?.kind === "value" && name.includes("stderr")) parts.push([info.title, `${shown(valueOf(name, pixel.y * store.width + pixel.x))} ${info.unit}`]);
  const spans = parts.map(([key, text]) => { const span = document.createElement("span"); const b = document.createElement("b"); b.textContent = text; span.append(key ? `${key} ` : "", b); return span; });
  const flags = flagNames(flagsAt(pixel.x, pixel.y));
  if (flags.length) spans.push(Object.assign(document.createElement("span"), { className: "bad", textContent: `⚑ ${flags.join(", ")}` }));
  place.replaceChildren(...spans);
}

// -- layout, tools, tabs -----------------------------------------------------------------------------------------

function setLayout(kind) {
  const space = kind === "space";
  $("panes").hidden = space;
  $("space").hidden = !space;
  $("two").hidden = kind !== "compare";
  $("chips").hidden = kind !== "grid";
  $("cloud-tools").hidden = !space;
  $("tool-buttons").hidden = $("zoom-buttons").hidden = space;
  for (const button of document.querySelectorAll("button[data-layout]")) button.setAttribute("aria-checked", String(button.dataset.layout === kind));
  document.body.dataset.layout = kind;
  if (space) return showCloud();
  panes.layout.kind = kind;
  panes.arrange();
}

function showCloud() {
  try {
    cloud ??= new Cloud($("cloud"));
  } catch (error) {
    return say(error.message, true);
  }
  cloud.resize();
  const loaded = cloud.load(store.state?.focal_px ?? null);
  $("cloud-empty").hidden = loaded;
  const scale = cloud.source !== "depth" ? ", relief of arbitrary height" : store.state.focal_px ? "" : ", angle of view assumed";
  $("cloud-info").textContent = loaded ? `${cloud.count.toLocaleString("en")} points${scale}` : "";
}

function setTool(tool) {
  panes.layout.tool = tool;
  for (const button of document.querySelectorAll("[data-tool]")) button.setAttribute("aria-checked", String(button.dataset.tool === tool));
  $("brush").setAttribute("aria-pressed", String(tool === "brush"));
  panes.redraw();
}

function setTab(name) {
  const was = document.body.dataset.tab;
  document.body.dataset.tab = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (name === "retouch" && was !== name) retouch.enter();
  else if (was === "retouch" && was !== name) retouch.leave();
  if (store.state) { retouch.fill(store.state); fillChoices(store.state); }
}

function fillChoices(state) {
  const listed = planesOf(state).map(({ name, title, unit }) => ({ name, title: unit ? `${title} (${unit})` : title }));
  const focused = document.activeElement?.dataset?.plane;
  const rows = listed.map(({ name, title }) => {
    const row = document.createElement("label");
    const tick = Object.assign(document.createElement("input"), { type: "checkbox", checked: panes.layout.shown.has(name) });
    tick.dataset.plane = name;
    tick.onchange = () => {
      const { shown: set } = panes.layout;
      if (tick.checked) set.add(name); else if (panes.planeNames().length > 1) set.delete(name);
      fillChoices(store.state);
      panes.arrange();
    };
    row.append(tick, title);
    return row;
  });
  $("pane-list").replaceChildren(...rows);
  $("pane-count").textContent = `${listed.filter(({ name }) => panes.layout.shown.has(name)).length} of ${listed.length}`;
  if (focused) $("pane-list").querySelector(`[data-plane="${focused}"]`)?.focus();
  for (const [id, side] of [["left-plane", "left"], ["right-plane", "right"]]) {
    $(id).replaceChildren(...listed.map(({ name, title }) => new Option(title, name, false, name === panes.layout[side])));
  }
}

// -- state -------------------------------------------------------------------------------------------------------

function say(text, isError = false) {
  localMessage = text ? { text, kind: isError ? "error" : "note" } : null;
  showMessage();
}

function showMessage() {
  const message = localMessage ?? store.state?.message ?? null;
  $("message").hidden = !message;
  if (!message) return;
  $("message").textContent = message.text;
  $("message").classList.toggle("error-text", message.kind === "error");
}

function onState(state) {
  const fresh = `${state.width}x${state.height}`, isOther = state.name !== openName;
  if (fresh !== size || isOther) {
    renderer.dropAll();
    store.planes.clear();
    store.opacity = null;
    Object.assign(panes.marks, { pixel: null, box: null, line: null, hover: null });
    $("readout").textContent = "";
    if (isOther) { $("findings").replaceChildren(hint); store.frame = { place: 0, full: false }; }
    if (fresh !== size) queueMicrotask(panes.fit);
    size = fresh;
    openName = state.name;
  }
  update(state, onArrival);
  if (!panes.layout.shown.size || !state.planes.some((plane) => panes.layout.shown.has(plane.name))) for (const plane of state.planes) panes.layout.shown.add(plane.name);
  if (!store.planes.has(panes.layout.left) && state.planes.length) panes.layout.left = state.planes[0].name;
  if (!store.planes.has(panes.layout.right) && state.planes.length) panes.layout.right = state.planes.at(-1).name;
  $("pair-name").textContent = state.source === "example" ? "Example" : state.name;
  $("pair-size").textContent = state.width ? `${state.width} × ${state.height}${state.factor > 1 ? `, reduced by ${state.factor}` : ""}` : "";
  document.title = state.name ? `${state.name} – relblur` : "relblur";
  const { job } = state;
  $("job").hidden = !job;
  if (job) {
    $("job-text").textContent = `${job.what} …`;
    if (job.share === null) $("job-share").removeAttribute("value"); else $("job-share").value = job.share;
  }
  const message = JSON.stringify(state.message);
  if (message !== lastMessage) { lastMessage = message; localMessage = null; }
  showMessage();
  $("empty").hidden = state.planes.length > 0;
  if (!job && state.message?.kind === "error" && !state.planes.length) $("empty").textContent = "Nothing to show.";
  else $("empty").textContent = "Reading the images …";
  const listed = planesOf(state).map((plane) => plane.name).join();
  for (const each of document.querySelectorAll("[data-for]")) each.hidden = (each.dataset.for === "stack") !== state.is_stack;
  $("tab-depth").hidden = state.is_stack;
  if ($("tab-" + document.body.dataset.tab).hidden || (document.body.dataset.tab === "retouch" && !state.painting)) setTab("inspect");
  if ($("chips").dataset.listed !== listed) { $("chips").dataset.listed = listed; fillChoices(state); panes.arrange(); }
  fillForms(state);
  fillExports(state);
  retouch.fill(state);
  panes.label();
  showColours();
}

function onArrival(name, box = null) {
  if (box) renderer.patch(name, box);
  else renderer.setPlane(planeNamed(name));
  panes.label();
  panes.redraw();
  if (panes.marks.hover) readout(panes.marks.hover, panes.activePlane());
  if (panes.marks.pixel && ["s_stderr", "index_stderr"].includes(name)) inspect(panes.marks.pixel);
  if (document.body.dataset.layout === "space") showCloud();
  document.body.dataset.arrived = planesOf(store.state).filter((info) => isHere(info)).map((info) => info.name).join(" ");
  document.body.dataset.version = String(about("s")?.version ?? about("index")?.version ?? 0);
  document.body.dataset.fused = String(about("fused")?.version ?? 0);
}

async function inspect(pixel) {
  panes.marks.pixel = pixel;
  Object.assign(panes.marks, { box: null, line: null });
  panes.redraw();
  const began = performance.now();
  try {
    await showPixel(pixel, $("findings"));
    $("findings").dataset.ms = (performance.now() - began).toFixed(1);
  } catch (error) {
    say(error.message, true);
  }
}

async function onShape(kind, shape) {
  panes.marks.pixel = null;
  setTab("inspect");
  try {
    await { box: showBox, line: showLine }[kind](shape, $("findings"));
    $("findings").scrollIntoView({ block: "nearest" });
    $("inspect").scrollTop = Math.min($("inspect").scrollTop, $("findings").offsetTop - $("inspect").offsetTop);
  } catch (error) {
    say(error.message, true);
  }
}

const cancel = () => post("/api/cancel").catch((error) => say(error.message, true));

// -- keys --------------------------------------------------------------------------------------------------------

const swap = () => { const { layout } = panes; [layout.left, layout.right] = [layout.right, layout.left]; fillChoices(store.state); panes.arrange(); };
function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("relblur-theme", document.documentElement.dataset.theme);
  panes.redraw();
  cloud?.redraw();
}
const rock = () => { if (cloud) $("rock").setAttribute("aria-pressed", String(cloud.rock())); };
const step = (delta) => {
  const listed = [...store.planes.keys()], { layout } = panes;
  layout.right = listed[(listed.indexOf(layout.right) + delta + listed.length) % listed.length];
  fillChoices(store.state);
  setLayout("compare");
};

const KEYS = [
  ["g", "all panes", () => setLayout("grid")], ["c", "curtain between two", () => setLayout("compare")], ["d", "the scene in space", () => setLayout("space")],
  ["[", "previous plane on the right", () => step(-1)], ["]", "next plane on the right", () => step(1)], ["x", "exchange left and right", swap],
  ["f", "all of the image", () => panes.fit()], ["1", "one to one", () => panes.zoomTo(1)], ["+", "larger", () => panes.zoomTo(panes.view.zoom * 1.5)], ["-", "smaller", () => panes.zoomTo(panes.view.zoom / 1.5)],
  [",", "previous frame", () => retouch.stepFrame(-1)], [".", "next frame", () => retouch.stepFrame(1)],
  ["r", "brush of the retouch tab", () => { if (store.state?.painting) { setTab("retouch"); setTool(panes.layout.tool === "brush" ? "pan" : "brush"); } }],
  ["z", "undo a stroke", () => retouch.undo()], ["<", "smaller brush", () => retouch.stepRadius(-0.05)], [">", "larger brush", () => retouch.stepRadius(0.05)],
  ["p", "click pixels, drag to move", () => setTool("pan")], ["b", "drag a box", () => setTool("box")], ["l", "drag a line", () => setTool("line")],
  ["i", "inspect", () => setTab("inspect")], ["m", "measure", () => setTab("measure")], ["e", "export", () => setTab("export")],
  ["o", "open files", () => $("open").click()], ["t", "dark or light", theme], [" ", "rock the scene", rock], ["Escape", "stop the work", () => { if (store.state?.job) cancel(); }], ["?", "this list", () => $("help-dialog").showModal()],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea") && event.key !== "Escape") return;
  const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
  if (pan && event.target === $("picture")) { event.preventDefault(); return panes.move(...pan); }
  if (event.key === "Enter" && event.target === $("picture") && store.width) return inspect({ x: Math.min(store.width - 1, Math.floor(panes.view.x)), y: Math.min(store.height - 1, Math.floor(panes.view.y)) });
  if (event.key === " " && event.target.matches("button, a, summary")) return;
  const key = event.key === "=" ? "+" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = KEYS.find(([name]) => name === key);
  if (!found || event.altKey) return;
  if (key === " ") event.preventDefault();
  found[2]();
}

// -- start -------------------------------------------------------------------------------------------------------

function start() {
  renderer = panes.start({
    onHover: readout, onPixel: (pixel) => { setTab("inspect"); inspect(pixel); }, onShape, onStroke: retouch.paint, onActive: showColours, gradient,
    onLostContext: () => say("the browser has lost the graphics context; reload the page", true),
  });
  for (const button of document.querySelectorAll("button[data-layout]")) button.onclick = () => setLayout(button.dataset.layout);
  for (const button of document.querySelectorAll("[data-tool]")) button.onclick = () => setTool(button.dataset.tool);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.onclick = () => setTab(tab.getAttribute("aria-controls"));
    tab.onkeydown = (event) => {
      const delta = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!delta) return;
      const all = [...document.querySelectorAll("[role=tab]:not([hidden])")], next = all[(all.indexOf(tab) + delta + all.length) % all.length];
      next.click();
      next.focus();
    };
  }
  for (const id of ["low", "high"]) $(id).oninput = ({ target }) => setLimits(id, Number(target.value));
  $("reset-colours").onclick = () => { const plane = store.planes.get(panes.activePlane()); Object.assign(plane, { low: plane.about.low, high: plane.about.high, touched: false }); showColours(); panes.label(); panes.redraw(); };
  $("left-plane").onchange = ({ target }) => { panes.layout.left = target.value; panes.arrange(); };
  $("right-plane").onchange = ({ target }) => { panes.layout.right = target.value; panes.arrange(); };
  $("cloud-colour").onchange = ({ target }) => { if (cloud) { cloud.colourBy = target.value; cloud.paintPoints(); } };
  $("swap").onclick = swap;
  $("rock").onclick = rock;
  $("fit").onclick = () => panes.fit();
  $("one").onclick = () => panes.zoomTo(1);
  $("zoom-in").onclick = () => panes.zoomTo(panes.view.zoom * 1.5);
  $("zoom-out").onclick = () => panes.zoomTo(panes.view.zoom / 1.5);
  $("cancel").onclick = cancel;
  $("theme").onclick = theme;
  $("help").onclick = () => $("help-dialog").showModal();
  $("new-address").onclick = async () => { const { address } = await post("/api/address"); $("new-address-text").textContent = address; $("new-address-text").hidden = false; };
  $("keys").replaceChildren(...KEYS.flatMap(([key, text]) => {
    const term = document.createElement("dt"), mark = Object.assign(document.createElement("kbd"), { textContent: key === " " ? "Space" : key.length === 1 ? key.toUpperCase() : key });
    term.append(mark);
    return [term, Object.assign(document.createElement("dd"), { textContent: text })];
  }));
  addEventListener("pointerdown", (event) => { if (!$("chips").contains(event.target)) $("chips").open = false; });
  addEventListener("keydown", onKey);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => panes.redraw());
  startForms((text) => say(text, true));
  startFiles(say);
  retouch.startRetouch({ onArrival, onError: (text) => say(text, true), setTool, setLayout });
  follow(onState, (lost) => { if (lost) say("the server does not answer; is 'relblur view' still running?", true); else if (localMessage?.kind === "error") say(""); });
  loadTables().catch((error) => say(error.message, true));
  Object.assign(document.body.dataset, { layout: "grid", tab: "inspect" });
  document.body.dataset.ready = "yes";
  performance.mark("ready");
}

try {
  start();
} catch (error) {
  $("empty").textContent = error.message;
  document.body.dataset.ready = "no";
}
