// The scene in space: every pixel with a depth is a point.

import { Points, pointsOf } from "./points.js";
import { store } from "./values.js";

export class Cloud extends Points {
  constructor(canvas) {
    super(canvas, background);
    this.colourBy = "photo";
  }

  // Builds the points anew from the depth map; false if there is none.
  load(focal) {
    const depth = store.planes.get("depth")?.data;
    this.show(depth ? pointsOf(depth, store.width, store.height, focal) : null);
    this.paintPoints();
    return this.count > 0;
  }

  paintPoints() {
    const photo = (store.planes.get("first") ?? store.planes.get("remade"))?.data;
    const plane = store.planes.get(this.colourBy === "stderr" ? "depth_stderr" : "depth");
    if (this.colourBy === "photo" && photo) this.paint((index) => photo.subarray(3 * index, 3 * index + 3));
    else if (plane?.data) this.paint((index) => store.colourOf(plane, plane.data[index]));
  }
}

function background() {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--stage").trim();
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
}
