// 3-D view of points with WebGL 2. Drag turns the scene, the wheel zooms.
//
// Points are in shuffled order, so the first n points are a random sample. While the scene moves, as many points are
// drawn as allow about 30 frames a second. At rest all points are drawn at full resolution. If WebGL runs on the
// processor, where each point is slow, a plain loop draws the moving points into a picture of half the size, and WebGL
// displays that picture.

export const MOST_POINTS = 310_000;  // the number of pixels of 640 x 480
const ASSUMED_FOCAL = 1.2;  // focal length of a camera without one, as a multiple of the image width
const MOST_GAP = 12;
const SLOWEST_MS = 32, FASTEST_MS = 25, AIM_MS = 29, LEARN = 6;
const FEWEST = 8_000, REST_MS = 160, FOCAL = 1.6;

const VERTEX = `#version 300 es
in vec3 place;          // position in the box around the scene, 0..1
in float gap;           // distance to the neighbours, as a multiple of the usual distance, divided by ${MOST_GAP}
in vec3 colour;
uniform vec3 corner;    // corner of the box relative to the mean of the points, in units of the scene; y and z inverted
uniform vec3 sides;
uniform vec4 turn;      // cosine and sine of the rotations about the vertical and the horizontal axis
uniform float away;     // distance of the observer from the middle of the scene, in units of the scene
uniform vec2 stretch;   // focal length over half of each side of the canvas
uniform float dot_px;   // size of a point at the middle of the scene
out vec3 shade;
void main() {
  vec3 p = corner + place * sides;
  p = vec3(turn.x * p.x + turn.y * p.z, p.y, turn.x * p.z - turn.y * p.x);
  p = vec3(p.x, turn.z * p.y - turn.w * p.z, turn.w * p.y + turn.z * p.z);
  float w = away - p.z;
  gl_Position = vec4(p.xy * stretch, (w - 0.05) / 20.0 * 2.0 * w - w, w);
  gl_PointSize = clamp(dot_px * max(1.0, gap * float(${MOST_GAP})) * away / max(w, 0.05), 1.0, 32.0);
  shade = colour;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 shade;
out vec4 colour;
void main() { colour = vec4(shade, 1.0); }`;

const PICTURE_VERTEX = `#version 300 es
in vec2 corner;
out vec2 at;
void main() { at = corner; gl_Position = vec4(2.0 * corner - 1.0, 0.0, 1.0); }`;

const PICTURE_FRAGMENT = `#version 300 es
precision mediump float;
uniform sampler2D picture;
in vec2 at;
out vec4 colour;
void main() { colour = texture(picture, at); }`;

export function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(made, i);
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return { made, uniforms };
}

// Returns the known pixels of a depth map as points in shuffled order, or null. `focal` is in px of the map.
export function pointsOf(depth, width, height, focal) {
  const f = focal ?? ASSUMED_FOCAL * width;
  const sorted = sample(depth);
  if (!sorted.length) return null;
  const low = sorted[Math.floor(0.005 * sorted.length)], high = sorted[Math.floor(0.995 * (sorted.length - 1))];
  const step = Math.max(1, Math.sqrt((width * height) / MOST_POINTS)), whole = Math.max(1, Math.round(step));
  const found = [];
  for (let y = 0; y < height; y += step) {
    for (let x = 0; x < width; x += step) {
      const index = Math.floor(y) * width + Math.floor(x);
      if (depth[index] >= low && depth[index] <= high) found.push(index);
    }
  }
  const from = shuffled(found), count = from.length;
  if (!count) return null;
  const position = new Float32Array(3 * count), gap = new Uint16Array(count);
  const least = [Infinity, Infinity, Infinity], largest = [-Infinity, -Infinity, -Infinity], mean = [0, 0, 0];
  from.forEach((index, i) => {
    const column = index % width, row = Math.floor(index / width), z = depth[index];
    const p = [((column + 0.5 - width / 2) / f) * z, ((row + 0.5 - height / 2) / f) * z, z];
    for (let k = 0; k < 3; k++) { position[3 * i + k] = p[k]; mean[k] += p[k] / count; least[k] = Math.min(least[k], p[k]); largest[k] = Math.max(largest[k], p[k]); }
    // The points of a steep surface are far apart. Larger dots close these gaps, but not those at depth edges.
    const usual = (whole * z) / f;
    const steep = Math.max(...[whole, whole * width].map((off) => Math.abs((depth[index + off] ?? z) - z)));
    const times = Number.isFinite(steep) && steep < MOST_GAP * usual ? (0.75 * steep) / usual : 1;
    gap[i] = Math.round((65535 * Math.min(times, MOST_GAP)) / MOST_GAP);
  });
  const place = new Uint16Array(4 * count);
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < 3; k++) place[4 * i + k] = Math.round((65535 * (position[3 * i + k] - least[k])) / (largest[k] - least[k] || 1));
    place[4 * i + 3] = gap[i];
  }
  const extent = Math.max(...largest.map((value, k) => value - least[k]), 1e-9) * 0.6;
  const sides = largest.map((value, k) => (value - least[k]) / extent);
  const corner = least.map((value, k) => (value - mean[k]) / extent);  // rotation about the mean
  const turned = [1, -1, -1];
  for (let i = 0; i < 3 * count; i++) position[i] = (turned[i % 3] * (position[i] - mean[i % 3])) / extent;
  return { count, from, place, position, gap, corner, sides, spacing: ((step / f) * (least[2] + largest[2])) / 2 / extent };
}

