"""Figures of reports and pages, as the bytes of a PNG or SVG: a camera, a scene in space, distributions."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..base.errors import MissingDependencyError
from ..base.settings import ASSUMED_STDERR_PX2
from ..depth.camera import Camera
from ..depth.working_range import resolution_at, working_range_m
from ..images.disk import PathLike, replacing

__all__ = ["HEAVY", "as_png", "camera_png", "distributions_svg", "new_figure", "scene_picture", "write_png"]

DPI = 110
#: Modules that drawing in space loads; loading them takes half a second.
HEAVY = ("matplotlib.backends.backend_agg", "mpl_toolkits.mplot3d")

#: Letters of a view in space, points: it is shown at half its size in an overview, too.
LETTERS = 16
#: Points of a view in space: more take long to draw and hide each other.
MOST_POINTS = 40_000
#: Percent of the points beyond either end of each axis.
OUTLIERS = 1
#: A drawing of a camera ends at this many times the farthest distance in focus.
FARTHEST = 5


def camera_png(camera: Camera, stderr_px2: float = ASSUMED_STDERR_PX2) -> bytes:
    """Draw both circles of confusion and the depth resolution over the working range."""
    near, far = working_range_m(camera)
    far = min(far, FARTHEST * max(z for z in (camera.focus_first_m, camera.focus_second_m, near) if np.isfinite(z)))
    depth: FloatArray = 1 / np.linspace(1 / near, 1 / far, 400)
    circles = np.abs(camera.circle_px(depth))
    per_mille = resolution_at(depth, camera, stderr_px2) / depth
    figure = new_figure(6.4, 4.0)
    axis = figure.add_axes((0.11, 0.13, 0.86, 0.78))
    resolution = f"standard error of depth, mm per m (s known to {stderr_px2:g} px²)"
    axis.plot(depth, circles[0], "C0-", label="circle of confusion, first (px)", linewidth=1.4)
    axis.plot(depth, circles[1], "C1-", label="circle of confusion, second (px)", linewidth=1.4)
    axis.plot(depth, per_mille, "k--", label=resolution, linewidth=1.4)
    axis.set_xlabel("distance (m)")
    axis.set_ylabel("px, or mm per m")
    axis.set_title(f"What this camera delivers: {camera.describe()}", fontsize=11)
    axis.grid(alpha=0.3)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))  # room for the legend above the curves
    axis.legend(frameon=False, loc="upper left")
    return as_png(figure)


def scene_picture(points: AnyArray) -> UInt8Array:
    """Draw an (H, W, 6) array of positions x, y, z and colours as a cloud seen from above right of the camera."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = new_figure(10.0, 7.6)
    canvas = FigureCanvasAgg(figure)
    _draw_points(figure.add_axes((0.02, 0.03, 0.96, 0.97), projection="3d"), points)
    canvas.draw()
    return np.array(np.asarray(canvas.buffer_rgba())[:, :, :3])


def distributions_svg(rows: Sequence[Sequence[tuple[str, FloatArray, FloatArray]]]) -> bytes:
    """Draw rows of histograms: (label, values, the same without blurring or nothing); NaN is left out."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(11, 2.6 * len(rows), layout="constrained")
    axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        for axis, (label, *both) in zip(line, row, strict=True):
            values, before = (each[np.isfinite(each)] for each in both)
            every = np.concatenate([values, before])
            if not every.size:
                axis.set_axis_off()
                continue
            edges = np.linspace(min(every.min(), 0), max(every.max(), 1e-6), 31)
            if before.size:
                axis.hist(before, edges, color="0.8", label="unblurred")
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
    """Return an empty white figure of some inches."""
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


def _draw_points(axis: Any, points: AnyArray) -> None:
    height, width = points.shape[:2]
    every = max(1, math.ceil(math.sqrt(height * width / MOST_POINTS)))
    rows = points[::every, ::every].reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        axis.text2D(0.5, 0.5, "no depth", ha="center", transform=axis.transAxes, fontsize=LETTERS)
        axis.set_axis_off()
        return
    limits = np.percentile(rows[:, :3], (OUTLIERS, 100 - OUTLIERS), axis=0)
    rows = rows[((rows[:, :3] >= limits[0]) & (rows[:, :3] <= limits[1])).all(axis=1)]
    # The scene takes about three fifths of the figure: dots a little wider than their distance leave no gaps.
    size = (1.3 * 0.6 * 72 * axis.figure.get_figwidth() * every / width) ** 2
    x, y, z = rows[:, 0], rows[:, 1], rows[:, 2]
    axis.scatter(x, z, -y, c=rows[:, 3:].clip(0, 1), s=size, marker="o", linewidths=0, depthshade=False)
    (x_low, y_low, z_low), (x_high, y_high, z_high) = limits
    spans = [max(high - low, 1e-9) for low, high in ((x_low, x_high), (z_low, z_high), (y_low, y_high))]
    axis.set_xlim(x_low, x_low + spans[0])
    axis.set_ylim(z_low, z_low + spans[1])
    axis.set_zlim(-y_low - spans[2], -y_low)
    # A shallow scene is stretched so that its relief can be seen; a deep one is squeezed so that it fits.
    across = max(spans[0], spans[2])
    axis.set_box_aspect([spans[0] / across, min(max(spans[1] / across, 0.4), 1.0), spans[2] / across], zoom=1.2)
    axis.view_init(elev=20, azim=-68)
    for name, label in (("x", "x (m)"), ("y", "distance (m)"), ("z", "height (m)")):
        getattr(axis, f"set_{name}label")(label, fontsize=LETTERS, labelpad=0.3 * LETTERS)
        getattr(axis, f"{name}axis").get_major_locator().set_params(nbins=5)
    axis.tick_params(labelsize=0.85 * LETTERS, pad=3)
