"""Statistics that all tiles share, for pairs that are read in parts: measured on patches on a regular grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..base.errors import InputError
from ..base.inputs import RawPair, fill_bad_pixels
from .dense.run import patches_of
from .estimating import Estimating, noise_models, plain_noise, request_of
from .methods import METHOD_TABLE
from .noise import noise_at_light, smooth_light
from .request import Request
from .tiles import Region

__all__ = ["Source", "clean", "compute", "measure_source"]


class Source(Protocol):
    """A pair whose rectangles are read by Dask tasks."""

    @property
    def form(self) -> RawPair:
        """Arrays of zeros with the pair's shape and types, which take no memory."""

    def call(self, function: Callable[..., Any], region: Region, *further: Any) -> Any:
        """Return the delayed call of a function with a rectangle (``finite`` is its valid mask) and more arguments."""


def compute(calls: Sequence[Any]) -> list[Any]:
    """Return the results of delayed calls, computed by Dask's current scheduler."""
    import dask

    return list(dask.compute(*calls, traverse=False))


def measure_source(source: Source, options: Estimating) -> Request:
    """Read patches of a pair; return the request with the statistics that its tiles share."""
    form, models = source.form, noise_models(options)
    given = plain_noise(options) if models is None else (0.0, 0.0)
    request_of(options, form, given)  # raises errors before patches are read
    patches: Sequence[RawPair] = compute([source.call(clean, place) for place in patches_of(form.shape)])
    if not any(each.finite is None or each.finite.any() for each in patches):
        raise InputError("valid leaves no pixel to use; at least one must be True and finite in both images")
    if models is not None:
        parts = [each.part() for each in patches]
        light = np.concatenate([smooth_light(each.first, each.second).ravel() for each in parts])
        given, _ = noise_at_light(*models, light, np.concatenate([each.usable.ravel() for each in parts]))
    return METHOD_TABLE[options.method].measure_patches(patches, request_of(options, form, given))


def clean(part: RawPair) -> RawPair:
    """Return a part with its bad pixels filled, and its valid mask without them."""
    try:
        (first, second), good = fill_bad_pixels([part.first, part.second])
    except InputError:  # no good pixel
        first, second = np.zeros_like(part.first), np.zeros_like(part.second)
        good = np.zeros(first.shape[:2], bool)
    masks = [each for each in (good, part.finite) if each is not None]
    return RawPair(first, second, np.logical_and.reduce(masks) if masks else None, part.clipped)
