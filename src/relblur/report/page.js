// Shows the values of the pixel under the pointer. The page contains all data and loads nothing from a network.
"use strict";

// Returns values, standard errors and flags. The bytes of each float are stored in four planes, the lowest first.
async function unpack(about) {
  const packed = Uint8Array.from(atob(about.data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = new Uint8Array(await new Response(stream).arrayBuffer());
  const columns = Math.ceil(about.width / about.every), count = Math.ceil(about.height / about.every) * columns;
  const floats = (from) => {
    const bytes = new Uint8Array(4 * count);
    for (let i = 0; i < 4 * count; i += 1) bytes[i] = raw[from + (i % 4) * count + Math.floor(i / 4)];
    return new Float32Array(bytes.buffer);
  };
  return { columns, values: floats(0), errors: floats(4 * count), flags: raw.subarray(8 * count) };
}

function written(value, signed) {
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(Math.abs(value) < 1 ? 3 : 4);
  return (signed && value > 0 ? "+" : "") + text.replace("-", "\u2212");
}

function described(about, map, row, column) {
  const index = Math.floor(row / about.every) * map.columns + Math.floor(column / about.every);
  const value = map.values[index], error = map.errors[index], unit = about.unit ? " " + about.unit : "";
  let text = Number.isNaN(value) ? "no answer" : written(value, about.signed) + unit;
  if (about.signed && value) text += value > 0 ? " (second is blurrier)" : " (first is blurrier)";
  if (!Number.isNaN(value) && !Number.isNaN(error)) text += " \u00b1 " + error.toPrecision(2) + unit;
  const names = about.flags.filter((_, bit) => map.flags[index] & (1 << bit));
  const flags = names.length ? "flags: " + names.join(", ") : "no flag";
  return `row ${row}, column ${column}: ${about.name} = ${text}, ${flags}`;
}

async function listen(section, about) {
  const map = await unpack(about);
  const output = section.querySelector(".readout");
  const panes = [...section.querySelectorAll(".pane")];
  const place = { row: Math.floor(about.height / 2), column: Math.floor(about.width / 2) };
  for (const pane of panes) pane.append(document.createElement("i"));

  function showValues(row, column) {
    place.row = Math.min(Math.max(row, 0), about.height - 1);
    place.column = Math.min(Math.max(column, 0), about.width - 1);
    output.textContent = described(about, map, place.row, place.column);
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
      showValues(
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
      showValues(place.row + move[0], place.column + move[1]);
    });
  }
  if (about.every > 1) output.textContent += ` Values are those of every ${about.every}th pixel.`;
  section.dataset.ready = "yes";
}

for (const data of document.querySelectorAll("script[data-for]")) {
  listen(document.getElementById(data.dataset.for), JSON.parse(data.textContent)).catch(() => {
    document.getElementById(data.dataset.for).querySelector(".readout").hidden = true;
  });
}
