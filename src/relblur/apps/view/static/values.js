// The pictures and maps that have arrived, and what they say at a pixel.

import { bytes } from "./api.js";

export const store = { planes: new Map(), width: 0, height: 0, flags: [], state: null };

const fetching = new Map();

export const about = (name) => store.planes.get(name)?.about;
export const names = () => [...store.planes.keys()];

// Planes that must have arrived before this one can be drawn.
export const sourcesOf = (info) => (info.derived ? info.sources : [info.name]);
export const isHere = (info) => sourcesOf(info).every((name) => store.planes.get(name)?.data);

function typed(info, buffer) {
  return info.kind === "value" ? new Float32Array(buffer) : new Uint8Array(buffer);
}

// Takes over a new state; onArrival(name) is called for every plane that comes in.
export function update(state, onArrival) {
  store.state = state;
  store.width = state.width;
  store.height = state.height;
  store.flags = state.flags;
  const kept = new Map();
  for (const info of state.planes) {
    const old = store.planes.get(info.name);
    const same = old && old.about.version === info.version;
    // Limits that were set by hand outlive a new map of the same kind.
    const limits = old && old.touched ? { low: old.low, high: old.high, touched: true } : { low: info.low, high: info.high };
    kept.set(info.name, { ...(same ? old : { data: null }), about: info, ...(same ? {} : limits) });
  }
  store.planes = kept;
  for (const info of state.planes) if (!info.derived && !store.planes.get(info.name).data) fetchPlane(info, onArrival);
}

async function fetchPlane(info, onArrival) {
  const key = `${info.name}/${info.version}`;
  if (fetching.has(key)) return;
  fetching.set(key, true);
  try {
    const buffer = await bytes(`/api/plane/${info.name}?v=${info.version}`);
    const plane = store.planes.get(info.name);
    if (plane && plane.about.version === info.version) {
      plane.data = typed(info, buffer);
      onArrival(info.name);
    }
  } catch {
    // The plane has been replaced meanwhile; the next state names its successor.
  } finally {
    fetching.delete(key);
  }
}

const at = (name, index) => store.planes.get(name)?.data?.[index];

export const sigmaOf = (s) => Math.sign(s) * Math.sqrt(Math.abs(s));
export const sigmaStderrOf = (s, stderr) => (sigmaOf(s + stderr) - sigmaOf(s - stderr)) / 2;

// All that is known about a pixel; undefined where a plane is not there.
export function pixelValues(x, y) {
  const index = y * store.width + x;
  const s = at("s", index);
  const stderr = at("s_stderr", index);
  const rgb = (name) => {
    const data = store.planes.get(name)?.data;
    return data && [data[3 * index], data[3 * index + 1], data[3 * index + 2]];
  };
  return {
    s, stderr,
    sigma: s === undefined ? undefined : sigmaOf(s),
    sigmaStderr: s === undefined || stderr === undefined ? undefined : sigmaStderrOf(s, stderr),
    flags: at("flags", index),
    depth: at("depth", index), depthStderr: at("depth_stderr", index),
    first: rgb("first"), second: rgb("second"),
  };
}

export function valueOf(name, index) {
  if (name === "sigma") { const s = at("s", index); return s === undefined ? NaN : sigmaOf(s); }
  if (name === "stderr") {
    const s = at("s", index), e = at("s_stderr", index);
    return s === undefined || e === undefined ? NaN : sigmaStderrOf(s, e);
  }
  return at(name, index) ?? NaN;
}

export const flagNames = (value) => store.flags.filter((flag) => value & flag.bit).map((flag) => flag.name);

// A number with as many digits as its error leaves, or three.
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
