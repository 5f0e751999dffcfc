// Cards with the data of a pixel, a box or a line.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { rgbAt, store, shown, withError, valueOf } from "./values.js";

const AROUND = 5;

function make(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

const card = (title, ...children) => make("section", { className: "card" }, make("h2", { textContent: title }), ...children);
const caption = (text) => make("p", { className: "caption", textContent: text });

function table(rows) {
  const body = rows.map(([name, value]) => make("tr", {}, make("th", { textContent: name, scope: "row" }), make("td", { textContent: value })));
  return make("table", { className: "numbers" }, make("tbody", {}, ...body));
}

export async function showPixel({ x, y }, place) {
  const found = await get(`/api/pixel?x=${x}&y=${y}`);
  const cards = ["index" in found ? stackCard(found) : pixelCard(found)];
  if (found.cost) cards.push(costCard(found));
  cards.push(card("Around it", around(x, y)));
  place.replaceChildren(...cards);
}

function pixelCard(found) {
  const rows = [
    ["relative blur σ", withError(found.sigma, found.sigma_stderr, "px")],
    ["variance difference s", withError(found.s, found.s_stderr, "px²")],
    ["sharper", { 1: "first", "-1": "second", 0: "neither, within the error" }[found.sharper]],
  ];
  const index = found.row * store.width + found.column;
  const depth = store.planes.get("depth")?.data?.[index];
  if (depth !== undefined) rows.push(["depth", withError(depth, store.planes.get("depth_stderr")?.data?.[index], "m")]);
  const parts = [table(rows)];
  if (found.curve) parts.push(...curve(found));
  else parts.push(caption("A saved result contains no images, so there is no curve. Open the pair to see it."));
  const made = card(`Column ${found.column}, row ${found.row}`, ...parts, ...flagTexts(found));
  made.id = "pixel-card";
  made.dataset.roots = JSON.stringify(found.curve?.roots ?? null);
  return made;
}

function flagTexts({ flags }) {
  if (!flags.length) return [make("p", { className: "why fine" }, make("b", { textContent: "Not flagged. " }), "The window around this pixel determines its value.")];
  return flags.map((flag) => make("p", { className: "why" }, make("b", { textContent: `Why flagged ${flag.name}? ` }), flag.why));
}

function stackCard(found) {
  const index = found.row * store.width + found.column, { frames } = store.state;
  const rows = [["frame in focus", withError(found.index, found.index_stderr, "")]];
  const nearest = found.index === null || !frames ? undefined : frames.names[nearestOf(frames.places, found.index)];
  if (nearest) rows.push(["nearest frame", nearest]);
  for (const [name, unit] of [["height", "µm"], ["depth", "m"]]) {
    if (store.planes.get(name)?.data) rows.push([name, withError(valueOf(name, index), valueOf(`${name}_stderr`, index), unit)]);
  }
  const parts = [table(rows)];
  if (found.detail) {
    const series = [{ kind: "line", x: found.detail.frames, y: found.detail.energy, label: "detail" }, { kind: "points", x: found.detail.frames, y: found.detail.energy, radius: 2.5 }];
    if (found.index !== null) series.push({ kind: "up", x: found.index, colour: "var(--chart-3)", dash: "2 3" });
    parts.push(chart({ series, xLabel: "frame, in the order of focus", yLabel: "log detail energy", description: `Detail of each frame around this pixel; in focus in frame ${shown(found.index)}` }),
      caption("Blue: detail of each frame around this pixel. Green: the frame in focus by the map."));
  } else parts.push(caption("A saved result contains no images. Open the images to see the detail of each frame."));
  const made = card(`Column ${found.column}, row ${found.row}`, ...parts, ...flagTexts(found));
  made.id = "pixel-card";
  return made;
}

const nearestOf = (places, index) => places.reduce((best, place, i) => (Math.abs(place - index) < Math.abs(places[best] - index) ? i : best), 0);

function curve(found) {
  const { sigma, value, observed, roots, sharper } = found.curve;
  const chosen = found.sigma === null ? null : Math.abs(found.sigma);
  const series = [
    { kind: "across", y: observed, colour: "var(--chart-2)", dash: "5 3" },
    { kind: "line", x: sigma, y: value, label: "M" },
    { kind: "points", x: roots, y: roots.map(() => observed), hollow: true, colour: "var(--chart-2)" },
  ];
  if (chosen !== null) {
    series.push({ kind: "up", x: chosen, colour: "var(--chart-3)", dash: "2 3" });
    series.push({ kind: "bar", value: chosen, error: found.sigma_stderr ?? 0, y: observed, colour: "var(--chart-3)" });
    series.push({ kind: "points", x: [chosen], y: [observed], colour: "var(--chart-3)", radius: 3.5 });
  }
  const listed = roots.length ? `${roots.map((r) => shown(r)).join(", ")} px` : "none on the grid";
  const other = sharper === "first" ? "second" : "first";
  return [
    chart({
      series, xLabel: "blur σ of the sharper image (px)", yLabel: "value", xSpan: [0, sigma.at(-1)],
      description: `Curve of the ${sharper} image at this pixel against blur; candidates ${listed}; chosen ${shown(chosen)} px`,
    }),
    make("p", { className: "caption" },
      `M(σ) of the ${sharper} image; dashed, what the ${other} shows. Candidates: `, make("b", { id: "roots", textContent: listed }),
      `. Chosen by ${found.method}: `, make("b", { textContent: chosen === null ? "none" : `${shown(chosen, found.sigma_stderr)} ± ${shown(found.sigma_stderr, found.sigma_stderr)} px` }), "."),
  ];
}

const S_LABEL = "s = σ²second − σ²first (px²)";

// Returns the range of s in the chart: 4 times the value to either side, at least 4 px^2.
function costSpan({ s, cost }) {
  const far = Math.max(4, 4 * Math.abs(s ?? 0));
  return [Math.max(cost.s[0], -far), Math.min(cost.s.at(-1), far)];
}

function costCard(found) {
  const { s, window, side } = found.cost;
  const series = [{ kind: "line", x: s, y: window, label: "residual" }];
  const reach = costSpan(found);
  let text = `Root mean square residual of each s in the ${side} × ${side} window, in units of the noise.`;
  if (found.s !== null) {
    const seen = window.filter((value) => value !== null), top = Math.max(...seen), low = Math.min(...seen);
    series.push({ kind: "up", x: found.s, colour: "var(--chart-3)", dash: "2 3" });
    series.push({ kind: "bar", value: found.s, error: found.s_stderr ?? 0, y: low + 0.08 * (top - low), colour: "var(--chart-3)" });
    text += found.method === "refined" ? " Green: the value of method refined, with its standard error." : ` Green: the value of method ${found.method}.`;
  }
  return card("Cost against s", chart({
    series, xLabel: S_LABEL, yLabel: "residual", xSpan: reach,
    description: `Cost of every variance difference in the window; chosen ${shown(found.s)} square pixels`,
  }), caption(text));
}

// Magnified neighbourhood of the pixel in the images and the map.
function around(x, y) {
  const side = 2 * AROUND + 1, figures = [];
  const map = ["index", "sigma"].find((name) => store.planes.has(name));
  for (const name of ["first", "second", "frame", "fused", map].filter((each) => store.planes.has(each)).slice(-3)) {
    const plane = store.planes.get(name);
    const canvas = make("canvas", { width: side, height: side });
    const pen = canvas.getContext("2d"), image = pen.createImageData(side, side);
    for (let j = 0; j < side; j++) {
      for (let i = 0; i < side; i++) {
        const px = x + i - AROUND, py = y + j - AROUND;
        if (px < 0 || py < 0 || px >= store.width || py >= store.height) continue;
        const colour = name === map ? store.colourOf(plane, valueOf(name, py * store.width + px)) : rgbAt(name, px, py);
        if (colour) image.data.set([...colour, 255], 4 * (j * side + i));
      }
    }
    pen.putImageData(image, 0, 0);
    pen.strokeStyle = "#ffd400";
    pen.lineWidth = 0.4;
    pen.strokeRect(AROUND + 0.1, AROUND + 0.1, 0.8, 0.8);
    figures.push(make("figure", {}, canvas, make("figcaption", { textContent: plane.about.title })));
  }
  return make("div", { className: "around" }, ...figures);
}

const query = ({ x0, y0, x1, y1 }) => `x0=${x0}&y0=${y0}&x1=${x1}&y1=${y1}`;

export async function showBox(shape, place) {
  const found = await get(`/api/box?${query(shape)}`);
  const cards = Object.values(found.quantities).map((q) => {
    if (q.mean === null) return card(q.title, caption("no pixel in it has a value"));
    const rows = [
      ["mean ± standard error", withError(q.mean, q.mean_error, q.unit)],
      ["spread", `${shown(q.spread, q.spread / 30)} ${q.unit}`],
      ["median", `${shown(q.median, q.spread / 30)} ${q.unit}`],
      ["least to largest", `${shown(q.least)} to ${shown(q.largest)} ${q.unit}`],
      ["standard error of a pixel, mean", `${shown(q.mean_stderr, q.mean_stderr)} ${q.unit}`],
    ];
    return card(q.title, table(rows));
  });
  const about = card(`Box ${found.width} × ${found.height}`, table([
    ["from column, row", `${found.left}, ${found.top}`], ["pixels", String(found.pixels)], ["flagged", `${(100 * found.flagged).toFixed(1)} %`],
  ]), caption("Spread is the standard deviation over the region. Pixels within one window are correlated, so the standard error of the mean counts one value per window."));
  about.id = "box-card";
  about.dataset.found = JSON.stringify(found);
  place.replaceChildren(about, ...cards);
}

export async function showLine(shape, place) {
  const found = await get(`/api/line?${query(shape)}`);
  const [x0, y0, x1, y1] = found.ends;
  const cards = Object.values(found.quantities).map((q) => {
    const band = (sign) => q.values.map((v, i) => (v === null || q.stderr[i] === null ? null : v + sign * q.stderr[i]));
    return card(q.title, chart({
      series: [{ kind: "band", x: found.distance, low: band(-1), high: band(1) }, { kind: "line", x: found.distance, y: q.values, label: q.title }],
      xLabel: "along the line (px)", yLabel: q.unit, xSpan: [0, found.length || 1], ySpan: limits(q.values),
      description: `Profile of ${q.title} along the line, with one standard error`,
    }));
  });
  const about = card("Profile", table([["from", `${x0}, ${y0}`], ["to", `${x1}, ${y1}`], ["length", `${found.length.toFixed(1)} px`]]), caption("The band is one standard error to either side."));
  about.id = "line-card";
  place.replaceChildren(about, ...cards);
}

// The scale follows the values only, because a very large error bar would flatten the curve.
function limits(values) {
  const known = values.filter((v) => v !== null).sort((a, b) => a - b);
  if (!known.length) return [0, 1];
  const low = known[0], high = known.at(-1), pad = 0.15 * (high - low) || 0.1 * Math.abs(low) || 0.1;
  return [low - pad, high + pad];
}
