"""Affine warps as in OpenCV: ``(x, y) -> (a x + b y + tx, c x + d y + ty)``.

A change of the six parameters moves the texture by ``sqrt(change^T information change)`` px (root mean square). This is
the *size* of the change. ``information`` is a 6 x 6 matrix that is computed from the texture.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..filters.resampling import Bend

__all__ = ["rows_first", "scaled", "simplest", "size", "warp_of"]

#: Prefer a simpler motion that differs by less than this (px, mean over the texture). A difference that grows from the
#: middle of an evenly textured frame is then below 0.05 px in its corners.
SIMPLER_WITHIN_PX = 0.03

#: Use an affine motion if it differs by more than this from the nearest similarity (px, mean over the texture). Smaller
#: differences make the pair worse as often as better (docs/photographs.md).
AFFINE_FROM_PX = 0.3


def simplest(warp: AnyArray, model: str, information: FloatArray, factor: int) -> tuple[str, AnyArray]:
    """Return the simplest sufficient motion: the name of its model, and its warp."""
    full = np.asarray(warp, np.float64).ravel()
    still = np.eye(2, 3).ravel()
    shift, similar = (_nearest(full, still, basis, information) for basis in (_SHIFTS, _SIMILARITIES))
    motions = {"none": still, "translation": shift, "similarity": similar, "affine": full}

    def apart_px(one: str, two: str) -> float:
        return factor * size(motions[one] - motions[two], information)

    if model == "auto":
        model = "affine" if apart_px("affine", "similarity") > AFFINE_FROM_PX else "similarity"
        if model == "similarity" and apart_px("similarity", "translation") < SIMPLER_WITHIN_PX:
            model = "translation" if apart_px("translation", "none") > SIMPLER_WITHIN_PX else "none"
    model = "affine" if model == "bent" else model  # the bend is added later
    return model, motions[model].reshape(2, 3)


#: Bases of the parameters (a, b, x, c, d, y) of a warp that each model may change.
_SHIFTS = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])
_SIMILARITIES = np.vstack([_SHIFTS, np.array([[1, 0, 0, 0, 1, 0], [0, -1, 0, 1, 0, 0.0]])])


def size(change: AnyArray, information: FloatArray) -> float:
    """Return the root mean square motion of the texture for a change of a warp, px."""
    return float(np.sqrt(change.ravel() @ information @ change.ravel()))


def _nearest(warp: FloatArray, still: FloatArray, basis: FloatArray, information: FloatArray) -> FloatArray:
    """Return the warp with the parameters of ``basis`` that is closest to this one, in the metric ``information``."""
    weighted = basis @ information
    return still + np.linalg.solve(weighted @ basis.T, weighted @ (warp - still)) @ basis


def scaled(warp: AnyArray, factor: float) -> AnyArray:
    """Return a warp converted from block means to images ``factor`` times as large."""
    result = np.array(warp, dtype=np.float64)
    half = (factor - 1) / 2  # the middle of a block, in small pixels
    result[:, 2] = factor * result[:, 2] + half - result[:, :2] @ np.array([half, half])
    return result


def warp_of(bend: Bend) -> FloatArray:
    """Return the warp of a displacement of first degree."""
    (y, x), (v, u) = bend.coefficients[:, 0, 0], bend.middle
    y_v, x_v = bend.coefficients[:, 1, 0] / bend.radius
    y_u, x_u = bend.coefficients[:, 0, 1] / bend.radius
    return np.array([[1 + x_u, x_v, x - x_u * u - x_v * v], [y_u, 1 + y_v, y - y_u * u - y_v * v]])


def rows_first(warp: AnyArray) -> FloatArray:
    """Return OpenCV's (x, y) warp as a 3 x 3 transform of (row, column, 1)."""
    (a, b, x), (c, d, y) = np.asarray(warp, np.float64)
    return np.array([[d, c, y], [b, a, x], [0.0, 0.0, 1.0]])
