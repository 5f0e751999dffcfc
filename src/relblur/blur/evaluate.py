"""The score of a blur map: the blurrier image is made from the sharper one and compared (Figs. 4 and 5, Table I)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.arguments import colour_axis
from ..base.errors import InputError
from ..base.inputs import Pair, as_pair
from ..base.pixels import grey
from ..filters.variable_blur import blur_by_levels, blur_planes
from .blur_map import BlurMap, Flag, has_flag
from .comparable_pair import ComparablePair
from .estimate import estimate_blur

__all__ = ["PairScore", "evaluate_pair", "resynthesize"]

GREEN = 1
_HELD_OUT = ("e_first", "e_second", "unblurred_e_first", "unblurred_e_second")


@dataclass(frozen=True)
class PairScore:
    """Errors of each image of a pair when it is made from the other (Fig. 5, Table I).

    Errors are mean absolute differences of grey values (means of the channels), on the images' own scale (0..1 for
    integers). Points of equal sharpness are excluded. The error over an empty set of pixels is NaN.

    Attributes
    ----------
    e_first, e_second : float
        Error of this image where it is the blurrier one.
    first_sharper_fraction, second_sharper_fraction, equal_fraction : float
        Shares of all pixels.
    unblurred_e_first, unblurred_e_second : float
        Baseline: the same errors if the sharper image is not blurred.
    explained : float
        Share of the difference between the two images that a map estimated from green explains in red and blue: 1 is
        all, 0 none, negative values are worse than no blur. NaN for grey images.
    scored_fraction : float
        Share of all pixels in e_first or e_second.
    answered_fraction : float
        Share of all pixels that are scored and neither flat nor clipped.
    answered_e_first, answered_e_second : float
        The errors over these pixels alone: mostly smaller.
    held_out_e_first, held_out_e_second : float
        The errors in red and blue of a map estimated from green; NaN for grey images.
    held_out_unblurred_e_first, held_out_unblurred_e_second : float
        Their baseline.
    """

    e_first: float
    e_second: float
    first_sharper_fraction: float
    second_sharper_fraction: float
    equal_fraction: float
    unblurred_e_first: float
    unblurred_e_second: float
    explained: float
    scored_fraction: float
    answered_fraction: float
    answered_e_first: float
    answered_e_second: float
    held_out_e_first: float
    held_out_e_second: float
    held_out_unblurred_e_first: float
    held_out_unblurred_e_second: float

    def as_dict(self) -> dict[str, float]:
        """Return the figures as a plain dictionary."""
        return {f.name: float(getattr(self, f.name)) for f in fields(self)}


def resynthesize(
    first: ArrayLike,
    second: ArrayLike,
    blur_map: BlurMap,
    *,
    channel_axis: int | None = None,
    dtype: type[np.floating[Any]] = np.float64,
) -> AnyArray:
    """Make, at each pixel, the blurrier image from the sharper one (Fig. 4).

    The result is the unblurred sharper image where the map has no answer, and the mean of both images where neither is
    sharper, as in Figs. 6 and 7.

    Parameters
    ----------
    dtype : numpy.float64 or numpy.float32
        Double precision is exact. Single precision interpolates, in a fifth of the time. Its largest error on a
        photograph is 1e-4 of the contrast, and 5e-3 for sampled kernels below 0.6 px
        (:mod:`relblur.filters.variable_blur`).

    Returns
    -------
    Array of the images' shape, channels last.
    """
    pair, is_colour = _checked(first, second, blur_map, channel_axis)
    remade = _remake(pair, blur_map, dtype)
    return remade if is_colour else remade[:, :, 0]


def observed_blurrier(
    first: ArrayLike, second: ArrayLike, blur_map: BlurMap, *, channel_axis: int | None = None
) -> FloatArray:
    """Return the blurrier image at each pixel, the target of :func:`resynthesize`."""
    pair, is_colour = _checked(first, second, blur_map, channel_axis)
    chosen = _choose(blur_map, pair.second, pair.first)
    return chosen if is_colour else chosen[:, :, 0]


def evaluate_pair(
    first: ArrayLike,
    second: ArrayLike,
    blur_map: BlurMap | None = None,
    *,
    channel_axis: int | None = None,
    held_out: bool = True,
    **options: Any,
) -> PairScore:
    """Score the images made from each other by a map (Fig. 5).

    Parameters
    ----------
    first, second : arrays
        The pair, as for :func:`relblur.estimate_blur`.
    blur_map : BlurMap, optional
        The map to score; estimated with ``options`` if left out.
    held_out : bool
        For colour pairs, also estimate from the green channel alone and score on red and blue. A root fits its own
        pixel exactly, but red and blue are independent of the estimate.
    **options
        Passed on to :func:`relblur.estimate_blur`: ``method=``, ``sharper=``, ... With a map only ``valid=`` and
        ``clipped=`` are accepted.

    Notes
    -----
    Errors are defined as in the paper: those of grey values (means of the channels), over all points but those of equal
    sharpness. The set "first is sharper" is ``blur_map.sharper == 1``: by the 3 x 3 standard deviation for
    ``method="paper"``, by the better fit otherwise. Flat and clipped areas are included. Where the map has no answer,
    the sharper image is not blurred. Errors without such points are in ``answered_e_first`` and ``answered_e_second``.
    """
    masks = {name: options.get(name) for name in ("valid", "clipped")}
    pair, is_colour = _checked(first, second, blur_map, channel_axis, **masks)
    if "linear" in options:
        raise InputError("linear is not part of a score, which compares the images as they are given; leave it out")
    if blur_map is None:
        axis = colour_axis(first, channel_axis)
        blur_map = estimate_blur(first, second, channel_axis=axis, linear=False, **options)
    elif unused := [name for name in options if name not in masks]:
        raise InputError(f"{', '.join(unused)} has no effect with blur_map; leave one of them out")
    blur_map = blur_map.compute()
    grey_pair = replace(pair, first=grey(pair.first)[:, :, None], second=grey(pair.second)[:, :, None])
    figures = _errors(grey_pair, blur_map) | {"explained": math.nan}
    red_and_blue = dict.fromkeys(_HELD_OUT, math.nan)
    if held_out and is_colour and pair.first.shape[2] == 3:
        red_and_blue = _held_out(pair, blur_map, options)
        figures["explained"] = red_and_blue["explained"]
    for name, side in (("first_sharper", 1), ("second_sharper", -1), ("equal", 0)):
        figures[f"{name}_fraction"] = float((blur_map.sharper == side).mean())
    return PairScore(**figures, **{f"held_out_{name}": red_and_blue[name] for name in _HELD_OUT})


def _errors(pair: Pair, blur_map: BlurMap) -> dict[str, float]:
    """Return the errors of both images over their sets of pixels, and the explained share of the difference."""
    remade, s = _remake(pair, blur_map), blur_map.variance_difference
    valid = pair.finite & ~has_flag(blur_map.flags, Flag.INVALID)
    answered = np.isfinite(s) & ~has_flag(blur_map.flags, Flag.FLAT | Flag.CLIPPED)
    unblurred = np.abs(pair.first - pair.second)
    of_first, of_second = np.abs(remade - pair.first), np.abs(remade - pair.second)
    first_blurrier, second_blurrier = valid & (blur_map.sharper == -1), valid & (blur_map.sharper == 1)
    figures = {}
    for side, error, here in (("first", of_first, first_blurrier), ("second", of_second, second_blurrier)):
        figures[f"e_{side}"] = _mean(error, here)
        figures[f"unblurred_e_{side}"] = _mean(unblurred, here)
        figures[f"answered_e_{side}"] = _mean(error, here & answered)
    scored = first_blurrier | second_blurrier
    figures["scored_fraction"], figures["answered_fraction"] = float(scored.mean()), float((scored & answered).mean())
    error = np.where((s > 0)[:, :, None], of_second, of_first)[answered].sum()
    difference = unblurred[answered].sum()
    figures["explained"] = float(1 - error / difference) if difference > 0 else math.nan
    return figures


def _held_out(pair: Pair, blur_map: BlurMap, options: dict[str, Any]) -> dict[str, float]:
    """Return the errors in red and blue of a map estimated from green."""
    settings = {name: blur_map.settings[name] for name in ("method", "sharper") if name in blur_map.settings}
    green = estimate_blur(
        pair.first[:, :, GREEN],
        pair.second[:, :, GREEN],
        **{**settings, **options, "valid": pair.finite, "clipped": ~pair.unclipped},
    )
    others = [0, 2]
    return _errors(Pair(pair.first[:, :, others], pair.second[:, :, others], pair.finite, pair.unclipped), green)


def _remake(pair: Pair, blur_map: BlurMap, dtype: type[np.floating[Any]] = np.float64) -> AnyArray:
    sigma = np.nan_to_num(blur_map.sigma)
    kernel = blur_map.settings.get("kernel", "sampled")
    sides = []
    for image, field in ((pair.first, np.maximum(sigma, 0)), (pair.second, np.maximum(-sigma, 0))):
        planes = np.moveaxis(image, -1, 0).astype(dtype)
        blurred = blur_by_levels(planes, field, kernel) if dtype == np.float32 else blur_planes(planes, field, kernel)
        sides.append(np.moveaxis(blurred, 0, -1))
    return _choose(blur_map, sides[0], sides[1])


def _choose(blur_map: BlurMap, where_positive: AnyArray, where_negative: AnyArray) -> AnyArray:
    """Select by the sharper image, or by the sign of s where neither is clearly sharper; at s = 0 average both."""
    sign = np.sign(np.nan_to_num(blur_map.variance_difference))
    side = np.where(blur_map.sharper != 0, blur_map.sharper, sign)[:, :, None]
    between = (where_positive + where_negative) / 2
    return np.where(side > 0, where_positive, np.where(side < 0, where_negative, between))


def _mean(error: FloatArray, where: BoolArray) -> float:
    return float(error[where].mean()) if where.any() else float("nan")


def _checked(
    first: ArrayLike, second: ArrayLike, blur_map: BlurMap | None, channel_axis: int | None, **masks: Any
) -> tuple[Pair, bool]:
    """Return the pair and whether it is in colour; refuse a map of another shape."""
    if isinstance(first, ComparablePair) or isinstance(second, BlurMap):
        raise InputError("pass both images and then the map: pair.first, pair.second, blur_map")
    axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, channel_axis=axis, **masks)
    if blur_map is not None and blur_map.shape != pair.shape:
        raise InputError(f"blur_map is {blur_map.shape}, the images {pair.shape}; it belongs to another pair")
    return pair, axis is not None
