"""``method="window"`` in compiled code: pairs of frames of one size, in float32.

The nodes and kernels of :mod:`relblur.blur.window.method` are prepared once. The loops are in
``src/kernels/window.cpp``; noise, ranges and flags of a whole pair are in this module.

Nodes from ``HALF_FROM`` px^2 on (2.6 px and more in the default range) use a half-size copy of the image. The image is
blurred by ``PREFILTER`` px^2, and every other pixel is dropped. The remaining blur is a Gaussian on the copy at whole
and half positions, which also gives the dropped pixels. The two Gaussians together are the required blur except for
aliases. These are below 2e-4 of the amplitude at the first such node, and 1e-5 two nodes further.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray
from ...base.inputs import RawPair
from ...base.pixels import clipped_pixels, full_scale, sample_step, usual_values
from ...base.settings import FLAT_ABOVE, Sharper
from ...filters.kernels import band_limited_kernel, noise_gain
from ...kernels.compiled import kernels
from ...kernels.threads import Team
from ..noise import FLOAT_NOISE, GRIDS
from ..result import FLAG_TYPE
from ..whole_image import MOST_RANGES
from .method import LINEAR_BELOW, PROBE_NODE, signed_nodes

__all__ = ["FrameFit", "NotOrdinaryError", "WindowEngine"]

#: Variance from which a node uses the half-size image, px^2.
HALF_FROM = 6.0

#: Blur of the image before it is halved, px^2.
PREFILTER = 2.5

#: Radius of the second Gaussian in standard deviations; 7e-6 of its sum is beyond.
HALF_TRUNCATE = 4.5

#: Noise, on a scale of 0..1, above which the rounding of values may remove texture.
ROUNDED_ABOVE = 1e-5

#: Least noise relative to the largest value: the rounding of residuals in float32.
FLOAT32_NOISE = 5e-7

#: Smallest noise, whose square is still a float32.
_TINY = 1e-18

#: Magnitudes of values whose squares, and their sums, fit into float32.
_LEAST, _LARGEST = 1e-12, 1e12

#: Number of values in the sample for the usual range of a frame.
_SAMPLE = 1024

#: Distances without bad pixels.
_NO_DISTANCES = np.empty((0, 0), np.float32)


class NotOrdinaryError(Exception):
    """Raised for frames with possible values that are not light (:mod:`relblur.base.pixels`)."""


@dataclass(frozen=True)
class FrameFit:
    """The estimate of one pair; the arrays are views of the engine's memory."""

    s: AnyArray
    stderr: AnyArray
    flags: AnyArray
    sharper: AnyArray
    noise: float


@dataclass(frozen=True)
class _Summary:
    """Summary of the values of a frame, on a scale of 0..1."""

    low: float
    high: float
    on_grid: tuple[bool, ...]  #: for every grid in ``GRIDS``, whether all values are on it
    at_top: bool  #: whether a value is at the top of its integer range
    not_finite: bool

    @property
    def largest(self) -> float:
        return max(self.high, -self.low)


