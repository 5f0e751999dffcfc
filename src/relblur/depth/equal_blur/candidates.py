"""Candidate depths, and the residuals of a pair at each when both images are brought to equal blur.

At the candidate ``u = 1 / z`` the images have the blurs ``h_1(u)`` and ``h_2(u)``. Blurring each with the *other's*,

    e(u) = second * h_1(u) - first * h_2(u),

gives zero at the true depth whatever the shape of the blur. Any common filter leaves that zero. The one in use evens
out the noise of the residual over the frequencies, and softens the finest detail.

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
from .task import TaskNoise

__all__ = [
    "CIRCLE_STEP_PX",
    "NOISE_FLOOR",
    "DepthAxis",
    "NoisePower",
    "depth_axis",
    "noise_power",
    "residual_volume",
    "softening",
]

Array = NDArray[np.float32]

#: Change of the circle's diameter from level to level (px), and the least and the largest number of levels.
CIRCLE_STEP_PX = 0.25
LEAST_LEVELS, MOST_LEVELS = 8, 120
#: Width of the Gaussian that softens residuals, px. Detail of a pixel's size is partly aliasing and compression, which
#: follow no blur. Without it the errors of `street`, `leaves` and `table` are 1.2 to 2.3 times as large.
SOFTENED_PX = 0.6
#: Power added to that of the noise where it is evened out: it limits the reach of a depth edge. 0.1 to 1 do as well.
NOISE_FLOOR = 0.3
#: A place this near to an end of the levels (steps) is at it: places beyond end up to 0.1 of a step inside.
AT_END = 0.2


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
        """The axis between the levels."""
        return UniformAxis(float(self.levels[0]), self.step, self.step / STEP)

    def u(self, x: Any) -> Any:
        """Return ``u`` of a place on the axis."""
        return (x - self.origin) / self.gain


def depth_axis(camera: Camera, u_range: tuple[float, float], side: str) -> DepthAxis:
    """Lay levels over a range of ``u`` (low, high)."""
    if camera.kind == "focus":
        relation = Relation.of(camera)
        origin, gain = relation.c, relation.b
    else:
        k_1, k_2 = camera.blur_constants_px_m
        gain = math.sqrt(abs(k_2**2 - k_1**2)) * (-1 if side == "behind" else 1)
        origin = -gain * Relation.of(camera).vertex
    finest = abs(gain) * CIRCLE_STEP_PX / max(camera.circle_constants_px_m)
    low, high = sorted(origin + gain * u for u in u_range)
    count = min(max(math.ceil((high - low) / finest), LEAST_LEVELS), MOST_LEVELS)
    return DepthAxis(origin, gain, np.linspace(low, high, count + 1), camera.kind != "focus")


def softening(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of frequencies (cycles per px) in residuals, (rows, columns)."""
    square = np.square(rows)[:, None] + np.square(columns)
    return np.asarray(np.exp(-2 * (np.pi * SOFTENED_PX) ** 2 * square))


def _filters(
    camera: Camera, transfer: Transfer, soft: NDArray[Any], u: float
) -> tuple[NDArray[np.complexfloating[Any, Any]], NDArray[np.complexfloating[Any, Any]]]:
    """Return the filters of the first and the second image at ``u``: the blur of the other, softened and balanced."""
    circles = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    one, two = (transfer(c * (u_i - u)) for c, u_i in circles)
    # White noise in both images gives the residual this power. Division by its root is the weighting of the likelihood.
    balance = soft / np.sqrt(np.abs(one) ** 2 + np.abs(two) ** 2 + NOISE_FLOOR)
    return two * balance, one * balance


def residual_volume(
    first: Array,
    second: Array,
    camera: Camera,
    psf: Psf,
    axis: DepthAxis,
    workers: int,
    progress: Callable[[float], None],
) -> Array:
    """Return the residuals of a pair of (channels, H, W) images, (channels, levels, H, W)."""
    channels, height, width = first.shape
    # The largest circle of any level, and a margin.
    ends = [np.abs(axis.u(axis.levels[[0, -1]]) - u_i).max() for u_i in camera.focus_per_m]
    reach = math.ceil(max(np.multiply(camera.circle_constants_px_m, ends))) + 4
    top, left = min(reach, height), min(reach, width)
    size = [fft.next_fast_len(n + 2 * margin, real=True) for n, margin in ((height, top), (width, left))]
    pad = [(0, 0), (top, size[0] - height - top), (left, size[1] - width - left)]
    spectra = [fft.rfft2(np.pad(image, pad, mode="symmetric"), workers=workers) for image in (first, second)]
    frequencies = np.fft.fftfreq(size[0]), np.fft.rfftfreq(size[1])
    transfer, soft = psf.transfer_on(*frequencies), softening(*frequencies)
    volume = np.empty((channels, len(axis.levels), height, width), np.float32)

    def fill(k: int) -> None:
        filters = _filters(camera, transfer, soft, float(axis.u(axis.levels[k])))
        one, two = (h.astype(np.complex64 if np.iscomplexobj(h) else np.float32) for h in filters)
        for c in range(channels):
            whole = fft.irfft2(spectra[1][c] * two - spectra[0][c] * one, s=size)
            volume[c, k] = whole[top : top + height, left : left + width]
        progress((k + 1) / len(axis.levels))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, range(len(axis.levels))))
    return volume


@dataclass(frozen=True)
class NoisePower:
    """The white noise of each image in the residuals.

    ``first`` and ``second`` are (levels, levels): the covariance of the residuals at two levels when that image is unit
    white noise. ``independent`` is the share of pixels that do not repeat others.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    independent: float

    def noise(self, sensor: tuple[float, float], rounding: tuple[float, float], task: TaskNoise) -> Noise:
        """Return the noise of the residuals for noise of the images with some standard deviations."""
        covariance, of_rounding = (a**2 * self.first + b**2 * self.second for a, b in (sensor, rounding))
        known = task.relative_variance
        relative = None if known is None else np.ascontiguousarray(known, np.float32)
        gain = self.total / float(np.median(self.total))
        own, passed = np.diagonal(of_rounding), np.diagonal(covariance)
        return Noise(own, passed, covariance, gain, max(sensor) ** 2, relative, task.repeats)

    @property
    def total(self) -> NDArray[np.float64]:
        """Variance at each level for unit noise in both images."""
        return np.diagonal(self.first + self.second)


def noise_power(camera: Camera, psf: Psf, axis: DepthAxis) -> NoisePower:
    """Tabulate the noise gains by summing over a coarse grid of frequencies."""
    side = 64
    rows, columns = np.fft.fftfreq(side), np.fft.rfftfreq(side)
    transfer, soft = psf.transfer_on(rows, columns), softening(rows, columns)
    weight = np.full(len(columns), 2.0)
    weight[0] = weight[-1] = 1.0
    weight /= side * side
    filters = np.array([_filters(camera, transfer, soft, float(axis.u(x))) for x in axis.levels])
    total = np.square(np.abs(filters)).sum(axis=1)
    shares = (total * weight).sum(axis=(1, 2)) ** 2 / (total**2 * weight).sum(axis=(1, 2))
    passed = (filters * np.sqrt(weight)).reshape(len(filters), 2, -1)
    first, second = ((passed[:, n] @ passed[:, n].conj().T).real for n in (0, 1))
    return NoisePower(first, second, float(np.median(shares)))
