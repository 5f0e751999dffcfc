// Shows the values of the pixel under the pointer. The page contains all data and loads nothing from a network.
"use strict";

async function unpack(about) {
  const packed = Uint8Array.from(atob(about.data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = new Uint8Array(await new Response(stream).arrayBuffer());
  const rows = Math.ceil(about.height / about.every), columns = Math.ceil(about.width / about.every);
  let from = 0;
  for (const layer of about.layers) {
    layer.codes = new Uint16Array(rows * columns);
    for (let plane = 0; plane < layer.bytes; plane += 1, from += rows * columns) {
      for (let i = 0; i < rows * columns; i += 1) layer.codes[i] = layer.codes[i] * 256 + raw[from + i];
    }
  }
  return columns;
}

function valueOf(layer, index) {
  const code = layer.codes[index];
  if (code === 0) return NaN;
  const value = layer.offset + layer.scale * code;
  return layer.coding === "linear" ? value : Math.exp(value);
}

function written(value, signed) {
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(Math.abs(value) < 1 ? 3 : 4);
  return (signed && value > 0 ? "+" : "") + text.replace("-", "\u2212");
}

function described(about, columns, row, column) {
  const index = Math.floor(row / about.every) * columns + Math.floor(column / about.every);
  const parts = [];
  let error = "";
  for (const layer of about.layers) {
    if (layer.coding === "flags") {
      const names = about.flags.filter((_, bit) => layer.codes[index] & (1 << bit));
      parts.push(names.length ? "flags: " + names.join(", ") : "no flag");
    } else if (layer.coding === "log") {
      const value = valueOf(layer, index);
      error = Number.isNaN(value) ? "" : " \u00b1 " + value.toPrecision(2) + " " + layer.unit;
      parts[parts.length - 1] += error;
    } else {
      const value = valueOf(layer, index);
      const unit = layer.unit ? " " + layer.unit : "";
      let text = Number.isNaN(value) ? "no answer" : written(value, layer.signed) + unit;
      if (layer.signed && value) text += value > 0 ? " (second is blurrier)" : " (first is blurrier)";
      parts.push(layer.name + " = " + text);
    }
  }
  return `row ${row}, column ${column}: ` + parts.join(", ");
}

async function listen(section, about) {
  const columns = await unpack(about);
  const output = section.querySelector(".readout");
  const panes = [...section.querySelectorAll(".pane")];
  const place = { row: Math.floor(about.height / 2), column: Math.floor(about.width / 2) };
  for (const pane of panes) pane.append(document.createElement("i"));

  function tell(row, column) {
    place.row = Math.min(Math.max(row, 0), about.height - 1);
    place.column = Math.min(Math.max(column, 0), about.width - 1);
    output.textContent = described(about, columns, place.row, place.column);
    for (const other of document.querySelectorAll(".readout")) other.classList.toggle("on", other === output);
    for (const pane of panes) {
      const mark = pane.lastElementChild;
      mark.style.display = "block";
      mark.style.left = (100 * (place.column + 0.5)) / about.width + "%";
      mark.style.top = (100 * (place.row + 0.5)) / about.height + "%";
    }
  }

  for (const pane of panes) {
    const point = (event) => {
      const box = pane.getBoundingClientRect();
      tell(
        Math.floor(((event.clientY - box.top) / box.height) * about.height),
        Math.floor(((event.clientX - box.left) / box.width) * about.width),
      );
    };
    pane.addEventListener("pointermove", point);
    pane.addEventListener("pointerdown", point);
    pane.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 10 : 1;
      const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      tell(place.row + move[0], place.column + move[1]);
    });
  }
  showSpace(section, about, columns);
  if (about.every > 1) output.textContent += ` Values are those of every ${about.every}th pixel.`;
  section.dataset.ready = "yes";
}

// Draws every pixel with a distance as a point, without uncertain ones, from the values of the read-out and the colours
// of the pictures.
const UNCERTAIN = 0.15;  // largest standard error of a drawn point, as a fraction of the distance
async function showSpace(section, about, columns) {
  const place = section.querySelector(".space");
  if (!place) return;
  try {
    const rows = Math.ceil(about.height / about.every), layer = about.layers[0];
    const depth = Float32Array.from(layer.codes, (_, index) => {
      const value = valueOf(layer, index);
      return valueOf(about.layers[1], index) > UNCERTAIN * value ? NaN : value;
    });
    const focal = place.dataset.focal ? Number(place.dataset.focal) / about.every : null;
    const titles = [...section.querySelectorAll("figure")].map((each) => [each.querySelector("figcaption").textContent, each.querySelector("img")]);
    const find = (name) => titles.find(([title]) => title === name)?.[1];
    const pictures = [find("first") ?? find(layer.name), find(layer.name)].map((image) => colours(image, columns, rows));
    const points = new Points(place.querySelector("canvas"), () => [0.07, 0.09, 0.12]);
    points.show(pointsOf(depth, columns, rows, focal));
    const paint = async (which) => { const found = await pictures[which]; points.paint((index) => found.subarray(4 * index, 4 * index + 3)); };
    await paint(0);
    const choice = place.querySelector("select"), rock = place.querySelector("button");
    if (!find("first")) choice.parentElement.hidden = true;
    choice.onchange = () => paint(Number(choice.value));
    rock.onclick = () => rock.setAttribute("aria-pressed", String(points.rock()));
    place.dataset.ready = "yes";
  } catch {
    place.hidden = true;  // WebGL is not available
  }
}

async function colours(image, width, height) {
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width, height }), pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, width, height);
  return pen.getImageData(0, 0, width, height).data;
}

for (const data of document.querySelectorAll("script[data-for]")) {
  listen(document.getElementById(data.dataset.for), JSON.parse(data.textContent)).catch(() => {
    document.getElementById(data.dataset.for).querySelector(".readout").hidden = true;
  });
}
