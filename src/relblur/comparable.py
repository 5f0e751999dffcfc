"""A pair of photographs made comparable: aligned, of one exposure, with its noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ._typing import AnyArray, BoolArray
from .alignment import find_motion
from .exposure import find_exposure
from .inputs import as_choice
from .noise import NoiseModel, estimate_noise
from .pairs import FilePair
from .settings import ALIGN_MODELS, EXPOSURES

__all__ = ["match_pair", "noise_of"]


def match_pair(pair: FilePair, *, align: str = "auto", exposure: str = "auto") -> FilePair:
    """Return a pair whose second image lies on the first and has its exposure; the notes say what was done.

    Parameters
    ----------
    align : {"auto", "translation", "similarity", "affine", "off"}
    exposure : {"auto", "field", "off"}
    """
    as_choice(align, "align", (*ALIGN_MODELS, "off"))
    as_choice(exposure, "exposure", EXPOSURES)
    if align != "off":
        pair = _aligned(pair, align)
    if exposure != "off":
        pair = _exposed(pair, field=exposure == "field")
    return pair


def noise_of(pair: FilePair) -> NoiseModel | None:
    """Return the read and shot noise of a pair of light; None for other values, where it is another law."""
    if not pair.is_light:
        return None
    floor = None
    if pair.rounding is not None:
        floor = NoiseModel(*(max(getattr(one, name) for one in pair.rounding) for name in ("read", "shot")))
    usable = _usable(pair)
    return estimate_noise(
        pair.first, pair.second, valid=usable if usable.any() else None, channel_axis=pair.channel_axis, floor=floor
    )


def _aligned(pair: FilePair, model: str) -> FilePair:
    one, two = _channels_last(pair.first), _channels_last(pair.second)
    shape = (one.shape[0], one.shape[1])
    motion = find_motion(one, two, _usable(pair), model=model)
    notes = (*pair.notes, f"alignment: {motion.describe(shape)}")
    if not motion.moves:
        return replace(pair, notes=notes)
    moved = motion.resample(_without_gaps(two)).reshape(pair.second.shape)
    inside = motion.inside(shape)
    if pair.valid is not None:
        inside &= pair.valid & ~motion.resample_map(~pair.valid)
    lost = 1 - float(inside.mean())
    notes = (*notes[:-1], f"{notes[-1]}, {lost:.1%} of the frame lost")
    clipped = None if pair.clipped is None else (pair.clipped[0], motion.resample_map(pair.clipped[1]))
    return replace(pair, second=moved, valid=inside, clipped=clipped, notes=notes)


def _exposed(pair: FilePair, field: bool) -> FilePair:
    one, two = _channels_last(pair.first), _channels_last(pair.second)
    found = find_exposure(_without_gaps(one), _without_gaps(two), _usable(pair), field=field)
    notes = (*pair.notes, f"exposure: {found.describe()}")
    if not found.changes:
        return replace(pair, notes=notes)
    return replace(pair, second=found.apply(two).reshape(pair.second.shape), notes=notes)


def _usable(pair: FilePair) -> BoolArray:
    usable = np.ones(pair.first.shape[:2], dtype=bool) if pair.valid is None else pair.valid.copy()
    if pair.clipped_in_either is not None:
        usable &= ~pair.clipped_in_either
    for image in (pair.first, pair.second):
        if np.issubdtype(image.dtype, np.floating) and not np.isfinite([image.min(), image.max()]).all():
            finite = np.isfinite(image)
            usable &= finite.all(axis=2) if finite.ndim == 3 else finite
    return usable


def _channels_last(image: AnyArray) -> AnyArray:
    values = image if np.issubdtype(image.dtype, np.floating) else image / np.iinfo(image.dtype).max
    return values if values.ndim == 3 else values[:, :, None]


def _without_gaps(image: AnyArray) -> AnyArray:
    """Return an image without NaN; such pixels are marked unusable elsewhere."""
    if np.isfinite([image.min(), image.max()]).all():
        return image
    return np.where(np.isfinite(image), image, 0)
