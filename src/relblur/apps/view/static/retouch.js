// The selected frame, the brush that copies a region of it, and labels for the whole picture.

import { post, upload } from "./api.js";
import * as panes from "./panes.js";
import { planesOf, store, update } from "./values.js";

const $ = (id) => document.getElementById(id);
const LARGEST_PX = 800, FULL_AFTER_MS = 400;

let hooks = {}, waiting = 0, before = null;

export function startRetouch(callbacks) {
  hooks = callbacks;
  $("frame").oninput = () => chooseFrame(store.state.frames.places[Number($("frame").value)]);
  $("brush-radius").oninput = showRadius;
  $("brush").onclick = () => hooks.setTool(panes.layout.tool === "brush" ? "pan" : "brush");
  $("undo").onclick = undo;
  $("prefer").onchange = ({ target }) => send("/api/settings", { prefer: target.value });
  $("labels-file").onchange = async ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (!file) return;
    try {
      await post("/api/labels", { files: [await upload(file, () => {})] });
    } catch (error) {
      hooks.onError(error.message);
    }
  };
}

const send = (path, body) => post(path, body).catch((error) => hooks.onError(error.message));

export const undo = () => { if (store.state?.painting?.strokes) send("/api/undo"); };

export const stepRadius = (delta) => { $("brush-radius").value = Number($("brush-radius").value) + delta; showRadius(); };

const radiusPx = () => Math.round(2 * (LARGEST_PX / 2) ** Number($("brush-radius").value)) ;

function showRadius() {
  $("brush-value").textContent = String(radiusPx());
  panes.layout.radius = radiusPx() / (store.state?.factor ?? 1);
  panes.redraw();
}

// Shows a frame: the small copy at once, the full size when the slider stops.
export function chooseFrame(place) {
  if (place === undefined) return;
  store.frame = { place, full: false };
  refresh();
}

export const stepFrame = (delta) => {
  const places = store.state?.frames?.places ?? [];
  chooseFrame(places[places.indexOf(store.frame.place) + delta]);
};

function refresh() {
  update(store.state, hooks.onArrival);
  fill(store.state);
  panes.label();
  clearTimeout(waiting);
  if (!store.frame.full && store.state.factor > 1) {
    waiting = setTimeout(() => { store.frame.full = true; update(store.state, hooks.onArrival); }, FULL_AFTER_MS);
  }
}

// Shows picture and frame side by side while the tab is open, then restores the panes.
export function enter() {
  before ??= new Set(panes.layout.shown);
  panes.layout.shown = new Set(["frame", "fused"]);
  refresh();
  hooks.setLayout("grid");
}

export function leave() {
  if (!before) return;
  panes.layout.shown = before;
  before = null;
  if (panes.layout.tool === "brush") hooks.setTool("pan");
  update(store.state, hooks.onArrival);
  hooks.setLayout(document.body.dataset.layout);
}

// Sends a stroke; its points are in pixels of the map.
export async function paint(points) {
  const { factor } = store.state, at = points.map((point) => point.map((value) => Math.round(10 * value * factor) / 10));
  await send("/api/paint", { frame: store.frame.place, radius: radiusPx(), points: at.slice(0, 5000) });
}

export function fill(state) {
  const { frames, painting } = state, names = planesOf(state).map(({ name }) => name);
  $("frame-tools").hidden = !names.includes("frame");
  if (frames) {
    const index = Math.max(0, frames.places.indexOf(store.frame.place));
    Object.assign($("frame"), { max: frames.places.length - 1, value: index });
    $("frame-name").textContent = `${store.frame.place}: ${frames.names[index]}`;
    $("frame").setAttribute("aria-valuetext", `${store.frame.place}, ${frames.names[index]}`);
  }
  $("tab-retouch").hidden = !painting;
  document.querySelector("[data-tool=brush]").hidden = !painting || document.body.dataset.tab !== "retouch";
  if (!painting) return;
  $("undo").disabled = !painting.strokes;
  $("strokes").textContent = painting.strokes === 1 ? "1 stroke" : `${painting.strokes} strokes`;
  $("prefer").value = state.choices.prefer;
  $("fused-how").textContent = painting.labels ? "Fused by your labels." : "Fused by the map and the detail of the frames.";
  showRadius();
}
