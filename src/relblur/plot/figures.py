"""Figures as files: circles and resolution of a camera."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..base._typing import FloatArray
from ..base.errors import MissingDependencyError
from ..base.settings import ASSUMED_STDERR_PX2
from ..depth.camera import Camera
from ..depth.working_range import resolution_at, working_range_m

__all__ = ["as_png", "camera_png", "new_figure"]

DPI = 110
#: End of the distance axis, as a multiple of the farthest distance in focus.
FARTHEST = 5


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
