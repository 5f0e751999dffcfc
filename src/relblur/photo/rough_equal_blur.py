"""Two images brought to the same blur, roughly and at low resolution.

Alignment and exposure compare images pixel by pixel, and a difference in blur must not be
read as motion or as gain. So the sharper image is first blurred, at each pixel, by what a
small window says the other is blurrier: what remains is motion and exposure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.settings import MAX_SIGMA, WINDOW_WINDOW
from ..blur.blur_map import signed_sigma
from ..blur.window.method import estimate_in_windows, signed_nodes
from ..filters.variable_blur import blur_by_levels
from ..kernels import choose_engine

__all__ = ["EqualBlur", "equalise", "reduction_for"]

#: The blur is looked for at a resolution of at most this many pixels.
MOST_PIXELS = 60_000

#: Both are blurred by this first, px: the search then depends less on noise and interpolation.
PREFILTER = 1.0

#: The map of s is smoothed by this, px: it has to be right on average, not at edges.
SMOOTHING = 6.0

#: Pixels that see what is not usable are not compared: as many times the blur.
REACH = 3.0


@dataclass(frozen=True)
class EqualBlur:
    """Two (H, W, C) images of about equal blur, and where they can be compared."""

    first: FloatArray
    second: FloatArray
    usable: BoolArray


def reduction_for(shape: tuple[int, ...], most_pixels: int) -> int:
    """Return by how much, a whole number, to reduce an image so that it has about this many pixels."""
    return max(1, round(math.sqrt(shape[0] * shape[1] / most_pixels)))


def equalise(first: AnyArray, second: AnyArray, usable: BoolArray) -> EqualBlur:
    """Blur each of two (H, W, C) images of about equal exposure where the other is the blurrier."""
    import cv2

    # Single precision: the map of s is smoothed, and has to be right to a few percent.
    grey = [np.asarray(image.mean(axis=2), np.float32) for image in (first, second)]
    smooth = [cv2.GaussianBlur(image, (0, 0), PREFILTER) for image in grey]
    limit = min(MAX_SIGMA, min(grey[0].shape) / 8)
    noise = 1e-3 * float(np.ptp(smooth[0]) or 1.0)
    fit = estimate_in_windows(
        (smooth[0][:, :, None], smooth[1][:, :, None]),
        signed_nodes(limit, spacing=0.8),
        WINDOW_WINDOW,
        noise,
        choose_engine("auto"),
        usable,
    )
    # The same for every s: weights that fall with it would favour what noise makes of flat areas, no blur.
    weight = usable / (fit.stderr**2 + 0.01)
    weight[~np.isfinite(weight)] = 0
    mass = cv2.GaussianBlur(weight, (0, 0), SMOOTHING)
    s = cv2.GaussianBlur(weight * fit.s, (0, 0), SMOOTHING) / np.maximum(mass, 1e-12)
    sigma = signed_sigma(s)
    made = []
    for image, field in ((first, np.maximum(sigma, 0)), (second, np.maximum(-sigma, 0))):
        planes = np.moveaxis(np.asarray(image, np.float32), -1, 0)
        made.append(np.moveaxis(blur_by_levels(planes, field, "band_limited"), 0, -1).astype(np.float64))
    return EqualBlur(made[0], made[1], _without_reach(usable, np.abs(sigma)))


def _without_reach(usable: BoolArray, sigma: FloatArray) -> BoolArray:
    import cv2

    # Beyond the border images are mirrored, which is not what the lens blurred into the picture there.
    framed = np.pad(usable.astype(np.uint8), 1)
    distance = cv2.distanceTransform(framed, cv2.DIST_L2, 5)[1:-1, 1:-1]
    return usable & (distance > np.minimum(2 + REACH * sigma, min(usable.shape) / 8))
