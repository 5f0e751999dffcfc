"""The static part of an aligned pair: objects that moved between the exposures are left out of the alignment.

A least-squares fit of the motion follows every object that moved. Each block of the picture therefore gets its own
residual motion (Lucas and Kanade's normal equations) and the share of its power that the common motion leaves. Blocks
far from the median motion, or with a large rest, are left out together with their neighbours.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray

__all__ = ["static_mask"]

#: Side of a block, px: about the smallest object that is detected.
BLOCK = 16
#: Least number of textured blocks: fewer have no majority.
LEAST_BLOCKS = 12
#: Distance of a moving block from the median motion, px, and in units of the median distance.
MOVES_PX, MOVES_SPREADS = 0.3, 6.0
#: Share of the power of a block that is left if its content has changed, and the same in units of the median share.
LOST, LOST_TIMES = 0.25, 6.0
#: Texture of a block, as a share of the mean, from which on it counts: others do not change the fit.
TEXTURED = 0.1
#: Largest share of the textured blocks that may move: with more of them the median is not the background.
MOST_MOVING = 0.35


def static_mask(first: AnyArray, second: AnyArray, mask: AnyArray) -> AnyArray:
    """Return a mask without the parts in which two aligned (H, W) bands of equal blur do not agree.

    ``mask`` (uint8) is returned as it is if there are none.
    """
    import cv2

    use = mask.astype(np.float64)
    power = float((use * second * second).sum())
    gain = float((use * first * second).sum()) / power if power > 0 else 1.0
    other = gain * second.astype(np.float64)
    left = use * (first - other)
    mean = (first + other) / 2
    across, down = (use * cv2.Sobel(mean, cv2.CV_64F, *order) / 8 for order in ((1, 0), (0, 1)))
    xx, xy, yy = (_sums(one * two) for one, two in ((across, across), (across, down), (down, down)))
    texture = xx + yy
    textured = texture > TEXTURED * texture[texture > 0].mean() if (texture > 0).any() else texture > 0
    if textured.sum() < LEAST_BLOCKS:
        return mask
    motion = _solve(xx, xy, yy, _sums(across * left), _sums(down * left))
    share = _sums(left * left) / np.maximum(_sums(use * (first * first + other * other)) / 2, 1e-300)
    moving = textured & (_far_from_median(motion, textured) | _changed(share, textured))
    if not moving.any() or moving.sum() > MOST_MOVING * textured.sum():
        return mask
    wide = cv2.dilate(moving.astype(np.uint8), np.ones((3, 3), np.uint8))
    whole = np.kron(wide, np.ones((BLOCK, BLOCK), np.uint8))[: mask.shape[0], : mask.shape[1]]
    return np.asarray(mask * (1 - whole), np.uint8)


def _solve(xx: FloatArray, xy: FloatArray, yy: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the residual motion (2, blocks) of each block; none along an edge, where it is not determined."""
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
    """Return the sums over blocks; the last ones may be smaller."""
    rows, columns = (np.arange(0, n, BLOCK) for n in image.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(image, rows, axis=0), columns, axis=1))