class WindowEngine:
    """``method="window"`` for pairs of (rows, columns) with interleaved channels, in float32."""

    def __init__(
        self, shape: tuple[int, int], channels: int, sharper: Sharper, window: int, max_sigma: float, workers: int
    ) -> None:
        self._shape, self._sharper = shape, sharper
        self._window = kernels().Window(_options(shape, channels, sharper, window, max_sigma))
        types = (np.float32, np.float32, np.uint8, np.int8)
        self._results: list[AnyArray] = [np.empty(shape, each) for each in types]  # s, stderr, flags, sharper
        self._flags = np.empty(shape, FLAG_TYPE)
        #: The threads, shared with a rig.
        self.team = Team(workers)
        #: The last valid mask, often that of the next frame, and the distances (px) to its invalid pixels.
        self._invalid: tuple[BoolArray | None, AnyArray] = None, _NO_DISTANCES

    @property
    def nbytes(self) -> int:
        """Memory that the engine holds."""
        return int(self._window.nbytes) + sum(each.nbytes for each in [*self._results, self._flags, self._invalid[1]])

    def _together(self, work: Callable[[], None]) -> None:
        """Run ``work`` in every thread; the compiled code divides it among them."""
        self.team.each(lambda _: work(), range(self.team.workers))

    def run_checked(self, raw: RawPair, noise: float | None = None) -> FrameFit:
        """Estimate a checked pair, whose values may have any magnitude."""
        images, unit = [raw.first, raw.second], 1.0
        if all(image.dtype.kind == "f" for image in images):
            largest = max(float(np.abs([image.min(), image.max()]).max()) for image in images)
            unit = 1.0 if largest == 0 or _LEAST < largest < _LARGEST else largest
            images = [image if unit == 1 else image / unit for image in images]
        native = (np.ascontiguousarray(image, image.dtype.newbyteorder("=")) for image in images)
        first, second = (image.reshape(self._shape[0], -1) for image in native)
        noise = None if noise is None else noise / unit
        return self.run(first, second, noise=noise, valid=raw.finite, clipped=raw.clipped, checked=True)

    def run(
        self,
        first: AnyArray,
        second: AnyArray,
        *,
        noise: float | None = None,
        valid: BoolArray | None = None,
        clipped: BoolArray | None = None,
        checked: bool = False,
    ) -> FrameFit:
        """Estimate one pair of (rows, columns x channels) frames of uint8, uint16, float32 or float64.

        ``noise`` is the least standard deviation of the noise, by default that of rounding. ``clipped`` are clipped
        pixels in addition to integers at full scale. Unless ``checked``, frames with possible values that are not light
        raise :class:`NotOrdinaryError`.
        """
        window, frames = self._window, (first, second)
        window.begin()
        self._together(lambda: window.load(first, second))
        summaries = [_Summary(*window.summary(i)) for i in (0, 1)]
        if any(each.not_finite for each in summaries):
            raise NotOrdinaryError
        ranges = [_range(*each, checked) for each in zip(frames, summaries, strict=True)]
        least = [_least_noise(*each) for each in zip(summaries, ranges, strict=True)]
        assumed = max(least) if noise is None else max(noise, *map(_arithmetic_noise, ranges))
        # The local variance is required for an image that may be the blurrier one, and for rounded values.
        rounded = max(least) > ROUNDED_ABOVE
        textures = (rounded or self._sharper != "first", rounded or self._sharper != "second")
        frame = kernels().Frame(assumed, FLAT_ABOVE, *(3 * each**2 for each in least), *textures)
        near_invalid = self._near_invalid(valid)
        near_clipped = self._near_clipped(frames, clipped, any(each.at_top for each in summaries))
        self._together(window.halve)
        self._together(lambda: window.fit(frame, *self._results, near_invalid, near_clipped))
        np.copyto(self._flags, self._results[2])
        s, stderr, flags, sharper = map(_read_only, (*self._results[:2], self._flags, self._results[3]))
        return FrameFit(s, stderr, flags, sharper, float(np.float32(assumed)))

    def _near_invalid(self, valid: BoolArray | None) -> AnyArray:
        """Return the distances (px) to the nearest invalid pixel."""
        if valid is None or valid.all():
            return _NO_DISTANCES
        if valid is not self._invalid[0]:
            self._invalid = valid, _distance_to(valid)
        return self._invalid[1]

    def _near_clipped(
        self, frames: tuple[AnyArray, AnyArray], clipped: BoolArray | None, may_be_clipped: bool
    ) -> AnyArray:
        """Return the distances (px) to the nearest clipped pixel."""
        if clipped is None and not may_be_clipped:
            return _NO_DISTANCES
        good = np.ones(self._shape, bool) if clipped is None else ~clipped
        for frame in frames:
            at_top = clipped_pixels(frame.reshape(*self._shape, -1))
            if at_top is not None:
                good &= ~at_top
        return _NO_DISTANCES if good.all() else _distance_to(good)

    def close(self) -> None:
        """End the threads."""
        self.team.close()


