// The scene in space: every pixel with a depth is a point. Drag turns, wheel zooms.

import { program } from "./renderer.js";
import { store } from "./values.js";

const MOST_POINTS = 300_000;
const MOST_GAP = 12;
const ASSUMED_FOCAL = 1.2;  // of the image's width, where the camera does not tell

const VERTEX = `#version 300 es
in vec4 position;       // and the gap to its neighbours, as a multiple of the usual one
in vec3 colour;
uniform vec3 middle;
uniform vec2 turn;      // about the upright axis, about the level one
uniform float away;     // from the middle of the scene, in its own size
uniform float size;     // of the scene, m
uniform vec2 stretch;   // focal length over half of each side of the canvas
uniform float dot_px;   // of a point at the middle
out vec3 shade;
void main() {
  vec3 p = (position.xyz - middle) / size * vec3(1.0, -1.0, -1.0);
  float c = cos(turn.x), s = sin(turn.x);
  p = vec3(c * p.x + s * p.z, p.y, c * p.z - s * p.x);
  c = cos(turn.y); s = sin(turn.y);
  p = vec3(p.x, c * p.y - s * p.z, s * p.y + c * p.z);
  float w = away - p.z;
  gl_Position = vec4(p.xy * stretch, (w - 0.05) / 20.0 * 2.0 * w - w, w);
  gl_PointSize = clamp(dot_px * position.w * away / max(w, 0.05), 1.0, 32.0);
  shade = colour;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 shade;
out vec4 colour;
void main() { colour = vec4(shade, 1.0); }`;

