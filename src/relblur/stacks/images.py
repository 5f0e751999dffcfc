"""The input images of a stack and their options; each image is read as light on demand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, PathLike
from ..base.arguments import as_positive, as_whole
from ..base.errors import InputError
from ..base.options import Preparing, Stack
from ..images.disk import check_target
from ..images.planes import PlaneStack, open_stack
from ..images.reading import Plane
from ..photo.photograph import Photograph, Source, check_gamma, photograph_of, read_photograph, stored_array

__all__ = ["StackImages", "stack_images"]

Images = Sequence[Source] | PlaneStack | ArrayLike | PathLike

#: Largest valid light; the square of larger values overflows in single precision.
_LARGEST = 1e18


@dataclass(frozen=True, eq=False)
class StackImages:
    """The images of a stack with their options.

    Attributes
    ----------
    sources : sequence of paths or arrays
    preparing : Preparing
    focus_m : list of float or None
        Distance in focus of each image, m.
    in_order : bool
        Whether the images are in order of focus.
    step_um, pixel_um : float or None
        Distance between two frames and side of a pixel, micrometres.
    valid, clipped : (H, W) or (N, H, W) bool arrays, or None
    motion : Path or None
        File of the alignment: used if it exists, written otherwise.
    """

    sources: Sequence[Source]
    preparing: Preparing
    channel_axis: int | None = None
    focus_m: list[float] | None = None
    in_order: bool = False
    step_um: float | None = None
    pixel_um: float | None = None
    valid: BoolArray | None = None
    clipped: BoolArray | None = None
    notes: tuple[str, ...] = ()
    motion: Path | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def name(self, number: int) -> str:
        """Return the name of an image in messages: its file, or its index in the list."""
        source = self.sources[number]
        if isinstance(source, Plane):
            return source.name
        return os.path.basename(os.fsdecode(source)) if isinstance(source, (str, os.PathLike)) else f"images[{number}]"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all images."""
        return tuple(self.name(number) for number in range(len(self)))

    def read(self, number: int) -> tuple[Photograph, BoolArray | None]:
        """Return an image as light, (H, W, C) float32, zero at invalid pixels, and its valid mask (None: all)."""
        source, preparing, usable = self.sources[number], self.preparing, None
        if isinstance(source, (str, os.PathLike)):
            photograph = read_photograph(source, linear=preparing.linear, gamma=preparing.gamma, dtype=np.float32)
        else:
            stored, usable = stored_array(source, self.name(number), self.channel_axis)
            photograph = photograph_of(stored, linear=preparing.linear, gamma=preparing.gamma, dtype=np.float32)
        light, clipped = np.atleast_3d(photograph.light), photograph.clipped
        if not (light.min() > -_LARGEST and light.max() < _LARGEST):
            finite = (np.abs(light) < _LARGEST).all(axis=2)
            usable = finite if usable is None else usable & finite
        for kind in ("valid", "clipped"):
            masks = getattr(self, kind)
            mask = masks if masks is None or masks.ndim == 2 else masks[number]
            if mask is not None and mask.shape != light.shape[:2]:
                shapes = f"{mask.shape}; {self.name(number)} has {light.shape[:2]}"
                raise InputError(f"{kind} has shape {shapes}, pass one mask of this shape, or one for each image")
            if mask is not None and kind == "valid":
                usable = mask if usable is None else usable & mask
            elif mask is not None:
                clipped = clipped | mask
        if usable is not None:
            light = np.where(usable[:, :, None], light, np.float32(0))
        return replace(photograph, light=light, clipped=clipped), usable


def stack_images(
    images: Images,
    preparing: Preparing,
    options: Stack,
    *,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> StackImages:
    """Check the images of a stack and their options, as for :func:`relblur.estimate_stack`."""
    planes = open_stack(images) if isinstance(images, (str, os.PathLike)) else images
    if not isinstance(planes, Iterable):
        raise InputError(f"images must be a list of images, got {type(images).__name__}")
    sources: list[Any] = list(planes)
    if len(sources) < 2:
        raise InputError(f"images must be two or more, got {len(sources)}")
    check_gamma(preparing.gamma, preparing.linear)
    if preparing.decimate != "auto":
        as_whole(preparing.decimate, "decimate", '"auto"')
    step, pixel = (
        None if getattr(options, name) is None else as_positive(getattr(options, name), name, "µm")
        for name in ("step_um", "pixel_um")
    )
    motion = None if options.motion is None else Path(options.motion)
    if motion is not None:
        check_target(motion)
    in_order, notes = step is not None, list[str]()
    if isinstance(planes, PlaneStack):
        in_order, step, pixel = True, step or planes.step_um, pixel or planes.pixel_um
        stated = [f"{name} {value:.4g} µm" for name, value in (("step", step), ("pixel", pixel)) if value is not None]
        notes = [*planes.notes, *([f"scale: {', '.join(stated)}"] if stated else [])]
    return StackImages(
        sources,
        preparing,
        channel_axis,
        _distances(options.focus_m, len(sources)),
        in_order,
        step,
        pixel,
        _masks("valid", valid, len(sources)),
        _masks("clipped", clipped, len(sources)),
        tuple(notes),
        motion,
    )


def _distances(focus_m: Sequence[float] | None, count: int) -> list[float] | None:
    if focus_m is None:
        return None
    values = [float("inf") if value == np.inf else as_positive(value, "focus_m", "m") for value in focus_m]
    if len(values) != count:
        raise InputError(f"focus_m has {len(values)} distances for {count} images; give one for each")
    if len(set(values)) < count:
        raise InputError("focus_m contains a distance twice; leave out one of these images")
    return values


def _masks(name: str, value: Any, count: int) -> AnyArray | None:
    if value is None:
        return None
    masks = np.asarray(value)
    if masks.dtype != bool or masks.ndim not in (2, 3):
        raise InputError(f"{name} must be a bool array (H, W) or (N, H, W), got {masks.dtype} {masks.shape}")
    if masks.ndim == 3 and len(masks) != count:
        raise InputError(f"{name} has {len(masks)} masks for {count} images; give one, or one for each")
    return masks
