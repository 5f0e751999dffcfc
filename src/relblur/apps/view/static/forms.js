// The forms: measurement of blur, the camera with its working range, depth.

import { get, post } from "./api.js";
import { chart } from "./chart.js";
import { shown, store } from "./values.js";

const $ = (id) => document.getElementById(id);
const NUMBERS = ["window", "max_sigma", "prefilter"];

const later = (wait, work) => { let timer; return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); }; };

export function startForms(onError) {
  const settings = $("settings");
  const send = later(120, async (name, value) => { try { await post("/api/settings", { [name]: value }); } catch (error) { onError(error.message); } });
  settings.addEventListener("change", ({ target }) => {
    if (!target.checkValidity()) { target.reportValidity(); return; }
    let value = target.type === "checkbox" ? target.checked : target.value;
    if (NUMBERS.includes(target.name)) value = Number(value);
    if (target.name === "focus_m") value = value.trim() ? value.split(",").map(numberOf) : null;
    if (target.name === "decimate" && value !== "auto") value = Number(value);
    send(target.name, value);
  });
  for (const form of [settings, $("camera"), $("depth-form")]) form.addEventListener("submit", (event) => event.preventDefault());
  $("camera").addEventListener("input", later(150, liveRange));
  const depth = async (measure) => {
    try { await post("/api/depth", { camera: cameraFields(), choices: depthChoices(), measure }); } catch (error) { onError(error.message); }
  };
  fillWords().catch((error) => onError(error.message));
  $("depth-of-map").onclick = () => depth(false);
  $("measure-depth").onclick = () => depth(true);
}

// Choices and help texts are those of the commands.
async function fillWords() {
  const about = await get("/api/form");
  for (const field of document.querySelectorAll("#settings [name], #depth-form [name], #prefer")) {
    const { help, words } = about[field.name || field.id] ?? {};
    if (help) field.title = help;
    for (const word of words ?? []) if (![...field.options].some(({ value }) => value === word)) field.add(new Option(word, word));
  }
  if (store.state) fillForms(store.state);
}

// Shows the settings of the server, except in the focused field.
export function fillForms(state) {
  fill($("settings"), state.choices);
  fill($("depth-form"), state.depth_choices);
  const camera = $("camera");
  if (state.camera && camera.dataset.shown !== JSON.stringify(state.camera)) {
    camera.dataset.shown = JSON.stringify(state.camera);
    fill(camera, state.camera);
    liveRange();
  }
  if (!state.camera && camera.dataset.shown) { delete camera.dataset.shown; camera.reset(); liveRange(); }  // another pair, another camera
  const isResult = state.source === "result";
  for (const field of $("settings").elements) field.disabled = isResult;
  $("measure-depth").disabled = isResult;
  $("depth-made").textContent = state.depth_made_by ? `${state.depth_measured ? "measured" : "from the blur map"}: ${state.depth_made_by}` : "";
  $("notes").replaceChildren(...(state.notes.length ? state.notes : ["nothing yet"]).map((text) => Object.assign(document.createElement("li"), { textContent: text })));
}

function fill(form, values) {
  for (const field of form.elements) {
    if (!field.name || field === document.activeElement || !(field.name in values)) continue;
    const value = values[field.name];
    if (field.type === "checkbox") field.checked = value;
    else field.value = value === null ? "" : [value].flat().map((each) => (typeof each === "number" ? String(Number(each.toPrecision(7))) : each)).join(",");
  }
}

const numberOf = (text) => (text.trim() === "inf" ? "inf" : Number(text));

function cameraFields() {
  const fields = {};
  for (const { name, value } of $("camera").elements) {
    if (!name || value.trim() === "") continue;
    const parts = value.split(",").map(numberOf);
    fields[name] = parts.length > 1 ? parts : parts[0];
  }
  return fields;
}

function depthChoices() {
  const choices = {};
  for (const { name, value } of $("depth-form").elements) {
    if (!name) continue;
    choices[name] = ["psf", "side"].includes(name) ? value : value === "" ? null : Number(value);
  }
  return choices;
}

async function liveRange() {
  const fields = cameraFields(), error = $("camera-error"), place = $("camera-range");
  error.textContent = "";
  if (!Object.keys(fields).length) { place.replaceChildren(); return; }
  try {
    const found = await post("/api/camera", fields);
    const far = found.farthest_m === null ? "infinity" : `${shown(found.farthest_m)} m`;
    const title = Object.assign(document.createElement("p"), { className: "caption" });
    title.append("Measures ", Object.assign(document.createElement("b"), { id: "working-range", textContent: `${shown(found.nearest_m)} m to ${far}` }), ` (${found.kind} pair).`);
    const rows = found.table.filter((row) => row.depth_m !== null);
    const z = rows.map((row) => row.depth_m);
    place.replaceChildren(title, chart({
      series: [
        { kind: "line", x: z, y: rows.map((row) => row.circle_first_px), label: "first" },
        { kind: "line", x: z, y: rows.map((row) => row.circle_second_px), label: "second", colour: "var(--chart-2)" },
        { kind: "line", x: z, y: rows.map((row) => row.resolution_mm / row.depth_m), label: "mm per m", colour: "var(--chart-3)", dash: "4 3" },
      ],
      xLabel: "distance (m)", yLabel: "circle (px)", ySpan: [0, Math.max(1, ...rows.map((row) => Math.max(row.circle_first_px, row.circle_second_px)))],
      description: "Circles of confusion of both images and resolution in depth over the working range",
    }), Object.assign(document.createElement("p"), { className: "caption", textContent: "Blue and red: circle of confusion in first and second. Green: resolution, mm for each m." }));
  } catch (failure) {
    error.textContent = failure.message;
    place.replaceChildren();
  }
}
