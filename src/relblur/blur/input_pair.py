"""The input of ``estimate_blur`` and ``estimate_depth``: two arrays, or one ComparablePair."""

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

__all__ = ["InputPair"]


@dataclass(frozen=True)
class InputPair:
    """Two images and their maps, not checked.

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
    def of(cls, arguments: InputPair) -> InputPair:
        """Return the input with the colour axis; take it from a ComparablePair in place of the first image."""
        pair = arguments.first
        if not isinstance(pair, ComparablePair):
            if arguments.second is None:
                raise InputError("second is missing; pass two images, or the pair that relblur.prepare_pair returns")
            return replace(arguments, channel_axis=colour_axis(arguments.first, arguments.channel_axis))
        if arguments.second is not None:
            raise InputError("a comparable pair contains both images; leave second out")
        names = ("valid", "clipped", "channel_axis", "linear")
        if twice := [name for name in names if getattr(arguments, name) is not None]:
            raise InputError(f"{', '.join(twice)} is part of the pair; leave it out")
        first, second = pair.measured
        axis, noise = -1 if first.ndim == 3 else None, pair.noise if arguments.noise is None else arguments.noise
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
                "uint8 arrays mostly contain sRGB values, but blur averages light: pass linear=True to undo the "
                "sRGB curve, or linear=False if the values are light",
                stacklevel=3,
            )
        return raw

    def as_light(self, raw: RawPair, rounding_is_floor: bool) -> tuple[RawPair, Any]:
        """Convert checked sRGB values to light if ``linear``; return them and their noise.

        The rounding of sRGB values cannot be measured in light. With ``rounding_is_floor`` its noise is returned if
        ``noise`` is None.
        """
        if not self.linear:
            return raw, self.noise
        clipped, noise = raw.clipped, self.noise
        lights, roundings = [], []
        for image, name in ((raw.first, "first"), (raw.second, "second")):
            if full_scale(image.dtype) is None and not (image.min() >= 0 and image.max() <= 1):
                raise InputError(
                    f"{name} has values of {image.min():.4g} to {image.max():.4g}, but sRGB values are "
                    "0..1: scale both images, or leave linear out"
                )
            at_top = clipped_pixels(image)
            if at_top is not None:
                clipped = at_top if clipped is None else clipped | at_top
                read, shot = SRGB.rounding_variance(int(np.iinfo(image.dtype).max))
                roundings.append(NoiseModel(math.sqrt(read), shot))
            lights.append(SRGB.undo(image, np.float64))
        if noise is None and rounding_is_floor and roundings:
            noise = max(roundings, key=lambda model: model.read)
        return replace(raw, first=lights[0], second=lights[1], clipped=clipped), noise
