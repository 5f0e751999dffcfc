"""The static part of an aligned pair, without objects that moved between the exposures.

A moving object biases a least-squares fit of the motion. Each block of the picture therefore has two measures: its
residual motion (normal equations of Lucas and Kanade), and the fraction of its power that remains after the common
motion. Blocks far from the median motion, or with a large remainder, are excluded together with their neighbours.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray

__all__ = ["static_mask"]

#: Side of a block (px): about the size of the smallest detected object.
BLOCK = 16
#: Minimum number of textured blocks: fewer have no reliable median.
LEAST_BLOCKS = 12
#: Minimum distance of a moving block from the median motion: in px, and in units of the median distance.
MOVES_PX, MOVES_SPREADS = 0.3, 6.0
#: Minimum remaining fraction of the power of a block whose content changed: absolute, and in units of the median.
LOST, LOST_TIMES = 0.25, 6.0
#: Minimum texture of a block (fraction of the mean): blocks with less hardly influence the fit.
TEXTURED = 0.1
#: Largest fraction of textured blocks that may move: with more the median need not be that of the background.
MOST_MOVING = 0.35


def static_mask(first: AnyArray, second: AnyArray, mask: AnyArray) -> AnyArray:
    """Return a mask without the parts in which two aligned (H, W) bands of equal blur differ.

    ``mask`` (uint8) is returned unchanged if there are none.
    """
    import cv2

    use = mask.astype(np.float64)
    power = float((use * second * second).sum())
    gain = float((use * first * second).sum()) / power if power > 0 else 1.0
    other = gain * second.astype(np.float64)
    residual = use * (first - other)
    mean = (first + other) / 2
    across, down = (use * cv2.Sobel(mean, cv2.CV_64F, *order) / 8 for order in ((1, 0), (0, 1)))
    xx, xy, yy = (_sums(one * two) for one, two in ((across, across), (across, down), (down, down)))
    texture = xx + yy
    textured = texture > TEXTURED * texture[texture > 0].mean() if (texture > 0).any() else texture > 0
    if textured.sum() < LEAST_BLOCKS:
        return mask
    motion = _solve(xx, xy, yy, _sums(across * residual), _sums(down * residual))
    share = _sums(residual * residual) / np.maximum(_sums(use * (first * first + other * other)) / 2, 1e-300)
    moving = textured & (_far_from_median(motion, textured) | _changed(share, textured))
    if not moving.any() or moving.sum() > MOST_MOVING * textured.sum():
        return mask
    wide = cv2.dilate(moving.astype(np.uint8), np.ones((3, 3), np.uint8))
    whole = np.kron(wide, np.ones((BLOCK, BLOCK), np.uint8))[: mask.shape[0], : mask.shape[1]]
    return np.asarray(mask * (1 - whole), np.uint8)


def _solve(xx: FloatArray, xy: FloatArray, yy: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the residual motion (2, blocks) of each block; it is 0 along an edge, where it is undetermined."""
    ridge = 0.05 * (xx + yy)
    a, b = xx + ridge, yy + ridge
    determinant = a * b - xy * xy
    return np.stack([b * x - xy * y, a * y - xy * x]) / np.where(determinant > 0, determinant, np.inf)


def _far_from_median(motion: FloatArray, textured: BoolArray) -> BoolArray:
    middle = np.median(motion[:, textured], axis=1)
    distance = np.hypot(*(motion - middle[:, None, None]))
    spread = float(np.median(distance[textured]))
    return np.asarray(distance > max(MOVES_PX, MOVES_SPREADS * spread))


def _changed(share: FloatArray, textured: BoolArray) -> BoolArray:
    return np.asarray(share > max(LOST, LOST_TIMES * float(np.median(share[textured]))))


def _sums(image: FloatArray) -> FloatArray:
    """Return the sums over blocks; the blocks in the last row and column may be smaller."""
    rows, columns = (np.arange(0, n, BLOCK) for n in image.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(image, rows, axis=0), columns, axis=1))
