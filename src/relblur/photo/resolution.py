"""At which resolution to work: ``--decimate auto``.

A pair is decimated as far as helps, from the blur found in a quick look at a small copy:

* The largest blur (the 95th percentile) must come to lie below the largest that is looked for,
  5 px in the paper: wider blur needs fewer pixels, whatever the size of the picture.
* A picture of more than half a megapixel is reduced towards that size, but no further than to a
  largest blur of 1 px. Then most of the map lies within the 0.5 to 5 px that the paper asks for;
  below, the relative error grows quickly (docs/big_images.md has the figures).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray
from ..base.pixels import clipped_pixels
from ..base.settings import WINDOW_WINDOW
from ..blur.estimate import estimate_blur
from ..filters.blocks import grey_block_means, whole_blocks
from .exposure import find_exposure

__all__ = ["LARGEST_PERCENT", "Resolution", "choose_resolution", "resolution_for"]

#: Size towards which large pictures are reduced, pixels.
ENOUGH_PIXELS = 500_000
#: The largest blur is not reduced below this, px.
LEAST_BLUR_PX = 1.0
#: Size of the copy that is looked at, pixels.
LOOK_PIXELS = 250_000
#: Which blur counts as the largest: single pixels may be wrong.
LARGEST_PERCENT = 95
#: A difference in gain beyond this is removed for the look: it would be taken for blur, or for no answer. Found
#: without regard to the blur it is itself wrong by a few percent.
GROSS_GAIN = 0.05
#: A picture is not reduced below this many pixels a side.
LEAST_SIDE = 64


@dataclass(frozen=True)
class Resolution:
    """A factor of decimation and the reason for it."""

    factor: int
    largest_blur_px: float | None  #: at full resolution; None if none could be measured
    reason: str

    def describe(self) -> str:
        """Return the choice in one line."""
        blur = "unknown" if self.largest_blur_px is None else f"about {self.largest_blur_px:.1f} px"
        kept = "kept at full resolution" if self.factor == 1 else f"decimated by {self.factor}"
        return f"{kept}: largest blur {blur}, {self.reason}"


def choose_resolution(first: AnyArray, second: AnyArray, limit_px: float, valid: BoolArray | None = None) -> Resolution:
    """Choose the factor by which to decimate a pair of (H, W) or (H, W, 3) images.

    ``limit_px`` is the largest blur that will be looked for.
    """
    return resolution_for(first.shape[:2], _largest_blur(first, second, valid), limit_px)


def resolution_for(shape: tuple[int, ...], blur: float | None, limit_px: float) -> Resolution:
    """Choose the factor for a pair of so many rows and columns whose largest blur is known, px; None if it is not."""
    height, width = shape
    most = max(1, min(height, width) // LEAST_SIDE)
    by_size = min(most, math.ceil(math.sqrt(height * width / ENOUGH_PIXELS)))
    if blur is None:
        return Resolution(by_size, None, "no texture to tell it by" if by_size == 1 else "reduced for its size")
    needed = min(most, math.ceil(blur / limit_px))
    allowed = max(1, math.floor(blur / LEAST_BLUR_PX))
    factor = max(needed, min(by_size, allowed))
    if factor == 1:
        reason = "which fewer pixels would make too small" if by_size > 1 else "and the picture is small"
    elif factor == needed > min(by_size, allowed):
        reason = f"to be brought below {limit_px:g} px"
    else:
        reason = f"still {blur / factor:.1f} px on fewer pixels"
    return Resolution(factor, blur, reason)


def _largest_blur(first: AnyArray, second: AnyArray, valid: BoolArray | None) -> float | None:
    """Return the 95th percentile of the blur in px of the full resolution, from a small copy."""
    height, width = first.shape[:2]
    step = 1
    while height * width / step**2 > LOOK_PIXELS and min(height, width) // (2 * step) >= LEAST_SIDE:
        step *= 2
    usable = _unclipped(first) & _unclipped(second)
    if valid is not None:
        usable &= valid
    one, two = (grey_block_means(image, step) for image in (first, second))
    shape = one.shape
    small_usable = whole_blocks(usable, step).all(axis=(1, 3))
    if min(shape) < WINDOW_WINDOW or not small_usable.any():
        return None
    exposure = find_exposure(one[:, :, None], two[:, :, None], np.asarray(small_usable), rough=True)
    if abs(float(exposure.gain[0]) - 1) > GROSS_GAIN:
        two = exposure.apply(two[:, :, None])[:, :, 0]
    found = estimate_blur(one, two, method="window", valid=small_usable, engine="opencv")
    sigma = np.abs(found.sigma[np.isfinite(found.sigma)])
    return float(np.percentile(sigma, LARGEST_PERCENT)) * step if sigma.size >= 0.01 * one.size else None


def _unclipped(image: AnyArray) -> BoolArray:
    clipped = clipped_pixels(image)
    if clipped is not None:
        return ~clipped
    if np.isfinite(image.min()) and np.isfinite(image.max()):  # as good as always, and ten times as fast
        return np.ones(image.shape[:2], dtype=bool)
    good = np.isfinite(image)
    return np.asarray(good.all(axis=2) if good.ndim == 3 else good)