def _options(shape: tuple[int, int], channels: int, sharper: Sharper, window: int, max_sigma: float) -> Any:
    nodes = signed_nodes(max_sigma, sharper)
    zero = int(np.abs(nodes.s).argmin())
    wide = float(np.abs(nodes.s).max()) >= HALF_FROM
    return kernels().Options(
        height=shape[0],
        width=shape[1],
        channels=channels,
        window=window,
        zero=zero,
        probe=min(PROBE_NODE, zero),
        limit_low=sharper != "first",
        limit_high=sharper != "second",
        spacing=float(nodes.t[1] - nodes.t[0]),
        nodes=[_node(float(s)) for s in nodes.s],
        prefilter=_right_half(band_limited_kernel(PREFILTER)) if wide else [],
    )


def _node(s: float) -> Any:
    size = abs(s)
    kernel = band_limited_kernel(size)
    taps: list[float] = []
    odd: list[float] = []
    if size >= HALF_FROM:
        taps, odd = _spread_taps(size - PREFILTER)
    elif size > 0:
        taps = _right_half(kernel)
    return kernels().Node(
        kind=int(size > 0) + int(size >= HALF_FROM),  # without a blur, from the image, from its half-size copy
        side=-1 if s < 0 else 1,
        taps=taps,
        odd=odd,
        weight=1 / (1 + (1.0 if size == 0 else noise_gain(kernel))),
        s=s,
        width=math.hypot(s, LINEAR_BELOW),
    )


def _right_half(kernel: FloatArray) -> list[float]:
    """Return the right half of an odd symmetric kernel; its centre is halved, because loops add it twice."""
    return [float(kernel[kernel.size // 2]) / 2, *map(float, kernel[kernel.size // 2 + 1 :])]


def _spread_taps(variance: float) -> tuple[list[float], list[float]]:
    """Return the taps of a Gaussian at even and at odd distances, each normalised."""
    count = math.floor(HALF_TRUNCATE * math.sqrt(variance) / 2) + 1
    even = np.exp(-0.5 * (2 * np.arange(count)) ** 2 / variance)
    odd = np.exp(-0.5 * (2 * np.arange(count) + 1) ** 2 / variance)
    even[0] /= 2
    return (even / (2 * even.sum())).tolist(), (odd / (2 * odd.sum())).tolist()


def _range(frame: AnyArray, summary: _Summary, checked: bool) -> tuple[float, float]:
    """Return the range of a frame's values, on a scale of 0..1, without a few bright lights."""
    scale = float(full_scale(frame.dtype) or 1)
    if scale == 255:  # 8 bits cannot contain bad values
        return summary.low, summary.high
    step = sample_step(frame.shape, _SAMPLE)
    usual = usual_values(frame[::step, ::step, None], frame.size)
    fits = summary.largest == 0 or _LEAST < summary.largest < _LARGEST
    if fits and usual.is_ordinary(scale * summary.low, scale * summary.high):
        return summary.low, summary.high
    if not checked:
        raise NotOrdinaryError
    middle, reach = usual.middle / scale, MOST_RANGES * usual.core / scale or np.inf
    return max(summary.low, middle - reach), min(summary.high, middle + reach)


def _arithmetic_noise(between: tuple[float, float]) -> float:
    """Return the noise of float32 arithmetic for values of this range."""
    return max(FLOAT32_NOISE * max(map(abs, between)), _TINY)


def _least_noise(summary: _Summary, between: tuple[float, float]) -> float:
    """Return the least standard deviation of the noise of a frame with values of this range.

    The rules are those of :func:`relblur.blur.noise.rounding_noise`, with the coarser rounding of float32.
    """
    contrast = between[1] - between[0]
    for on_grid, (step, least_steps) in zip(summary.on_grid, GRIDS, strict=True):
        if on_grid and contrast > least_steps * step:
            return max(step / math.sqrt(12), _arithmetic_noise(between))
    return max(FLOAT_NOISE * contrast, _arithmetic_noise(between))


def _distance_to(good: BoolArray) -> AnyArray:
    import cv2

    return np.asarray(cv2.distanceTransform(good.view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE))


def _read_only(array: AnyArray) -> AnyArray:
    view = array.view()
    view.setflags(write=False)
    return view
