// Layout of the panes, the part of the image that all of them show, and pointer gestures.

import { store, about, isHere, shown } from "./values.js";
import { Renderer } from "./renderer.js";

const $ = (id) => document.getElementById(id);
const GAP = 3;
const MOST_ZOOM = 96, CLICK_PX = 4;

export const view = { x: 0, y: 0, zoom: 1 };  // image point in the middle of every pane; CSS pixels per image pixel
export const layout = { kind: "grid", shown: new Set(["first", "second", "frame", "fused", "index", "index_stderr", "height", "sigma", "stderr", "depth", "flags", "remade"]), left: "first", right: "sigma", curtain: 0.5, tool: "pan", radius: 20 };  // radius of the brush in pixels of the map
export const marks = { pixel: null, box: null, line: null, hover: null, drag: null };

let renderer, canvas, overlay, panes = [], hooks = {}, active = "sigma", requested = false, settle = 0, fitted = true;
export const frames = { count: 0, last: 0 };  // for measuring

export function start(callbacks) {
  hooks = callbacks;
  canvas = $("picture");
  overlay = $("marks");
  renderer = new Renderer(canvas);
  new ResizeObserver(resize).observe($("panes"));
  listen();
  resize();
  return renderer;
}

export const activePlane = () => active;
export function activate(name) {
  if (name && name !== active) { active = name; hooks.onActive(name); label(); }
}

export const planeNames = () =>
  layout.kind === "compare" ? [layout.left, layout.right] : [...store.planes.keys()].filter((name) => layout.shown.has(name));

function resize() {
  const box = $("panes").getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  for (const each of [canvas, overlay]) {
    each.width = Math.max(1, Math.round(box.width * scale));
    each.height = Math.max(1, Math.round(box.height * scale));
  }
  if (box.width && box.height) arrange();
}

// Arranges the panes in rows and columns so that the image is as large as possible.
export function arrange() {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const listed = planeNames().filter((name) => store.planes.has(name));
  if (layout.kind === "compare") {
    const all = { x: 0, y: 0, w: width, h: height };
    const cut = Math.round(width * layout.curtain);
    panes = [
      { name: layout.left, rect: all, clip: { x: 0, y: 0, w: cut, h: height }, side: "left" },
      { name: layout.right, rect: all, clip: { x: cut, y: 0, w: width - cut, h: height }, side: "right" },
    ].filter((pane) => store.planes.has(pane.name));
  } else {
    const aspect = store.width && store.height ? store.width / store.height : 4 / 3;
    let best = { columns: 1, size: 0 };
    for (let columns = 1; columns <= Math.max(1, listed.length); columns++) {
      const rows = Math.ceil(listed.length / columns);
      const w = (width - GAP * (columns - 1)) / columns, h = (height - GAP * (rows - 1)) / rows;
      const size = Math.min(w / aspect, h);
      if (size > best.size + 0.5) best = { columns, size };
    }
    const { columns } = best, rows = Math.max(1, Math.ceil(listed.length / columns));
    const w = (width - GAP * (columns - 1)) / columns, h = (height - GAP * (rows - 1)) / rows;
    panes = listed.map((name, index) => {
      const rect = { x: Math.round((index % columns) * (w + GAP)), y: Math.round(Math.floor(index / columns) * (h + GAP)), w: Math.floor(w), h: Math.floor(h) };
      return { name, rect, clip: rect, side: "left" };
    });
  }
  const curtain = $("curtain");
  curtain.hidden = layout.kind !== "compare" || panes.length < 2;
  curtain.style.left = `${100 * layout.curtain}%`;
  curtain.setAttribute("aria-valuenow", String(Math.round(100 * layout.curtain)));
  if (!panes.some((pane) => pane.name === active)) {
    const value = panes.find((pane) => about(pane.name)?.kind === "value");
    if (value) activate(value.name);
  }
  if (fitted) fit();
  label();
  redraw();
}

export function fit() {
  fitted = true;
  if (!store.width || !panes.length) return;
  const { rect } = panes[0];
  view.x = store.width / 2;
  view.y = store.height / 2;
  view.zoom = Math.min(MOST_ZOOM, 0.98 * Math.min(rect.w / store.width, rect.h / store.height));
  redraw();
}

