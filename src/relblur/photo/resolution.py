"""At which resolution to work: ``--decimate auto``.

A pair is decimated as far as helps, by the largest blur of a small copy whose images are registered first:

* The largest blur (the 95th percentile) must come to lie below the largest that is looked for,
  5 px in the paper: wider blur needs fewer pixels, whatever the size of the picture.
* A picture of more than half a megapixel is reduced towards that size, but no further than to a
  largest blur of 1 px. Then most of the map lies within the 0.5 to 5 px that the paper asks for;
  below, the relative error grows quickly (docs/big_images.md has the figures).
* A pair whose largest blur lies beyond the end of the search is not reduced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.errors import AlignmentError
from ..base.pixels import clipped_pixels
from ..base.settings import MAX_SIGMA, WINDOW_WINDOW
from ..blur.estimate import estimate_blur
from ..filters.blocks import grey_block_means, whole_blocks
from .alignment import find_motion
from .exposure import find_exposure

__all__ = ["Resolution", "choose_resolution", "largest_blur", "resolution_for", "search_largest_blur"]

#: Size towards which large pictures are reduced, pixels.
ENOUGH_PIXELS = 500_000
#: The largest blur is not reduced below this, px.
LEAST_BLUR_PX = 1.0
#: Size of the copy that is looked at, pixels.
LOOK_PIXELS = 250_000
#: Which blur counts as the largest: single pixels may be wrong.
LARGEST_PERCENT = 95
#: A copy with a largest blur below this, px, shows it as a whole: it reaches to 5 px.
SEEN_WHOLE_PX = 3.5
#: The search ends without a result if the largest blur lies at this share of its end, 5 px, in the smallest copy.
SEARCH_ENDS = 0.99
#: Blur is unknown if fewer than this share of the pixels of a copy have an answer.
LEAST_ANSWERED = 0.01
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


def choose_resolution(
    first: AnyArray, second: AnyArray, limit_px: float, valid: BoolArray | None = None, align: str = "off"
) -> Resolution:
    """Choose the factor by which to decimate a pair of (H, W) or (H, W, 3) images.

    ``limit_px`` is the largest blur that will be looked for, ``align`` how the small copies are registered.
    """
    return resolution_for(first.shape[:2], largest_blur(first, second, valid, align), limit_px)


def resolution_for(shape: tuple[int, ...], blur: float | None, limit_px: float) -> Resolution:
    """Choose the factor for a pair of this shape by its largest blur, px; None: without texture, inf: not found."""
    height, width = shape
    if blur is not None and math.isinf(blur):
        return Resolution(1, None, "the search for it ended; state a factor of decimation")
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


def search_largest_blur(look: Callable[[int], FloatArray], step: int, most: int) -> float | None:
    """Return the 95th percentile of the blur, px of the full resolution; None if hardly any pixel has an answer.

    ``look`` returns signed blur, px of a copy reduced by a step. Copies are reduced by ``step``, then by twice as much
    each time, until one shows the blur as a whole. The least that any of them shows is returned, for a coarse copy
    shows too much; if all of them up to ``most`` end at the end of their search, inf.
    """
    least = math.inf
    while True:
        found = look(step)
        sigma = np.abs(found[np.isfinite(found)])
        if sigma.size < LEAST_ANSWERED * found.size:
            return None
        largest = float(np.percentile(sigma, LARGEST_PERCENT))
        if largest < SEARCH_ENDS * MAX_SIGMA:
            least = min(least, largest * step)
        if largest < SEEN_WHOLE_PX or 2 * step > most:
            return least
        step *= 2


def largest_blur(first: AnyArray, second: AnyArray, valid: BoolArray | None, align: str = "off") -> float | None:
    """Return the 95th percentile of a pair's blur, px, from small copies; None: without texture, inf: not found."""
    height, width = first.shape[:2]
    start = 1
    while height * width / start**2 > LOOK_PIXELS and min(height, width) // (2 * start) >= LEAST_SIDE:
        start *= 2
    usable = _unclipped(first) & _unclipped(second)
    if valid is not None:
        usable &= valid
    one, two = (grey_block_means(image, start)[:, :, None] for image in (first, second))
    usable = np.asarray(whole_blocks(usable, start).all(axis=(1, 3)))
    if min(usable.shape) < WINDOW_WINDOW or not usable.any():
        return None
    if align != "off":
        # A motion of a few pixels leaves most windows without an answer and gives the rest a wrong one.
        with suppress(AlignmentError):
            motion = find_motion(one, two, usable, model=align)
            two, usable = motion.resample(two), usable & motion.inside(usable.shape) & ~motion.resample_map(~usable)
    exposure = find_exposure(one, two, usable, rough=True)
    if abs(float(exposure.gain[0]) - 1) > GROSS_GAIN:
        two = exposure.apply(two)

    def look(step: int) -> FloatArray:
        images = (grey_block_means(image, step // start) for image in (one, two))
        seen = np.asarray(whole_blocks(usable, step // start).all(axis=(1, 3)))
        return estimate_blur(*images, method="window", valid=seen, engine="opencv").sigma

    found = search_largest_blur(look, start, min(height, width) // LEAST_SIDE)
    if found is None and start > 1:
        # Blur that a coarse copy does not show is searched in the middle of the frame, at twice its resolution.
        middle = slice(height // 4, height - height // 4), slice(width // 4, width - width // 4)
        return largest_blur(first[middle], second[middle], None if valid is None else valid[middle], align)
    return found


def _unclipped(image: AnyArray) -> BoolArray:
    clipped = clipped_pixels(image)
    if clipped is not None:
        return ~clipped
    if np.isfinite(image.min()) and np.isfinite(image.max()):  # as good as always, and ten times as fast
        return np.ones(image.shape[:2], dtype=bool)
    good = np.isfinite(image)
    return np.asarray(good.all(axis=2) if good.ndim == 3 else good)
