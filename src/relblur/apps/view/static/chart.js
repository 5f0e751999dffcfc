// Small charts in SVG: lines, bands, points, error bars, rules. Colours come from the page's theme.

const SPACE = "http://www.w3.org/2000/svg";
const W = 330, H = 176, LEFT = 62, RIGHT = 10, TOP = 8, BOTTOM = 34;

function node(kind, attributes, text) {
  const made = document.createElementNS(SPACE, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Returns about `most` round values between two limits.
export function ticks(low, high, most = 5) {
  const rough = (high - low) / most;
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * (1 - 1e-9));
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) found.push(n * step);
  const digits = Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9) + (step / power === 2.5 ? 1 : 0)));
  return found.map((value) => [value, Math.abs(value) >= 1e5 || (step < 1e-6) ? value.toExponential(1) : value.toFixed(digits)]);
}

const finite = (values) => values.filter((v) => v !== null && Number.isFinite(v));

function span(values, margin) {
  const known = finite(values);
  let low = Math.min(...known), high = Math.max(...known);
  if (!known.length) return [0, 1];
  if (!(high > low)) { const pad = Math.abs(low) * 0.05 || 0.5; low -= pad; high += pad; }
  return [low - margin * (high - low), high + margin * (high - low)];
}

// series: {kind, x, y, ...} with kind line | band (low, high) | points | bar (value, error, y) | across (y) | up (x); colour, label, dash.
export function chart({ series, xLabel, yLabel, description, xSpan, ySpan }) {
  const svg = node("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img", "aria-label": description });
  const xs = series.flatMap((s) => (s.kind === "bar" ? [s.value - s.error, s.value + s.error] : s.kind === "across" ? [] : [].concat(s.x)));
  const ys = series.flatMap((s) => (s.kind === "up" ? [] : s.kind === "band" ? [...s.low, ...s.high] : [].concat(s.y)));
  const [x0, x1] = xSpan ?? span(xs, 0), [y0, y1] = ySpan ?? span(ys, 0.06);
  const px = (x) => LEFT + ((x - x0) / (x1 - x0)) * (W - LEFT - RIGHT);
  const py = (y) => H - BOTTOM - ((y - y0) / (y1 - y0)) * (H - TOP - BOTTOM);
  for (const [value, text] of ticks(x0, x1)) {
    svg.append(node("line", { x1: px(value), x2: px(value), y1: TOP, y2: H - BOTTOM, class: "axis" }), node("text", { x: px(value), y: H - BOTTOM + 13, "text-anchor": "middle" }, text));
  }
  for (const [value, text] of ticks(y0, y1, 4)) {
    svg.append(node("line", { x1: LEFT, x2: W - RIGHT, y1: py(value), y2: py(value), class: "axis" }), node("text", { x: LEFT - 5, y: py(value) + 4, "text-anchor": "end" }, text));
  }
  svg.append(node("text", { x: (LEFT + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, xLabel));
  svg.append(node("text", { x: 10, y: (TOP + H - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${(TOP + H - BOTTOM) / 2})` }, yLabel));
  const inner = node("svg", { x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM, viewBox: `${LEFT} ${TOP} ${W - LEFT - RIGHT} ${H - TOP - BOTTOM}` });
  for (const s of series) draw(inner, s, px, py);
  svg.append(inner);
  follow(svg, series, px, py, [x0, x1]);
  return svg;
}

function path(x, y, px, py) {
  let text = "", open = false;
  x.forEach((value, i) => {
    if (y[i] === null || !Number.isFinite(y[i])) { open = false; return; }
    text += `${open ? "L" : "M"}${px(value).toFixed(2)} ${py(y[i]).toFixed(2)}`;
    open = true;
  });
  return text;
}

function draw(svg, s, px, py) {
  const colour = s.colour ?? "var(--chart-1)";
  const line = { stroke: colour, fill: "none", "stroke-width": s.width ?? 1.8, ...(s.dash ? { "stroke-dasharray": s.dash } : {}) };
  if (s.kind === "line") svg.append(node("path", { d: path(s.x, s.y, px, py), ...line, "stroke-linejoin": "round" }));
  if (s.kind === "band") {
    const known = s.x.map((x, i) => [x, s.low[i], s.high[i]]).filter(([, a, b]) => Number.isFinite(a) && Number.isFinite(b) && a !== null);
    const points = [...known.map(([x, , b]) => `${px(x)},${py(b)}`), ...known.reverse().map(([x, a]) => `${px(x)},${py(a)}`)];
    svg.append(node("polygon", { points: points.join(" "), fill: "var(--band)" }));
  }
  if (s.kind === "points") s.x.forEach((x, i) => svg.append(node("circle", { cx: px(x), cy: py(s.y[i]), r: s.radius ?? 4, fill: s.hollow ? "var(--card)" : colour, stroke: colour, "stroke-width": 1.8 })));
  if (s.kind === "bar") {
    const y = py(s.y), a = px(s.value - s.error), b = px(s.value + s.error);
    svg.append(node("path", { d: `M${a} ${y}H${b}M${a} ${y - 4}v8M${b} ${y - 4}v8`, ...line, "stroke-width": 2 }));
  }
  if (s.kind === "across") svg.append(node("line", { x1: -1e4, x2: 1e4, y1: py(s.y), y2: py(s.y), ...line, "stroke-width": 1.3 }));
  if (s.kind === "up") svg.append(node("line", { y1: -1e4, y2: 1e4, x1: px(s.x), x2: px(s.x), ...line, "stroke-width": 1.3 }));
}

// Shows a vertical rule at the pointer, with the values of the lines.
function follow(svg, series, px, py, [x0, x1]) {
  const lines = series.filter((s) => s.kind === "line" && s.label);
  if (!lines.length) return;
  const rule = node("line", { y1: TOP, y2: H - BOTTOM, stroke: "var(--dim)", visibility: "hidden" });
  const text = node("text", { y: TOP + 10, class: "key", visibility: "hidden" });
  svg.append(rule, text);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = x0 + (((event.clientX - box.left) / box.width) * W - LEFT) / (W - LEFT - RIGHT) * (x1 - x0);
    if (x < x0 || x > x1) return;
    const values = lines.map((s) => {
      const i = s.x.reduce((best, value, k) => (Math.abs(value - x) < Math.abs(s.x[best] - x) ? k : best), 0);
      return `${s.label} ${s.y[i] === null ? "–" : Number(s.y[i]).toPrecision(4)}`;
    });
    rule.setAttribute("x1", px(x)); rule.setAttribute("x2", px(x)); rule.setAttribute("visibility", "visible");
    text.textContent = `${x.toPrecision(3)}: ${values.join(", ")}`;
    const right = px(x) < W / 2;
    text.setAttribute("x", right ? px(x) + 5 : px(x) - 5);
    text.setAttribute("text-anchor", right ? "start" : "end");
    text.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerleave", () => { rule.setAttribute("visibility", "hidden"); text.setAttribute("visibility", "hidden"); });
}
