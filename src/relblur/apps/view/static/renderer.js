// Draws pictures and maps with WebGL 2. Textures contain the values of maps: the shader applies colours and limits, so
// sliders are fast. Large images are divided into tiles within the size limit of textures.

import { program } from "./points.js";

const TILE = 2048;

const VERTEX = `#version 300 es
in vec2 corner;
uniform vec4 place;  // left, top, right, bottom of the tile, clip coordinates
uniform vec4 part;   // the same tile in the texture
out vec2 at;
void main() {
  at = mix(part.xy, part.zw, corner);
  gl_Position = vec4(mix(place.xy, place.zw, corner), 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D one;    // picture, flags, value, or s
uniform sampler2D two;    // standard error of s
uniform sampler2D table;  // 256 colours
uniform sampler2D opacity;
uniform bool faded;       // filled pixels fade with their standard error
uniform int kind;         // 0 picture, 1 value, 2 flags, 3 sigma of s, 4 standard error of sigma
uniform vec2 limits;
uniform bool ratio;       // whether the colour scale is logarithmic
uniform vec2 stride;      // size of a screen pixel in the texture
uniform int samples;      // samples per screen pixel on each axis, if the picture is reduced
uniform vec3 none;        // colour of pixels without a value
in vec2 at;
out vec4 colour;
vec3 look(vec2 p) {
  float v = texture(one, p).r;
  if (kind == 2) return texture(table, vec2((v * 255.0 + 0.5) / 256.0, 0.5)).rgb;
  if (kind == 3) v = sign(v) * sqrt(abs(v));
  if (kind == 4) {
    float e = texture(two, p).r;
    float spread = sqrt(abs(v)) + sqrt(abs(v) + e);
    v = v != v ? v : spread > 0.0 ? e / spread : 0.0;
  }
  if (!(v == v) || abs(v) > 3.0e38) return none;
  float share = ratio ? log(max(v, 1.0e-30) / limits.x) / log(limits.y / limits.x) : (v - limits.x) / (limits.y - limits.x);
  share = clamp(share, 0.0, 1.0);
  vec3 full = texture(table, vec2((share * 255.0 + 0.5) / 256.0, 0.5)).rgb;
  return faded ? mix(none, full, texture(opacity, p).r) : full;
}
void main() {
  if (kind == 0) { colour = vec4(texture(one, at).rgb, 1.0); return; }
  vec3 sum = vec3(0.0);
  for (int j = 0; j < samples; j++)
    for (int i = 0; i < samples; i++)
      sum += look(at + stride * ((vec2(i, j) + 0.5) / float(samples) - 0.5));
  colour = vec4(sum / float(samples * samples), 1.0);
}`;

const KINDS = { picture: 0, value: 1, flags: 2 };

