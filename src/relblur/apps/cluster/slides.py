"""Prepare two pictures that are larger than memory, rectangle by rectangle.

A :class:`Store` describes a Zarr or an OME-Zarr. It contains no pixels, so it can be sent to the
process that reads them. ``prepare_pair`` measures on whole images; this module measures exposure, noise and the largest
blur on patches on a regular grid. Every rectangle is prepared alike: the tone curve is undone, the second image gets
the exposure of the first, both are decimated. The pair must be registered: motion is reported, not undone.
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
from ...blur.comparable_pair import ComparablePair
from ...blur.dense.run import patches_of
from ...blur.global_statistics import compute
from ...blur.noise import NoiseModel
from ...blur.tiles import Region, grown
from ...filters.decimation import decimate, decimation_margin, keeps_light
from ...images.images import StoredImage
from ...images.reading import first_line
from ...images.zarr_arrays import ZarrArray, ome_images, read_zarr_node
from ...photo.alignment import find_motion
from ...photo.exposure import Exposure, find_exposure
from ...photo.pipeline import noise_of
from ...photo.resolution import largest_blur, resolution_for
from ...photo.tone_curves import choose_curve
from .runners import require

__all__ = ["SlidePair", "Store", "open_store", "prepare_slides"]

#: Lengths of a dimension that may contain colour channels.
COLOURS = (1, 3)

#: Patches per side for exposure and the largest blur, and the side of a patch, px.
PATCHES, PATCH_SIDE = 5, 384


@dataclass(frozen=True)
class Store:
    """A grey or colour picture that is read in rectangles."""

    array: ZarrArray
    at: tuple[int | None, ...]  #: per dimension: a fixed index, or None for rows, columns and colours
    order: tuple[int, ...]  #: positions of rows, columns and colours among the dimensions without a fixed index
    shape: tuple[int, int, int]
    path: str  #: as given by the user

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.array.dtype

    @property
    def size(self) -> str:
        """Width x height, px."""
        return f"{self.shape[1]}x{self.shape[0]}"

    def read(self, region: Region) -> AnyArray:
        """Return a rectangle as (H, W, C) in the picture's type."""
        index: list[Any] = list(self.at)
        free = [axis for axis, fixed in enumerate(self.at) if fixed is None]
        for part, axis in zip((*region, slice(None)), (free[o] for o in self.order), strict=False):
            index[axis] = part
        try:
            values = np.asarray(self.array[tuple(index)]).transpose(self.order)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise FileError(f"{self.path} cannot be read: {first_line(error)}; it may be damaged") from None
        return values if values.ndim == 3 else values[:, :, None]

    def curve(self, *, linear: bool, gamma: float | None) -> tuple[Curve, str]:
        """Return the tone curve of the values and the reason for this choice."""
        stored = StoredImage(np.zeros((1, 1), self.dtype), "Zarr", linear=True)
        return choose_curve(stored, linear=linear, gamma=gamma)

    def identity(self) -> dict[str, Any]:
        """Return name, shape and time of modification, to detect that the picture was replaced."""
        description = os.path.join(self.array.path, "zarr.json")
        state = os.stat(description if os.path.isfile(description) else self.array.path)
        return {"name": Path(self.path).name, "shape": list(self.shape), "modified_ns": state.st_mtime_ns}


def open_store(path: Path) -> Store:
    """Open a picture; only its description is read."""
    require("zarr", "dask")
    if not os.path.exists(path):
        raise FileError(f"there is no file {path}; check the path")
    if not os.path.isdir(path):
        raise InputError(f"{path} is no Zarr; for other pictures name a folder for the results, -o result")
    try:
        return _zarr_store(path)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, IndexError, AttributeError) as error:
        if isinstance(error, (FileError, InputError)):
            raise
        raise FileError(f"{path} cannot be opened: {first_line(error)}; it may be damaged") from None


def _zarr_store(path: Path) -> Store:
    node = read_zarr_node(path)
    if node is None:
        raise FileError(f"{path} is a folder without a Zarr; check the path")
    if node.array is not None:
        return _store(path, node.array, node.array.names)
    if images := ome_images(path, node):
        return _store(path, images[0].array, images[0].axes)
    nodes = ((entry.name, read_zarr_node(entry)) for entry in path.iterdir() if entry.is_dir())
    arrays = {name: node.array for name, node in nodes if node is not None and node.array}
    if len(arrays) != 1:
        content = f"the arrays {', '.join(sorted(arrays)[:5])}" if arrays else "no array"
        raise InputError(f"{path} has {content} and no OME metadata; name the array itself, such as {path}/NAME")
    (array,) = arrays.values()
    return _store(path, array, array.names)


