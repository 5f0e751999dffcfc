"""Residual motion of an aligned pair at equal blur: a polynomial displacement, affine or bent.

It is fitted to the difference of the bands by Gauss-Newton steps, together with a gain. Blocks of the picture whose
content moved by itself or changed have small weights. A bend, of third degree, occurs with phones: the distortion of
their lenses changes with focus, and hands move. It is accepted only if it reduces the difference in squares to which it
is not fitted (the chessboard of :mod:`relblur.photo.equal_bands`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..filters.resampling import DEGREE, Bend, powers
from .equal_bands import EqualBands, black_squares, compare, difference
from .rough_blur import RoughBlur
from .warps import rows_first

__all__ = ["block_weights", "find_bend", "fit_displacement", "is_bent", "linearised", "moved_by"]

#: Accept a bend if at most this fraction of the difference (root mean square) remains. It is 0.4 to 0.6 for frames of a
#: phone, 0.9 to 1 in 40 pairs of other cameras.
TAKEN_BELOW = 0.8
#: Ignore smaller bends (root mean square, px of the reduced copies): without noise the smallest motion is significant.
LEAST_PX = 0.1
#: Reject larger displacements (fraction of the frame's radius): a large object moved. Lenses of phones reach 0.04.
MOST_OF_RADIUS = 0.1
#: Side of the blocks (px) that are weighted: about the size of the smallest moving object that is recognised.
BLOCK = 16
#: Unexplained motion of a block that has half the weight: the larger of USUAL_PX and USUAL_TIMES the median (px).
USUAL_PX, USUAL_TIMES = 0.1, 3.0
#: Texture of a block (fraction of the mean) below which its unexplained motion is not reliable.
TEXTURED = 0.1
#: Number of rounds, each with a new blur and exposure, and number of Gauss-Newton steps in each.
_ROUNDS, _STEPS = 2, 8
#: Largest change of a coefficient (px) in the last step.
_CONVERGED_PX = 3e-4
#: Weight of the whole frame relative to that of the texture: flat corners follow the rest of the frame.
_EVERYWHERE = 1e-3


def is_bent(equal: EqualBands) -> bool:
    """Return whether a bend fitted to the black squares clearly reduces the difference in the white ones.

    A first fit of one step rejects pairs without residual motion.
    """
    black, usable = black_squares(equal.mask.shape), equal.mask > 0
    if black is None or not (usable & black).any() or not (usable & ~black).any():
        return False
    for steps in (1, _STEPS):
        bend = fit_displacement(equal, usable & black, DEGREE, steps)
        squares = np.square(bend.at(*np.ogrid[: usable.shape[0], : usable.shape[1]])).sum(axis=0)
        if not LEAST_PX**2 < squares.mean() <= squares.max() < (MOST_OF_RADIUS * bend.radius) ** 2:
            return False
    before, after = (
        difference(equal.first, other, usable & ~black) for other in (equal.second, moved_by(equal.second, bend))
    )
    return after < TAKEN_BELOW**2 * before


def find_bend(
    first: AnyArray, second: AnyArray, mask: AnyArray, warp: AnyArray, blur: RoughBlur | None = None
) -> Bend | None:
    """Return the bend between two (H, W) images beyond a warp; None if they have too little in common."""
    bend = None
    for _ in range(_ROUNDS):
        equal = compare(first, second, mask, warp, bend, blur)
        if equal is None:
            return None
        more = fit_displacement(equal, equal.mask > 0, DEGREE)
        # The fit is in the frame of the aligned copy. The warp turns it into the frame of the second image.
        turned = np.tensordot(rows_first(warp)[:2, :2], more.coefficients, 1)
        bend = replace(more, coefficients=turned if bend is None else bend.coefficients + turned)
    return bend


def fit_displacement(equal: EqualBands, use: BoolArray, degree: int, steps: int = _STEPS) -> Bend:
    """Return the polynomial displacement that minimises the difference of two bands over the pixels in ``use``."""
    middle, radius = ((use.shape[0] - 1) / 2, (use.shape[1] - 1) / 2), max(use.shape) / 2
    v, u = (powers((np.arange(n) - m) / radius) for n, m in zip(use.shape, middle, strict=True))
    exponents = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    monomials = np.stack([np.outer(v[:, i], u[:, j]) for i, j in exponents])
    here, flat = monomials[:, use], monomials.reshape(len(monomials), -1)
    frame = np.kron(np.eye(2), flat @ flat.T / use.size)
    bend = Bend(np.zeros((2, DEGREE + 1, DEGREE + 1)), middle, radius)
    for _ in range(steps):
        moved = moved_by(equal.second, bend)
        residual, slopes = linearised(equal, moved)
        change = np.concatenate([*(slope[use] * here for slope in slopes), moved[use][None]])
        weighted = change * block_weights(residual, slopes, use)[use]
        normal = weighted @ change.T
        count = len(frame)
        normal[:count, :count] += (_EVERYWHERE * np.trace(normal[:count, :count]) + 1e-30) * frame
        normal[count, count] += 1e-30
        step = np.linalg.solve(normal, weighted @ residual[use])[:count]
        coefficients = bend.coefficients.copy()
        for along, parts in enumerate(step.reshape(2, -1)):
            for (i, j), part in zip(exponents, parts, strict=True):
                coefficients[along, i, j] += part
        bend = replace(bend, coefficients=coefficients)
        if np.abs(step).max() < _CONVERGED_PX:
            break
    return bend


def block_weights(residual: FloatArray, slopes: list[FloatArray], use: BoolArray) -> FloatArray:
    """Return the weight of each pixel: small in blocks that moved by themselves or changed."""
    import cv2

    texture = use * (slopes[0] ** 2 + slopes[1] ** 2)
    floor = TEXTURED * float(texture.sum()) / max(int(use.sum()), 1) + 1e-300
    left, texture = (cv2.blur(each, (BLOCK, BLOCK)) for each in (use * residual**2, texture))
    square_px = left / (texture + floor)
    usual = max(USUAL_PX**2, USUAL_TIMES**2 * float(np.median(square_px[use])) if use.any() else 0.0)
    return np.asarray(1 / (1 + (square_px / usual) ** 2))


def linearised(equal: EqualBands, moved: AnyArray) -> tuple[FloatArray, list[FloatArray]]:
    """Return the difference of a band and a moved one, and its derivatives by a displacement down and right."""
    import cv2

    mean = (equal.first + moved) / 2
    return (equal.first - moved).astype(np.float64), [cv2.Sobel(mean, cv2.CV_64F, *o) / 8 for o in ((0, 1), (1, 0))]


def moved_by(image: AnyArray, bend: Bend) -> AnyArray:
    """Return an (H, W) image resampled by a displacement."""
    import cv2

    rows, columns = (np.arange(n, dtype=np.float64) for n in image.shape)
    down, right = bend.at(rows, columns)
    places = ((right + columns).astype(np.float32), (down + rows[:, None]).astype(np.float32))
    return np.asarray(cv2.remap(image, *places, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE))