export function zoomTo(zoom, at = null) {
  const smallest = 0.5 * Math.min(panes[0]?.rect.w / store.width || 1, panes[0]?.rect.h / store.height || 1);
  const next = Math.min(MOST_ZOOM, Math.max(Math.min(smallest, 1), zoom));
  if (at) {  // keep the image point under the pointer
    view.x += at.dx / view.zoom - at.dx / next;
    view.y += at.dy / view.zoom - at.dy / next;
  }
  view.zoom = next;
  fitted = false;
  keepInside();
  redraw();
}

export function move(dx, dy) {
  view.x -= dx / view.zoom;
  view.y -= dy / view.zoom;
  fitted = false;
  keepInside();
  redraw();
}

function keepInside() {
  view.x = Math.min(store.width, Math.max(0, view.x));
  view.y = Math.min(store.height, Math.max(0, view.y));
}

// Draws at the next animation frame: with few samples during motion, with all samples afterwards.
export function redraw() {
  if (requested) return;
  requested = true;
  requestAnimationFrame(() => {
    requested = false;
    paint(false);
    clearTimeout(settle);
    settle = setTimeout(() => paint(true), 120);
  });
}

function paint(fine) {
  const scale = canvas.width / Math.max(1, canvas.clientWidth);
  if (!canvas.clientWidth || !canvas.clientHeight) return;  // hidden
  const device = { x: view.x, y: view.y, zoom: view.zoom * scale };
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--stage").trim();
  renderer.begin([1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255));
  const big = (rect) => ({ x: Math.round(rect.x * scale), y: Math.round(rect.y * scale), w: Math.round(rect.w * scale), h: Math.round(rect.h * scale) });
  for (const pane of panes) {
    const plane = store.planes.get(pane.name);
    if (plane) renderer.draw({ info: plane.about, rect: big(pane.rect), clip: big(pane.clip), low: plane.low, high: plane.high, faded: Boolean(store.opacity) }, device, fine);
  }
  drawMarks(scale);
  frames.count += 1;
  frames.last = performance.now();
  canvas.dataset.frames = String(frames.count);
}

const toScreen = (pane, x, y) => [pane.rect.x + pane.rect.w / 2 + (x - view.x) * view.zoom, pane.rect.y + pane.rect.h / 2 + (y - view.y) * view.zoom];

function drawMarks(scale) {
  const pen = overlay.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, overlay.width, overlay.height);
  for (const pane of panes) {
    pen.save();
    pen.beginPath();
    pen.rect(pane.clip.x, pane.clip.y, pane.clip.w, pane.clip.h);
    pen.clip();
    const stroke = (draw) => {
      for (const [width, colour] of [[3, "#000a"], [1.5, "#fff"]]) {
        pen.lineWidth = width;
        pen.strokeStyle = colour;
        pen.beginPath();
        draw();
        pen.stroke();
      }
    };
    const shape = marks.drag ?? null;
    const [box, line] = ["box", "line"].map((kind) => (shape?.kind === kind ? shape : marks[kind]));
    if (box) {
      const [x0, y0] = toScreen(pane, Math.min(box.x0, box.x1), Math.min(box.y0, box.y1));
      const [x1, y1] = toScreen(pane, Math.max(box.x0, box.x1) + 1, Math.max(box.y0, box.y1) + 1);
      stroke(() => pen.rect(x0, y0, x1 - x0, y1 - y0));
    }
    if (line) {
      const a = toScreen(pane, line.x0 + 0.5, line.y0 + 0.5), b = toScreen(pane, line.x1 + 0.5, line.y1 + 0.5);
      stroke(() => { pen.moveTo(...a); pen.lineTo(...b); });
    }
    if (marks.pixel) {
      const [x, y] = toScreen(pane, marks.pixel.x, marks.pixel.y);
      const side = Math.max(view.zoom, 7), off = (side - view.zoom) / 2;
      stroke(() => pen.rect(x - off, y - off, side, side));
    }
    if (shape?.kind === "brush") {
      pen.lineWidth = 2 * layout.radius * view.zoom;
      Object.assign(pen, { strokeStyle: "#ffd40066", lineCap: "round", lineJoin: "round" });
      pen.beginPath();
      for (const point of [shape.points[0], ...shape.points]) pen.lineTo(...toScreen(pane, ...point));
      pen.stroke();
    }
    if (marks.hover && layout.tool === "brush") {
      const [x, y] = toScreen(pane, ...marks.hover.at);
      stroke(() => pen.arc(x, y, layout.radius * view.zoom, 0, 7));
    } else if (marks.hover) {
      const [x, y] = toScreen(pane, marks.hover.x + 0.5, marks.hover.y + 0.5);
      stroke(() => { pen.moveTo(x - 6, y); pen.lineTo(x + 6, y); pen.moveTo(x, y - 6); pen.lineTo(x, y + 6); });
    }
    pen.restore();
  }
}

