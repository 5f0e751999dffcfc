"""Data of a pixel, a box or a line for the page: curves, causes of flags, statistics, profiles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import InputError
from ...blur.blur_map import BlurMap, Flag
from ...blur.comparable_pair import ComparablePair
from ...blur.pixel_curve import PixelCurve, pixel_curve
from ...blur.result import flag_name
from ...filters.sharpness import detail_energy
from ...stacks.frames import Frames
from ...stacks.stack_map import StackMap
from .planes import Quantity, cut

__all__ = ["box", "describe_pixel", "line", "pixel_of_stack"]

#: Maximum number of points of a profile.
MOST_POINTS = 4000
#: Half side of the support of the detail energy, px.
_AROUND = 16

WHY = {
    Flag.INVALID: "A pixel here or within reach of the blur is NaN, hot, outside the other image or declared unusable.",
    Flag.CLIPPED: "A pixel here or within reach of the blur is at the maximum of its file format: light is missing.",
    Flag.FLAT: "There is too little texture around this pixel: many values of blur fit equally well.",
    Flag.EQUAL: "Both images have the same local contrast, so neither is the sharper one.",
    Flag.NO_ROOT: "The curve does not reach the observed value; the nearest point of it was taken.",
    Flag.AT_LIMIT: "The value is at the limit of the search; the true value may be beyond it.",
    Flag.FILLED: "The window around this pixel does not determine the value, which is filled from farther pixels. "
    "Its standard error includes this.",
    Flag.OUT_OF_RANGE: "No distance gives this blur with this camera, so there is no depth.",
}


def describe_pixel(pair: ComparablePair | None, blur_map: BlurMap, row: int, column: int) -> dict[str, Any]:
    """Return value, flags and curves (:func:`relblur.pixel_curve`) of a pixel of a pair."""
    _check_place(blur_map.shape, row, column)
    s, stderr = (float(each[row, column]) for each in (blur_map.variance_difference, blur_map.variance_stderr))
    data: dict[str, Any] = {
        "row": row,
        "column": column,
        "s": _plain(s),
        "s_stderr": _plain(stderr),
        "sharper": int(blur_map.sharper[row, column]),
        "method": str(blur_map.settings.get("method", "?")),
        "flags": why(int(blur_map.flags[row, column])),
    }
    if pair is None:
        pixel = cut(blur_map, slice(row, row + 1), slice(column, column + 1))
        sigma, sigma_stderr = float(pixel.sigma[0, 0]), float(pixel.sigma_stderr[0, 0])
        return {**data, "sigma": _plain(sigma), "sigma_stderr": _plain(sigma_stderr), "curve": None, "cost": None}
    curve = pixel_curve(pair, row, column, blur_map=blur_map)
    return {
        **data,
        "sigma": _plain(curve.chosen),
        "sigma_stderr": _plain(curve.chosen_stderr),
        "curve": _one_side(curve, int(blur_map.sharper[row, column])),
        "cost": {
            "s": _with_gaps(curve.variance_difference),
            "window": _with_gaps(np.sqrt(curve.cost)),
            "side": curve.window,
        },
    }


def pixel_of_stack(frames: Frames | None, stack: StackMap, row: int, column: int) -> dict[str, Any]:
    """Return index, distance and flags of a pixel of a stack, and the detail energy of each frame there."""
    _check_place(stack.shape, row, column)
    data: dict[str, Any] = {
        "row": row,
        "column": column,
        "index": _plain(float(stack.index[row, column])),
        "index_stderr": _plain(float(stack.index_stderr[row, column])),
        "flags": why(int(stack.flags[row, column])),
        "detail": None,
    }
    if frames is not None:
        top, left = max(0, row - _AROUND), max(0, column - _AROUND)
        area = (slice(top, row + _AROUND + 1), slice(left, column + _AROUND + 1))
        greys = [np.sqrt(np.maximum(frame.small[area].mean(axis=2), 0)) for frame in frames.frames]
        white = max(1e-6, max(float(grey.max()) for grey in greys))
        energy = [float(detail_energy(grey / white)[row - top, column - left]) for grey in greys]
        data["detail"] = {"frames": [frame.position for frame in frames.frames], "energy": energy}
    return data


def why(flags: int) -> list[dict[str, str]]:
    """Return name and cause of every flag of a pixel."""
    return [{"name": flag_name(flag), "why": reason} for flag, reason in WHY.items() if flags & flag]


def _one_side(curve: PixelCurve, sharper: int) -> dict[str, Any]:
    """Return the half of a curve that contains the map's value, in increasing order of blur."""
    side = int(np.sign(curve.chosen)) if np.isfinite(curve.chosen) and curve.chosen else sharper
    first_is_sharper = side >= 0
    half = np.flatnonzero(curve.sigma >= 0 if first_is_sharper else curve.sigma < 0)
    half = half if first_is_sharper else half[::-1]
    roots = curve.roots[curve.roots >= 0] if first_is_sharper else -curve.roots[curve.roots < 0][::-1]
    return {
        "sharper": "first" if first_is_sharper else "second",
        "sigma": np.abs(curve.sigma[half]).round(4).tolist(),
        "value": _with_gaps(curve.blurred[half]),
        "observed": _plain(curve.second_value if first_is_sharper else curve.first_value),
        "roots": roots.tolist(),
    }


