"""The choice of the resolution: ``--decimate auto``.

The decimation follows from the largest blur (the 95th percentile), measured on small registered copies:

* The largest blur must be below the end of the search (5 px in the paper). Wide blur needs fewer pixels, whatever the
  size of the picture.
* A picture of more than half a megapixel is reduced towards that size, until its largest blur is 1 px. Most of the map
  is then within the 0.5 to 5 px that the paper requires. Below 0.5 px the relative error grows quickly
  (docs/big_images.md has the figures).
* A pair is not reduced if its largest blur exceeds the end of the search on the smallest copy.
"""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from ..base._typing import AnyArray, BoolArray
from ..base.errors import AlignmentError
from ..blur.comparable_pair import ComparablePair
from ..filters.decimation import grey_block_means, whole_blocks
from .alignment import find_motion
from .exposure import find_exposure
from .rough_blur import LEAST_SIDE, MOST_PIXELS, RoughBlur, reduction_for

__all__ = ["LEAST_SIDE", "choose_resolution", "largest_blur", "resolution_for"]

#: Size (pixels) towards which large pictures are reduced.
ENOUGH_PIXELS = 500_000
#: Minimum of the largest blur (px) after a decimation for size.
LEAST_BLUR_PX = 1.0
#: Size (pixels) of the copies that are registered before the blur of a large pair is measured.
COPY_PIXELS = 200_000
#: Relative differences in gain above this are removed from these copies, because they change the measured blur. Smaller
#: ones are within the error of the estimated gain.
GROSS_GAIN = 0.05


def choose_resolution(
    pair: ComparablePair, limit_px: float, blur: RoughBlur, align: str | None = None
) -> tuple[int, str]:
    """Return the factor by which to decimate a pair, and the reason.

    Parameters
    ----------
    limit_px : float
        End of the search: largest blur that the estimate can return, px.
    blur : RoughBlur
        Rough blur of the pair, with the measurements of earlier steps.
    align : str, optional
        Registration model for small copies of the pair, before their blur is measured. None if the pair itself is
        registered.
    """
    first, second, usable, moved = pair.first, pair.second, pair.usable, pair.motion is not None
    if align is not None:
        first, second, usable, moved = _registered(first, second, usable, align, blur)
    if moved and blur.needs_measurement(again=True):  # the first measurement used unregistered images
        blur.measure(first, second, usable)
    largest = largest_blur(first, second, usable, blur)
    enlarged = None if largest is None else largest * pair.shape[0] / first.shape[0]
    return resolution_for(pair.shape, enlarged, limit_px)


def resolution_for(shape: tuple[int, ...], blur: float | None, limit_px: float) -> tuple[int, str]:
    """Return the decimation for a shape and a largest blur, px (None: no texture, inf: beyond the search), and why."""
    height, width = shape
    most = max(1, min(height, width) // LEAST_SIDE)
    by_size = min(most, math.ceil(math.sqrt(height * width / ENOUGH_PIXELS)))
    if blur is None:
        factor, value = by_size, "unknown, no texture to measure it"
    elif math.isinf(blur):
        factor, value = 1, "unknown, beyond the end of the search; give the decimation factor"
    else:
        allowed = max(1, math.floor(blur / LEAST_BLUR_PX))
        factor = max(min(most, math.ceil(blur / limit_px)), min(by_size, allowed))
        value = f"about {blur:.1f} px"
    kept = "kept at full resolution" if factor == 1 else f"decimated by {factor}"
    return factor, f"{kept}: largest blur {value}"


def largest_blur(first: AnyArray, second: AnyArray, usable: BoolArray, blur: RoughBlur | None = None) -> float | None:
    """Return the 95th percentile of a registered pair's blur in px (None: no texture, inf: beyond the search)."""
    height, width = first.shape[:2]
    blur = RoughBlur() if blur is None else blur
    if blur.needs_measurement():
        blur.measure(first, second, usable)
    if blur.largest is None and min(height, width) >= 4 * LEAST_SIDE and reduction_for(first.shape, MOST_PIXELS) > 1:
        # A coarse copy may lack texture. Measure the middle of the frame then, at twice the resolution.
        middle = slice(height // 4, height - height // 4), slice(width // 4, width - width // 4)
        return largest_blur(first[middle], second[middle], usable[middle])
    return None if blur.largest is None else blur.largest * height


def _registered(
    first: AnyArray, second: AnyArray, usable: BoolArray, align: str, blur: RoughBlur
) -> tuple[AnyArray, AnyArray, BoolArray, bool]:
    """Return small registered grey copies at about equal exposure, their mask, and whether a motion was removed."""
    factor = reduction_for(first.shape, COPY_PIXELS)
    one, two = (grey_block_means(image, factor)[:, :, None] for image in (first, second))
    usable, moved = np.asarray(whole_blocks(usable, factor).all(axis=(1, 3))), False
    # A motion of a few pixels leaves most windows without a value and makes the other values wrong.
    if align != "off":
        with suppress(AlignmentError):
            motion = find_motion(one, two, usable, model=align, blur=blur)
            two, moved = motion.resample(two), motion.moves
            usable = usable & motion.inside(usable.shape) & ~motion.resample_map(~usable)
    exposure = find_exposure(one, two, usable, broad=True)
    return one, exposure.apply(two) if abs(float(exposure.gain[0]) - 1) > GROSS_GAIN else two, usable, moved
