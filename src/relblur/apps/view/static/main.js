// The page: puts the parts together and keeps them in step with the server.

import { follow, get, post } from "./api.js";
import { Cloud } from "./cloud.js";
import { fillExports, startFiles } from "./files.js";
import { showBox, showLine, showPixel } from "./findings.js";
import { fillForms, startForms } from "./forms.js";
import * as panes from "./panes.js";
import { about, flagNames, isHere, pixelValues, shown, store, update, valueOf, withError } from "./values.js";

const $ = (id) => document.getElementById(id);
const tables = new Map();
let renderer, cloud = null, size = "", pairName = "", told = "", localMessage = null;

// -- colours -----------------------------------------------------------------------------------------------------

const gradient = (name) => {
  const table = tables.get(name);
  if (!table) return "none";
  const stops = Array.from({ length: 17 }, (_, i) => { const k = 3 * Math.round((255 * i) / 16); return `rgb(${table[k]} ${table[k + 1]} ${table[k + 2]})`; });
  return `linear-gradient(to right, ${stops.join(", ")})`;
};

// What colours, and the sliders for them, are evenly spaced in.
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
  const v = pixelValues(pixel.x, pixel.y);
  const parts = [["", `${pixel.x}, ${pixel.y}`]];
  if (v.sigma !== undefined) parts.push(["σ", withError(v.sigma, v.sigmaStderr, "px")], ["s", withError(v.s, v.stderr, "px²")]);
  if (v.depth !== undefined) parts.push(["depth", withError(v.depth, v.depthStderr, "m")]);
  const info = about(name);
  if (info?.kind === "picture") { const data = store.planes.get(name).data; if (data) { const i = 3 * (pixel.y * store.width + pixel.x); parts.push([info.title, `${data[i]} ${data[i + 1]} ${data[i + 2]}`]); } }
  else if (info?.kind === "value" && !["sigma", "s", "depth"].includes(name)) parts.push([info.title, `${shown(valueOf(name, pixel.y * store.width + pixel.x))} ${info.unit}`]);
  const spans = parts.map(([key, text]) => { const span = document.createElement("span"); const b = document.createElement("b"); b.textContent = text; span.append(key ? `${key} ` : "", b); return span; });
  const flags = v.flags ? flagNames(v.flags) : [];
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
  for (const button of document.querySelectorAll("[data-layout]")) button.setAttribute("aria-checked", String(button.dataset.layout === kind));
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
  $("cloud-info").textContent = loaded ? `${cloud.count.toLocaleString("en")} points${store.state.focal_px ? "" : ", angle of view assumed"}` : "";
}

function setTool(tool) {
  panes.layout.tool = tool;
  for (const button of document.querySelectorAll("[data-tool]")) button.setAttribute("aria-checked", String(button.dataset.tool === tool));
}

function setTab(name) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
}

function fillChoices(state) {
  const listed = state.planes.map(({ name, title, unit }) => ({ name, title: unit ? `${title} (${unit})` : title }));
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
  const fresh = `${state.width}x${state.height}`;
  if (fresh !== size || state.name !== pairName) {
    renderer.dropAll();
    store.planes.clear();
    Object.assign(panes.marks, { pixel: null, box: null, line: null });
    if (fresh !== size) queueMicrotask(panes.fit);
    size = fresh;
    pairName = state.name;
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
    $("job-text").textContent = state.live ? job.what : `${job.what} …`;
    $("job-share").hidden = job.share === null;
    $("job-share").value = job.share ?? 0;
    $("cancel").textContent = job.stop ?? "Cancel";
  }
  const news = JSON.stringify(state.message);
  if (news !== told) { told = news; localMessage = null; }
  showMessage();
  $("empty").hidden = state.planes.length > 0;
  if (!job && state.message?.kind === "error" && !state.planes.length) $("empty").textContent = "Nothing to show.";
  else $("empty").textContent = state.live ? "Waiting for the first frames …" : "Reading the pair …";
  const listed = state.planes.map((plane) => plane.name).join();
  if ($("chips").dataset.listed !== listed) { $("chips").dataset.listed = listed; fillChoices(state); panes.arrange(); }
  fillForms(state);
  fillExports(state);
  panes.label();
  showColours();
}

function onArrival(name) {
  const own = store.state.planes.filter((info) => !info.derived).map((info) => info.name);
  // The planes of a clip change together: half of one frame and half of the next would be neither.
  if (store.state.live && !own.every((each) => store.planes.get(each).data)) return;
  for (const each of store.state.live ? own : [name]) {
    const plane = store.planes.get(each);
    renderer.setPlane(each, plane.about.kind, plane.data, store.width, store.height);
  }
  panes.label();
  panes.redraw();
  if (panes.marks.hover) readout(panes.marks.hover, panes.activePlane());
  if (panes.marks.pixel && name === "s_stderr" && !store.state.live) inspect(panes.marks.pixel);
  if (document.body.dataset.layout === "space" && (name === "depth" || name === "first")) showCloud();
  document.body.dataset.arrived = store.state.planes.filter((info) => isHere(info)).map((info) => info.name).join(" ");
  document.body.dataset.version = String(about("s")?.version ?? 0);
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
  ["p", "click pixels, drag to move", () => setTool("pan")], ["b", "drag a box", () => setTool("box")], ["l", "drag a line", () => setTool("line")],
  ["i", "inspect", () => setTab("inspect")], ["m", "measure", () => setTab("measure")], ["e", "export", () => setTab("export")],
  ["o", "open files", () => $("open").click()], ["t", "dark or light", theme], [" ", "rock the scene", rock], ["Escape", "stop the work", () => { if (store.state?.job) cancel(); }], ["?", "this list", () => $("help-dialog").showModal()],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea") && event.key !== "Escape") return;
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
    onHover: readout, onPixel: (pixel) => { setTab("inspect"); inspect(pixel); }, onShape, onActive: showColours, gradient,
    onLostContext: () => say("the browser took the graphics card away; reload the page", true),
  });
  for (const button of document.querySelectorAll("[data-layout]")) button.onclick = () => setLayout(button.dataset.layout);
  for (const button of document.querySelectorAll("[data-tool]")) button.onclick = () => setTool(button.dataset.tool);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.onclick = () => setTab(tab.getAttribute("aria-controls"));
    tab.onkeydown = (event) => {
      const delta = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!delta) return;
      const all = [...document.querySelectorAll("[role=tab]")], next = all[(all.indexOf(tab) + delta + all.length) % all.length];
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
  follow(onState, (lost) => { if (store.state?.live?.ended) return; if (lost) say("the server does not answer; is 'relblur view' still running?", true); else if (localMessage?.kind === "error") say(""); });
  loadTables().catch((error) => say(error.message, true));
  document.body.dataset.layout = "grid";
  document.body.dataset.ready = "yes";
  performance.mark("ready");
}

try {
  start();
} catch (error) {
  $("empty").textContent = error.message;
  document.body.dataset.ready = "no";
}
