"""The rough relative blur of a pair, measured on a small copy for all steps of the preparation.

Alignment and exposure compare images pixel by pixel, so a difference in blur must not count as motion or as gain. The
sharper image is blurred first, at each pixel, by the relative blur of small windows. The same measurement gives the
largest blur, from which the resolution is chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.settings import FLAT_ABOVE, MAX_SIGMA, WINDOW_WINDOW
from ..blur.blur_map import signed_sigma
from ..blur.window.method import LINEAR_BELOW, WindowFit, estimate_in_windows, signed_nodes
from ..filters.decimation import grey_block_means, whole_blocks
from ..filters.sharpness import local_variance
from ..filters.variable_blur import blur_by_levels

__all__ = ["LEAST_SIDE", "MOST_MEASUREMENTS", "MOST_PIXELS", "EqualBlur", "RoughBlur", "equalise", "reduction_for"]

#: Maximum size (pixels) of the copy on which blur is measured.
MOST_PIXELS = 60_000
#: Gaussian blur of both images before the map is measured (px): reduces the effect of noise and interpolation.
PREFILTER = 1.0
#: Width of the Gaussian mean over the map of s (px): the map must be right on average, not at edges.
SMOOTHING = 6.0
#: Distance from unusable pixels within which images are not compared, in units of the blur.
REACH = 3.0
#: Maximum number of measurements, which alignment and exposure share.
MOST_MEASUREMENTS = 2
#: Percentile of |sigma| that counts as the largest blur: single pixels may be wrong.
LARGEST_PERCENT = 95
#: Largest blur (px) that is measured reliably: the search ends at 5 px, and windows are 9 px wide.
RELIABLE_PX = 3.5
#: Blur above this fraction of the end of the search counts as unmeasured.
AT_SEARCH_END = 0.99
#: Minimum fraction of measured pixels in a copy.
LEAST_MEASURED = 0.01
#: Minimum side of a copy (px).
LEAST_SIDE = 64
#: Spacing of the nodes in asinh(s / c): wider than NODE_SPACING of the method, because an accuracy of 10 % suffices.
NODE_SPACING = 0.8


@dataclass(frozen=True)
class EqualBlur:
    """Two (H, W, C) images of about equal blur, and the mask of comparable pixels."""

    first: FloatArray
    second: FloatArray
    usable: BoolArray


class RoughBlur:
    """Relative blur of one pair, measured on demand and shared by the steps of the preparation.

    Lengths are in units of the height of the frame, so copies of different sizes share one measurement.

    Attributes
    ----------
    measurements : int
        Number of measurements.
    largest : float or None
        The 95th percentile of the blur in frame heights (None: no texture, inf: beyond the end of the search). It is
        the least value of all copies, because coarse copies overestimate the blur.
    """

    def __init__(self) -> None:
        self.measurements = 0
        self.largest: float | None = None
        self._s: AnyArray = np.zeros((1, 1))

    def needs_measurement(self, again: bool = False) -> bool:
        """Return whether a measurement is due: if there is none, and once more if ``again``."""
        return not self.measurements or (again and self.measurements < MOST_MEASUREMENTS)

    def measure(self, first: AnyArray, second: AnyArray, usable: BoolArray) -> None:
        """Measure the blur of two aligned (H, W, C) images of about equal exposure, on a copy.

        The reduction factor is doubled until the largest blur is reliable or the copy is small.
        """
        self.measurements += 1
        factor, largest = reduction_for(first.shape, MOST_PIXELS), math.inf
        while True:
            grey = [np.asarray(grey_block_means(image, factor), np.float32) for image in (first, second)]
            good = np.asarray(whole_blocks(usable, factor).all(axis=(1, 3)))
            sigma = self._measure_copy(grey, good)
            if sigma is None:
                self.largest = None
                return
            if sigma < AT_SEARCH_END * MAX_SIGMA:
                largest = min(largest, sigma / good.shape[0])
            if sigma < RELIABLE_PX or min(good.shape) < 2 * LEAST_SIDE:
                self.largest = largest if self.largest is None else min(largest, self.largest)
                return
            factor *= 2

    def _measure_copy(self, grey: list[AnyArray], good: BoolArray) -> float | None:
        """Set the map of s from one copy; return its largest blur in px, None without texture."""
        import cv2

        if min(good.shape) < WINDOW_WINDOW or not good.any():
            return None
        limit = min(MAX_SIGMA, min(good.shape) / 8)
        smooth = _fit([cv2.GaussianBlur(image, (0, 0), PREFILTER) for image in grey], good, limit)
        self._s = _smoothed(smooth.s, smooth.stderr, good) / good.shape[0] ** 2
        # Smoothed noise resembles texture, so the largest blur is measured on the images without the prefilter.
        fit = _fit(grey, good, limit)
        variance = np.where(fit.s >= 0, *(local_variance(image[:, :, None], WINDOW_WINDOW) for image in grey[::-1]))
        measured = good & (fit.stderr <= FLAT_ABOVE * np.hypot(fit.s, LINEAR_BELOW)) & (fit.power <= 0.5 * variance)
        if measured.sum() < LEAST_MEASURED * measured.size:
            return None
        return math.sqrt(float(np.percentile(np.abs(fit.s[measured]), LARGEST_PERCENT)))

    def sigma(self, shape: tuple[int, int]) -> FloatArray:
        """Return the signed blur in px of a copy of this shape."""
        import cv2

        s = self._s if self._s.shape == shape else cv2.resize(self._s, shape[::-1], interpolation=cv2.INTER_LINEAR)
        return signed_sigma(s * shape[0] ** 2)


def reduction_for(shape: tuple[int, ...], most_pixels: int) -> int:
    """Return the integer factor that reduces an image to about ``most_pixels``."""
    return max(1, round(math.sqrt(shape[0] * shape[1] / most_pixels)))


def equalise(
    first: AnyArray, second: AnyArray, usable: BoolArray, blur: RoughBlur | None = None, *, again: bool = False
) -> EqualBlur:
    """Blur the sharper of two (H, W, C) images at each pixel, by their relative blur.

    The images have about equal exposure. ``blur`` is measured if it contains no measurement, and once more if
    ``again``.
    """
    blur = RoughBlur() if blur is None else blur
    if blur.needs_measurement(again):
        blur.measure(first, second, usable)
    sigma = blur.sigma((first.shape[0], first.shape[1]))
    blurred = []
    for image, field in ((first, np.maximum(sigma, 0)), (second, np.maximum(-sigma, 0))):
        planes = np.moveaxis(np.asarray(image, np.float32), -1, 0)
        blurred.append(np.moveaxis(blur_by_levels(planes, field, "band_limited"), 0, -1).astype(np.float64))
    return EqualBlur(blurred[0], blurred[1], _without_reach(usable, np.abs(sigma)))


def _fit(grey: list[AnyArray], good: BoolArray, limit: float) -> WindowFit:
    """Return the relative blur of two (H, W) images in windows."""
    noise = 1e-3 * float(np.ptp(grey[0]) or 1.0)
    nodes = signed_nodes(limit, spacing=NODE_SPACING)
    one, two = (image[:, :, None] for image in grey)
    return estimate_in_windows((one, two), nodes, WINDOW_WINDOW, noise, good)


def _smoothed(s: FloatArray, stderr: FloatArray, usable: BoolArray) -> FloatArray:
    """Return the local mean of s, weighted by its inverse variance."""
    import cv2

    # The weight does not depend on s: a weight that falls with s would favour the noise of flat areas.
    weight = usable / (stderr**2 + 0.01)
    weight[~np.isfinite(weight)] = 0
    mass = cv2.GaussianBlur(weight, (0, 0), SMOOTHING)
    return np.asarray(cv2.GaussianBlur(weight * s, (0, 0), SMOOTHING) / np.maximum(mass, 1e-12))


def _without_reach(usable: BoolArray, sigma: FloatArray) -> BoolArray:
    """Return the usable pixels whose blur kernel covers no unusable pixel."""
    import cv2

    # The border counts as unusable: the filter mirrors the image there, which differs from the real scene.
    framed = np.pad(usable.astype(np.uint8), 1)
    distance = cv2.distanceTransform(framed, cv2.DIST_L2, 5)[1:-1, 1:-1]
    return usable & (distance > np.minimum(2 + REACH * sigma, min(usable.shape) / 8))
