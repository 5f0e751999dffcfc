"""Prepare two pictures that are larger than memory, rectangle by rectangle.

A :class:`Store` describes a Zarr or an OME-Zarr. It contains no pixels, so it can be sent to the process that reads
them. ``prepare_pair`` measures on whole images; this module measures exposure, noise and the largest blur on patches on
a regular grid. The preparation of every rectangle undoes a tone curve given by the user, corrects the exposure of the
second image and decimates both. The pair must be registered: motion is reported, not undone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray, BoolArray
from ...base.errors import AlignmentError, FileError, InputError
from ...base.inputs import RawPair, as_form
from ...base.pixels import clipped_pixels, unit_float
from ...base.tone import Curve
from ...blur.chunked import later
from ...blur.comparable_pair import ComparablePair
from ...blur.dense.run import patches_of
from ...blur.global_statistics import compute
from ...blur.noise import NoiseModel
from ...blur.tiles import Region, grown, within
from ...filters.decimation import decimate, decimation_margin, keeps_light
from ...images.images import StoredImage
from ...images.zarr_arrays import ZarrArray, ome_images, read_zarr_node
from ...photo.alignment import find_motion
from ...photo.exposure import Exposure, find_exposure
from ...photo.pipeline import noise_of
from ...photo.resolution import largest_blur, resolution_for
from ...photo.tone_curves import choose_curve

__all__ = ["SlidePair", "Store", "open_store", "prepare_slides"]

#: Patches per side for exposure and the largest blur, and the side of a patch, px.
PATCHES, PATCH_SIDE = 5, 384


@dataclass(frozen=True)
class Store:
    """A grey or colour picture that is read in rectangles."""

    array: ZarrArray
    names: tuple[str, ...]  #: of the dimensions: y, x, c, and others of length 1
    path: str  #: as given by the user

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and colours."""
        sizes = dict(zip(self.names, self.array.shape, strict=True))
        return sizes["y"], sizes["x"], sizes.get("c", 1)

    @property
    def size(self) -> str:
        """Width x height, px."""
        return f"{self.shape[1]}x{self.shape[0]}"

    def read(self, region: Region) -> AnyArray:
        """Return a rectangle as (H, W, C) in the picture's type."""
        index = {"y": region[0], "x": region[1], "c": slice(None)}
        values = self.array[tuple(index.get(name, 0) for name in self.names)]
        kept = [name for name in self.names if name in index]
        values = values.transpose([kept.index(name) for name in "yxc" if name in kept])
        return values if values.ndim == 3 else values[:, :, None]


def open_store(path: Path) -> Store:
    """Open a picture without reading its pixels."""
    if not os.path.exists(path):
        raise FileError(f"there is no file {path}; check the path")
    if not os.path.isdir(path):
        raise InputError(f"{path} is not a Zarr; for other pictures name a folder for the results, -o result")
    array, names = _array_in(path)
    names = names or {2: ("y", "x"), 3: ("y", "x", "c")}.get(len(array.shape), ())
    sizes = dict(zip(names, array.shape, strict=False))
    others = [length for name, length in sizes.items() if name not in ("y", "x", "c")]
    if len(sizes) != len(array.shape) or not {"y", "x"} <= sizes.keys() or max(others, default=1) > 1:
        raise InputError(f"{path} has the shape {array.shape}; a picture is (H, W) or (H, W, C)")
    if sizes.get("c", 1) not in (1, 3):
        raise InputError(f"{path} has {sizes['c']} channels; save a copy with 1 or 3")
    store = Store(array, names, os.fspath(path))
    as_form(store.shape, np.dtype(array.dtype), str(path), -1)
    return store


def _array_in(path: Path) -> tuple[ZarrArray, tuple[str, ...] | None]:
    """Return the array of a Zarr, or that at full size of an OME-Zarr, and the names of its dimensions if known."""
    node = read_zarr_node(path)
    if node is None:
        raise FileError(f"{path} is a folder without a Zarr; check the path")
    if node.array is not None:
        return node.array, node.array.names
    if isinstance(node.attributes.get("ome", {}), dict) and (images := ome_images(path, node)):
        return images[0].array, tuple(images[0].axes.lower())
    raise InputError(f"{path} is a group without OME metadata; name the array itself, such as {path}/NAME")