function sample(depth) {
  const step = Math.max(1, Math.floor(depth.length / 20000)), found = [];
  for (let i = 0; i < depth.length; i += step) if (Number.isFinite(depth[i])) found.push(depth[i]);
  return found.sort((a, b) => a - b);
}

// Fisher-Yates shuffle with a fixed seed.
function shuffled(values) {
  const made = Uint32Array.from(values);
  let seed = 12345;
  for (let i = made.length - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    [made[i], made[j]] = [made[j], made[i]];
  }
  return made;
}

export class Points {
  // background() returns red, green and blue, 0..1.
  constructor(canvas, background) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("no WebGL 2");
    const { made, uniforms } = program(gl, VERTEX, FRAGMENT);
    const name = gl.getExtension("WEBGL_debug_renderer_info");
    const slow = /swiftshader|llvmpipe|software/i.test(name ? gl.getParameter(name.UNMASKED_RENDERER_WEBGL) : "");
    Object.assign(this, { canvas, gl, made, uniforms, background, slow, share: slow ? 0.5 : 1, scene: null, yaw: 0.33, pitch: 0.22, away: 1.35, rocking: false, wanted: false, moving: false, times: [] });
    gl.useProgram(made);
    gl.enable(gl.DEPTH_TEST);
    this.at = (word) => gl.getAttribLocation(made, word);
    this.buffers = { place: gl.createBuffer(), colour: gl.createBuffer() };
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  get count() { return this.scene?.count ?? 0; }

