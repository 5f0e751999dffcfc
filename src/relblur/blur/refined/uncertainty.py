"""How wrong the map may be: the standard error of ``s``, and which pixels only repeat their neighbours.

    stderr^2 = 1.2 / (w + 1 / variance)              what the pixel and the best window around it leave open
             + 1.5 mean_31 (s - s_before)^2          what the solver still moved since the prior's stiffness settled
             + J d                                   what a jump unseen in a flat area may hide
             + (d^2 / 8)^2 / mu                      what a curvature unseen there may add up to
             + (2e-5)^2 (s^2 + C^2)                  the interpolation between levels

``variance`` is the posterior variance of the prior on the pixel's side of jumps (``Loops.posterior_variance``).
``l`` is the side of the smallest window that knows the blur at all (to 100 %), ``d = max(l - 32, 0)``, ``J`` the mean
squared jump per pixel of the map itself, and ``1 / mu`` the variance of its curvature: a scene without jumps and bends
is continued through its flat parts with confidence, another is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...filters.level_axis import relative_scale
from .averages import box, box_any
from .likelihood.likelihood import Evidence
from .prior.prior import JUMP, WINDOWS, Edges

Array = NDArray[np.float32]

#: Chosen so that about 68 % of errors are within one standard error, in the mean over the tuning images and fields.
_OPEN = np.float32(1.2)
_MOVED = np.float32(1.5)
_INTERPOLATION = np.float32(2e-5**2)


def standard_error(z: Array, before: Array, scale: Array, w: Array, variance: Array, mu: Array, edges: Edges) -> Array:
    """Return the standard error of a map ``z``, in its unit.

    Parameters
    ----------
    before : (H, W)
        The map when the stiffness settled.
    scale : (H, W)
        The change of ``z`` that goes with a relative change of blur by 1.
    w, mu : (H, W)
        Information of each pixel, and the prior's strength there.
    """
    scale2 = scale**2
    moved = np.minimum(np.square(z - before), scale2 * np.float32(0.25))
    beyond = np.maximum(knowing_window(w, scale2) - 32, 0)
    hidden = np.float32(jump_power(edges)) * beyond
    bent = np.minimum(np.square(beyond**2 / 8) / mu, scale2)
    total = _OPEN / (w + 1 / variance) + _MOVED * box(moved, 31) + box(hidden + bent, 9)
    # Running sums may leave a negative trace of a zero.
    return np.asarray(np.sqrt(np.maximum(total, 0) + _INTERPOLATION * scale2))


def filled(s: Array, evidence: Evidence, texture: tuple[Array, Array], window: int) -> NDArray[np.bool_]:
    """Return where the window around does not know the blur: the value comes from farther away.

    Either it leaves more than 100 % open, or no blur explains even half of what the blurrier image shows there (the two
    have nothing in common: noise, or another scene). ``texture`` is the local variance of the first and second image.
    """
    open_ = box_any(evidence.w, window) * np.float32(window**2) * relative_scale(s) ** 2 < 1
    blurrier = np.where(s >= 0, texture[1], texture[0])
    return np.asarray(open_ | (box_any(evidence.power, window) > np.float32(0.5) * blurrier))


def local_texture(image: Array, window: int) -> Array:
    """Return the variance over a window, mean of the (channels, H, W) planes."""
    planes = [box_any(np.square(plane), window) - np.square(box_any(plane, window)) for plane in image]
    return np.asarray(np.mean(planes, axis=0))


def knowing_window(w: Array, scale2: Array) -> Array:
    """Return the side of the smallest window whose information determines the blur to 100 %."""
    side = np.full_like(w, 2 * WINDOWS[-1])
    for size in reversed(WINDOWS):
        side = np.where(box_any(w, size) * np.float32(size * size) * scale2 >= 1, np.float32(size), side)
    return np.asarray(side)


def jump_power(edges: Edges) -> float:
    """Return the mean over the edges of the squared step where it was judged a jump, px^4 per px."""
    total = count = 0.0
    for cut, step in ((edges.cut_right, edges.step_right), (edges.cut_down, edges.step_down)):
        total += float(np.sum(np.square(step), where=cut < JUMP, dtype=np.float64))
        count += step.size
    return total / max(count, 1.0)
