"""What a user asks of ``estimate_stack`` beside the images, checked; and the images themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..base.arguments import as_noise, as_positive
from ..base.errors import InputError
from ..blur.estimating import GivenNoise
from ..blur.noise import NoiseModel
from ..depth.camera import Camera
from ..depth.psf import PsfLike
from ..images.planes import PlaneStack, open_stack
from ..photo.photograph import Source
from .frames import Masked

__all__ = [
    "Measuring",
    "Scale",
    "distances_of",
    "largest_blur",
    "noise_models",
    "planes_of",
    "sources_of",
    "with_masks",
]


class Measuring(NamedTuple):
    """How a stack is to be measured."""

    camera: Camera | None
    psf: PsfLike
    engine: str
    workers: int | None
    noise: GivenNoise | None
    max_sigma: float | None

    @property
    def running(self) -> dict[str, Any]:
        """What the estimators of pairs take beside."""
        return {"engine": self.engine, "workers": self.workers}


class Scale(NamedTuple):
    """Lengths of a stack, micrometres, and what is noted of its file."""

    step_um: float | None
    pixel_um: float | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, planes: PlaneStack | None, step_um: float | None, pixel_um: float | None) -> Scale:
        """Return what is given, or else what the file states."""
        given = [
            None if value is None else as_positive(value, name, "µm")
            for name, value in (("step_um", step_um), ("pixel_um", pixel_um))
        ]
        if planes is None:
            return cls(given[0], given[1], ())
        step, pixel = given[0] or planes.step_um, given[1] or planes.pixel_um
        stated = [f"{name} {value:.4g} µm" for name, value in (("step", step), ("pixel", pixel)) if value is not None]
        return cls(step, pixel, (*planes.notes, *([f"scale: {', '.join(stated)}"] if stated else [])))


def planes_of(images: Any) -> PlaneStack | None:
    """Return the planes of one file; None if the images are a list."""
    if isinstance(images, PlaneStack):
        return images
    return open_stack(images) if isinstance(images, (str, os.PathLike)) else None


def sources_of(images: Any) -> list[Source]:
    """Return a list of two images or more."""
    if not isinstance(images, Iterable):
        raise InputError(f"images must be a list of images, got {type(images).__name__}")
    sources = list(images)
    if len(sources) < 2:
        raise InputError(f"a stack needs two images or more, got {len(sources)}")
    return sources


def distances_of(focus_m: Sequence[float] | None, count: int) -> list[float] | None:
    """Return the distances in focus, checked, m."""
    if focus_m is None:
        return None
    values = [float("inf") if value == np.inf else as_positive(value, "focus_m", "m") for value in focus_m]
    if len(values) != count:
        raise InputError(f"focus_m has {len(values)} distances for {count} images; give one for each")
    if len(set(values)) < count:
        raise InputError("focus_m holds a distance twice; images in focus at one distance are no stack, leave one out")
    return values


def largest_blur(max_sigma: float | None) -> float | None:
    """Return the largest blur to look for, checked, px."""
    return None if max_sigma is None else as_positive(max_sigma, "max_sigma", "px")


def with_masks(sources: list[Source], valid: Any, clipped: Any) -> list[Source | Masked]:
    """Return images with their masks, which are one for all or one for each."""
    if valid is None and clipped is None:
        return list(sources)
    masks = []
    for name, given in (("valid", valid), ("clipped", clipped)):
        array = None if given is None else np.asarray(given)
        if array is not None and (array.dtype != bool or array.ndim not in (2, 3)):
            raise InputError(f"{name} must be a bool array (H, W) or (N, H, W), got {array.dtype} {array.shape}")
        if array is not None and array.ndim == 3 and len(array) != len(sources):
            raise InputError(f"{name} has {len(array)} masks for {len(sources)} images; give one, or one for each")
        masks.append([None if array is None else array[n] if array.ndim == 3 else array for n in range(len(sources))])
    return [Masked(*each) for each in zip(sources, *masks, strict=True)]


def noise_models(given: GivenNoise, factor: int) -> tuple[NoiseModel, NoiseModel]:
    """Return the noise of the first and the last image at the resolution of the map: white noise is averaged."""
    both = given if isinstance(given, (tuple, list)) else (given, given)
    as_noise([1.0 if isinstance(one, NoiseModel) else one for one in both])
    models = [one if isinstance(one, NoiseModel) else NoiseModel(float(one)) for one in both]
    one, two = (replace(each, read=each.read / factor, shot=each.shot / factor**2) for each in models)
    return one, two
