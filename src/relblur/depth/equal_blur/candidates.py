"""Candidate depths, and what is left of a pair at each when both images are brought to equal blur.

At the candidate ``u = 1 / z`` the images have the blurs ``h_1(u)`` and ``h_2(u)``. Blurring each with the *other's*,

    e(u) = second * h_1(u) - first * h_2(u),

gives zero at the true depth whatever the shape of the blur. A common filter may be applied to ``e`` without changing
that; see :func:`_balance` and :func:`softening`.

Depth runs along an axis ``x`` that is affine in ``u`` (planes stay planes): the relative variance ``s`` for two focus
settings, the relative ``sigma`` on one side of focus for two apertures. Levels are evenly spaced on it, so that from
one to the next the circle of confusion changes by a fixed part of a pixel: steps in metres grow as ``z^2``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...field import Noise, UniformAxis
from ...filters.kernels import STEP
from ..camera import Camera
from ..psf import Psf, Transfer
from ..relation import Relation

Array = NDArray[np.float32]

#: Change of the circle's diameter from level to level, px, and the most levels that memory should be spent on.
CIRCLE_STEP_PX = 0.25
MOST_LEVELS = 120
#: Width of the Gaussian that softens residuals, px. Detail of a pixel's size is partly aliasing and compression, which
#: follow no blur. Without it the mean errors of `street`, `leaves` and `table` are 1.4, 1.2 and 2.3 times as large, and
#: of five frames 1.2 and 1.7 times; from 0.5 to 1 they are much the same. `poles`, without noise, loses 7 %.
SOFTENED_PX = 0.6
#: A place this near to an end of the levels (steps) is at it: what lies beyond ends up to 0.1 of a step inside.
AT_END = 0.2
#: Least levels: the labelling and the cubic between levels need some.
LEAST_LEVELS = 8


@dataclass(frozen=True)
class DepthAxis:
    """``x = origin + gain u``, cut into levels."""

    origin: float
    gain: float
    levels: NDArray[np.float64]
    is_sigma: bool

    @property
    def step(self) -> float:
        """Distance between levels."""
        return float(self.levels[1] - self.levels[0])

    def at_end(self, u: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which places are at an end of the levels."""
        low, high = sorted(self.u(self.levels[[0, -1]]))
        margin = AT_END * self.step / abs(self.gain)
        return np.asarray((u <= low + margin) | (u >= high - margin))

    @property
    def between(self) -> UniformAxis:
        """What lies between the levels."""
        return UniformAxis(float(self.levels[0]), self.step, self.step / STEP)

    def u(self, x: Any) -> Any:
        """Return ``u`` of a place on the axis."""
        return (x - self.origin) / self.gain


def depth_axis(camera: Camera, u_range: tuple[float, float], side: str) -> DepthAxis:
    """Lay levels over a range of ``u`` (low, high)."""
    k_1, k_2 = camera.blur_constants_px_m
    if camera.kind == "focus":
        relation = Relation.of(camera)
        origin, gain = relation.c, relation.b
    else:
        centre = Relation.of(camera).vertex
        slope = math.sqrt(abs(k_2**2 - k_1**2)) * (-1 if side == "behind" else 1)
        origin, gain = -slope * centre, slope
    finest = abs(gain) * CIRCLE_STEP_PX / max(camera.circle_constants_px_m)
    low, high = sorted(origin + gain * u for u in u_range)
    count = math.ceil((high - low) / finest)
    count = min(max(count, LEAST_LEVELS), MOST_LEVELS)
    return DepthAxis(origin, gain, np.linspace(low, high, count + 1), camera.kind != "focus")


