"""Motions as OpenCV has them, ``(x, y) -> (a x + b y + tx, c x + d y + ty)``: how large, and how simple they may be.

A difference between two motions counts where the picture can tell: ``information`` is what the texture says about the
six numbers, so that a change of them moves the texture by the root of a quadratic form, px on the average.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, FloatArray

__all__ = ["largest", "rows_first", "scaled", "simplest", "size"]

#: A simpler motion is preferred if it differs by less than this, px, on the average over the texture. A
#: difference that grows from the middle of an evenly textured frame is then below 0.05 px in its corners.
SIMPLER_WITHIN_PX = 0.03

#: An affine motion is taken if it differs by more than this from the nearest similarity, px, on the same average:
#: below, pairs of photographs were re-made worse by it as often as better (docs/photographs.md).
AFFINE_FROM_PX = 0.3


def simplest(warp: AnyArray, model: str, information: FloatArray, factor: int) -> tuple[str, AnyArray]:
    """Return the simplest motion that is allowed and as good where the picture can tell."""
    found = np.asarray(warp, np.float64).ravel()
    still = np.eye(2, 3).ravel()
    shift, similar = (_nearest(found, still, basis, information) for basis in (_SHIFTS, _SIMILARITIES))
    motions = {"none": still, "translation": shift, "similarity": similar, "affine": found}

    def apart_px(one: str, two: str) -> float:
        return factor * size(motions[one] - motions[two], information)

    if model == "auto":
        model = "affine" if apart_px("affine", "similarity") > AFFINE_FROM_PX else "similarity"
        if model == "similarity" and apart_px("similarity", "translation") < SIMPLER_WITHIN_PX:
            model = "translation" if apart_px("translation", "none") > SIMPLER_WITHIN_PX else "none"
    model = "affine" if model == "bent" else model  # a bend comes on top
    return model, motions[model].reshape(2, 3)


#: What may change in (a, b, x, c, d, y) of a warp.
_SHIFTS = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])
_SIMILARITIES = np.vstack([_SHIFTS, np.array([[1, 0, 0, 0, 1, 0], [0, -1, 0, 1, 0, 0.0]])])


def size(change: AnyArray, information: FloatArray) -> float:
    """Return how much a change of a warp moves the texture, px on the average."""
    return float(np.sqrt(change.ravel() @ information @ change.ravel()))


def _nearest(warp: FloatArray, still: FloatArray, basis: FloatArray, information: FloatArray) -> FloatArray:
    """Return the warp of fewer parameters that the picture can least tell from this one: what fitting it would give."""
    weighted = basis @ information
    return still + np.linalg.solve(weighted @ basis.T, weighted @ (warp - still)) @ basis


def largest(warp: AnyArray, shape: tuple[int, int]) -> float:
    """Return how far a warp moves any point of the frame."""
    y, x = (axis.ravel() for axis in np.mgrid[0 : shape[0] - 1 : 9j, 0 : shape[1] - 1 : 9j])
    moved = (np.asarray(warp, np.float64) - np.eye(2, 3)) @ np.stack([x, y, np.ones_like(x)])
    return float(np.hypot(moved[0], moved[1]).max())


def scaled(warp: AnyArray, factor: float) -> AnyArray:
    """Return a warp for images ``factor`` times as large, whose pixels are the means of blocks."""
    result = np.array(warp, dtype=np.float64)
    half = (factor - 1) / 2  # the middle of a block, in small pixels
    result[:, 2] = factor * result[:, 2] + half - result[:, :2] @ np.array([half, half])
    return result


def rows_first(warp: AnyArray) -> FloatArray:
    """Return OpenCV's (x, y) warp as a 3 x 3 transform of (row, column, 1)."""
    (a, b, x), (c, d, y) = np.asarray(warp, np.float64)
    return np.array([[d, c, y], [b, a, x], [0.0, 0.0, 1.0]])
