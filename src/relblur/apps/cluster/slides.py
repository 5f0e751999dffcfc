"""Two pictures that are read in rectangles, made comparable without holding either.

What ``prepare_pair`` measures on whole images is measured on patches on a regular grid: exposure, noise, and the blur
that the resolution is chosen by. Every rectangle that is read is then treated alike: its tone curve undone, the second
given the first's exposure, both decimated. A pair is taken to be registered: motion is reported, not undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base._typing import AnyArray, BoolArray
from ...base.errors import AlignmentError, InputError
from ...base.inputs import RawPair
from ...base.pixels import clipped_pixels, unit_float
from ...blur.comparable_pair import ComparablePair
from ...blur.dense.run import patches_of
from ...blur.global_statistics import compute
from ...blur.noise import NoiseModel
from ...blur.tiles import Region, grown
from ...filters.decimation import decimate, decimation_margin, keeps_light
from ...photo.alignment import find_motion
from ...photo.exposure import Exposure, find_exposure
from ...photo.pipeline import noise_of
from ...photo.resolution import largest_blur, resolution_for
from ...photo.tone_curves import Curve
from .stores import Store

__all__ = ["SlidePair", "prepare_slides"]

#: Patches on which exposure and the largest blur are measured: as many a side, of this many pixels a side.
PATCHES, PATCH_SIDE = 5, 384


@dataclass(frozen=True)
class SlidePair:
    """Two stores, and what is done to every rectangle of them."""

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
        """Arrays of the pair's shape and types without its values."""
        kinds = [store.dtype if self._as_stored(store) else np.dtype(np.float64) for store in self.stores]
        one, two = (np.broadcast_to(np.zeros((), kind), (*self.shape, self.first.shape[2])) for kind in kinds)
        return RawPair(one, two, None)

    @property
    def stores(self) -> tuple[Store, Store]:
        """Return both."""
        return self.first, self.second

    def call(self, function: Callable[..., Any], region: Region, *further: Any) -> Any:
        """Return the delayed call of a function with a part and further arguments; the task reads the part."""
        import dask

        return dask.delayed(_with_part, pure=False)(function, self, region, *further)

    def part(self, region: Region) -> RawPair:
        """Read a rectangle."""
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
        for store in self.stores:
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
        """Whether the stored values of an image are used without any change."""
        exposed = store is self.second and self.exposure is not None
        return self.factor == 1 and self._curve(store).is_linear and not exposed

    def _curve(self, store: Store) -> Curve:
        return store.curve(linear=self.linear, gamma=self.gamma)[0]


def _with_part(function: Callable[..., Any], pair: SlidePair, region: Region, *further: Any) -> Any:
    return function(pair.part(region), *further)


def prepare_slides(
    first: Store, second: Store, preparing: Mapping[str, Any]
) -> tuple[SlidePair, NoiseModel | None, list[str], dict[str, Any]]:
    """Return the prepared pair, its noise, notes on the preparation, and settings.

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
                f"--{option} {preparing[option]} is for pictures that are read whole; leave it out for pictures that "
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
    """Return both images of a part as floats, finite everywhere, and which pixels can be used."""
    images = [unit_float(image) for image in (part.first, part.second)]
    usable = np.isfinite(images[0]).all(axis=2) & np.isfinite(images[1]).all(axis=2)
    for at_top in (part.clipped, *map(clipped_pixels, (part.first, part.second))):
        if at_top is not None:
            usable &= ~at_top
    one, two = (np.where(np.isfinite(image), image, 0.0) for image in images)
    return one, two, np.asarray(usable)


def _mosaic(patches: Sequence[Light], places: Sequence[Region]) -> Light:
    """Return patches on a grid beside each other in one picture."""
    across = sum(place[0] == places[0][0] for place in places)
    one, two, usable = (
        np.concatenate([np.concatenate(column[i : i + across], axis=1) for i in range(0, len(places), across)])
        for column in zip(*patches, strict=True)
    )
    return one, two, usable


def _motion_notes(first: AnyArray, second: AnyArray, usable: BoolArray) -> list[str]:
    """Return the motion in a patch, in words."""
    try:
        motion = find_motion(first, second, usable, model="translation")
    except AlignmentError:
        return []
    found = motion.describe(usable.shape)
    return [f"alignment: {found}; not undone: a pair that is read in parts is taken to be registered"]