def _store(path: Path, array: ZarrArray, kinds: Sequence[str] | None) -> Store:
    """Return the store of an array, with the dimensions of rows, columns and colours identified."""
    shape = tuple(array.shape)
    kinds = _guessed(shape) if kinds is None else tuple(str(kind).lower() for kind in kinds)
    if kinds is None or kinds.count("y") != 1 or kinds.count("x") != 1:
        raise InputError(f"{path} has the shape {shape}; rows and columns, or those and 3 colours, are needed")
    at: list[int | None] = []
    for kind, length in zip(kinds, shape, strict=True):
        if kind in "yx" or (kind == "c" and length > 1):
            at.append(None)
        elif length == 1:
            at.append(0)
        else:
            raise InputError(f"{path} has {length} images along {kind!r}; name an array with one image")
    free = [kind for kind, index in zip(kinds, at, strict=True) if index is None]
    order = tuple(free.index(kind) for kind in "yxc" if kind in free)
    colours = shape[kinds.index("c")] if "c" in free else 1
    if colours not in COLOURS:
        raise InputError(f"{path} has {colours} channels, but 1 or 3 are read; save a copy with 1 or 3 first")
    size = (shape[kinds.index("y")], shape[kinds.index("x")], colours)
    as_form(size, np.dtype(array.dtype), str(path), -1)
    return Store(array, tuple(at), order, size, os.fspath(path))


def _guessed(shape: tuple[int, ...]) -> tuple[str, ...] | None:
    if len(shape) == 2:
        return ("y", "x")
    if len(shape) == 3 and shape[-1] in COLOURS:
        return ("y", "x", "c")
    return ("c", "y", "x") if len(shape) == 3 and shape[0] in COLOURS else None


