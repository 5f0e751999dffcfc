"""One pixel as the page shows it: its curve, the cost of every blur, its flags in words.

The numbers are those of :func:`relblur.pixel_curve`; here they become JSON.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import InputError
from ...blur.blur_map import BlurMap, Flag
from ...blur.comparable_pair import ComparablePair
from ...blur.pixel_curve import PixelCurve, pixel_curve
from .planes import cut

__all__ = ["describe_pixel", "refined_costs"]

WHY = {
    Flag.INVALID: "A pixel here or within reach of the blur is NaN, hot, outside the other image or declared unusable.",
    Flag.CLIPPED: "A pixel here or within reach of the blur is at the top of what its file can hold: light is missing.",
    Flag.FLAT: "There is too little texture around this pixel: many blurs explain it equally well.",
    Flag.EQUAL: "Both images have the same local contrast, so neither is the sharper one.",
    Flag.NO_ROOT: "The curve does not reach the observed value; the nearest point of it was taken.",
    Flag.AT_LIMIT: "The answer is the largest blur that was looked for; the true one may be larger.",
    Flag.FILLED: "The pixels around do not determine the blur by themselves; the value comes from farther away, "
    "and the error bar says how far to trust it.",
    Flag.OUT_OF_RANGE: "This camera makes such a blur at no distance, so there is no depth.",
}


def describe_pixel(pair: ComparablePair | None, blur_map: BlurMap, row: int, column: int) -> dict[str, Any]:
    """Return what the page shows of a pixel at once, as plain numbers and words."""
    _check_place(blur_map, row, column)
    s, stderr = (float(each[row, column]) for each in (blur_map.variance_difference, blur_map.variance_stderr))
    found: dict[str, Any] = {
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
        return {**found, "sigma": _plain(sigma), "sigma_stderr": _plain(sigma_stderr), "curve": None, "cost": None}
    curve = pixel_curve(pair, row, column, blur_map=blur_map)
    return {
        **found,
        "sigma": _plain(curve.chosen),
        "sigma_stderr": _plain(curve.chosen_stderr),
        "curve": _one_side(curve, int(blur_map.sharper[row, column])),
        "cost": {
            "s": _with_gaps(curve.variance_difference),
            "window": _with_gaps(np.sqrt(curve.cost)),
            "side": curve.window,
        },
    }


def refined_costs(pair: ComparablePair | None, blur_map: BlurMap, row: int, column: int) -> dict[str, Any]:
    """Return what ``method="refined"`` minimises at a pixel; it takes longer than all the rest."""
    _check_place(blur_map, row, column)
    if pair is None:
        raise InputError("a saved result has no images with it, so there are no costs; open the pair")
    curve = pixel_curve(pair, row, column, blur_map=blur_map, refined=True)
    if curve.refined_data is None or curve.refined_cost is None:
        return {"s": [], "data": [], "posterior": [], "least": None}
    least = int(np.nanargmin(curve.refined_cost))
    return {
        "s": _with_gaps(curve.variance_difference),
        "data": _with_gaps(curve.refined_data),
        "posterior": _with_gaps(curve.refined_cost),
        "least": float(curve.variance_difference[least]),
    }


def why(flags: int) -> list[dict[str, str]]:
    """Return name and reason of every flag of a pixel."""
    return [
        {"name": str(flag.name).lower().replace("_", " "), "why": reason}
        for flag, reason in WHY.items()
        if flags & flag
    ]


def _one_side(curve: PixelCurve, sharper: int) -> dict[str, Any]:
    """Return the half of a curve on which the map's answer lies, by the size of the blur."""
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


def _check_place(blur_map: BlurMap, row: int, column: int) -> None:
    height, width = blur_map.shape
    if not (0 <= row < height and 0 <= column < width):
        raise InputError(f"row {row}, column {column} lies outside the {width}x{height} pixels of the map")


def _with_gaps(values: AnyArray) -> list[float | None]:
    """Return numbers to seven digits, None for NaN."""
    return [float(f"{value:.7g}") if math.isfinite(value) else None for value in values]


def _plain(value: float) -> float | None:
    """Return a number as JSON has it; None for NaN."""
    return value if math.isfinite(value) else None
