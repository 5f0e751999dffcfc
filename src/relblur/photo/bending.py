"""The bend of an aligned pair: residual motion that is smooth but not affine.

It occurs with phones: the distortion of their lenses changes with focus, and hands move. A polynomial of third degree
is fitted to the residual motion at equal blur, by Gauss-Newton steps on the difference of the bands. Moving objects
have small weights. The bend is accepted only if it reduces the difference in squares to which it is not fitted (the
chessboard of :mod:`relblur.photo.equal_bands`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..filters.resampling import DEGREE, Bend, powers
from .equal_bands import EqualBands, black_squares, compare, difference
from .rough_blur import RoughBlur
from .warps import rows_first

__all__ = ["find_bend", "is_bent"]

#: Accept a bend if at most this fraction of the difference (root mean square) remains. It is 0.4 to 0.6 for frames of a
#: phone, 0.9 to 1 in 40 pairs of other cameras.
TAKEN_BELOW = 0.8
#: Ignore smaller bends (root mean square, px of the reduced copies): without noise the smallest motion is significant.
LEAST_PX = 0.1
#: Reject larger displacements (fraction of the frame's radius): a large object moved. Lenses of phones reach 0.04.
MOST_OF_RADIUS = 0.1
#: Differences of this many standard deviations have half the weight: they belong to moving objects.
USUAL = 3.0
#: Number of rounds, each with a new blur and exposure, and number of Gauss-Newton steps in each.
_ROUNDS, _STEPS = 2, 6
#: Weight of the whole frame relative to that of the texture: flat corners follow the rest of the frame.
_EVERYWHERE = 1e-3


def is_bent(equal: EqualBands) -> bool:
    """Return whether a bend fitted to the black squares clearly reduces the difference in the white ones."""
    black, usable = black_squares(equal.mask.shape), equal.mask > 0
    if black is None or not (usable & black).any() or not (usable & ~black).any():
        return False
    bend = _fit(equal, usable & black)
    squares = np.square(bend.at(*np.ogrid[: usable.shape[0], : usable.shape[1]])).sum(axis=0)
    if not LEAST_PX**2 < squares.mean() <= squares.max() < (MOST_OF_RADIUS * bend.radius) ** 2:
        return False
    before, after = (
        difference(equal.first, other, usable & ~black) for other in (equal.second, _read(equal.second, bend))
    )
    return after < TAKEN_BELOW**2 * before


def find_bend(
    first: AnyArray, second: AnyArray, mask: AnyArray, warp: AnyArray, blur: RoughBlur | None = None
) -> Bend | None:
    """Return the bend between two (H, W) images beyond a warp; None if they have too little in common."""
    bend, factor = None, 1
    for _ in range(_ROUNDS):
        equal = compare(first, second, mask, warp, bend, blur)
        if equal is None:
            return None
        more, factor = _fit(equal, equal.mask > 0), equal.factor
        # The fit is in the frame of the aligned copy. The warp turns it into the frame of the second image.
        turned = np.tensordot(rows_first(warp)[:2, :2], more.coefficients, 1)
        bend = replace(more, coefficients=turned if bend is None else bend.coefficients + turned)
    return None if bend is None else bend.enlarged_from_means(factor)


def _fit(equal: EqualBands, use: BoolArray) -> Bend:
    """Return the bend that minimises the difference of two bands over the pixels in ``use``."""
    import cv2

    height, width = use.shape
    middle, radius = ((height - 1) / 2, (width - 1) / 2), max(height, width) / 2
    v, u = (powers((np.arange(n) - m) / radius) for n, m in zip(use.shape, middle, strict=True))
    exponents = [(i, j) for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    waves = np.stack([np.outer(v[:, i], u[:, j]) for i, j in exponents])
    here = waves[:, use]
    frame = np.kron(np.eye(2), waves.reshape(len(waves), -1) @ waves.reshape(len(waves), -1).T / use.size)
    bend = Bend(np.zeros((2, DEGREE + 1, DEGREE + 1)), middle, radius)
    for _ in range(_STEPS):
        moved = _read(equal.second, bend)
        residual = (equal.first - moved)[use].astype(np.float64)
        slopes = [cv2.Sobel((equal.first + moved) / 2, cv2.CV_64F, *order)[use] / 8 for order in ((0, 1), (1, 0))]
        change = np.concatenate([slope * here for slope in slopes])
        half_weight = USUAL * 1.4826 * float(np.median(np.abs(residual))) + 1e-30
        weighted = change / (1 + np.square(residual / half_weight))
        normal = weighted @ change.T
        step = np.linalg.solve(normal + (_EVERYWHERE * np.trace(normal) + 1e-30) * frame, weighted @ residual)
        coefficients = bend.coefficients.copy()
        for along, parts in enumerate(step.reshape(2, -1)):
            for (i, j), part in zip(exponents, parts, strict=True):
                coefficients[along, i, j] += part
        bend = replace(bend, coefficients=coefficients)
    return bend


def _read(image: AnyArray, bend: Bend) -> FloatArray:
    import cv2

    rows, columns = (np.arange(n, dtype=np.float64) for n in image.shape)
    down, right = bend.at(rows, columns)
    places = ((right + columns).astype(np.float32), (down + rows[:, None]).astype(np.float32))
    return np.asarray(cv2.remap(image, *places, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE))