@dataclass(frozen=True)
class SlidePair:
    """Two stores and the preparation of their rectangles."""

    first: Store
    second: Store
    gamma: float | None = None
    linear: bool = True
    exposure: Exposure | None = None
    factor: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns after decimation."""
        return (-(-self.first.shape[0] // self.factor), -(-self.first.shape[1] // self.factor))

    @property
    def form(self) -> RawPair:
        """Pair of zero arrays with the shape and types of the prepared pair."""
        kinds = [store.dtype if self._as_stored(store) else np.dtype(np.float64) for store in (self.first, self.second)]
        one, two = (np.broadcast_to(np.zeros((), kind), (*self.shape, self.first.shape[2])) for kind in kinds)
        return RawPair(one, two, None)

    def call(self, function: Callable[..., Any], region: Region, *further: Any) -> Any:
        """Return a delayed call of a function with a prepared rectangle; the task reads the rectangle."""
        import dask

        return dask.delayed(_with_part, pure=False)(function, self, region, *further)

    def part(self, region: Region) -> RawPair:
        """Read and prepare a rectangle."""
        if self.factor == 1:
            return self._read(region)
        outer = grown(region, decimation_margin(self.factor), self.shape)
        rows, columns = (
            slice(each.start * self.factor, min(each.stop * self.factor, length))
            for each, length in zip(outer, self.first.shape, strict=False)
        )
        full = self._read((rows, columns))
        here = tuple(slice(r.start - o.start, r.stop - o.start) for r, o in zip(region, outer, strict=True))
        one, two = (decimate(image, self.factor, channel_axis=-1)[here] for image in (full.first, full.second))
        at_top = None if full.clipped is None else ~keeps_light(~full.clipped, self.factor)[here]
        return RawPair(one, two, None, at_top)

    def _read(self, region: Region) -> RawPair:
        images: list[AnyArray] = []
        clipped: BoolArray | None = None
        for store in (self.first, self.second):
            stored = store.read(region)
            if self._as_stored(store):
                images.append(stored)
                continue
            light = self._curve(store).undo(stored, np.float64)
            change = self.exposure if store is self.second else None
            images.append(light if change is None else change.apply(light))
            at_top = clipped_pixels(stored)
            if at_top is not None:
                clipped = at_top if clipped is None else clipped | at_top
        return RawPair(images[0], images[1], None, clipped)

    def _as_stored(self, store: Store) -> bool:
        """Return whether the stored values of an image are used unchanged."""
        exposed = store is self.second and self.exposure is not None
        return self.factor == 1 and self._curve(store).is_linear and not exposed

    def _curve(self, store: Store) -> Curve:
        return store.curve(linear=self.linear, gamma=self.gamma)[0]


def _with_part(function: Callable[..., Any], pair: SlidePair, region: Region, *further: Any) -> Any:
    return function(pair.part(region), *further)


def prepare_slides(
    first: Store, second: Store, preparing: Mapping[str, Any]
) -> tuple[SlidePair, NoiseModel | None, list[str], dict[str, Any]]:
    """Prepare a pair of stores; return it with its noise, the notes of the preparation, and the settings.

    ``preparing`` are the arguments of ``prepare_pair``.
    """
    if first.shape != second.shape:
        raise InputError(
            f"the images differ in size: {first.path} is {first.size} with {first.shape[2]} channel(s), "
            f"{second.path} is {second.size} with {second.shape[2]}; crop or convert them to the same view"
        )
    for option, whole_only in (("align", ("auto", "off")), ("exposure", ("auto", "gain", "off"))):
        if preparing[option] not in whole_only:
            raise InputError(
                f"--{option} {preparing[option]} needs pictures that are read whole; leave it out for pictures that "
                "are read in parts"
            )
    pair = SlidePair(first, second, preparing["gamma"], preparing["linear"])
    curve, because = first.curve(linear=pair.linear, gamma=pair.gamma)
    notes = [f"light: {curve.name}, {because}"]
    places = patches_of(pair.shape, PATCHES, PATCH_SIDE)
    patches = compute([pair.call(_light, place) for place in places])
    if preparing["align"] != "off":
        notes += _motion_notes(*patches[len(patches) // 2])
    one, two, usable = _mosaic(patches, places)
    if preparing["exposure"] != "off":
        exposure = find_exposure(one, two, usable, field=False)
        notes.append(f"exposure: {exposure.describe()}, from patches")
        if exposure.changes:
            pair, two = replace(pair, exposure=exposure), exposure.apply(two)
    factor, because = preparing["decimate"], "asked for"
    if factor == "auto":
        choice = resolution_for(first.shape[:2], largest_blur(one, two, usable), preparing["max_sigma"])
        factor, because = choice.factor, choice.describe()
    pair = replace(pair, factor=factor)
    places = patches_of(pair.shape)
    one, two, usable = _mosaic(compute([pair.call(_light, place) for place in places]), places)
    noise = noise_of(ComparablePair(one, two, usable, is_light=preparing["linear"]))
    return pair, noise, notes, {"decimate": factor, "full_size": first.size, "decimate_because": because}


Light = tuple[AnyArray, AnyArray, BoolArray]


def _light(part: RawPair) -> Light:
    """Return both images of a part as finite floats, and the mask of usable pixels."""
    images = [unit_float(image) for image in (part.first, part.second)]
    usable = np.isfinite(images[0]).all(axis=2) & np.isfinite(images[1]).all(axis=2)
    for at_top in (part.clipped, *map(clipped_pixels, (part.first, part.second))):
        if at_top is not None:
            usable &= ~at_top
    one, two = (np.where(np.isfinite(image), image, 0.0) for image in images)
    return one, two, np.asarray(usable)


def _mosaic(patches: Sequence[Light], places: Sequence[Region]) -> Light:
    """Join patches on a grid to one picture."""
    across = sum(place[0] == places[0][0] for place in places)
    one, two, usable = (
        np.concatenate([np.concatenate(column[i : i + across], axis=1) for i in range(0, len(places), across)])
        for column in zip(*patches, strict=True)
    )
    return one, two, usable


def _motion_notes(first: AnyArray, second: AnyArray, usable: BoolArray) -> list[str]:
    """Return a note on the motion between the images, measured in one patch."""
    try:
        motion = find_motion(first, second, usable, model="translation")
    except AlignmentError:
        return []
    text = motion.describe(usable.shape)
    return [f"alignment: {text}; not undone: pairs that are read in parts must be registered"]
