"""Candidate depths, and the residuals of a pair at each when both images are brought to equal blur.

At the candidate ``u = 1 / z`` the images have the blurs ``h_1(u)`` and ``h_2(u)``. The residual

    e(u) = second * h_1(u) - first * h_2(u)

is zero at the true depth for any shape of blur. A common filter whitens the noise of the residual and attenuates the
finest detail.

Levels are evenly spaced on an axis ``x`` that is affine in ``u``, so planes remain planes. For two focus settings ``x``
is the relative variance ``s``. For two apertures it is the relative ``sigma`` on one side of focus. From one level to
the next the circle of confusion changes by a fixed fraction of a pixel, and the step in metres grows as ``z^2``.
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

#: Change of the circle's diameter from level to level (px).
CIRCLE_STEP_PX = 0.25
#: Minimum and maximum number of levels.
LEAST_LEVELS, MOST_LEVELS = 8, 120
#: Sigma of the Gaussian that smooths the residuals (px): the finest detail is partly aliasing and compression noise.
#: Without it the errors of `street`, `leaves` and `table` are 1.2 to 2.3 times as large.
SOFTENED_PX = 0.6
#: Power added to the noise power before whitening (image noise = 1): limits the reach of a depth edge. Values from 0.1
#: to 1 give the same accuracy.
NOISE_FLOOR = 0.3
#: Depths within this distance of an end of the levels (steps) count as at the limit: depths beyond the end yield
#: estimates up to 0.1 steps inside.
AT_END = 0.2


@dataclass(frozen=True)
class DepthAxis:
    """The axis ``x = origin + gain u`` and its levels."""

    origin: float
    gain: float
    levels: NDArray[np.float64]
    is_sigma: bool

    @property
    def step(self) -> float:
        """Distance between levels."""
        return float(self.levels[1] - self.levels[0])

    def at_end(self, u: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the values at an end of the levels."""
        low, high = sorted(self.u(self.levels[[0, -1]]))
        margin = AT_END * self.step / abs(self.gain)
        return np.asarray((u <= low + margin) | (u >= high - margin))

    @property
    def between(self) -> UniformAxis:
        """The axis for interpolation between the levels."""
        return UniformAxis(float(self.levels[0]), self.step, self.step / STEP)

    def u(self, x: Any) -> Any:
        """Return ``u`` of positions on the axis."""
        return (x - self.origin) / self.gain


def depth_axis(camera: Camera, u_range: tuple[float, float], side: str) -> DepthAxis:
    """Return the axis and levels of a range of ``u`` (low, high)."""
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
    """Return the filters of the first and the second image at ``u``: the blur of the other, smoothed and whitened."""
    circles = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    one, two = (transfer(c * (u_i - u)) for c, u_i in circles)
    # The residual of white noise has this power spectrum; division by its root whitens it.
    whitening = soft / np.sqrt(np.abs(one) ** 2 + np.abs(two) ** 2 + NOISE_FLOOR)
    return two * whitening, one * whitening


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
    """Noise gains of the residuals.

    ``first`` and ``second`` are the covariances of the residuals at two levels, (levels, levels), for unit white noise
    in that image. ``independent`` is the number of independent pixels as a fraction of all pixels.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    independent: float

    def noise(self, sensor: tuple[float, float], rounding: tuple[float, float], task: TaskNoise) -> Noise:
        """Return the noise of the residuals for the standard deviations of the images' noise."""
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
    """Return the noise gains, summed over a coarse grid of frequencies."""
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