export class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("this browser offers no WebGL 2, which the page draws with; switch hardware acceleration on");
    this.gl = gl;
    this.canvas = canvas;
    this.planes = new Map();
    this.tables = new Map();
    const { made, uniforms } = program(gl, VERTEX, FRAGMENT);
    this.uniforms = uniforms;
    gl.useProgram(made);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    const corner = gl.getAttribLocation(made, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    gl.uniform1i(uniforms.one, 0);
    gl.uniform1i(uniforms.two, 1);
    gl.uniform1i(uniforms.table, 2);
    gl.uniform1i(uniforms.opacity, 3);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.side = Math.min(TILE, gl.getParameter(gl.MAX_TEXTURE_SIZE));
  }

  setTable(name, colours) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, colours);
    this._sampling(gl.NEAREST, gl.NEAREST);
    this.tables.set(name, texture);
  }

  drop(name) {
    for (const tile of this.planes.get(name)?.tiles ?? []) this.gl.deleteTexture(tile.texture);
    this.planes.delete(name);
  }

  dropAll() {
    for (const name of [...this.planes.keys()]) this.drop(name);
  }

  setPlane({ about: { name, kind, width, height, factor }, data }) {
    const { gl, side } = this;
    this.drop(name);
    const tiles = [];
    for (let top = 0; top < height; top += side) {
      for (let left = 0; left < width; left += side) {
        const w = Math.min(side, width - left), h = Math.min(side, height - top);
        const texture = gl.createTexture();
        this._send(texture, kind, data, { x: left, y: top, w, h, stride: width });
        tiles.push({ texture, left, top, w, h });
      }
    }
    this.planes.set(name, { tiles, kind, factor });
  }

  // Replaces a box of a picture; data contains only the box.
  patch(name, { x, y, w, h, data }) {
    for (const tile of this.planes.get(name)?.tiles ?? []) {
      const left = Math.max(x, tile.left), top = Math.max(y, tile.top);
      const right = Math.min(x + w, tile.left + tile.w), bottom = Math.min(y + h, tile.top + tile.h);
      if (left >= right || top >= bottom) continue;
      const part = { x: left - x, y: top - y, w: right - left, h: bottom - top, stride: w };
      this._send(tile.texture, "picture", data, part, [left - tile.left, top - tile.top]);
    }
  }

  // Fills a texture with a part of an array of `stride` columns; with `to` the part of it that begins there.
  _send(texture, kind, data, { x, y, w, h, stride }, to = null) {
    const { gl } = this;
    const [stored, order, type] = {
      picture: [gl.RGB8, gl.RGB, gl.UNSIGNED_BYTE], value: [gl.R32F, gl.RED, gl.FLOAT], flags: [gl.R8, gl.RED, gl.UNSIGNED_BYTE],
    }[kind];
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_ROW_LENGTH, stride);
    gl.pixelStorei(gl.UNPACK_SKIP_PIXELS, x);
    gl.pixelStorei(gl.UNPACK_SKIP_ROWS, y);
    if (to) gl.texSubImage2D(gl.TEXTURE_2D, 0, ...to, w, h, order, type, data);
    else gl.texImage2D(gl.TEXTURE_2D, 0, stored, w, h, 0, order, type, data);
    for (const which of [gl.UNPACK_ROW_LENGTH, gl.UNPACK_SKIP_PIXELS, gl.UNPACK_SKIP_ROWS]) gl.pixelStorei(which, 0);
    if (kind === "picture") gl.generateMipmap(gl.TEXTURE_2D);
    this._sampling(kind === "picture" ? gl.LINEAR_MIPMAP_LINEAR : gl.NEAREST, gl.NEAREST);
  }

  _sampling(smaller, larger) {
    const { gl } = this;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, smaller);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, larger);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }

  begin(background) {
    const { gl, canvas } = this;
    gl.disable(gl.SCISSOR_TEST);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
  }

  // pane: rect and clip in device pixels from the top left; info, low, high of a plane; view: centre and zoom, device pixels.
  draw(pane, view, fine) {
    const { gl, canvas, uniforms } = this;
    const { info, rect, clip } = pane;
    const [first, second] = info.derived ? info.sources : [info.name];
    const source = this.planes.get(first);
    const other = second ? this.planes.get(second) : source;
    if (!source || !other || rect.w < 1 || rect.h < 1 || clip.w < 0 || clip.h < 0) return false;
    gl.viewport(rect.x, canvas.height - rect.y - rect.h, rect.w, rect.h);
    gl.scissor(clip.x, canvas.height - clip.y - clip.h, clip.w, clip.h);
    const kind = info.name === "sigma" ? 3 : info.name === "stderr" ? 4 : KINDS[info.kind];
    gl.uniform1i(uniforms.kind, kind);
    const low = info.ratio ? Math.max(pane.low, 1e-30) : pane.low;
    gl.uniform2f(uniforms.limits, low, pane.high > low ? pane.high : info.ratio ? 1.000001 * low : low + 1e-9);
    gl.uniform1i(uniforms.ratio, info.ratio ? 1 : 0);
    gl.uniform1i(uniforms.samples, fine ? Math.max(1, Math.min(4, Math.ceil(1 / view.zoom))) : 1);
    gl.uniform3f(uniforms.none, 0.604, 0.604, 0.604);
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, this.tables.get(info.kind === "flags" ? "flags" : info.scale) ?? null);
    if (kind !== 0 && !this.tables.size) return false;
    const opacity = pane.faded && info.kind === "value" && !info.name.endsWith("stderr") ? this.planes.get("opacity") : null;
    gl.uniform1i(uniforms.faded, opacity ? 1 : 0);
    const { factor } = source, zoom = view.zoom / factor;
    source.tiles.forEach((tile, index) => {
      const x0 = (tile.left / factor - view.x) * view.zoom, x1 = x0 + tile.w * zoom;
      const y0 = (tile.top / factor - view.y) * view.zoom, y1 = y0 + tile.h * zoom;
      if (x1 < -rect.w / 2 || x0 > rect.w / 2 || y1 < -rect.h / 2 || y0 > rect.h / 2) return;
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, tile.texture);
      gl.activeTexture(gl.TEXTURE1);
      gl.bindTexture(gl.TEXTURE_2D, other.tiles[index]?.texture ?? tile.texture);
      gl.activeTexture(gl.TEXTURE3);
      gl.bindTexture(gl.TEXTURE_2D, (opacity ?? source).tiles[index].texture);
      gl.uniform4f(uniforms.place, (2 * x0) / rect.w, (-2 * y0) / rect.h, (2 * x1) / rect.w, (-2 * y1) / rect.h);
      gl.uniform4f(uniforms.part, 0, 0, 1, 1);
      gl.uniform2f(uniforms.stride, 1 / (zoom * tile.w), 1 / (zoom * tile.h));
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    });
    return true;
  }
}
