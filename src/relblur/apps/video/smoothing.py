"""Filter blur maps over time, pixel by pixel, with a standard error of the result.

The filter is a Kalman filter for a variance difference s that drifts. With R the squared standard error of a frame's
value z, P the variance of s and Q that of the drift,

    P <- P + Q,   K = P / (P + R),   s <- s + K (z - s),   P <- (1 - K) P.

Q is proportional to R, so that the time constant of the filter, set by the user, is the same at all pixels. If a value
differs from the prediction by more than :data:`GATE` standard deviations, the filter restarts at that pixel.

Some errors are the same in successive frames, such as those of the model in a window or of texture that a codec has
removed. They persist while the scene does not move, and averaging does not reduce them. The share of R that varies
between frames is measured from the differences of successive maps, and only this share is reduced.
"""

from __future__ import annotations

import math

import numpy as np

from ...base._typing import AnyArray
from ...base.arguments import as_positive
from ...blur.blur_map import BlurMap
from ...blur.request import side_of

__all__ = ["TemporalFilter"]

#: Deviation from the prediction at which the filter restarts at a pixel, standard deviations.
GATE = 3.0

#: Median of the square of a standard normal variable.
_MEDIAN_SQUARE = 0.4549

#: Memory of the mean of the varying share of R (frames). Lower limit of this share in the test with GATE.
_SHARE_MEMORY, _LEAST_SHARE = 10, 0.1


class TemporalFilter:
    """Smooth maps over about ``memory_s`` seconds where the scene does not move."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = as_positive(memory_s, "smooth", "s")
        self._state: tuple[AnyArray, AnyArray] | None = None  #: s and its variance P
        self._last: tuple[AnyArray, AnyArray, float] | None = None  #: z, R and time of the last frame
        self._updates = 0
        self.random_share = 1.0

    def update(self, blur_map: BlurMap, time_s: float) -> BlurMap:
        """Update the filter with the map of the next frame; return the filtered map with that frame's flags."""
        z, r = np.array(blur_map.variance_difference), np.square(blur_map.variance_stderr)
        if self._state is None or self._last is None:
            self._state = z, r
        else:
            last_z, last_r, last_time_s = self._last
            self._update_random_share(np.square(z - last_z) / (r + last_r))
            self._state = self._step(*self._state, z, r, max(time_s - last_time_s, 1e-6))
        self._last = z, r, time_s
        s, variance = self._state
        stderr = np.sqrt(self.random_share * variance + (1 - self.random_share) * r)
        settings = {**blur_map.settings, "smooth_s": self._memory_s, "random_share": self.random_share}
        return BlurMap(s, stderr, blur_map.flags, side_of(s, stderr), settings)

    def _update_random_share(self, change: AnyArray) -> None:
        """Update the share of the error variance that varies between frames, from the relative change of two maps."""
        known = change[np.isfinite(change)]
        if known.size:
            share = min(float(np.median(known)) / _MEDIAN_SQUARE, 1.0)
            self._updates += 1
            self.random_share += (share - self.random_share) / min(self._updates, _SHARE_MEMORY)

    def _step(self, s: AnyArray, p: AnyArray, z: AnyArray, r: AnyArray, gap_s: float) -> tuple[AnyArray, AnyArray]:
        gain = -math.expm1(-gap_s / self._memory_s)
        # Q for which the gain of the filter converges to this value.
        predicted = p + r * np.float32(gain**2 / (1 - gain) if gain < 1 else 1e6)
        total = predicted + r
        share = max(self.random_share, _LEAST_SHARE)
        with np.errstate(invalid="ignore"):
            stays = np.square(z - s) <= GATE**2 * share * total
            k = predicted / total
            return np.where(stays, s + k * (z - s), z), np.where(stays, (1 - k) * predicted, r)
