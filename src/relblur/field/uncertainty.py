"""The standard error of a map, and its filled pixels.

    stderr^2 = b / (w + 1 / V)                 noise, in the pixel and the best window around it
             + 1.5 box_31 (z - z_before)^2     changes of the map since mu became final
             + U (1 - exp(-(d / 24)^4))        the unknown value of plain areas, far from all evidence
             + J / 4                           jumps, which are located to a few pixels
             + the model's error               residuals beyond noise, as far as they look like a change of the map

The information of a window is twice that of the poorest of its four halves, because evidence on one side does not
determine a pixel.  ``V`` is the variance of the best window (:meth:`.loops.Loops.posterior_variance`).  ``b`` is 1, and
more at the border of the image.  ``d`` is half the side of the smallest window that determines the value to 100 %, less
that of an 11 x 11 window.  ``U`` is the variance of a value between the limits.  ``J`` is the squared jump, which
decreases over 3 px on either side.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .energy import Energy, Evidence
from .grid import ENDS, WINDOWS, Edges, box, box_any, window_sizes
from .surface import JUMP

__all__ = ["filled", "information_around", "model_error", "plain_variance", "rims", "standard_error"]

Array = NDArray[np.float32]

#: Relative standard error of the interpolation between levels.
INTERPOLATION = np.float32(2e-5)
#: Remaining squared change of the map over that of the last steps, and the side of its window, px.
MOVED, MOVED_WINDOW = np.float32(1.5), 31
#: Side of the largest window within which ``d`` is 0 (px), the usual one of local methods.
NEAR = np.float32(11)
#: Scale of ``d`` (px): a plain area beyond this distance from evidence may have another value.
PLAIN_REACH = np.float32(24)
#: Variance at the image's border over that inside, less 1, and its decay length over the smoothing length
#: ``(mu / w)^(1/4)``. Fitted to errors of maps of constant value under noise, at borders and corners.
BORDER, BORDER_REACH = np.float32(2.2), np.float32(0.42)
#: Side of the smallest plain area, and twice the width of its rim, px.
RIM = 9
#: Standard deviation of the position of a jump (px), and the probability that a pixel at it is on its other side.
JUMP_PLACE, OTHER_SIDE = 3.0, 0.25
#: Least information (for a relative change by 1) of pixels whose residuals measure the model's error.
CLEAR = 1 / 25
#: Largest squared residual over the variance of the noise that counts as noise; it covers the error of that variance.
MOST_NOISE = np.float32(1.2)
#: Fraction of the amplitude of residuals beyond noise that looks like a change of the map.
LIKE_CHANGE = 0.12
#: Relative error at the value zero over that at the root mean square value.
AT_ZERO = 0.3
#: Side of the square of the disagreement of channels, px.
DISAGREEMENT_WINDOW = 65


def standard_error(scale: Array, w: Array, mu: Array, edges: Edges, moved: Array, range_variance: np.float32) -> Array:
    """Return the standard error of a map, without the model's error.

    ``scale`` is the change of the map that is a relative change by 1, ``moved`` the change in the last steps, and
    ``range_variance`` the variance ``U``.
    """
    scale2 = scale**2
    around = _informations(w)
    best = np.full_like(mu, np.inf)
    for size, information in around.items():
        np.minimum(best, 1 / (information + np.float32(1e-6)) + np.float32(size * size / 256) / mu, out=best)
    of_noise = _at_borders(np.sqrt(8 * mu * best)) / (w + 1 / best)
    last = MOVED * box_any(np.minimum(np.square(moved), scale2 / 4), MOVED_WINDOW)
    total = of_noise + last + _plain_variance(around, scale2, range_variance) + _near_jumps(edges)
    # Running sums may be slightly negative.
    return np.asarray(np.sqrt(np.clip(total, 0, range_variance) + INTERPOLATION**2 * scale2))


def plain_variance(w: Array, scale: Array, range_variance: np.float32) -> Array:
    """Return the variance of the unknown value of plain areas, far from all evidence."""
    return _plain_variance(_informations(w), scale**2, range_variance)


def _informations(w: Array) -> dict[int, Array]:
    return {size: information_around(w, size) for size in window_sizes(w.shape)}


def _plain_variance(around: dict[int, Array], scale2: Array, range_variance: np.float32) -> Array:
    distance = np.maximum(_informative_window(around, scale2) - NEAR, 0) / 2
    return box(range_variance * (1 - np.exp(-((distance / PLAIN_REACH) ** 4))), RIM)


def model_error(energy: Energy, z: Array, evidence: Evidence, scale: Array) -> Array:
    """Return the standard error of a map due to the model of the residuals."""
    if energy.volume.disagreement:
        return _disagreement(energy, z)
    return _misfit_error(energy, z, evidence, scale)


def _misfit_error(energy: Energy, z: Array, evidence: Evidence, scale: Array) -> Array:
    """Return the error due to residuals beyond noise: one relative error for the map, from informative pixels.

    These residuals are correlated between pixels, and a fraction of them looks like a change of the map.
    """
    informative = evidence.w * np.square(scale) > CLEAR
    power, reading = evidence.power, energy.reading(z)
    if not energy.volume.noise.repeats:
        own, passed = energy.tables.at(reading.level, 0, 1)
        power = power - MOST_NOISE * reading.at_pixels * (own + passed)
    beyond = len(energy.volume.residuals) * energy.q * power
    change = evidence.w * energy.inflation * reading.variance() * np.square(scale)
    sums = [float(np.sum(a, where=informative, dtype=np.float64)) for a in (beyond, change, np.square(scale))]
    if not sums[1] > 0:
        return np.zeros_like(z)
    usual = np.float32(AT_ZERO * np.sqrt(sums[2] / np.count_nonzero(informative)))
    relative = np.hypot(LIKE_CHANGE * np.sqrt(max(sums[0], 0.0) / sums[1]), energy.volume.shape_error)
    return np.asarray(np.float32(relative) * np.hypot(scale, usual))


def _disagreement(energy: Energy, z: Array) -> Array:
    """Return the error from the disagreement of the channels, a sandwich estimate with channels as clusters.

    With the scores ``G_k`` and the information ``W_k`` of K channels over a square, the variance is
    ``sum G_k^2 / (sum W_k)^2`` times ``K / (K - 1)``.
    """
    count = len(energy.volume.residuals)
    evidences = [energy.evidence(z, correlated=False, channels=slice(n, n + 1)) for n in range(count)]
    squares = np.sum([np.square(box_any(each.g, DISAGREEMENT_WINDOW)) for each in evidences], axis=0)
    total = np.sum([box_any(each.w, DISAGREEMENT_WINDOW) for each in evidences], axis=0)
    error = np.sqrt(squares * np.float32(count / (count - 1))) / np.maximum(total, np.float32(1e-12))
    return np.asarray(np.minimum(error, np.sqrt(energy.volume.range_variance)))


def filled(w: Array, scale: Array, window: int) -> NDArray[np.bool_]:
    """Return the pixels whose value the window around them does not determine to 100 %."""
    return np.asarray(information_around(w, window) * scale**2 < 1)


def rims(plain: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the plain areas and their rims, which the blur of objects in front may cover."""
    square = np.ones((RIM, RIM), np.uint8)
    areas = cv2.morphologyEx(plain.astype(np.uint8), cv2.MORPH_OPEN, square, borderType=cv2.BORDER_REFLECT)
    return np.asarray(plain | (cv2.dilate(areas, square, borderType=cv2.BORDER_REFLECT) > 0))


