// The loaded pictures and maps, and their values at a pixel.

import { bytes } from "./api.js";

export const store = { planes: new Map(), width: 0, height: 0, flags: [], state: null, opacity: null, frame: { place: 0, full: false } };

const fetching = new Set();

// Name of the plane of opacities, which no list shows.
export const planeNamed = (name) => (name === "opacity" ? store.opacity : store.planes.get(name));

export const about = (name) => store.planes.get(name)?.about;

// Returns the planes that this plane is drawn from.
export const sourcesOf = (info) => (info.derived ? info.sources : [info.name]);
export const isHere = (info) => sourcesOf(info).every((name) => store.planes.get(name)?.data);

// The selected frame of the stack is a plane that only this page loads: small at first, then at full size.
function frameInfo({ frames, factor, width, height }) {
  if (!frames?.places.length) return [];
  if (!frames.places.includes(store.frame.place)) store.frame = { place: frames.places[0], full: false };
  const { place, full } = store.frame, name = frames.names[frames.places.indexOf(place)];
  const whole = full && factor > 1, [w, h] = whole ? [frames.width, frames.height] : [width, height];
  return [{
    name: "frame", title: `frame ${place}: ${name}`, kind: "picture", unit: "", sources: [], derived: false, factor: whole ? factor : 1,
    width: w, height: h, version: `${frames.key}/${place}/${whole}`, url: `/api/frame/${place}${whole ? "?full=1" : ""}`,
  }];
}

// Returns the planes of a state, with the selected frame of a stack. The frames of a pair are planes already.
export const planesOf = (state) => [...(state.is_stack || document.body.dataset.tab === "retouch" ? frameInfo(state) : []), ...state.planes];

const typed = (info, buffer) => (info.kind === "value" ? new Float32Array(buffer) : new Uint8Array(buffer));

// Loads the planes of a new state. Calls onArrival(name, box) for every new plane, or with its changed box.
export function update(state, onArrival) {
  Object.assign(store, { state, width: state.width, height: state.height, flags: state.flags });
  const kept = new Map(), patch = state.painting?.patch;
  for (const info of planesOf(state)) {
    const old = store.planes.get(info.name);
    const same = old && old.about.version === info.version;
    if (!same && info.name === "fused" && old?.data && patch && old.about.version === patch.from && info.version === patch.to) {
      kept.set(info.name, { ...old, about: info });
      fetchPatch(info, patch.box, onArrival);
      continue;
    }
    // Limits set by the user are kept for a new map of the same kind.
    const limits = old && old.touched ? { low: old.low, high: old.high, touched: true } : { low: info.low, high: info.high };
    kept.set(info.name, { ...(same ? old : { data: null }), about: info, ...(same ? {} : limits) });
  }
  store.planes = kept;
  if (store.opacity?.about.version !== state.opacity?.version) store.opacity = state.opacity && { about: state.opacity, data: null };
  if (store.opacity && !store.opacity.data) fetchPlane(store.opacity.about, onArrival);
  for (const { about: info, data } of kept.values()) if (!info.derived && !data) fetchPlane(info, onArrival);
}

async function fetchPlane(info, onArrival) {
  const key = `${info.name}/${info.version}`;
  if (fetching.has(key)) return;
  fetching.add(key);
  try {
    const buffer = await bytes(info.url ?? `/api/plane/${info.name}?v=${info.version}`);
    const plane = planeNamed(info.name);
    if (plane && plane.about.version === info.version) {
      plane.data = typed(info, buffer);
      onArrival(info.name);
    }
  } catch {
    // The plane was replaced during the transfer; the next state has its new version.
  } finally {
    fetching.delete(key);
  }
}

async function fetchPatch(info, box, onArrival) {
  const [x0, y0, x1, y1] = box, plane = store.planes.get(info.name);
  const data = new Uint8Array(await bytes(`/api/plane/${info.name}?x0=${x0}&y0=${y0}&x1=${x1}&y1=${y1}`).catch(() => new ArrayBuffer(0)));
  const row = 3 * (x1 - x0);
  if (!data.length || plane?.data?.length !== 3 * info.width * info.height) return;
  for (let y = y0; y < y1; y++) plane.data.set(data.subarray((y - y0) * row, (y - y0 + 1) * row), 3 * (y * info.width + x0));
  onArrival(info.name, { x: x0, y: y0, w: x1 - x0, h: y1 - y0, data });
}

const at = (name, index) => store.planes.get(name)?.data?.[index];

// Returns red, green and blue of a picture at a pixel of the map, or undefined.
export function rgbAt(name, x, y) {
  const plane = store.planes.get(name);
  if (!plane?.data) return undefined;
  const { factor, width, height } = plane.about, middle = Math.floor(factor / 2);
  const column = Math.min(width - 1, x * factor + middle), row = Math.min(height - 1, y * factor + middle);
  return plane.data.subarray(3 * (row * width + column), 3 * (row * width + column) + 3);
}

export const sigmaOf = (s) => Math.sign(s) * Math.sqrt(Math.abs(s));
export const sigmaStderrOf = (s, stderr) => (sigmaOf(s + stderr) - sigmaOf(s - stderr)) / 2;

// Maps in the read-out, with their symbols.
const READ = { sigma: "σ", s: "s", index: "in focus in frame", height: "height", depth: "depth" };

// Returns [symbol, value, standard error, unit] of every loaded map.
export function valuesAt(x, y) {
  const index = y * store.width + x;
  return Object.entries(READ).filter(([name]) => about(name) && isHere(about(name))).map(([name, symbol]) => [
    symbol, valueOf(name, index), valueOf(name === "sigma" ? "stderr" : `${name}_stderr`, index), name === "index" ? "" : about(name).unit,
  ]);
}

export const flagsAt = (x, y) => at("flags", y * store.width + x) ?? 0;

export function valueOf(name, index) {
  if (name === "sigma") { const s = at("s", index); return s === undefined ? NaN : sigmaOf(s); }
  if (name === "stderr") {
    const s = at("s", index), e = at("s_stderr", index);
    return s === undefined || e === undefined ? NaN : sigmaStderrOf(s, e);
  }
  return at(name, index) ?? NaN;
}

export const flagNames = (value) => store.flags.filter((flag) => value & flag.bit).map((flag) => flag.name);

// Formats a number with the significant digits by its error, or three.
export function shown(value, error) {
  if (value === undefined || value === null || !Number.isFinite(value)) return "–";
  if (Number.isFinite(error) && error > 0) {
    const digits = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(error))));
    return value.toFixed(digits);
  }
  const size = Math.abs(value);
  return size !== 0 && (size < 0.001 || size >= 1e5) ? value.toExponential(1) : value.toFixed(size < 1 ? 3 : size < 100 ? 2 : 0);
}

export const withError = (value, error, unit) =>
  Number.isFinite(value) ? `${shown(value, error)} ± ${shown(error, error)} ${unit}` : "no answer";
