"""Comparison of two registered photographs at equal exposure and equal blur, to measure the residual motion.

They are compared at low resolution, in the frequency band between noise and shading. A motion is fitted to the black
squares of a chessboard and tested on the white ones, by the difference that remains there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray
from ..filters.resampling import Bend, resample
from .exposure import find_exposure
from .motion import Motion
from .rough_blur import RoughBlur, equalise
from .warps import rows_first

__all__ = ["EqualBands", "band", "black_squares", "compare", "difference"]

#: Minimum fraction of the frame that both images must share for a comparison.
LEAST_COMMON = 0.05
#: Side of the squares of the chessboard (px): several widths of the band filter.
SQUARE = 32
#: Minimum number of squares along each side: fewer are no test, because any motion fits them.
LEAST_SQUARES = 3


@dataclass(frozen=True, eq=False)
class EqualBands:
    """Bands (H, W) of two images, and the mask of comparable pixels."""

    first: AnyArray
    second: AnyArray
    mask: AnyArray


def compare(
    first: AnyArray,
    second: AnyArray,
    mask: AnyArray,
    warp: AnyArray,
    bend: Bend | None = None,
    blur: RoughBlur | None = None,
    again: bool = False,
) -> EqualBands | None:
    """Return the bands of two (H, W) images aligned by a warp and a bend; None if the common area is too small.

    ``again`` repeats the measurement of the blur.
    """
    import cv2

    motion = Motion(rows_first(warp), "affine", 0.0, 0.0, bend)
    moved = resample(second[None], motion.transform, bend)[0]
    inside = motion.inside((first.shape[0], first.shape[1])) & (mask > 0)
    inside &= cv2.erode(inside.astype(np.uint8), np.ones((5, 5))) > 0
    if inside.mean() < LEAST_COMMON:
        return None
    exposure = find_exposure(first[:, :, None], moved[:, :, None], inside, broad=True)
    equal = equalise(first[:, :, None], exposure.apply(moved[:, :, None]), inside, blur, again=again)
    bands = [band(image[:, :, 0].astype(np.float32), equal.usable) for image in (equal.first, equal.second)]
    return EqualBands(bands[0], bands[1], equal.usable.astype(np.uint8))


def black_squares(shape: tuple[int, ...]) -> BoolArray | None:
    """Return the black squares of a chessboard; None if the frame is too small for one."""
    if min(shape) < LEAST_SQUARES * SQUARE:
        return None
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return np.asarray((rows // SQUARE + columns // SQUARE) % 2 == 0)


def difference(first: AnyArray, second: AnyArray, weight: AnyArray) -> float:
    """Return the weighted power of the difference of two bands as a fraction of the sum of their powers."""
    one, two = first.astype(np.float64), second.astype(np.float64)
    power = float((weight * (one * one + two * two)).sum())
    return float((weight * np.square(one - two)).sum()) / power if power > 0 else 0.0


def band(image: AnyArray, usable: BoolArray | None = None) -> AnyArray:
    """Return an image without its finest detail (noise) and its shading (vignetting), from usable pixels alone."""
    import cv2

    widths = (1.0, 16.0)
    if usable is None:
        fine, coarse = (cv2.GaussianBlur(image, (0, 0), width) for width in widths)
    else:
        weight = usable.astype(np.float32)
        fine, coarse = (
            cv2.GaussianBlur(image * weight, (0, 0), width) / np.maximum(cv2.GaussianBlur(weight, (0, 0), width), 1e-6)
            for width in widths
        )
    return fine - coarse