// Writes titles, colour bars and the method of a map over the panes.
export function label() {
  const rows = panes.map((pane) => {
    const plane = store.planes.get(pane.name);
    const info = plane.about;
    const box = document.createElement("div");
    const room = layout.kind === "compare" ? pane.clip : pane.rect;
    box.className = `label ${pane.side} ${info.name === active ? "active" : ""} `;
    Object.assign(box.style, { left: `${room.x}px`, top: `${room.y}px`, width: `${room.w}px`, height: `${room.h}px` });
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = info.unit ? `${info.title} (${info.unit})` : info.title;
    if (!isHere(info)) name.textContent += " …";
    box.append(name);
    if (info.name === active && info.kind !== "picture" && room.h > 190) {
      const made = document.createElement("span");
      made.className = "made";
      const depth = info.name.startsWith("depth");
      made.textContent = (depth ? store.state.depth_made_by : store.state.made_by) + (store.state.final || depth ? "" : " · preview");
      name.append(made);
    }
    if (info.kind === "flags" && room.w > 160 && room.h > 110) box.append(flagKey());
    if (info.kind === "value" && room.w > 120) box.append(colourBar(plane));
    return box;
  });
  $("labels").replaceChildren(...rows);
}

function flagKey() {
  const key = document.createElement("div");
  key.className = "flags";
  for (const flag of store.flags.filter((each) => each.share > 0.0005)) {
    const row = document.createElement("span"), dot = document.createElement("i");
    dot.style.background = flag.colour;
    row.append(dot, flag.name);
    key.append(row);
  }
  key.hidden = !key.children.length;
  return key;
}

function colourBar(plane) {
  const bar = document.createElement("div");
  bar.className = "scale";
  const strip = document.createElement("i");
  strip.style.background = hooks.gradient(plane.about.scale);
  const ends = document.createElement("span");
  const middle = [plane.about.ratio ? Math.sqrt(plane.low * plane.high) : (plane.low + plane.high) / 2];
  for (const value of [plane.low, ...middle, plane.high]) {
    const text = document.createElement("b");
    text.textContent = shown(value);
    ends.append(text);
  }
  bar.append(strip, ends);
  return bar;
}

export function paneAt(x, y) {
  return panes.find(({ clip }) => x >= clip.x && x < clip.x + clip.w && y >= clip.y && y < clip.y + clip.h);
}

function pixelAt(pane, x, y) {
  return {
    x: Math.floor(pointAt(pane, x, y)[0]),
    y: Math.floor(pointAt(pane, x, y)[1]),
    at: pointAt(pane, x, y),
  };
}
const pointAt = (pane, x, y) => [view.x + (x - pane.rect.x - pane.rect.w / 2) / view.zoom, view.y + (y - pane.rect.y - pane.rect.h / 2) / view.zoom];
const inside = ({ x, y }) => x >= 0 && y >= 0 && x < store.width && y < store.height;
const clamped = ({ x, y }) => ({ x: Math.min(store.width - 1, Math.max(0, x)), y: Math.min(store.height - 1, Math.max(0, y)) });

