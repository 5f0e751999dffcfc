// The 3-D view: every pixel with a depth is a point. Without depth, the map of a pair or a stack is shown as a relief.

import { Points, pointsOf } from "./points.js";
import { about, isHere, rgbAt, store, valueOf } from "./values.js";

// Distance of the camera from a relief, and height of the relief, in widths of the relief.
const AWAY = 3, HIGH = 0.3;

export class Cloud extends Points {
  constructor(canvas) {
    super(canvas, background);
    this.colourBy = "photo";
  }

  // The map for the positions of the points: depth in metres, or heights, frames or blur with an arbitrary scale.
  get source() { return ["depth", "height", "index", "sigma"].find((name) => about(name) && isHere(about(name))); }

  // Rebuilds the points; returns false if there is no map.
  load(focal) {
    const { source } = this, { width, height } = store;
    if (!source) this.show(null);
    else if (source === "depth") this.show(pointsOf(store.planes.get("depth").data, width, height, focal));
    else this.show(pointsOf(relief(source), width, height, AWAY * width));
    this.paintPoints();
    return this.count > 0;
  }

  paintPoints() {
    const { source } = this, picture = ["fused", "first", "frame", "remade"].find((name) => store.planes.get(name)?.data);
    const error = source === "sigma" ? "stderr" : `${source}_stderr`;
    const name = this.colourBy === "stderr" ? error : source, plane = store.planes.get(name);
    if (this.colourBy === "photo" && picture) this.paint((index) => rgbAt(picture, index % store.width, Math.floor(index / store.width)));
    else if (plane) this.paint((index) => store.colourOf(plane, valueOf(name, index)));
  }
}

// Converts a map to distances of a relief; the first frame, or the part in focus in the first image, is near.
function relief(name) {
  const { low, high } = about(name), sign = name === "sigma" ? -1 : 1, middle = (low + high) / 2, scale = HIGH / AWAY / (high - low || 1);
  const range = 1.2 * (high - low);
  return Float32Array.from({ length: store.width * store.height }, (_, index) => {
    const away = Math.max(-range, Math.min(range, valueOf(name, index) - middle));
    return 1 + sign * scale * away;
  });
}

function background() {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--stage").trim();
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
}