def information_around(w: Array, size: int) -> Array:
    """Return the information of a window, as twice that of the poorest of its four halves."""
    height, width = w.shape
    rows, cols = min(size, 2 * height - 1), min(size, 2 * width - 1)
    half_rows, half_cols = (rows + 1) // 2, (cols + 1) // 2
    # The pixel itself, the anchor, is on the inner border of each half.
    halves = (
        ((cols, half_rows), (cols // 2, 0)),
        ((cols, half_rows), (cols // 2, half_rows - 1)),
        ((half_cols, rows), (0, rows // 2)),
        ((half_cols, rows), (half_cols - 1, rows // 2)),
    )
    means = [cv2.blur(w, shape, anchor=anchor, borderType=cv2.BORDER_REFLECT) for shape, anchor in halves]
    return np.asarray(np.maximum(np.minimum.reduce(means), 0) * np.float32(size * size))


def _at_borders(smooth: Array) -> Array:
    """Return ``b`` for the smoothing length ``(mu / w)^(1/4)``."""
    down, right = (np.minimum(np.arange(n), np.arange(n)[::-1]).astype(np.float32) for n in smooth.shape)
    reach = BORDER_REACH * smooth
    return np.asarray(1 + BORDER * (np.exp(-down[:, None] / reach) + np.exp(-right / reach)))


def _informative_window(around: dict[int, Array], scale2: Array) -> Array:
    """Return the side of the smallest window that determines the value to 100 %, interpolated between sizes."""
    side = np.empty_like(scale2)  # set in the first pass: a window twice the largest is informative
    larger, beyond = 2 * WINDOWS[-1], np.full_like(scale2, 4)
    for size in sorted(around, reverse=True):
        inside = np.minimum(around[size] * scale2, np.float32(1e6))
        # Information is interpolated as a power of the side, to the value 1.
        part = np.log(np.maximum(beyond, 1)) / np.maximum(
            np.log(np.maximum(beyond, 1) / np.maximum(inside, 1e-6)), 1e-6
        )
        between = larger * (size / larger) ** np.clip(part, 0, 1)
        side = np.where(inside >= 1, np.float32(size), np.where(beyond >= 1, between, side))
        larger, beyond = size, inside
    return np.asarray(side, np.float32)


def _near_jumps(edges: Edges) -> Array:
    """Return the variance of pixels that may be on the other side of a jump."""
    jumps = np.zeros((edges.d[1].shape[0], edges.d[0].shape[1]), np.float32)
    for ends, d, h in zip(ENDS, edges.d, edges.h, strict=True):
        jump = np.where(h < JUMP, np.square(d), 0)
        for end in ends:
            np.maximum(jumps[end], jump, out=jumps[end])
    # A line of ones two pixels wide has the height 2 / (sqrt(2 pi) sigma) after a Gaussian blur.
    gain = np.float32(OTHER_SIDE * np.sqrt(np.pi / 2) * JUMP_PLACE)
    return np.asarray(cv2.GaussianBlur(jumps, (0, 0), JUMP_PLACE, borderType=cv2.BORDER_REFLECT) * gain)
