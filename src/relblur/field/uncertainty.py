"""The standard error of a map, and the pixels that the residuals around do not determine.

    stderr^2 = b / (w + 1 / V)                 left open by the pixel and the best window around it
             + 1.5 box_31 (z - z_before)^2     moves of the descent since the stiffness settled
             + U (1 - exp(-(d / 24)^4))        the value of a plain area, far from all evidence
             + J / 4                           a jump, whose place is known to some pixels
             + the model's error               residuals beyond noise, as far as they look like a change

Evidence counts for a pixel if it lies around it: of the four halves of a window the one with the least counts, twice.
``V`` is the variance of the best window (:meth:`.loops.Loops.posterior_variance`), ``b`` is 1, and more at the image's
border.  ``d`` is half the side of the smallest window that determines the value to 100 %, beyond the least, and ``U``
the variance of a value of which only the limits are known.  ``J`` is the squared jump; it falls off over 3 px beside
it.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .energy import Energy, Evidence
from .grid import ENDS, WINDOWS, Edges, box, box_any, window_sizes
from .surface import JUMP

__all__ = ["filled", "hidden_variance", "information_around", "model_error", "rims", "standard_error"]

Array = NDArray[np.float32]

#: Relative standard error of reading between levels.
INTERPOLATION = np.float32(2e-5)
#: Share of the squared move of the last steps that is still to come, and the side of its window, px.
MOVED, MOVED_WINDOW = np.float32(1.5), 31
#: Side of a window that is near (px): the usual one of local methods.
NEAR = np.float32(11)
#: Distance over which a plain area may become something else than its surroundings, px.
ANOTHER = np.float32(24)
#: Variance at the image's border over that inside, less 1, and the part of the smoothing length ``(mu / w)^(1/4)`` over
#: which it falls off: errors of maps of constant value under noise, at borders and corners.
BORDER, BORDER_REACH = np.float32(2.2), np.float32(0.42)
#: Side of the square that makes a plain area, and twice the width of its rim, px.
RIM = 9
#: Standard deviation of the place of a jump, px, and the probability that a pixel at it is on its other side.
JUMP_PLACE, OTHER_SIDE = 3.0, 0.25
#: Least information of a pixel (for a relative change by 1) whose residual measures the model's error.
CLEAR = 1 / 25
#: Uncertainty of the noise: residuals up to this many times its variance are noise.
SURE_NOISE = np.float32(1.2)
#: Share of the model's error that looks like a change of the map, in amplitude.
LIKE_CHANGE = 0.12
#: Relative error at the value zero, over that at the usual value.
AT_ZERO = 0.3
#: Side of the square in which channels are compared, px.
AGREE = 65


def standard_error(scale: Array, w: Array, mu: Array, edges: Edges, moved: Array, unknown: np.float32) -> Array:
    """Return the standard error of a map, without the model's error.

    ``scale`` is the change of the map that counts as a relative change by 1, ``moved`` the move of the last steps,
    ``unknown`` the variance ``U``.
    """
    scale2 = scale**2
    around = _informations(w)
    best = np.full_like(mu, np.inf)
    for size, information in around.items():
        np.minimum(best, 1 / (information + np.float32(1e-6)) + np.float32(size * size / 256) / mu, out=best)
    open_ = _at_borders(np.sqrt(8 * mu * best)) / (w + 1 / best)
    last = MOVED * box_any(np.minimum(np.square(moved), scale2 / 4), MOVED_WINDOW)
    total = open_ + last + _hidden(around, scale2, unknown) + _near_jumps(edges)
    # Running sums may leave a negative trace of a zero; and no more is unknown than everything.
    return np.asarray(np.sqrt(np.clip(total, 0, unknown) + INTERPOLATION**2 * scale2))


def hidden_variance(w: Array, scale: Array, unknown: np.float32) -> Array:
    """Return the variance of the value of plain areas, far from all evidence."""
    return _hidden(_informations(w), scale**2, unknown)


def _informations(w: Array) -> dict[int, Array]:
    return {size: information_around(w, size) for size in window_sizes(w.shape)}


def _hidden(around: dict[int, Array], scale2: Array, unknown: np.float32) -> Array:
    distance = np.maximum(_knowing_window(around, scale2) - NEAR, 0) / 2
    return box(unknown * (1 - np.exp(-((distance / ANOTHER) ** 4))), RIM)


def model_error(energy: Energy, z: Array, evidence: Evidence, scale: Array) -> Array:
    """Return the standard error that the model of the residuals leaves in a map."""
    if energy.volume.disagreement:
        return _disagreement(energy, z)
    return _misfit_error(energy, z, evidence, scale)


def _misfit_error(energy: Energy, z: Array, evidence: Evidence, scale: Array) -> Array:
    """Return the relative error that residuals beyond noise leave, where the data are clear, as one number.

    They repeat from pixel to pixel, and a share of them looks like a change of the map.
    """
    known = evidence.w * np.square(scale) > CLEAR
    power, reading = evidence.power, energy.reading(z)
    if not energy.volume.noise.repeats:
        own, passed = energy.tables.at(reading.level, 0, 1)
        power = power - SURE_NOISE * reading.at_pixels * (own + passed)
    beyond = len(energy.volume.residuals) * energy.use * power
    change = evidence.w * energy.inflation * reading.variance() * np.square(scale)
    sums = [float(np.sum(a, where=known, dtype=np.float64)) for a in (beyond, change, np.square(scale))]
    if not sums[1] > 0:
        return np.zeros_like(z)
    usual = np.float32(AT_ZERO * np.sqrt(sums[2] / np.count_nonzero(known)))
    relative = np.hypot(LIKE_CHANGE * np.sqrt(max(sums[0], 0.0) / sums[1]), energy.volume.shape_error)
    return np.asarray(np.float32(relative) * np.hypot(scale, usual))


def _disagreement(energy: Energy, z: Array) -> Array:
    """Return the error of channels that contradict each other: a sandwich estimate with channels as clusters.

    With the scores ``G_k`` and the information ``W_k`` of K channels over a square, ``sum G_k^2 / (sum W_k)^2`` times
    ``K / (K - 1)`` is the variance of the answer.
    """
    count = len(energy.volume.residuals)
    found = [energy.evidence(z, correlated=False, channels=slice(n, n + 1)) for n in range(count)]
    squares = np.sum([np.square(box_any(each.g, AGREE)) for each in found], axis=0)
    total = np.sum([box_any(each.w, AGREE) for each in found], axis=0)
    error = np.sqrt(squares * np.float32(count / (count - 1))) / np.maximum(total, np.float32(1e-12))
    return np.asarray(np.minimum(error, np.sqrt(energy.volume.unknown)))


def filled(w: Array, scale: Array, window: int) -> NDArray[np.bool_]:
    """Return where the window around a pixel leaves its value open to 100 %: it comes from farther away."""
    return np.asarray(information_around(w, window) * scale**2 < 1)


def rims(plain: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the plain areas and their rims, which may be seen through the blur of what is in front of them."""
    square = np.ones((RIM, RIM), np.uint8)
    areas = cv2.morphologyEx(plain.astype(np.uint8), cv2.MORPH_OPEN, square, borderType=cv2.BORDER_REFLECT)
    return np.asarray(plain | (cv2.dilate(areas, square, borderType=cv2.BORDER_REFLECT) > 0))


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


