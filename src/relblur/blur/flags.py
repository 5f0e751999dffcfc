"""Flags that follow from the input, whatever the method: which pixels bad ones reach, and which rounding flattened."""

from __future__ import annotations

import math

import numpy as np

from ..base._typing import BoolArray, FloatArray, UInt8Array
from ..base.inputs import Pair
from ..filters.sharpness import local_variance
from .blur_map import Flag, mark
from .request import Request

__all__ = ["flag_pixels"]


def flag_pixels(pair: Pair, request: Request, s: FloatArray, flags: UInt8Array) -> UInt8Array:
    """Add the flags that bad pixels and rounding impose on a map ``s``."""
    flags = flags.copy()
    sigma = np.sqrt(np.abs(np.nan_to_num(s)))
    mark(flags, _reached(~pair.finite, sigma, request.window), Flag.INVALID)
    mark(flags, _reached(~pair.unclipped, sigma, request.window), Flag.CLIPPED)
    if request.overall is not None:
        mark(flags, _rounded_away(pair, request), Flag.FLAT)
    return flags


def _reached(bad: BoolArray, sigma: FloatArray, window: int) -> BoolArray:
    """Pixels whose window holds a bad pixel, or touches one when blurred by their own sigma."""
    if not bad.any():
        return np.zeros(bad.shape, dtype=bool)
    import cv2

    distance = cv2.distanceTransform((~bad).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    half = window // 2
    return np.asarray(distance <= np.maximum(half * math.sqrt(2), half + 2 * sigma))


def _rounded_away(pair: Pair, request: Request) -> BoolArray:
    """Pixels around which rounding has swallowed the texture of both images.

    Rounding errors are not independent there (a whole area may round down in one image and
    up in the other), so no number of pixels averages them away.
    """
    assert request.overall is not None
    left = [
        local_variance(image, request.window, whole.centre) < 3 * whole.rounding**2
        for image, whole in zip((pair.first, pair.second), request.overall, strict=True)
    ]
    return left[0] & left[1]
