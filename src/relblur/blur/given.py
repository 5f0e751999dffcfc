"""The pair as users give it to ``estimate_blur`` and ``estimate_depth``: arrays, or one ComparablePair."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.arguments import colour_axis
from ..base.errors import InputError
from ..base.inputs import RawPair, check_pair
from ..base.pixels import clipped_pixels, full_scale
from ..base.tone import SRGB
from .comparable_pair import ComparablePair
from .noise import NoiseModel

__all__ = ["Given"]


@dataclass(frozen=True)
class Given:
    """Two images and their maps, which have not been checked.

    ``linear`` is True for stored sRGB values, False for light, None if unknown.
    """

    first: Any
    second: Any
    valid: Any = None
    clipped: Any = None
    channel_axis: int | None = None
    noise: Any = None
    linear: bool | None = None
    pair: ComparablePair | None = None

    @classmethod
    def of(cls, given: Given) -> Given:
        """Take images, maps and noise from a ComparablePair in place of the first image; find the colour axis."""
        pair = given.first
        if not isinstance(pair, ComparablePair):
            if given.second is None:
                raise InputError("second is missing; pass two images, or the pair that relblur.prepare_pair returns")
            return replace(given, channel_axis=colour_axis(given.first, given.channel_axis))
        if given.second is not None:
            raise InputError("a comparable pair holds both images; leave second out")
        twice = [name for name in ("valid", "clipped", "channel_axis", "linear") if getattr(given, name) is not None]
        if twice:
            raise InputError(f"{', '.join(twice)} came with the pair that is given; leave it out")
        first, second = pair.measured
        axis, noise = -1 if first.ndim == 3 else None, pair.noise if given.noise is None else given.noise
        return cls(first, second, pair.valid, pair.clipped_in_either, axis, noise, False, pair)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a map that come from the preparation."""
        return {} if self.pair is None else self.pair.settings

    def checked(self) -> RawPair:
        """Check the images; warn of uint8 values of unknown tone, once per calling line."""
        raw = check_pair(
            self.first, self.second, valid=self.valid, clipped=self.clipped, channel_axis=self.channel_axis
        )
        if self.linear is None and np.uint8 in (raw.first.dtype, raw.second.dtype):
            warnings.warn(
                "uint8 arrays mostly hold sRGB values, and it is light that blur adds: pass linear=True to undo the "
                "curve, or linear=False if this is light already",
                stacklevel=3,
            )
        return raw

    def as_light(self, raw: RawPair, rounding_matters: bool) -> tuple[RawPair, Any]:
        """Convert checked sRGB values to light, if ``linear``; return them with the noise to assume.

        The rounding of the values cannot be recognised in the light. With ``rounding_matters`` the rounding error is
        returned as noise, for methods that use it as the lower bound.
        """
        if not self.linear:
            return raw, self.noise
        clipped, noise = raw.clipped, self.noise
        lights, roundings = [], []
        for image, name in ((raw.first, "first"), (raw.second, "second")):
            if full_scale(image.dtype) is None and not (image.min() >= 0 and image.max() <= 1):
                raise InputError(
                    f"{name} has values of {image.min():.4g} to {image.max():.4g}; the sRGB curve is undone within "
                    "0..1: scale both images, or leave linear out"
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