  // `scene` is a result of pointsOf, or null.
  show(scene) {
    const { gl } = this;
    this.scene = scene;
    if (scene) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.place);
      gl.bufferData(gl.ARRAY_BUFFER, scene.place, gl.STATIC_DRAW);
      for (const [word, parts, offset] of [["place", 3, 0], ["gap", 1, 6]]) {
        gl.enableVertexAttribArray(this.at(word));
        gl.vertexAttribPointer(this.at(word), parts, gl.UNSIGNED_SHORT, true, 8, offset);
      }
    }
    this.rest();
  }

  // colourOf(index) returns red, green and blue of a pixel, 0..255.
  paint(colourOf) {
    if (!this.scene) return;
    const { gl } = this, colours = new Uint8Array(4 * this.count);
    this.scene.from.forEach((index, i) => { const c = colourOf(index); colours[4 * i] = c[0]; colours[4 * i + 1] = c[1]; colours[4 * i + 2] = c[2]; });
    for (let i = 3; i < colours.length; i += 4) colours[i] = 255;
    this.colours = new Uint32Array(colours.buffer);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.colour);
    gl.bufferData(gl.ARRAY_BUFFER, colours, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(this.at("colour"));
    gl.vertexAttribPointer(this.at("colour"), 3, gl.UNSIGNED_BYTE, true, 4, 0);
    this.rest();
  }

  resize() { this.rest(); }

  // Requests a frame with all points at full resolution.
  rest() { this.moving = false; this.request(); }

  // Requests a frame with a sample of the points, then one with all points when the motion has stopped.
  move() {
    if (!this.moving) { this.moving = true; this.before = undefined; this.times = []; }
    clearTimeout(this.timer);
    if (!this.rocking) this.timer = setTimeout(() => this.rest(), REST_MS);
    this.request();
  }

  redraw() { if (!this.moving) this.rest(); }

  request() {
    if (this.requested || this.canvas.closest("[hidden]")) return;
    this.requested = true;
    requestAnimationFrame((now) => { this.requested = false; this.draw(now); });
  }

  draw(now) {
    const { gl, canvas } = this;
    this.fit();
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...this.background(), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const count = this.moving ? Math.min(this.count, Math.max(FEWEST, Math.round(this.share * this.count))) : this.count;
    if (count) {
      const yaw = this.yaw + (this.rocking ? 0.35 * Math.sin(now / 700) : 0), aspect = canvas.width / canvas.height;
      // Fewer points are drawn larger, but not so large that they cost as much as all points.
      const larger = (this.count / count) ** 0.4;
      const seen = {
        turn: [Math.cos(yaw), Math.sin(yaw), Math.cos(this.pitch), Math.sin(this.pitch)],
        stretch: aspect > 1 ? [FOCAL / aspect, FOCAL] : [FOCAL, FOCAL * aspect],
        dot: (1.5 * larger * this.scene.spacing * FOCAL * Math.min(canvas.width, canvas.height)) / 2 / this.away,
      };
      if (this.moving && this.slow && this.colours) this.drawByLoop(count, seen); else this.drawByCard(count, seen);
    }
    this.learn(now);
    Object.assign(canvas.dataset, { frames: String(Number(canvas.dataset.frames ?? 0) + 1), points: String(this.count), ...(this.moving ? { moved: String(count) } : {}) });
    if (this.rocking) this.move();
  }

  drawByCard(count, { turn, stretch, dot }) {
    const { gl, uniforms, scene } = this, turned = ([x, y, z]) => [x, -y, -z];
    gl.useProgram(this.made);
    gl.uniform3f(uniforms.corner, ...turned(scene.corner));
    gl.uniform3f(uniforms.sides, ...turned(scene.sides));
    gl.uniform4f(uniforms.turn, ...turn);
    gl.uniform1f(uniforms.away, this.away);
    gl.uniform2f(uniforms.stretch, ...stretch);
    gl.uniform1f(uniforms.dot_px, dot);
    gl.drawArrays(gl.POINTS, 0, count);
  }

  // Draws points without WebGL, by the arithmetic of the shader, with dots of at most 3 x 3 pixels.
  drawByLoop(count, { turn: [cy, sy, cp, sp], stretch, dot }) {
    const { gl, canvas, away, colours, scene: { position, gap } } = this, { width, height } = canvas;
    const sheet = this.sheet?.width === width && this.sheet.height === height ? this.sheet : this.makeSheet(width, height);
    const { picture, depth } = sheet;
    const [red, green, blue] = this.background().map((value) => Math.round(255 * value));
    picture.fill(((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
    depth.fill(1e9);
    const fx = (stretch[0] * width) / 2, fy = (stretch[1] * height) / 2, steep = MOST_GAP / 65535;
    for (let i = 0, k = 0; i < count; i++, k += 3) {
      const x = position[k], y = position[k + 1], z = position[k + 2];
      const tx = cy * x + sy * z, tz = cy * z - sy * x;
      const w = away - (sp * y + cp * tz);
      if (w < 0.05) continue;
      const size = Math.min(3, Math.round((dot * Math.max(1, steep * gap[i]) * away) / w)) || 1;
      const left = Math.floor((fx * tx) / w + width / 2) - (size >> 1), low = Math.floor((fy * (cp * y - sp * tz)) / w + height / 2) - (size >> 1);
      if (left < 0 || low < 0 || left + size > width || low + size > height) continue;
      for (let row = low; row < low + size; row++) {
        for (let at = row * width + left, end = at + size; at < end; at++) if (w < depth[at]) { depth[at] = w; picture[at] = colours[i]; }
      }
    }
    gl.useProgram(sheet.made);
    gl.bindVertexArray(sheet.corners);
    gl.bindTexture(gl.TEXTURE_2D, sheet.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, sheet.bytes);
    gl.disable(gl.DEPTH_TEST);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.enable(gl.DEPTH_TEST);
    gl.bindVertexArray(null);
  }

  makeSheet(width, height) {
    const { gl } = this, picture = new Uint32Array(width * height);
    const made = this.sheet?.made ?? program(gl, PICTURE_VERTEX, PICTURE_FRAGMENT).made;
    if (this.sheet) { gl.deleteTexture(this.sheet.texture); gl.deleteVertexArray(this.sheet.corners); }
    const corners = gl.createVertexArray(), place = gl.getAttribLocation(made, "corner");
    gl.bindVertexArray(corners);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 2, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, width, height);
    for (const which of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, which, gl.NEAREST);
    this.sheet = { width, height, picture, bytes: new Uint8Array(picture.buffer), depth: new Float32Array(width * height), made, corners, texture };
    return this.sheet;
  }

  // Sets the size of the canvas: half as many pixels a side while the scene moves on a slow machine.
  fit() {
    const scale = (window.devicePixelRatio || 1) * (this.moving && this.slow ? 0.5 : 1);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * scale)), height = Math.max(1, Math.round(this.canvas.clientHeight * scale));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
  }

  // Adapts the number of points to the mean time of several frames, because single times vary too much.
  learn(now) {
    const passed = now - (this.before ?? now);
    this.before = now;
    if (!this.moving || !(passed > 0 && passed < 500)) return;
    this.times.push(passed);
    if (this.times.length < LEARN) return;
    const mean = this.times.reduce((sum, each) => sum + each, 0) / LEARN;
    this.times = [];
    if (mean > SLOWEST_MS || mean < FASTEST_MS) this.share *= Math.min(1.5, Math.max(0.5, AIM_MS / mean));
    this.share = Math.min(1, Math.max(FEWEST / Math.max(1, this.count), this.share));
    if (this.share < 0.3) this.slow = true;
  }

  rock(on = !this.rocking) { this.rocking = on; this.move(); return on; }

  spin(dx, dy) {
    this.yaw += dx;
    this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + dy));
    this.move();
  }

  zoom(factor) { this.away = Math.max(0.4, Math.min(8, this.away * factor)); this.move(); }

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
    canvas.addEventListener("draw-all", () => { this.yaw += 0.01; this.rest(); });  // for measurements: draw all points
    canvas.addEventListener("keydown", (event) => {
      const [dx, dy] = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key] ?? [];
      if (dx === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.spin(dx, dy);
    });
  }
}
