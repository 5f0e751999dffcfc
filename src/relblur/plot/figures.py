"""Figures of reports and pages: circles and resolution of a camera, a scene in space."""

from __future__ import annotations

import io
from itertools import product
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..base.errors import MissingDependencyError
from ..base.settings import ASSUMED_STDERR_PX2
from ..depth.camera import Camera
from ..depth.working_range import resolution_at, working_range_m

__all__ = ["as_png", "camera_png", "new_figure", "scene_picture"]

DPI = 110
#: End of the distance axis, as a multiple of the farthest distance in focus.
FARTHEST = 5

#: Width and height of a view in space (px); columns: right, down and away of an observer who looks 22 degrees to the
#: side and 20 degrees down.
VIEW_PX = (900, 680)
_TURN = np.array([[0.93, -0.13, 0.35], [0.0, 0.94, 0.34], [-0.37, -0.32, 0.87]])
#: Smallest and largest depth of the drawn scene, as a multiple of its width or height.
DEEP = (0.4, 1.2)
#: Percent of the points outside each end of each axis.
OUTLIERS = 1


def camera_png(camera: Camera, stderr_px2: float = ASSUMED_STDERR_PX2) -> bytes:
    """Draw both circles of confusion and the depth resolution over the working range."""
    near, far = working_range_m(camera)
    far = min(far, FARTHEST * max(z for z in (camera.focus_first_m, camera.focus_second_m, near) if np.isfinite(z)))
    depth: FloatArray = 1 / np.linspace(1 / near, 1 / far, 400)
    figure = new_figure(6.4, 4.0, layout="constrained")
    axis = figure.add_subplot(xlabel="distance (m)", ylabel="px, or mm per m")
    for colour, name, circle in zip(("C0", "C1"), ("first", "second"), np.abs(camera.circle_px(depth)), strict=True):
        axis.plot(depth, circle, colour, label=f"circle of confusion, {name} (px)", linewidth=1.4)
    resolution = f"standard error of depth, mm per m (standard error of s: {stderr_px2:g} px²)"
    axis.plot(depth, resolution_at(depth, camera, stderr_px2) / depth, "k--", label=resolution, linewidth=1.4)
    axis.set_title(camera.describe(), fontsize=11)
    axis.grid(alpha=0.3)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))  # room for the legend above the curves
    axis.legend(frameon=False, loc="upper left")
    return as_png(figure)


def scene_picture(points: AnyArray) -> UInt8Array:
    """Return a picture of an (H, W, 6) array of positions (x, y, z in m) and colours, seen obliquely from above.

    Every pixel is a square. Nearer squares cover farther ones. A shallow scene is stretched along the distance, a deep
    one is compressed.
    """
    sheet = np.full((*VIEW_PX[::-1], 3), 255, np.uint8)
    rows = points.reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        return sheet
    low, high = np.percentile(rows[:, :3], (OUTLIERS, 100 - OUTLIERS), axis=0)
    rows = rows[((rows[:, :3] >= low) & (rows[:, :3] <= high)).all(axis=1)]
    spans = np.maximum(high - low, 1e-9)
    across = float(spans[:2].max())
    shape = np.array([1, 1, across * float(np.clip(spans[2] / across, *DEEP)) / spans[2]])
    seen = (rows[:, :3] * shape) @ _TURN
    order = np.argsort(-seen[:, 2], kind="stable")
    left, right = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    scale = 0.95 * float((np.array(VIEW_PX) / np.maximum(right - left, 1e-9)).min())
    places = np.rint(scale * (seen[order, :2] - (left + right) / 2) + np.array(VIEW_PX) / 2).astype(int)
    colours = np.rint(255 * rows[order, 3:].clip(0, 1)).astype(np.uint8)
    half = int(np.clip(round(0.7 * scale * spans[0] / points.shape[1]), 1, 8))
    for offset in product(range(-half, half + 1), repeat=2):  # the last square at a pixel is the nearest
        columns, lines = (places + offset).clip(0, np.array(VIEW_PX) - 1).T
        sheet[lines, columns] = colours
    return sheet


def new_figure(width: float, height: float, dpi: float = DPI, **how: Any) -> Any:
    """Return an empty white figure; width and height are in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("figures need matplotlib: pip install 'relblur[plot]'") from None
    return Figure(figsize=(width, height), dpi=dpi, facecolor="white", **how)


def as_png(figure: Any) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", pil_kwargs={"compress_level": 4})
    return stream.getvalue()
