"""How wrong the map may be: the standard error of ``s``, and which pixels only repeat their neighbours.

    stderr^2 = B / (w + 1 / variance)                what the pixel and the best window around it leave open
             + 1.5 mean_31 (s - s_before)^2          what the solver still moved since the prior's stiffness settled
             + V (1 - exp(-(d / 24)^4))              what a plain area may be that nothing is known of
             + J / 4                                 a jump is there, its place is known to some pixels
             + (2e-5)^2 (s^2 + C^2)                  the interpolation between levels

Evidence counts for a pixel if it lies around it: of the four halves of a window the one with the least counts, twice.
What an outline tells is about the outline: the wall beside it has nothing on its other side.
``variance`` is ``min over l of 1 / (information of the window l) + l^2 / (256 mu)`` as in :mod:`.prior.prior`.
``B`` is 1, and more beside the frame's border, where a window has nothing on one side: three times as much at the
border, five times in a corner.
``d`` is half the side of the smallest window that knows the blur at all (to 100 %), beyond the least, and ``V`` the
variance of a value of which nothing but the search limits is known: that is what is left far from all evidence, and
the most that is left anywhere.
``J`` is the squared jump on a jump and falls off over 3 px beside it.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ...filters.level_axis import relative_scale
from .averages import box, box_any
from .likelihood.likelihood import Evidence
from .prior.prior import JUMP, WINDOWS, Edges, window_sizes

__all__ = ["filled", "local_texture", "standard_error"]

Array = NDArray[np.float32]

#: Share of the solver's last moves that is open; errors are within one standard error as often with 0.75 and 3.
_MOVED = np.float32(1.5)
_INTERPOLATION = np.float32(2e-5**2)
#: Side of a window in px that leaves nothing to be continued: it is the usual one of the local methods.
_NEAR = 11.0
#: Distance in px over which a plain area becomes something else than what is beside it: outlines belong to what is in
#: front. Nearer, a plane is continued; its error grows as the square of the distance. Chosen on `street` and `leaves`.
_ANOTHER = 24.0
#: What is open at the frame's border, beyond what is open inside, and the part of the smoothing length over which that
#: falls off.  Measured: errors of maps of constant blur under noise (gravel, brick, grass), at borders and in corners.
_BORDER, _BORDER_REACH = 2.2, 0.42
#: Side of the square that makes a plain area, and twice the width of its rim, px.
_RIM = 9
#: How far from its place a jump may be, px: a deviation; and how likely a pixel at a jump is on the other side of it.
_JUMP_PLACE, _OTHER_SIDE = 3.0, 0.25


def standard_error(
    z: Array, before: Array, scale: Array, w: Array, mu: Array, edges: Edges, limits: tuple[float, float]
) -> Array:
    """Return the standard error of a map ``z``, in its unit.

    Parameters
    ----------
    before : (H, W)
        The map when the stiffness settled.
    scale : (H, W)
        The change of ``z`` that goes with a relative change of blur by 1.
    w, mu : (H, W)
        Information of each pixel, and the prior's strength there.
    limits : (float, float)
        Range of ``z``.
    """
    scale2 = scale**2
    around = {size: information_around(w, size) for size in window_sizes(w.shape)}
    moved = np.minimum(np.square(z - before), scale2 * np.float32(0.25))
    # The variance of a value between the limits of which nothing is known.
    unknown = np.float32((limits[1] - limits[0]) ** 2 / 12)
    distance = np.maximum(knowing_window(around, scale2) - np.float32(_NEAR), 0) / 2
    hidden = unknown * (1 - np.exp(-((distance / np.float32(_ANOTHER)) ** 4)))
    best = best_window(around, mu)
    open_ = at_borders(np.sqrt(8 * mu * best)) / (w + 1 / best)
    total = open_ + _MOVED * box(moved, 31) + box(hidden, 9) + near_jumps(edges)
    # Running sums may leave a negative trace of a zero; and no more is unknown than everything.
    return np.asarray(np.sqrt(np.clip(total, 0, unknown) + _INTERPOLATION * scale2))


def filled(s: Array, evidence: Evidence, texture: tuple[Array, Array], window: int) -> NDArray[np.bool_]:
    """Return where the window around does not know the blur: the value comes from farther away.

    Either it leaves more than 100 % open, or no blur explains even half of what the blurrier image shows there (the two
    have nothing in common: noise, or another scene). ``texture`` is the local variance of the first and second image.
    """
    open_ = information_around(evidence.w, window) * relative_scale(s) ** 2 < 1
    blurrier = np.where(s >= 0, texture[1], texture[0])
    silent = open_ | (box_any(evidence.power, window) > np.float32(0.5) * blurrier)
    return np.asarray(silent | beside(silent))


def beside(silent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the rims of plain areas: they may be seen through the blur of what is in front of them."""
    square = np.ones((_RIM, _RIM), np.uint8)
    areas = cv2.morphologyEx(silent.astype(np.uint8), cv2.MORPH_OPEN, square, borderType=cv2.BORDER_REFLECT)
    return np.asarray(cv2.dilate(areas, square, borderType=cv2.BORDER_REFLECT) > 0)


