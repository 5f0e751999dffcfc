"""One pixel: the curve M(sigma) that crosses what the other image shows, the cost of every blur, its flags in words.

The curve is the paper's (equation 16): the sharper image at this pixel, blurred by sigma. Where it takes the value
observed in the other image lie the candidate solutions; a method chooses among them by the neighbours. Values are grey,
the mean of the channels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import InputError
from ..base.pixels import unit_float
from ..base.settings import MAX_SIGMA, WINDOW_WINDOW, Sharper
from ..blur.blur_map import BlurMap, Flag
from ..blur.comparable_pair import ComparablePair
from ..blur.window.method import signed_nodes
from ..filters.kernels import BAND_LIMITED_RADIUS, Family, kernel, kernel_radius, noise_gain
from .planes import cut

__all__ = ["PixelCurve", "describe_pixel", "find_roots", "pixel_curve"]

#: Steps of the curve, px: half the paper's, so that two roots in one of its intervals show.
STEP_PX = 0.05
#: Nodes of the cost are so close in asinh(s) that the line through them looks smooth.
COST_SPACING = 0.12

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

PixelCurve = dict[str, Any]


def describe_pixel(pair: ComparablePair | None, blur_map: BlurMap, row: int, column: int) -> dict[str, Any]:
    """Return all that the page shows of a pixel, as plain numbers and words."""
    height, width = blur_map.shape
    if not (0 <= row < height and 0 <= column < width):
        raise InputError(f"row {row}, column {column} lies outside the {width}x{height} pixels of the map")
    pixel = cut(blur_map, slice(row, row + 1), slice(column, column + 1))  # sigma of all of it takes long
    found: dict[str, Any] = {
        "row": row,
        "column": column,
        "s": _plain(pixel.variance_difference[0, 0]),
        "s_stderr": _plain(pixel.variance_stderr[0, 0]),
        "sigma": _plain(pixel.sigma[0, 0]),
        "sigma_stderr": _plain(pixel.sigma_stderr[0, 0]),
        "sharper": int(blur_map.sharper[row, column]),
        "method": str(blur_map.settings.get("method", "?")),
        "flags": why(int(blur_map.flags[row, column])),
    }
    if pair is None:
        return {**found, "curve": None, "cost": None}
    return {**found, "curve": pixel_curve(pair, blur_map, row, column), "cost": _cost(pair, blur_map, row, column)}


def why(flags: int) -> list[dict[str, str]]:
    """Return name and reason of every flag of a pixel."""
    return [
        {"name": str(flag.name).lower().replace("_", " "), "why": reason}
        for flag, reason in WHY.items()
        if flags & flag
    ]


def pixel_curve(pair: ComparablePair, blur_map: BlurMap, row: int, column: int) -> PixelCurve:
    """Return M(sigma) of the sharper image at a pixel, the observed value of the other, and the roots in px."""
    s = float(blur_map.variance_difference[row, column])
    side = int(np.sign(s)) if np.isfinite(s) and s != 0 else int(blur_map.sharper[row, column])
    first_is_sharper = side >= 0
    sharp, blurry = (pair.first, pair.second) if first_is_sharper else (pair.second, pair.first)
    largest = _largest_sigma(blur_map)
    family: Family = "sampled" if blur_map.settings.get("kernel") == "sampled" else "band_limited"
    radius = max(kernel_radius(largest), BAND_LIMITED_RADIUS)
    patch = _grey_patch(sharp, row, column, radius)
    sigmas = np.arange(0, largest + STEP_PX / 2, STEP_PX)
    values = np.array([_at_centre(patch, kernel(float(sigma) ** 2, family)) for sigma in sigmas])
    observed = float(_grey_patch(blurry, row, column, 0)[0, 0])
    return {
        "sharper": "first" if first_is_sharper else "second",
        "sigma": sigmas.round(4).tolist(),
        "value": values.tolist(),
        "observed": observed,
        "roots": find_roots(sigmas, values - observed),
    }


def find_roots(x: FloatArray, y: FloatArray) -> list[float]:
    """Return where a curve crosses zero, by straight lines between its points."""
    change = np.flatnonzero((y[:-1] < 0) != (y[1:] < 0))
    share = y[change] / (y[change] - y[change + 1])
    return [float(root) for root in x[change] + share * (x[change + 1] - x[change])]


def _cost(pair: ComparablePair, blur_map: BlurMap, row: int, column: int) -> dict[str, Any]:
    """Return the mean square that each s leaves in the window, per unit of noise, relative to the least."""
    window = int(blur_map.settings.get("window") or WINDOW_WINDOW)
    side = blur_map.settings.get("sharper", "auto")
    wanted: Sharper = side if side in ("first", "second") else "auto"
    nodes = signed_nodes(_largest_sigma(blur_map), wanted, COST_SPACING)
    reach, half = nodes.reach, window // 2
    one, two = (_patch(image, row, column, reach + half) for image in (pair.first, pair.second))
    inner = slice(reach, reach + window)
    cost = []
    for s in nodes.s:
        sharp, blurry = (one, two) if s >= 0 else (two, one)
        taps = kernel(abs(float(s)), "band_limited")
        spread = len(taps) // 2
        part = np.moveaxis(
            sharp[reach - spread : reach + window + spread, reach - spread : reach + window + spread], 2, 0
        )
        # Blurred at the pixels of the window only: a row of this matrix for each.
        rows = np.zeros((window, window + 2 * spread))
        for i in range(window):
            rows[i, i : i + len(taps)] = taps
        made = np.moveaxis(rows @ part @ rows.T, 0, 2)
        residual = float(np.mean((made - blurry[inner, inner]) ** 2))
        cost.append(residual / (1 + noise_gain(taps)))
    values = np.sqrt(np.array(cost))
    return {"s": nodes.s.tolist(), "window": values.tolist(), "side": window}


def _largest_sigma(blur_map: BlurMap) -> float:
    settings = blur_map.settings
    if "sigmas" in settings and len(settings["sigmas"]):
        return float(settings["sigmas"][-1])
    return float(settings.get("max_sigma", MAX_SIGMA))


def _grey_patch(image: AnyArray, row: int, column: int, radius: int) -> FloatArray:
    return _patch(image, row, column, radius).mean(axis=2)


def _patch(image: AnyArray, row: int, column: int, radius: int) -> FloatArray:
    """Return the square around a pixel, (side, side, C); beyond the border the nearest values."""
    rows = np.arange(row - radius, row + radius + 1).clip(0, image.shape[0] - 1)
    columns = np.arange(column - radius, column + radius + 1).clip(0, image.shape[1] - 1)
    part = unit_float(np.asarray(image)[np.ix_(rows, columns)])
    return np.nan_to_num(part if part.ndim == 3 else part[:, :, None]).astype(np.float64)


def _at_centre(patch: FloatArray, taps: FloatArray) -> float:
    """Return a patch blurred by a separable kernel, at its centre."""
    middle, spread = patch.shape[0] // 2, len(taps) // 2
    around = patch[middle - spread : middle + spread + 1, middle - spread : middle + spread + 1]
    return float(taps @ around @ taps)


def _plain(value: Any) -> float | None:
    """Return a number as JSON has it; None for NaN."""
    number = float(value)
    return number if math.isfinite(number) else None