def _at_borders(smooth: Array) -> Array:
    """Return ``b``, given the length ``(mu / w)^(1/4)`` over which the prior smooths."""
    down, right = (np.minimum(np.arange(n), np.arange(n)[::-1]).astype(np.float32) for n in smooth.shape)
    reach = BORDER_REACH * smooth
    return np.asarray(1 + BORDER * (np.exp(-down[:, None] / reach) + np.exp(-right / reach)))


def _knowing_window(around: dict[int, Array], scale2: Array) -> Array:
    """Return the side of the smallest window that determines the value to 100 %, between sizes by its information."""
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


def _near_jumps(edges: Edges) -> Array:
    """Return the variance of pixels that may be on the other side of a jump."""
    jumps = np.zeros((edges.d[1].shape[0], edges.d[0].shape[1]), np.float32)
    for ends, d, h in zip(ENDS, edges.d, edges.h, strict=True):
        jump = np.where(h < JUMP, np.square(d), 0)
        for end in ends:
            np.maximum(jumps[end], jump, out=jumps[end])
    # A line two pixels wide of ones that is blurred by a Gaussian is 2 / (sqrt(2 pi) sigma) high.
    gain = np.float32(OTHER_SIDE * np.sqrt(np.pi / 2) * JUMP_PLACE)
    return np.asarray(cv2.GaussianBlur(jumps, (0, 0), JUMP_PLACE, borderType=cv2.BORDER_REFLECT) * gain)