def softening(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of frequencies (cycles per px) in residuals, (rows, columns)."""
    square = np.square(rows)[:, None] + np.square(columns)
    return np.asarray(np.exp(-2 * (np.pi * SOFTENED_PX) ** 2 * square))


def _balance(one: NDArray[Any], two: NDArray[Any], floor: float) -> NDArray[np.float64]:
    """Return the filter that evens out the noise of the residual over the frequencies, as far as ``floor`` lets it.

    White noise in both images gives the residual the power ``|h_1|^2 + |h_2|^2``: what blur has removed from both
    counts for nothing beside what it has left, although what is left of it is known as well. Division by the root of
    that power is the most likely answer's own weighting; ``floor`` keeps the filter, and with it the reach of a depth
    edge, short.
    """
    return np.asarray(1 / np.sqrt(np.abs(one) ** 2 + np.abs(two) ** 2 + floor))


def residual_volume(
    first: Array,
    second: Array,
    camera: Camera,
    psf: Psf,
    axis: DepthAxis,
    floor: float,
    workers: int,
    progress: Callable[[float], None],
) -> Array:
    """Return the residuals of a pair of (channels, H, W) images, (channels, levels, H, W)."""
    channels, height, width = first.shape
    reach = reach_px(camera, axis)
    pad = [(0, 0), (min(reach, height), min(reach, height)), (min(reach, width), min(reach, width))]
    size = [fft.next_fast_len(n + p[0] + p[1], real=True) for n, p in zip((height, width), pad[1:], strict=True)]
    pad = [pad[0], *((p[0], s - n - p[0]) for n, p, s in zip((height, width), pad[1:], size, strict=True))]
    spectra = [fft.rfft2(np.pad(image, pad, mode="symmetric"), workers=workers) for image in (first, second)]
    frequencies = np.fft.fftfreq(size[0]), np.fft.rfftfreq(size[1])
    transfer, soft = psf.transfer_on(*frequencies), softening(*frequencies)
    volume = np.empty((channels, len(axis.levels), height, width), np.float32)
    top, left = pad[1][0], pad[2][0]

    def fill(k: int) -> None:
        one, two = _transfers(camera, transfer, axis, float(axis.levels[k]))
        balance = soft * _balance(one, two, floor)
        one, two = ((h * balance).astype(np.complex64 if np.iscomplexobj(h) else np.float32) for h in (one, two))
        for c in range(channels):
            whole = fft.irfft2(spectra[1][c] * one - spectra[0][c] * two, s=size)
            volume[c, k] = whole[top : top + height, left : left + width]
        progress((k + 1) / len(axis.levels))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, range(len(axis.levels))))
    return volume


def reach_px(camera: Camera, axis: DepthAxis) -> int:
    """Return how far the largest circle of any level reaches."""
    u = axis.u(axis.levels[[0, -1]])
    constants = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    return math.ceil(max(float(np.abs(c * (u - u_i)).max()) for c, u_i in constants)) + 4


def _transfers(camera: Camera, transfer: Transfer, axis: DepthAxis, x: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the transfer functions of the two images' blurs at a place on the axis."""
    u = float(axis.u(x))
    one, two = (
        transfer(c * (u_i - u)) for c, u_i in zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    )
    return one, two


@dataclass(frozen=True)
class NoisePower:
    """How each image's white noise enters the residuals.

    ``first`` and ``second`` are (levels, levels): the covariance of the residuals at two levels when that image is unit
    white noise. ``independent`` is the share of pixels that do not repeat others.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    independent: float

    def noise(
        self,
        sensor: tuple[float, float],
        rounding: tuple[float, float],
        relative: NDArray[Any] | None,
        repeats: bool,
    ) -> Noise:
        """Return the noise of the residuals for noise of the images with some standard deviations."""
        covariance = self._covariance(sensor)
        plane = None if relative is None else np.ascontiguousarray(relative, np.float32)
        own = np.diagonal(self._covariance(rounding))
        gain = self.total / float(np.median(self.total))
        return Noise(own, np.diagonal(covariance), covariance, gain, max(sensor) ** 2, plane, repeats)

    def _covariance(self, deviations: tuple[float, float]) -> NDArray[np.float64]:
        return np.asarray(deviations[0] ** 2 * self.first + deviations[1] ** 2 * self.second)

    @property
    def total(self) -> NDArray[np.float64]:
        """Variance at each level for unit noise in both images."""
        return np.diagonal(self.first + self.second)


def noise_power(camera: Camera, psf: Psf, axis: DepthAxis, floor: float) -> NoisePower:
    """Tabulate the noise gains by summing over a coarse grid of frequencies."""
    side = 64
    rows, columns = np.fft.fftfreq(side), np.fft.rfftfreq(side)
    transfer, soft = psf.transfer_on(rows, columns), softening(rows, columns)
    weight = np.full(len(columns), 2.0)
    weight[0] = weight[-1] = 1.0
    weight /= side * side

    def mean(power: NDArray[np.float64]) -> float:
        return float((power * weight).sum())

    filters: list[tuple[NDArray[Any], NDArray[Any]]] = []
    shares = []
    for x in axis.levels:
        one, two = _transfers(camera, transfer, axis, float(x))
        balance = soft * _balance(one, two, floor)
        filters.append((two * balance, one * balance))  # what first and second pass through
        total = np.abs(filters[-1][0]) ** 2 + np.abs(filters[-1][1]) ** 2
        shares.append(mean(total) ** 2 / mean(total**2))

    def covariance(which: int) -> NDArray[np.float64]:
        passed = np.array([(pair[which] * np.sqrt(weight)).ravel() for pair in filters])
        return np.asarray((passed @ passed.conj().T).real)

    return NoisePower(covariance(0), covariance(1), float(np.median(shares)))
