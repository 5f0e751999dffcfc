"""Warnings of differences between two images other than defocus.

The error bars cover noise and the usual misfit of a lens, but not motion blur, a shift, another exposure or a tone
curve. Each of these adds its own term to the residual ``e = observed - M``, where ``M`` is the blurrier image as
predicted from the sharper one. To first order

    e  =  a . grad M                           a shift by a px
       +  p (M_xx - M_yy) / 2 + q M_xy         blur that is wider along one direction than across it, px^2
       +  g M + o                              gain and offset

with the opposite sign where the first image is the blurrier. The six coefficients are a least-squares fit on a few
patches. It uses pixels without a flag, and filled pixels if there are few others. A large coefficient that explains a
good part of the residual gives a warning. The thresholds lie between the values for violated and for valid assumptions
(28 kinds, four photographs).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..base._typing import BoolArray, FloatArray, UInt8Array
from ..base.inputs import RawPair
from ..base.pixels import grey
from ..filters.kernels import Family
from ..filters.variable_blur import blur_by_levels
from .blur_map import Flag, has_flag

__all__ = ["find_model_warnings"]

#: Side of a patch (px), and number of patches along each side of a larger picture.
_PATCH, _ALONG = 128, 2
#: Least number of pixels for a warning.
_LEAST_PIXELS = 500
#: Least shift (px), and least share of the residual's power that it explains.
_SHIFT, _BY_SHIFT = 0.1, 0.3
#: Least excess of the variance along the wider direction, as a share of the blur, and least explained share.
_WIDER, _BY_WIDTH = 0.07, 0.05
#: Least difference of brightness, as a share of the contrast, and least explained share.
_BRIGHTER, _BY_BRIGHTNESS = 0.02, 0.3
#: Largest residuals, as a share of the values, that are rounding in single precision.
_ROUNDING = 1e-6
#: Least amplitude of the residual that gives a warning, relative to the difference between the images.
_NOT_BLUR = 0.5


def find_model_warnings(raw: RawPair, s: FloatArray, flags: UInt8Array, family: Family) -> list[str]:
    """Return a warning for each difference between the images other than defocus.

    Parameters
    ----------
    raw : RawPair
        The images.
    s, flags : (H, W)
        Their map.
    family : {"sampled", "band_limited"}
        The Gaussians of the estimate.
    """
    places = list(_patches(raw.shape))
    answered = np.isfinite(s)
    good = answered & (flags == 0)
    if sum(int(good[place].sum()) for place in places) < _LEAST_PIXELS:
        good = answered & ~has_flag(flags, Flag.INVALID | Flag.CLIPPED)
    parts = [_terms(raw, s, good, family, place) for place in places if good[place].any()]
    if sum(len(part[0]) for part in parts) < _LEAST_PIXELS:
        return []
    residual, difference, blur = (np.concatenate([part[n] for part in parts]) for n in (0, 1, 2))
    terms = np.concatenate([part[3] for part in parts], axis=1)
    return _warnings_of(residual, difference, float(np.sqrt(np.mean(np.square(blur)))), terms)


def _patches(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    def along(length: int) -> list[slice]:
        if length <= _PATCH * _ALONG:
            return [slice(0, length)]
        middles = [(2 * n + 1) * length // (2 * _ALONG) for n in range(_ALONG)]
        return [slice(middle - _PATCH // 2, middle + _PATCH // 2) for middle in middles]

    return ((rows, columns) for rows in along(shape[0]) for columns in along(shape[1]))


def _terms(
    raw: RawPair, s: FloatArray, good: BoolArray, family: Family, place: tuple[slice, slice]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the residual, the difference of the images, s, and the six terms at the good pixels of a patch."""
    import cv2

    here, use = s[place], good[place]
    pair = raw.part(*place)
    first, second = grey(pair.first), grey(pair.second)
    second_is_blurrier = here > 0
    sigma = np.sqrt(np.abs(np.nan_to_num(here)))
    observed, sharper = (np.where(second_is_blurrier, *images) for images in ((second, first), (first, second)))
    predicted = np.empty_like(first)
    for image, where in ((first, second_is_blurrier), (second, ~second_is_blurrier)):
        if where.any():
            blurred = blur_by_levels(image.astype(np.float32)[None], np.where(where, sigma, 0), family)
            np.copyto(predicted, blurred[0], where=where)
    slope, bend, none = np.array([-0.5, 0, 0.5]), np.array([1.0, -2, 1]), np.array([0.0, 1, 0])

    def derived(along: FloatArray, down: FloatArray) -> FloatArray:
        return np.asarray(cv2.sepFilter2D(predicted, -1, along, down, borderType=cv2.BORDER_REFLECT))

    side = np.where(second_is_blurrier, 1.0, -1.0)
    terms = (
        side * derived(slope, none),
        side * derived(none, slope),
        (derived(bend, none) - derived(none, bend)) / 2,
        derived(slope, slope),
        side * predicted,
        side,
    )
    return (observed - predicted)[use], (observed - sharper)[use], here[use], np.stack(terms)[:, use]


def _warnings_of(residual: FloatArray, difference: FloatArray, blur: float, terms: FloatArray) -> list[str]:
    gram, product = np.einsum("ip,jp->ij", terms, terms), np.einsum("ip,p->i", terms, residual)
    total = float(residual @ residual)
    if not total > _ROUNDING**2 * float(terms[4] @ terms[4]) or not blur > 0:
        return []

    def explained(by: list[int]) -> float:
        """Return the share of the residual's power that some terms explain in addition to the others."""
        others = [n for n in range(len(terms)) if n not in by]
        without = product[others] @ _solve(gram[np.ix_(others, others)], product[others])
        return float(product @ _solve(gram, product) - without) / total

    x, y, p, q, gain, offset = _solve(gram, product)
    warnings = []
    if math.hypot(x, y) > _SHIFT and explained([0, 1]) > _BY_SHIFT:
        warnings.append(
            f"the images seem shifted by {math.hypot(x, y):.1f} px against each other: align them first "
            "(relblur.prepare_pair does)"
        )
    if math.hypot(p, q) > _WIDER * blur and explained([2, 3]) > _BY_WIDTH:
        angle = math.degrees(math.atan2(q, p)) / 2 % 180
        warnings.append(
            f"the blur is wider along {angle:.0f} degrees (0: along rows) than across: motion blur, astigmatism or "
            "moire? The error bars cover only defocus, which is round"
        )
    brightness = gain * terms[4] + offset * terms[5]
    contrast = float(np.std(terms[4] * terms[5]))  # of M, because the squared sign is 1
    if float(np.sqrt(np.mean(np.square(brightness)))) > _BRIGHTER * contrast and explained([4, 5]) > _BY_BRIGHTNESS:
        warnings.append(
            "the images differ in brightness, which blur does not change: match their exposure in linear light first "
            "(relblur.prepare_pair does)"
        )
    unexplained = total - float(product @ _solve(gram, product))
    if unexplained > _NOT_BLUR**2 * float(difference @ difference):
        warnings.append("half of the difference between the images is not blur: another scene, motion, noise?")
    return warnings


def _solve(gram: FloatArray, product: FloatArray) -> FloatArray:
    """Solve the normal equations, with slight damping for similar terms."""
    return np.asarray(np.linalg.solve(gram + np.diag(1e-9 * np.diag(gram) + 1e-30), product), np.float64)
