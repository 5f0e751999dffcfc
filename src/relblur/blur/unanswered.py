"""Why a map has no answer anywhere, in one line: nobody should have to open a file to find it empty."""

from __future__ import annotations

import numpy as np

from ..base._typing import FloatArray, UInt8Array
from ..base.errors import InputError
from .blur_map import Flag, has_flag

__all__ = ["refuse_if_unanswered"]

_REASONS = {
    Flag.INVALID: "its pixels are not finite, hot or declared unusable; look at the two images",
    Flag.CLIPPED: "both images are clipped there; expose less",
    Flag.FLAT: "the images show too little texture, or nothing in common; check that they are a pair, and its noise",
    Flag.EQUAL: "neither image is the sharper one; check that they are not the same",
    Flag.OUT_OF_RANGE: "the camera cannot have made such blur at any distance; check the camera file, and the order",
}


def refuse_if_unanswered(values: FloatArray, flags: UInt8Array) -> None:
    """Raise an error that says why, if a map of values and their flags has no answer at any pixel."""
    if np.isfinite(values).any():
        return
    counts = {flag: int(has_flag(flags, flag).sum()) for flag in _REASONS}
    largest = max(counts, key=lambda flag: counts[flag])
    share = counts[largest] / flags.size
    raise InputError(f"no pixel of the pair could be answered ({share:.0%} of them: {_REASONS[largest]})")