@dataclass(frozen=True)
class SlidePair:
    """A pair of stores, and the preparation of its rectangles."""

    first: Store
    second: Store
    curve: Curve
    exposure: Exposure | None = None
    factor: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns after decimation."""
        return (-(-self.first.shape[0] // self.factor), -(-self.first.shape[1] // self.factor))

    @property
    def _as_stored(self) -> bool:
        """Whether the stored values are used unchanged."""
        return self.factor == 1 and self.exposure is None and self.curve.is_linear

    @property
    def form(self) -> RawPair:
        """Pair of zero arrays with the shape and types of the prepared pair."""
        kinds = [each.array.dtype if self._as_stored else np.float64 for each in (self.first, self.second)]
        one, two = (np.broadcast_to(np.zeros((), kind), (*self.shape, self.first.shape[2])) for kind in kinds)
        return RawPair(one, two, None)

    def call(self, function: Callable[..., Any], region: Region, *further: Any) -> Any:
        """Return a delayed call of a function with a prepared rectangle, which the task itself reads."""
        return later(_with_part)(function, self, region, *further)

    def part(self, region: Region) -> RawPair:
        """Read and prepare a rectangle."""
        outer = region if self.factor == 1 else grown(region, decimation_margin(self.factor), self.shape)
        rows, columns = (
            slice(each.start * self.factor, min(each.stop * self.factor, length))
            for each, length in zip(outer, self.first.shape, strict=False)
        )
        stored = [store.read((rows, columns)) for store in (self.first, self.second)]
        if self._as_stored:
            return RawPair(stored[0], stored[1], None)
        one, two = (self.curve.undo(values, np.float64) for values in stored)
        if self.exposure is not None:
            two = self.exposure.apply(two)
        clipped: Any = [at_top for at_top in map(clipped_pixels, stored) if at_top is not None]
        clipped = np.logical_or.reduce(clipped) if clipped else None
        if self.factor == 1:
            return RawPair(one, two, None, clipped)
        inner = within(region, outer)
        one, two = (decimate(image, self.factor, channel_axis=-1)[inner] for image in (one, two))
        return RawPair(one, two, None, None if clipped is None else ~keeps_light(~clipped, self.factor)[inner])


def _with_part(function: Callable[..., Any], pair: SlidePair, region: Region, *further: Any) -> Any:
    return function(pair.part(region), *further)


def prepare_slides(
    first: Store, second: Store, preparing: Mapping[str, Any]
) -> tuple[SlidePair, NoiseModel | None, list[str], dict[str, Any]]:
    """Prepare a pair of stores; return it with its noise, notes and settings.

    ``preparing`` are the arguments of ``prepare_pair``.
    """
    if first.shape != second.shape:
        raise InputError(
            f"the images differ in size: {first.path} is {first.size} with {first.shape[2]} channel(s), "
            f"{second.path} is {second.size} with {second.shape[2]}; crop or convert them to the same view"
        )
    for option, offered in (("align", ("auto", "off")), ("exposure", ("auto", "gain", "off"))):
        if preparing[option] not in offered:
            raise InputError(f"--{option} must be {' or '.join(offered)} for pictures that are read in parts")
    stored = StoredImage(np.zeros((1, 1), first.array.dtype), "Zarr", linear=True)
    curve, because = choose_curve(stored, linear=preparing["linear"], gamma=preparing["gamma"])
    pair, notes = SlidePair(first, second, curve), [f"light: {curve.name}, {because}"]
    light = _patches(pair, PATCHES, PATCH_SIDE)
    if preparing["align"] != "off":
        notes += _motion_notes(light)
    if preparing["exposure"] != "off":
        exposure = find_exposure(*light, field=False)
        notes.append(f"exposure: {exposure.describe()}, from patches")
        if exposure.changes:
            pair, light = replace(pair, exposure=exposure), (light[0], exposure.apply(light[1]), light[2])
    factor, because = preparing["decimate"], "requested"
    if factor == "auto":
        factor, because = resolution_for(first.shape[:2], largest_blur(*light), preparing["max_sigma"])
    pair = replace(pair, factor=factor)
    noise = noise_of(ComparablePair(*_patches(pair), is_light=preparing["linear"]))
    return pair, noise, notes, {"decimate": factor, "full_size": first.size, "decimate_because": because}


Light = tuple[AnyArray, AnyArray, BoolArray]


def _patches(pair: SlidePair, *grid: int) -> Light:
    """Return both images as mosaics of patches, with zeros for NaN, and the mask of usable pixels."""
    places = patches_of(pair.shape, *grid)
    patches: Sequence[Light] = compute([pair.call(_light, place) for place in places])
    across = sum(place[0] == places[0][0] for place in places)
    one, two, usable = (
        np.concatenate([np.concatenate(column[i : i + across], axis=1) for i in range(0, len(places), across)])
        for column in zip(*patches, strict=True)
    )
    return one, two, usable


def _light(part: RawPair) -> Light:
    images = [unit_float(image) for image in (part.first, part.second)]
    usable = np.isfinite(images[0]).all(axis=2) & np.isfinite(images[1]).all(axis=2)
    for at_top in (part.clipped, *map(clipped_pixels, (part.first, part.second))):
        if at_top is not None:
            usable &= ~at_top
    one, two = (np.where(np.isfinite(image), image, 0.0) for image in images)
    return one, two, np.asarray(usable)


def _motion_notes(light: Light) -> list[str]:
    """Return a note on the motion between the images, measured in the middle patch."""
    middle = tuple(slice(max(0, (n - PATCH_SIDE) // 2), (n + PATCH_SIDE) // 2) for n in light[2].shape)
    one, two, usable = (each[middle] for each in light)
    try:
        motion = find_motion(one, two, usable, model="translation")
    except AlignmentError:
        return []
    text = motion.describe((usable.shape[0], usable.shape[1]))
    return [f"alignment: {text}; not undone: pairs that are read in parts must be registered"]
