"""What needs axes: line plots and views in space, drawn with matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..files.disk import PathLike, replacing

__all__ = ["lines_picture", "points_picture", "view_of_points"]

DPI = 110

#: Points of a view in space: more take long to draw and hide each other.
MOST_POINTS = 40_000
#: Percent of the points beyond either end of each axis.
OUTLIERS = 1


def lines_picture(
    path: PathLike,
    series: Sequence[tuple[str, FloatArray, FloatArray, str]],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
) -> None:
    """Write a line plot of (label, x, y, style) series."""
    figure = _figure(6.4, 4.0, DPI)
    axis = figure.add_axes((0.11, 0.13, 0.86, 0.78))
    for label, x, y, style in series:
        axis.plot(x, y, style, label=label, linewidth=1.4)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.set_title(title, fontsize=11)
    axis.grid(alpha=0.3)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.1 * len(series) * (high - low))  # room for the legend above the curves
    axis.legend(frameon=False, loc="upper left")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", pil_kwargs={"compress_level": 4})
    with replacing(path) as target:
        target.write(stream.getvalue())


def view_of_points(image: AnyArray, width: int, height: int, dpi: float) -> UInt8Array:
    """Draw an (H, W, 6) array of positions x, y, z and colours as a cloud seen from above right of the camera."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure(width / dpi, height / dpi, dpi)
    canvas = FigureCanvasAgg(figure)
    _draw_points(figure.add_axes((0.02, 0.04, 0.96, 0.96), projection="3d"), image, 6.5)
    canvas.draw()
    return np.array(np.asarray(canvas.buffer_rgba())[:, :, :3])


def points_picture(path: PathLike, image: AnyArray, title: str) -> None:
    """Write a view in space as a picture of its own; the title's first line is the larger."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure(10.0, 7.6, DPI)
    FigureCanvasAgg(figure)
    head, _, rest = title.partition("\n")
    figure.text(0.5, 0.965, head, ha="center", fontsize=13)
    figure.text(0.5, 0.91, rest, ha="center", fontsize=8.5, parse_math=False)
    _draw_points(figure.add_axes((0.03, 0.02, 0.94, 0.88), projection="3d"), image, 10.0)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", pil_kwargs={"compress_level": 4})
    with replacing(path) as target:
        target.write(stream.getvalue())


def _draw_points(axis: Any, image: AnyArray, letters: float) -> None:
    height, width = image.shape[:2]
    every = max(1, math.ceil(math.sqrt(height * width / MOST_POINTS)))
    rows = image[::every, ::every].reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        axis.text2D(0.5, 0.5, "no depth", ha="center", transform=axis.transAxes, fontsize=letters)
        axis.set_axis_off()
        return
    limits = np.percentile(rows[:, :3], (OUTLIERS, 100 - OUTLIERS), axis=0)
    rows = rows[((rows[:, :3] >= limits[0]) & (rows[:, :3] <= limits[1])).all(axis=1)]
    x, y, z = rows[:, 0], rows[:, 1], rows[:, 2]
    # The scene takes about three fifths of the figure: dots a little wider than their distance leave no gaps.
    size = (1.3 * 0.6 * 72 * axis.figure.get_figwidth() * every / width) ** 2
    axis.scatter(x, z, -y, c=rows[:, 3:].clip(0, 1), s=size, marker="o", linewidths=0, depthshade=False)
    (x_low, y_low, z_low), (x_high, y_high, z_high) = limits
    spans = [max(high - low, 1e-9) for low, high in ((x_low, x_high), (z_low, z_high), (y_low, y_high))]
    axis.set_xlim(x_low, x_low + spans[0])
    axis.set_ylim(z_low, z_low + spans[1])
    axis.set_zlim(-y_low - spans[2], -y_low)
    # A shallow scene is stretched so that its relief can be seen; a deep one is squeezed so that it fits.
    across = max(spans[0], spans[2])
    axis.set_box_aspect([spans[0] / across, min(max(spans[1] / across, 0.4), 1.0), spans[2] / across], zoom=1.12)
    axis.view_init(elev=20, azim=-68)
    for name, label in (("x", "x (m)"), ("y", "distance (m)"), ("z", "height (m)")):
        getattr(axis, f"set_{name}label")(label, fontsize=letters, labelpad=0.3 * letters - 4)
        getattr(axis, f"{name}axis").get_major_locator().set_params(nbins=5)
    axis.tick_params(labelsize=0.85 * letters, pad=0)


def _figure(width: float, height: float, dpi: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=dpi)
