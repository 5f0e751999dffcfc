"""A camera as a page: what it can measure and how finely; and the result of a calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..base.settings import ASSUMED_STDERR_PX2
from ..blur.comparable_pair import ComparablePair
from ..depth.calibration import Calibration
from ..depth.camera import Camera
from ..depth.working_range import Resolution, openings, resolution_table, working_range_m
from ..plot.figures import camera_png
from .html import Table
from .page import About, Figure, ResultPage
from .result_pages import pair_figures
from .summary import percent, settings_rows

__all__ = ["RESOLUTION_COLUMNS", "calibration_page", "camera_page", "resolution_cells", "span"]

RESOLUTION_COLUMNS = ("distance, m", "circle 1, px", "circle 2, px", "s, px^2", "resolution, mm", "of distance")
#: Rows and columns of the drawing, px.
_DRAWN = (800, 1280)


def camera_page(camera: Camera, about: About, stderr_px2: float = ASSUMED_STDERR_PX2) -> ResultPage:
    """Return the page of a camera; ``stderr_px2`` is the assumed standard error of s."""
    return ResultPage(
        about,
        subtitle=camera.describe(),
        key_figures=[
            ("kind of pair", camera.kind),
            ("measures", span(*working_range_m(camera))),
            ("finest resolution", _finest(resolution_table(camera, stderr_px2=stderr_px2))),
        ],
        figures=[_drawing(camera, stderr_px2)],
        tables=[_resolution(camera, stderr_px2), Table("Camera", ("field", "value"), settings_rows(camera.as_dict()))],
        notes=[
            f"--decimate {each.factor} opens it to {span(each.nearest_m, each.farthest_m)}: {each.why}"
            for each in openings(camera)
        ],
    )


def calibration_page(
    found: Calibration, before: Camera, fitted: Camera, psf: str, about: About, pair: ComparablePair
) -> ResultPage:
    """Return the page of a calibration: values, residuals, the camera before and now."""
    left = np.abs(found.residual_px2[np.isfinite(found.residual_px2)])
    values = [(name, f"{value:.5g}", f"{found.stderr[name]:.2g}") for name, value in found.values.items()]
    old, new = dict(settings_rows(before.as_dict())), dict(settings_rows(fitted.as_dict()))
    quantiles = [
        (f"{share} % of the pixels are nearer than", f"{np.percentile(left, share):.3g} px^2")
        for share in (50, 68, 95)
        if left.size
    ]
    return ResultPage(
        about,
        subtitle=f"Calibration for psf {psf}: {fitted.describe()}",
        key_figures=[
            *((name, f"{value} \u00b1 {stderr}") for name, value, stderr in values),
            ("pixels used", f"{found.points}"),
            ("median depth error", f"{100 * found.depth_error:.2g} %"),
            ("measures now", span(*working_range_m(fitted))),
        ],
        figures=[*pair_figures(pair, about, has_pixels=False), _drawing(fitted, ASSUMED_STDERR_PX2)],
        tables=[
            Table("Values", ("", "value", "standard error"), values),
            Table("Residuals: s measured, less s of the known distances", ("", ""), quantiles),
            Table("Camera", ("field", "before", "now"), [(name, old.get(name, "-"), new[name]) for name in new]),
            _resolution(fitted, ASSUMED_STDERR_PX2),
        ],
    )


def resolution_cells(row: Resolution) -> tuple[str, ...]:
    """Return a row of the table of what a camera resolves."""
    return (
        f"{row.depth_m:.3f}",
        f"{row.circle_first_px:.2f}",
        f"{row.circle_second_px:.2f}",
        f"{row.variance_difference_px2:+.2f}",
        f"{row.resolution_mm:.2g}",
        f"{row.resolution_mm / row.depth_m / 10:.2g} %",
    )


def span(near: float, far: float) -> str:
    """Return a range of distances in words."""
    return f"{near:.3g} m to infinity" if math.isinf(far) else f"{near:.3g} m to {far:.3g} m"


def _resolution(camera: Camera, stderr_px2: float) -> Table:
    rows = [resolution_cells(row) for row in resolution_table(camera, stderr_px2=stderr_px2)]
    return Table(f"Resolution if s is known to {stderr_px2:g} px^2", RESOLUTION_COLUMNS, rows)


def _finest(rows: Sequence[Resolution]) -> str:
    best = min(rows, key=lambda row: row.resolution_mm / row.depth_m)
    return f"{percent(best.resolution_mm / best.depth_m / 1000)} at {best.depth_m:.3g} m"


def _drawing(camera: Camera, stderr_px2: float) -> Figure:
    """Return the circles of confusion over the working range."""
    return Figure("what this camera delivers", camera_png(camera, stderr_px2), _DRAWN, has_pixels=False)
