"""Two pictures that are read in rectangles, made comparable without holding either.

What ``prepare_pair`` measures on whole images is measured on patches that lie all over them: exposure, noise, and the
blur that the resolution is chosen by. Every rectangle that is read is then treated alike: its tone curve undone, the
second given the first's exposure, both decimated. Motion is only looked at: a pair is taken to be registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.errors import AlignmentError, InputError
from ..base.inputs import RawPair
from ..base.pixels import clipped_pixels, unit_float
from ..blur.comparable_pair import ComparablePair
from ..blur.dense.run import places_of_patches
from ..blur.estimate import estimate_blur
from ..blur.shared import Part
from ..blur.tiles import Region
from ..files.images import StoredImage
from ..filters.blocks import block_means
from ..filters.decimation import decimate, decimation_margin, keeps_light
from ..photo.alignment import find_motion
from ..photo.exposure import Exposure, find_exposure
from ..photo.pipeline import noise_of
from ..photo.resolution import resolution_for, search_largest_blur
from ..photo.tone_curves import Curve, choose_curve
from .runners import Runner
from .stores import Store

__all__ = ["SlidePair", "prepare_slides"]

T = TypeVar("T")

#: Side of the patches in which the largest blur is searched, px of the copy.
PATCH_SIDE = 192


@dataclass(frozen=True)
class SlidePair:
    """Two stores, and what is done to every rectangle of them."""

    first: Store
    second: Store
    runner: Runner = field(compare=False)
    gamma: float | None = None
    linear: bool = True
    exposure: Exposure | None = None
    factor: int = 1
    notes: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:  # the runner stays where it is
        return {**self.__dict__, "runner": None}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns after decimation."""
        return (-(-self.first.shape[0] // self.factor), -(-self.first.shape[1] // self.factor))

    @property
    def form(self) -> RawPair:
        """Arrays of the pair's shape and types without its values."""
        kinds = [np.dtype(store.dtype) if self._as_stored(store) else np.dtype(np.float64) for store in self.stores]
        one, two = (np.broadcast_to(np.zeros((), kind), (*self.shape, self.first.shape[2])) for kind in kinds)
        return RawPair(one, two, None)

    @property
    def stores(self) -> tuple[Store, Store]:
        """Return both."""
        return self.first, self.second

    def map(self, function: Callable[[Part], T], regions: Sequence[Region]) -> list[T]:
        """Call a function with parts, where the runner runs them."""
        return self.runner.map(_OnPart(self, function), list(regions))

    def part(self, region: Region) -> Part:
        """Read a rectangle."""
        if self.factor == 1:
            return self._read(region)
        margin, factor = decimation_margin(self.factor), self.factor
        outer = tuple(
            slice(max(each.start - margin, 0), min(each.stop + margin, length))
            for each, length in zip(region, self.shape, strict=True)
        )
        full = self._read(
            (_times(outer[0], factor, self.first.shape[0]), _times(outer[1], factor, self.first.shape[1]))
        )
        rows, columns = (slice(r.start - o.start, r.stop - o.start) for r, o in zip(region, outer, strict=True))
        one, two = (decimate(image, factor, channel_axis=-1)[rows, columns] for image in full.images())
        at_top = None if full.clipped is None else ~keeps_light(~full.clipped, factor)[rows, columns]
        return Part(one, two, None, at_top, region)

    def _read(self, region: Region) -> Part:
        images: list[AnyArray] = []
        clipped: BoolArray | None = None
        for store in self.stores:
            stored = store.read(region)
            if self._as_stored(store):
                images.append(stored)
                if self.factor == 1:
                    continue
            else:
                light = self._curve(store).undo(stored, np.float64)
                changed = store is self.second and self.exposure is not None
                images.append(self.exposure.apply(light) if changed and self.exposure is not None else light)
            at_top = clipped_pixels(stored)
            if at_top is not None:
                clipped = at_top if clipped is None else clipped | at_top
        return Part(images[0], images[1], None, clipped, region)

    def _as_stored(self, store: Store) -> bool:
        """Whether nothing is to be done to the values of a store, nor to how many there are."""
        exposed = store is self.second and self.exposure is not None and self.exposure.changes
        return self.factor == 1 and self._curve(store).is_linear and not exposed

    def _curve(self, store: Store) -> Curve:
        return self.curve_of(store)[0]

    def curve_of(self, store: Store) -> tuple[Curve, str]:
        """Return the tone curve of a store, and who says so."""
        kind = "TIFF" if not store.array and store.path.lower().endswith(("f", "btf")) else "Zarr"
        nothing = np.zeros((1, 1), store.dtype)
        stored = StoredImage(nothing, kind, store.icc_profile, linear=kind == "Zarr")
        return choose_curve(stored, linear=self.linear, gamma=self.gamma)


@dataclass(frozen=True)
class _OnPart:
    """A function of a part, called with its place: the part is read where that is done."""

    pair: SlidePair
    function: Callable[[Part], Any]

    def __call__(self, region: Region) -> Any:
        return self.function(self.pair.part(region))


def _times(span: slice, factor: int, length: int) -> slice:
    return slice(span.start * factor, min(span.stop * factor, length))


def prepare_slides(
    first: Store, second: Store, runner: Runner, preparing: Mapping[str, Any]
) -> tuple[SlidePair, dict[str, Any]]:
    """Return the pair as it is to be compared, and further arguments for the estimate.

    ``preparing`` are the arguments of ``prepare_pair``.
    """
    if first.shape != second.shape:
        raise InputError(
            f"the images differ in size: {first.path} is {first.size} with {first.shape[2]} channel(s), "
            f"{second.path} is {second.size} with {second.shape[2]}; crop or convert them to the same view"
        )
    pair = SlidePair(first, second, runner, preparing["gamma"], preparing["linear"])
    curve, because = pair.curve_of(first)
    notes = [f"light: {curve.name}, {because}"]
    patches = _Patches.of(pair)
    notes += _motion_notes(patches, preparing["align"])
    if preparing["exposure"] == "auto":
        exposure = find_exposure(patches.first, patches.second, patches.usable)
        notes.append(f"exposure: {exposure.describe()}, from patches")
        if exposure.changes:
            pair = replace(pair, exposure=exposure)
    factor, because = preparing["decimate"], "asked for"
    if factor == "auto":
        choice = resolution_for(first.shape[:2], _largest_blur(pair), preparing["max_sigma"])
        factor, because = choice.factor, choice.describe()
    pair = replace(pair, factor=factor)
    patches = _Patches.of(pair)
    noise = noise_of(ComparablePair(patches.first, patches.second, patches.usable, is_light=preparing["linear"]))
    settings = {"decimate": factor, "full_size": first.size, "decimate_because": because}
    return replace(pair, notes=tuple(notes)), {"noise": noise, "settings": settings}


@dataclass(frozen=True)
class _Patches:
    """Patches of a pair beside each other in one picture of 0..1."""

    first: AnyArray
    second: AnyArray
    usable: BoolArray

    @classmethod
    def of(cls, pair: SlidePair) -> _Patches:
        places = places_of_patches(pair.shape)
        parts = pair.map(_light, places)
        across = sum(place[0] == places[0][0] for place in places)
        one, two, usable = (
            np.concatenate([np.concatenate(column[i : i + across], axis=1) for i in range(0, len(places), across)])
            for column in zip(*parts, strict=True)
        )
        return cls(one, two, usable)


def _light(part: Part) -> tuple[AnyArray, AnyArray, BoolArray]:
    """Return both images of a part as floats, finite everywhere, and which pixels can be used."""
    images = [unit_float(image) for image in part.images()]
    usable = np.isfinite(images[0]).all(axis=2) & np.isfinite(images[1]).all(axis=2)
    for at_top in (part.clipped, *map(clipped_pixels, part.images())):
        if at_top is not None:
            usable &= ~at_top
    one, two = (np.where(np.isfinite(image), image, 0.0) for image in images)
    return one, two, np.asarray(usable)


def _motion_notes(patches: _Patches, align: str) -> list[str]:
    """Look whether the pair is registered, on a patch in the middle."""
    if align == "off":
        return []
    if align != "auto":
        raise InputError(
            f"--align {align} is for pictures that are read whole; register these two first, or leave it out"
        )
    height, width = (length // 3 for length in patches.usable.shape)
    middle = slice(height, 2 * height), slice(width, 2 * width)
    try:
        motion = find_motion(patches.first[middle], patches.second[middle], patches.usable[middle], model="translation")
    except AlignmentError:
        return []
    said = motion.describe((height, width))
    return [f"alignment: {said}; not undone: a pair that is read in parts is taken to be registered"]


def _largest_blur(pair: SlidePair) -> float | None:
    """Return the 95th percentile of the blur, px, from patches at a resolution that shows it."""

    def look(step: int) -> FloatArray:
        side = PATCH_SIDE * step
        places = [
            (slice(top, min(top + side, pair.shape[0])), slice(left, min(left + side, pair.shape[1])))
            for top in _starts(pair.shape[0], side)
            for left in _starts(pair.shape[1], side)
        ]
        return np.concatenate([np.ravel(each) for each in pair.map(_BlurHere(step), places)])

    return search_largest_blur(look, 1, min(pair.shape) // PATCH_SIDE)


def _starts(length: int, side: int) -> list[int]:
    count = min(4, max(1, length // side))
    return [int(start) for start in np.linspace(0, max(length - side, 0), count)]


@dataclass(frozen=True)
class _BlurHere:
    """The size of the blur at every pixel of a part reduced by a step, px of the reduced."""

    step: int

    def __call__(self, part: Part) -> AnyArray:
        one, two, usable = _light(part)
        if min(usable.shape) < 16 * self.step:
            return np.full(1, np.nan)
        images = [block_means(image, self.step).mean(axis=2) for image in (one, two)]
        valid = block_means(usable[:, :, None].astype(float), self.step)[:, :, 0] > 0.999
        if not valid.any():
            return np.full(valid.shape, np.nan)
        return np.abs(estimate_blur(*images, method="window", valid=valid, engine="opencv", workers=1).sigma)