def _check_place(shape: tuple[int, ...], row: int, column: int) -> None:
    if not (0 <= row < shape[0] and 0 <= column < shape[1]):
        raise InputError(f"row {row}, column {column} lies outside the {shape[1]}x{shape[0]} pixels of the map")


def box(quantities: Mapping[str, Quantity], flags: AnyArray, corners: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return mean and spread of each quantity between two corners (column, row, column, row), both included."""
    left, right = sorted((corners[0], corners[2]))
    top, bottom = sorted((corners[1], corners[3]))
    height, width = flags.shape
    left, right = max(left, 0), min(right, width - 1)
    top, bottom = max(top, 0), min(bottom, height - 1)
    if left > right or top > bottom:
        raise InputError(f"the box lies outside the {width}x{height} pixels of the map")
    part = (slice(top, bottom + 1), slice(left, right + 1))
    marked = flags[part]
    return {
        "left": left,
        "top": top,
        "width": marked.shape[1],
        "height": marked.shape[0],
        "pixels": marked.size,
        "flagged": float((marked != 0).mean()),
        "quantities": {name: _summary(q, part) for name, q in quantities.items()},
    }


def _summary(quantity: Quantity, part: tuple[slice, slice]) -> dict[str, Any]:
    values = np.asarray(quantity.values[part], np.float64)
    known = np.isfinite(values)
    about: dict[str, Any] = {"title": quantity.title, "unit": quantity.unit, "answered": int(known.sum())}
    if not known.any():
        return {**about, "mean": None}
    data = values[known]
    stderr = np.asarray(quantity.stderr[part], np.float64)[known]
    stderr = stderr[np.isfinite(stderr)]
    places = max(1.0, data.size / quantity.window**2)  # independent values: pixels in a window are correlated
    return {
        **about,
        "mean": float(data.mean()),
        "mean_error": float(np.sqrt(np.mean(stderr**2) / places)) if stderr.size else None,
        "median": float(np.median(data)),
        "spread": float(data.std()),
        "least": float(data.min()),
        "largest": float(data.max()),
        "mean_stderr": float(stderr.mean()) if stderr.size else None,
    }


def line(quantities: Mapping[str, Quantity], shape: tuple[int, ...], ends: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return each quantity and its standard error along a line (column, row, column, row), one point per pixel."""
    height, width = shape
    x0, y0, x1, y1 = (
        int(np.clip(value, 0, side - 1)) for value, side in zip(ends, (width, height, width, height), strict=True)
    )
    length = math.hypot(x1 - x0, y1 - y0)
    count = min(max(2, math.ceil(length) + 1), MOST_POINTS)
    columns = np.rint(np.linspace(x0, x1, count)).astype(int)
    rows = np.rint(np.linspace(y0, y1, count)).astype(int)
    return {
        "ends": [x0, y0, x1, y1],
        "length": length,
        "distance": np.linspace(0, length, count).round(3).tolist(),
        "quantities": {
            name: {
                "title": q.title,
                "unit": q.unit,
                "values": _with_gaps(q.values[rows, columns]),
                "stderr": _with_gaps(q.stderr[rows, columns]),
            }
            for name, q in quantities.items()
        },
    }


def _with_gaps(values: AnyArray) -> list[float | None]:
    """Return values with seven digits, None for NaN."""
    return [float(f"{value:.7g}") if math.isfinite(value) else None for value in values]


def _plain(value: float) -> float | None:
    """Return a number for JSON, None for NaN."""
    return value if math.isfinite(value) else None
