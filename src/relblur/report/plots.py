"""What needs axes: line plots and views in space, drawn with matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..files.disk import PathLike, replacing

__all__ = ["lines_picture", "view_of_points"]

DPI = 110

#: Points of a view in space: more take long to draw and hide each other.
MOST_POINTS = 20_000


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
    _draw_points(figure.add_axes((0.0, 0.07, 1.0, 0.93), projection="3d"), image)  # ticks hang out below
    canvas.draw()
    return np.array(np.asarray(canvas.buffer_rgba())[:, :, :3])


def _draw_points(axis: Any, image: AnyArray) -> None:
    height, width = image.shape[:2]
    every = max(1, math.ceil(math.sqrt(height * width / MOST_POINTS)))
    rows = image[::every, ::every].reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        return
    low, high = np.percentile(rows[:, 2], (1, 99))
    rows = rows[(rows[:, 2] >= low) & (rows[:, 2] <= high)]
    x, y, z = rows[:, 0], rows[:, 1], rows[:, 2]
    axis.scatter(x, z, -y, c=rows[:, 3:].clip(0, 1), s=2.2, marker=".", linewidths=0, depthshade=False)
    spans = [max(float(np.ptp(a)), 1e-9) for a in (x, z, y)]
    widest = max(spans)
    # A shallow scene is stretched, up to three times, so that its relief can be seen.
    axis.set_box_aspect([max(span / widest, 0.34) for span in spans], zoom=1.08)
    axis.view_init(elev=24, azim=-62)
    axis.set_ylabel("z (m)", fontsize=7, labelpad=-6)
    axis.tick_params(labelsize=6, pad=-3)
    axis.set_xticks([])
    axis.set_zticks([])
    axis.yaxis.get_major_locator().set_params(nbins=4)


def _figure(width: float, height: float, dpi: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=dpi)
