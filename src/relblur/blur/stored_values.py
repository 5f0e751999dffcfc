"""Arrays of stored values: a warning that 8 bits are mostly sRGB, and the conversion to light."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.pixels import clipped_pixels, full_scale
from ..base.tone import SRGB
from .noise import NoiseModel

__all__ = ["light_of_srgb", "tell_of_tone"]


def tell_of_tone(raw: RawPair) -> None:
    """Warn that uint8 values are probably not light. Python shows the warning once per calling line."""
    if np.uint8 in (raw.first.dtype, raw.second.dtype):
        warnings.warn(
            "uint8 arrays mostly hold sRGB values, and it is light that blur adds: pass linear=True to undo the curve, "
            "or linear=False if this is light already",
            stacklevel=3,
        )


def light_of_srgb(raw: RawPair, noise: Any, rounding_matters: bool) -> tuple[RawPair, Any]:
    """Convert a pair of stored sRGB values to light; return it with the noise to assume.

    The rounding of the values cannot be recognised in the light. With ``rounding_matters`` the rounding error is
    returned as noise, for methods that use it as the lower bound.
    """
    clipped = raw.clipped
    lights, roundings = [], []
    for image, name in ((raw.first, "first"), (raw.second, "second")):
        if full_scale(image.dtype) is None and not (image.min() >= 0 and image.max() <= 1):
            raise InputError(
                f"{name} has values of {image.min():.4g} to {image.max():.4g}; the sRGB curve is undone within 0..1: "
                "scale both images, or leave linear out"
            )
        at_top = clipped_pixels(image)
        if at_top is not None:
            clipped = at_top if clipped is None else clipped | at_top
            read, shot = SRGB.rounding_variance(int(np.iinfo(image.dtype).max))
            roundings.append(NoiseModel(math.sqrt(read), shot))
        lights.append(SRGB.undo(image, np.float64))
    if noise is None and rounding_matters and roundings:
        noise = max(roundings, key=lambda model: model.read)
    return replace(raw, first=lights[0], second=lights[1], clipped=clipped), noise
