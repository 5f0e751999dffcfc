"""Which parts of an aligned pair lie where they should: what moves by itself is left out of the alignment.

A least-squares fit gives way to everything, so a car that drove on between two exposures pulls the whole frame
along. Each block of the picture is therefore asked how far it would like to be moved beyond the common fit
(Lucas and Kanade's normal equations, block by block), and how much of it the fit explains. Blocks that want to go
somewhere else than the many, or whose content is not found again, are left out, with those around them. If nothing
moves no block is left out, and the fit stays what it was.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray

__all__ = ["at_rest"]

#: Side of a block, px: an object is seen from about this size on.
BLOCK = 16
#: Fewer textured blocks than this have no majority.
LEAST_BLOCKS = 12
#: A block moves if it wants to be moved by this more than the many, px, and by this many times their spread.
MOVES_PX, MOVES_SPREADS = 0.3, 6.0
#: Its content is not found again if more than this share of its power is left, and this many times the usual share.
LOST, LOST_TIMES = 0.25, 6.0
#: Blocks count as textured from this share of the mean texture on: others pull nothing.
TEXTURED = 0.1
#: No more than this share of the textured blocks can be objects in a frame at rest.
MOST_MOVING = 0.35


def at_rest(first: AnyArray, second: AnyArray, mask: AnyArray) -> AnyArray:
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
    wish = _solve(xx, xy, yy, _sums(across * left), _sums(down * left))
    share = _sums(left * left) / np.maximum(_sums(use * (first * first + other * other)) / 2, 1e-300)
    moving = textured & (_far_from_the_many(wish, textured) | _not_found(share, textured))
    if not moving.any() or moving.sum() > MOST_MOVING * textured.sum():
        return mask
    wide = cv2.dilate(moving.astype(np.uint8), np.ones((3, 3), np.uint8))
    whole = np.kron(wide, np.ones((BLOCK, BLOCK), np.uint8))[: mask.shape[0], : mask.shape[1]]
    return np.asarray(mask * (1 - whole), np.uint8)


def _solve(xx: FloatArray, xy: FloatArray, yy: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the motion (2, blocks) that each block asks for; none along an edge, where it cannot tell."""
    ridge = 0.05 * (xx + yy)
    a, b = xx + ridge, yy + ridge
    determinant = a * b - xy * xy
    return np.stack([b * x - xy * y, a * y - xy * x]) / np.where(determinant > 0, determinant, np.inf)


def _far_from_the_many(wish: FloatArray, textured: BoolArray) -> BoolArray:
    middle = np.median(wish[:, textured], axis=1)
    distance = np.hypot(*(wish - middle[:, None, None]))
    spread = float(np.median(distance[textured]))
    return np.asarray(distance > max(MOVES_PX, MOVES_SPREADS * spread))


def _not_found(share: FloatArray, textured: BoolArray) -> BoolArray:
    return np.asarray(share > max(LOST, LOST_TIMES * float(np.median(share[textured]))))


def _sums(image: FloatArray) -> FloatArray:
    """Return the sums over blocks; the last ones may be smaller."""
    rows, columns = (np.arange(0, n, BLOCK) for n in image.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(image, rows, axis=0), columns, axis=1))
