"""Figures of reports and pages: circles and resolution of a camera, a scene in space, distributions."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..base.errors import MissingDependencyError
from ..base.settings import ASSUMED_STDERR_PX2
from ..depth.camera import Camera
from ..depth.working_range import resolution_at, working_range_m
from ..images.disk import PathLike, replacing

__all__ = ["as_png", "camera_png", "distributions_svg", "new_figure", "scene_picture", "write_png"]

DPI = 110
#: End of the distance axis, as a multiple of the farthest distance in focus.
FARTHEST = 5

#: Width and height of a view in space (px), and its direction to the right and down (radians).
VIEW_PX, YAW, PITCH = (900, 680), 0.38, 0.35
#: Smallest and largest depth of the drawn scene, as a multiple of its width or height.
DEEP = (0.4, 1.2)
#: Percent of the points outside each end of each axis.
OUTLIERS = 1


def camera_png(camera: Camera, stderr_px2: float = ASSUMED_STDERR_PX2) -> bytes:
    """Draw both circles of confusion and the depth resolution over the working range."""
    near, far = working_range_m(camera)
    far = min(far, FARTHEST * max(z for z in (camera.focus_first_m, camera.focus_second_m, near) if np.isfinite(z)))
    depth: FloatArray = 1 / np.linspace(1 / near, 1 / far, 400)
    circles = np.abs(camera.circle_px(depth))
    per_mille = resolution_at(depth, camera, stderr_px2) / depth
    figure = new_figure(6.4, 4.0)
    axis = figure.add_axes((0.11, 0.13, 0.86, 0.78))
    resolution = f"standard error of depth, mm per m (standard error of s: {stderr_px2:g} px²)"
    axis.plot(depth, circles[0], "C0-", label="circle of confusion, first (px)", linewidth=1.4)
    axis.plot(depth, circles[1], "C1-", label="circle of confusion, second (px)", linewidth=1.4)
    axis.plot(depth, per_mille, "k--", label=resolution, linewidth=1.4)
    axis.set_xlabel("distance (m)")
    axis.set_ylabel("px, or mm per m")
    axis.set_title(f"{camera.describe()}", fontsize=11)
    axis.grid(alpha=0.3)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))  # room for the legend above the curves
    axis.legend(frameon=False, loc="upper left")
    return as_png(figure)


def scene_picture(points: AnyArray) -> UInt8Array:
    """Return a picture of an (H, W, 6) array of positions (x, y, z in m) and colours, seen obliquely from above.

    Every pixel is a square. Nearer squares cover farther ones. A box shows the limits of the scene, with its nearest
    and farthest distance. A shallow scene is stretched along the distance, a deep one is compressed.
    """
    from PIL import Image, ImageDraw

    width, height = VIEW_PX
    picture = Image.new("RGB", VIEW_PX, "white")
    draw = ImageDraw.Draw(picture)
    rows = points.reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        draw.text((width // 2, height // 2), "no depth", fill="black", anchor="mm", font_size=24)
        return np.array(picture)
    low, high = np.percentile(rows[:, :3], (OUTLIERS, 100 - OUTLIERS), axis=0)
    rows = rows[((rows[:, :3] >= low) & (rows[:, :3] <= high)).all(axis=1)]
    spans = np.maximum(high - low, 1e-9)
    across = float(spans[:2].max())
    shape = np.array([spans[0], spans[1], across * float(np.clip(spans[2] / across, *DEEP))]) / spans
    box = _turned(np.array(list(product(*zip(low, high, strict=True)))) * shape)
    least, largest = box.min(axis=0), box.max(axis=0)
    scale = 0.9 * min(width / (largest[0] - least[0]), height / (largest[1] - least[1]))
    middle = scale * (least + largest)[:2] / 2 - np.array([width, height]) / 2
    corners = scale * box[:, :2] - middle
    for one, two in combinations(range(8), 2):
        if (one ^ two).bit_count() == 1:  # corners that differ in one coordinate
            draw.line([*corners[one], *corners[two]], fill="#c0c0c0", width=2)
    sheet = np.array(picture)
    seen = _turned(rows[:, :3] * shape)
    rows, seen = (each[np.argsort(-seen[:, 2], kind="stable")] for each in (rows, seen))
    columns, lines = np.rint(scale * seen[:, :2] - middle).astype(int).T
    colours = np.rint(255 * rows[:, 3:].clip(0, 1)).astype(np.uint8)
    half = int(np.clip(round(0.7 * scale * spans[0] / points.shape[1]), 1, 8))
    for down, right in product(range(-half, half + 1), repeat=2):  # the last square at a pixel is the nearest
        sheet[(lines + down).clip(0, height - 1), (columns + right).clip(0, width - 1)] = colours
    picture = Image.fromarray(sheet)
    draw = ImageDraw.Draw(picture)
    for corner, distance in ((2, low[2]), (3, high[2])):  # the left edge of the floor, y points down
        text = f"{distance:.3g} m"
        draw.text((corners[corner, 0] + 6, corners[corner, 1]), text, "black", anchor="ld", font_size=22,
                  stroke_width=3, stroke_fill="white")  # fmt: skip
    return np.array(picture)


def _turned(positions: AnyArray) -> AnyArray:
    """Return positions as (right, down, away) from an observer above and beside the camera."""
    x, y, z = positions.T
    right, away = math.cos(YAW) * x - math.sin(YAW) * z, math.cos(YAW) * z + math.sin(YAW) * x
    down, away = math.cos(PITCH) * y - math.sin(PITCH) * away, math.cos(PITCH) * away + math.sin(PITCH) * y
    return np.stack([right, down, away], axis=1)


def distributions_svg(rows: Sequence[Sequence[tuple[str, FloatArray, FloatArray]]]) -> bytes:
    """Draw rows of histograms of (label, values, values without blurring or an empty array), without NaN."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(11, 2.6 * len(rows), layout="constrained")
    axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        for axis, (label, *both) in zip(line, row, strict=True):
            values, baseline = (each[np.isfinite(each)] for each in both)
            every = np.concatenate([values, baseline])
            if not every.size:
                axis.set_axis_off()
                continue
            edges = np.linspace(min(every.min(), 0), max(every.max(), 1e-6), 31)
            if baseline.size:
                axis.hist(baseline, edges, color="0.8", label="unblurred")
            axis.hist(values, edges, color="tab:blue", alpha=0.85, label=label.split(",")[0])
            axis.set_ylim(0, 1.25 * axis.get_ylim()[1])  # room for the legend
            axis.set_xlabel(label)
            axis.spines[["top", "right"]].set_visible(False)
            axis.xaxis.set_major_locator(MaxNLocator(5))
            axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            axis.legend(frameon=False, fontsize=8)
        line[0].set_ylabel("pairs")
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def new_figure(width: float, height: float, dpi: float = DPI, **how: Any) -> Any:
    """Return an empty white figure; width and height are in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("figures need matplotlib: pip install 'relblur[plot]'") from None
    return Figure(figsize=(width, height), dpi=dpi, facecolor="white", **how)


def write_png(path: PathLike, figure: Any) -> None:
    """Write a figure as a PNG file."""
    with replacing(path) as stream:
        stream.write(as_png(figure))


def as_png(figure: Any) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", pil_kwargs={"compress_level": 4})
    return stream.getvalue()