export class Cloud {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    const { made, uniforms } = program(gl, VERTEX, FRAGMENT);
    Object.assign(this, { uniforms, count: 0, spacing: 0.002, extent: 1, yaw: 0.33, pitch: 0.22, away: 1.6, rocking: false, wanted: false, rate: 0, colourBy: "photo" });
    gl.useProgram(made);
    gl.enable(gl.DEPTH_TEST);
    this.buffers = ["position", "colour"].map((name) => ({ place: gl.getAttribLocation(made, name), buffer: gl.createBuffer() }));
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  resize() {
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * scale));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * scale));
    this.redraw();
  }

  // Builds the points anew from the depth map; false if there is none.
  load(focal) {
    const depth = store.planes.get("depth")?.data;
    if (!depth) { this.count = 0; this.redraw(); return false; }
    const { width, height } = store, f = focal ?? ASSUMED_FOCAL * width;
    const sorted = sample(depth);
    const low = sorted[Math.floor(0.005 * sorted.length)], high = sorted[Math.floor(0.995 * (sorted.length - 1))];
    const step = Math.max(1, Math.ceil(Math.sqrt((width * height) / MOST_POINTS)));
    const most = Math.ceil(width / step) * Math.ceil(height / step);
    const position = new Float32Array(4 * most), from = new Uint32Array(most);
    const sum = [0, 0, 0], least = [Infinity, Infinity, Infinity], largest = [-Infinity, -Infinity, -Infinity];
    let count = 0;
    for (let row = 0; row < height; row += step) {
      for (let column = 0; column < width; column += step) {
        const index = row * width + column, z = depth[index];
        if (!(z >= low && z <= high)) continue;
        const p = [((column + 0.5 - width / 2) / f) * z, ((row + 0.5 - height / 2) / f) * z, z];
        // Where the surface recedes its points lie apart: larger dots close the gaps, but not those of edges.
        const usual = (step * z) / f;
        const steep = Math.max(...[step, step * width].map((off) => Math.abs((depth[index + off] ?? z) - z)));
        position.set(p, 4 * count);
        position[4 * count + 3] = Number.isFinite(steep) && steep < MOST_GAP * usual ? Math.max(1, 0.75 * steep / usual) : 1;
        for (let k = 0; k < 3; k++) { sum[k] += p[k]; least[k] = Math.min(least[k], p[k]); largest[k] = Math.max(largest[k], p[k]); }
        from[count++] = index;
      }
    }
    if (!count) { this.count = 0; this.redraw(); return false; }
    this.middle = least.map((value, k) => (value + largest[k]) / 2);
    this.extent = Math.max(...largest.map((value, k) => value - least[k]), 1e-9) * 0.6;
    this.spacing = (step / f) * this.middle[2] / this.extent;
    Object.assign(this, { count, position, from, low, high });
    this.upload(0, position.subarray(0, 4 * count), 4, this.gl.FLOAT, false);
    this.paintPoints();
    return true;
  }

  paintPoints() {
    if (!this.count) return;
    const colours = new Uint8Array(3 * this.count);
    const photo = (store.planes.get("first") ?? store.planes.get("remade"))?.data;
    const plane = store.planes.get(this.colourBy === "stderr" ? "depth_stderr" : "depth");
    for (let i = 0; i < this.count; i++) {
      const index = this.from[i];
      const c = this.colourBy === "photo" && photo ? photo.subarray(3 * index, 3 * index + 3) : store.colourOf(plane, plane.data[index]);
      colours[3 * i] = c[0]; colours[3 * i + 1] = c[1]; colours[3 * i + 2] = c[2];
    }
    this.upload(1, colours, 3, this.gl.UNSIGNED_BYTE, true);
    this.redraw();
  }

  upload(which, data, parts, type, normalise) {
    const { gl } = this, { place, buffer } = this.buffers[which];
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, parts, type, normalise, 0, 0);
  }

  redraw() {
    if (this.wanted || this.canvas.closest("[hidden]")) return;
    this.wanted = true;
    requestAnimationFrame((now) => { this.wanted = false; this.paint(now); });
  }

  paint(now) {
    const { gl, uniforms, canvas } = this;
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--stage").trim();
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...[1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (this.count) {
      const yaw = this.yaw + (this.rocking ? 0.35 * Math.sin(now / 700) : 0);
      const focal = 1.6, aspect = canvas.width / canvas.height;
      gl.uniform3f(uniforms.middle, ...this.middle);
      gl.uniform2f(uniforms.turn, yaw, this.pitch);
      gl.uniform1f(uniforms.away, this.away);
      gl.uniform1f(uniforms.size, this.extent);
      gl.uniform2f(uniforms.stretch, aspect > 1 ? focal / aspect : focal, aspect > 1 ? focal : focal * aspect);
      gl.uniform1f(uniforms.dot_px, (1.5 * this.spacing * focal * Math.min(canvas.width, canvas.height)) / 2 / this.away);
      gl.drawArrays(gl.POINTS, 0, this.count);
    }
    const passed = now - (this.before ?? now);
    if (passed > 0 && passed < 500) this.rate = this.rate ? 0.9 * this.rate + 100 / passed : 1000 / passed;
    this.before = now;
    canvas.dataset.frames = String(Number(canvas.dataset.frames ?? 0) + 1);
    if (this.rocking) this.redraw();
  }

  rock(on = !this.rocking) { this.rocking = on; this.redraw(); return on; }

  spin(dx, dy) {
    this.yaw += dx;
    this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + dy));
    this.redraw();
  }

  zoom(factor) { this.away = Math.max(0.4, Math.min(8, this.away * factor)); this.redraw(); }

  listen() {
    const { canvas } = this, held = new Map();
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, event); });
    canvas.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return;
      if (held.size === 2) {
        const other = [...held.entries()].find(([id]) => id !== event.pointerId)[1];
        const gap = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
        this.zoom(gap(last) / Math.max(1, gap(event)));
      } else this.spin((event.clientX - last.clientX) / 180, (event.clientY - last.clientY) / 180);
      held.set(event.pointerId, event);
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => held.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 500)); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const [dx, dy] = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key] ?? [];
      if (dx === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.spin(dx, dy);
    });
  }
}

function sample(depth) {
  const step = Math.max(1, Math.floor(depth.length / 20000)), found = [];
  for (let i = 0; i < depth.length; i += step) if (Number.isFinite(depth[i])) found.push(depth[i]);
  return found.sort((a, b) => a - b);
}
