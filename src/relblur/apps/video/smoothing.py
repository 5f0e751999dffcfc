"""Blur maps filtered over time, pixel by pixel, with a standard error of their own.

A Kalman filter for a variance difference that wanders: with R the squared standard error of a frame's value z,

    P <- P + Q,   K = P / (P + R),   s <- s + K (z - s),   P <- (1 - K) P.

Q is in proportion to R, so that the memory is a time that the user states, the same at all pixels. Where a value
is further from the prediction than chance allows the scene has moved, and the filter begins anew.

Not every error is another one in the next frame: what a window misfits, or a codec has removed, stays as long as the
scene does, and no average lowers it. The share of R that does change is measured, from the differences of successive
maps; only that share shrinks.
"""

from __future__ import annotations

import math

import numpy as np

from ...base._typing import AnyArray
from ...base.arguments import as_positive
from ...blur.blur_map import BlurMap
from ...blur.request import side_of

__all__ = ["TemporalFilter"]

#: A value this many standard deviations from the prediction begins anew.
GATE = 3.0

#: Median of the square of a standard normal variable.
_MEDIAN_SQUARE = 0.4549

#: The share of errors that change is averaged over about so many frames, and is at least this for the gate.
_SHARE_MEMORY, _LEAST_SHARE = 10, 0.1


class TemporalFilter:
    """Smooth maps over about ``memory_s`` seconds where the scene stands still."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = as_positive(memory_s, "smooth", "s")
        self._time_s: float | None = None
        self._s: AnyArray | None = None
        self._variance: AnyArray | None = None
        self._last: tuple[AnyArray, AnyArray] | None = None
        self._looks = 0
        self.random_share = 1.0

    def update(self, blur_map: BlurMap, time_s: float) -> BlurMap:
        """Take in the map of the next frame and return the filtered one; its flags are those of the frame."""
        z = np.array(blur_map.variance_difference)
        r = np.square(blur_map.variance_stderr)
        if self._s is None or self._s.shape != z.shape or self._variance is None or self._time_s is None:
            self._s, self._variance = z.copy(), r.copy()
        else:
            self._look_at_changes(z, r)
            self._step(z, r, max(time_s - self._time_s, 1e-6))
        self._time_s = time_s
        self._last = z, r
        variance = self.random_share * self._variance + (1 - self.random_share) * r
        stderr = np.sqrt(variance)
        settings = {**blur_map.settings, "smooth_s": self._memory_s, "random_share": self.random_share}
        return BlurMap(self._s, stderr, blur_map.flags, side_of(self._s, stderr), settings)

    def _look_at_changes(self, z: AnyArray, r: AnyArray) -> None:
        """Learn from two successive maps which share of their errors is another one in each."""
        assert self._last is not None
        change = np.square(z - self._last[0]) / (r + self._last[1])
        known = change[np.isfinite(change)]
        if known.size:
            share = min(float(np.median(known)) / _MEDIAN_SQUARE, 1.0)
            self._looks += 1
            self.random_share += (share - self.random_share) / min(self._looks, _SHARE_MEMORY)

    def _step(self, z: AnyArray, r: AnyArray, gap_s: float) -> None:
        assert self._s is not None
        assert self._variance is not None
        gain = -math.expm1(-gap_s / self._memory_s)
        # The drift with which the filter settles at this gain.
        predicted = self._variance + r * np.float32(gain**2 / (1 - gain) if gain < 1 else 1e6)
        innovation = z - self._s
        total = predicted + r
        share = max(self.random_share, _LEAST_SHARE)
        with np.errstate(invalid="ignore"):
            stays = np.square(innovation) <= GATE**2 * share * total
            k = predicted / total
            self._s = np.where(stays, self._s + k * innovation, z)
            self._variance = np.where(stays, (1 - k) * predicted, r)