def local_texture(image: Array, window: int) -> Array:
    """Return the variance over a window, mean of the (channels, H, W) planes."""
    planes = [box_any(np.square(plane), window) - np.square(box_any(plane, window)) for plane in image]
    return np.asarray(np.mean(planes, axis=0))


def information_around(w: Array, size: int) -> Array:
    """Return the information of a window, as if all of it had as much as the poorest of its four halves."""
    height, width = w.shape
    rows, cols = min(size, 2 * height - 1), min(size, 2 * width - 1)
    half_rows, half_cols = (rows + 1) // 2, (cols + 1) // 2
    # Each half has the pixel itself on its inner border, where the anchor is.
    halves = (
        ((cols, half_rows), (cols // 2, 0)),
        ((cols, half_rows), (cols // 2, half_rows - 1)),
        ((half_cols, rows), (0, rows // 2)),
        ((half_cols, rows), (half_cols - 1, rows // 2)),
    )
    means = [cv2.blur(w, shape, anchor=anchor, borderType=cv2.BORDER_REFLECT) for shape, anchor in halves]
    return np.asarray(np.maximum(np.minimum.reduce(means), 0) * np.float32(size * size))


def best_window(around: dict[int, Array], mu: Array) -> Array:
    """Return the variance of what the best window says, in which the map wanders as the prior lets it."""
    best = np.full_like(mu, np.inf)
    for size, information in around.items():
        variance = 1 / (information + np.float32(1e-6)) + np.float32(size * size / 256) / mu
        np.minimum(best, variance, out=best)
    return best


def at_borders(smooth: Array) -> Array:
    """Return how many times as much is open beside the frame's border, beyond which nothing is known.

    ``smooth`` is the length ``(mu / w)^(1/4)`` over which the prior smooths.
    """
    height, width = smooth.shape
    down, right = (np.minimum(np.arange(n), np.arange(n)[::-1]).astype(np.float32) for n in (height, width))
    reach = np.float32(_BORDER_REACH) * smooth
    return np.asarray(1 + np.float32(_BORDER) * (np.exp(-down[:, None] / reach) + np.exp(-right / reach)))


def knowing_window(around: dict[int, Array], scale2: Array) -> Array:
    """Return the side of the smallest window that determines the blur to 100 %, between sizes by its information."""
    side = np.empty_like(scale2)  # beyond the largest window all is known: its place is set first
    larger, beyond = 2 * WINDOWS[-1], np.full_like(scale2, 4)
    for size in sorted(around, reverse=True):
        known = np.minimum(around[size] * scale2, np.float32(1e6))
        # Information grows as some power of the side: where it passes 1 lies between the two sizes.
        part = np.log(np.maximum(beyond, 1)) / np.maximum(np.log(np.maximum(beyond, 1) / np.maximum(known, 1e-6)), 1e-6)
        between = larger * (size / larger) ** np.clip(part, 0, 1)
        side = np.where(known >= 1, np.float32(size), np.where(beyond >= 1, between, side))
        larger, beyond = size, known
    return np.asarray(side, np.float32)


def near_jumps(edges: Edges) -> Array:
    """Return the variance of pixels that may be on the other side of a jump."""
    shape = (edges.cut_right.shape[0], edges.cut_down.shape[1])
    jumps = np.zeros(shape, np.float32)
    right = np.where(edges.cut_right < JUMP, np.square(edges.step_right), 0)
    down = np.where(edges.cut_down < JUMP, np.square(edges.step_down), 0)
    jumps[:, :-1] = right
    np.maximum(jumps[:-1], down, out=jumps[:-1])
    # A line of ones blurred by a Gaussian is 1 / (sqrt(2 pi) sigma) high.
    gain = np.float32(_OTHER_SIDE * np.sqrt(2 * np.pi) * _JUMP_PLACE)
    return np.asarray(cv2.GaussianBlur(jumps, (0, 0), _JUMP_PLACE, borderType=cv2.BORDER_REFLECT) * gain)