function listen() {
  const pointers = new Map();
  let start = null, pinch = null;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
  const spread = () => { const [a, b] = [...pointers.values()]; return { d: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }; };

  canvas.addEventListener("pointerdown", (event) => {
    const at = place(event), pane = paneAt(at.x, at.y);
    if (!pane || !store.width) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at);
    activate(pane.name);
    if (pointers.size === 2) { pinch = spread(); start = null; marks.drag = null; return; }
    const kind = event.shiftKey ? "box" : event.altKey ? "line" : layout.tool;
    start = { ...at, last: at, pane, kind, moved: false };
    if (kind === "brush") { marks.drag = { kind, points: [pointAt(pane, at.x, at.y)] }; redraw(); }
    else if (kind !== "pan") { const p = clamped(pixelAt(pane, at.x, at.y)); marks.drag = { kind, x0: p.x, y0: p.y, x1: p.x, y1: p.y }; }
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, at);
    if (pinch && pointers.size === 2) {
      const now = spread(), pane = paneAt(now.x, now.y) ?? panes[0];
      move(now.x - pinch.x, now.y - pinch.y);
      zoomTo((view.zoom * now.d) / Math.max(1, pinch.d), offset(pane, now));
      pinch = now;
      return;
    }
    const pane = start?.pane ?? paneAt(at.x, at.y);
    if (!pane) return hover(null);
    const pixel = pixelAt(pane, at.x, at.y);
    if (start) {
      if (Math.hypot(at.x - start.x, at.y - start.y) > CLICK_PX) start.moved = true;
      if (start.kind === "pan" && start.moved) {
        canvas.classList.add("moving");
        move(at.x - start.last.x, at.y - start.last.y);
      } else if (marks.drag?.kind === "brush") {
        const last = marks.drag.points.at(-1), [x, y] = pixel.at;
        if (Math.hypot(x - last[0], y - last[1]) > Math.max(1 / view.zoom, layout.radius / 8)) marks.drag.points.push(pixel.at);
        redraw();
      } else if (marks.drag) {
        const p = clamped(pixel);
        Object.assign(marks.drag, { x1: p.x, y1: p.y });
        redraw();
      }
      start.last = at;
    }
    hover(inside(pixel) ? pixel : null, pane);
  });
  const end = (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("moving");
    if (pinch) { if (pointers.size < 2) pinch = null; return; }
    const began = start;
    start = null;
    if (!began || event.type === "pointercancel") { marks.drag = null; return; }
    if (marks.drag?.kind === "brush") {
      const { points } = marks.drag;
      hooks.onStroke(points).finally(() => { marks.drag = null; redraw(); });
    } else if (marks.drag && began.moved) {
      const { kind, x0, y0, x1, y1 } = marks.drag;
      Object.assign(marks, { box: null, line: null, drag: null });
      marks[kind] = { x0, y0, x1, y1 };
      hooks.onShape(kind, marks[kind]);
    } else if (!began.moved) {
      marks.drag = null;
      const pixel = pixelAt(began.pane, began.x, began.y);
      if (inside(pixel)) hooks.onPixel(pixel);
    }
    redraw();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("dblclick", (event) => { const at = place(event), pane = paneAt(at.x, at.y); if (pane) zoomTo(2 * view.zoom, offset(pane, at)); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = place(event), pane = paneAt(at.x, at.y);
    if (!pane) return;
    const lines = event.deltaMode === 1 ? 30 : 1;
    zoomTo(view.zoom * Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) / 300), offset(pane, at));
  }, { passive: false });
  canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); hooks.onLostContext(); });
  dragCurtain();
}

const offset = (pane, at) => ({ dx: at.x - pane.rect.x - pane.rect.w / 2, dy: at.y - pane.rect.y - pane.rect.h / 2 });

function hover(pixel, pane) {
  marks.hover = pixel;
  hooks.onHover(pixel, pane?.name);
  redraw();
}

export function setCurtain(share) {
  layout.curtain = Math.min(1, Math.max(0, share));
  arrange();
}

function dragCurtain() {
  const curtain = $("curtain");
  curtain.addEventListener("pointerdown", (event) => { curtain.setPointerCapture(event.pointerId); event.preventDefault(); curtain.focus(); });
  curtain.addEventListener("pointermove", (event) => {
    if (!curtain.hasPointerCapture(event.pointerId)) return;
    const box = canvas.getBoundingClientRect();
    setCurtain((event.clientX - box.left) / box.width);
  });
  curtain.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    setCurtain(layout.curtain + step);
  });
}
