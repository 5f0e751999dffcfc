"""What the parts of a pair that is never held whole must agree on, found by looking at parts of it.

``paper`` and ``window`` need the exact figures of the whole images to give the same bits: every pixel is looked at once
(an image with values far beyond the rest twice or three times). ``refined`` is satisfied with patches on a regular
grid: scale, colours, noise and kernel are quantiles and sums over many pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.bad_pixels import (
    NOT_FINITE_FROM,
    Usual,
    far_pixels,
    hot_pixels,
    most_faults,
    no_data,
    sample_step,
    usual_of,
)
from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.pixels import unit_float, without_gaps
from .asked import Asked
from .dense.run import MARGIN, PATCH, flag_margin, measure_patches, places_of_patches
from .noise import noise_at_light, smooth_light
from .request import Request
from .tiles import Region
from .whole_image import CELL, Lights, Survey, lights_of

if TYPE_CHECKING:
    from .dense.whole import Whole

__all__ = ["Part", "Parts", "Shared", "clean", "find_shared", "refined_halo"]

T = TypeVar("T")

#: Side of the parts that are looked at together, px: a multiple of the cells of a survey.
LOOK_SIDE = 8 * CELL

#: Pixels around a part that tell its hot pixels from lights.
AROUND = 4


@dataclass(frozen=True)
class Part:
    """A rectangle of a pair, as it came: (H, W, C) images and maps of their size."""

    first: AnyArray
    second: AnyArray
    valid: BoolArray | None
    clipped: BoolArray | None
    region: Region  #: where it lies in the whole

    def images(self) -> tuple[AnyArray, AnyArray]:
        """Return both."""
        return self.first, self.second


class Parts(Protocol):
    """A pair that can be had in parts."""

    @property
    def form(self) -> RawPair:
        """Arrays of the pair's shape and types without its values."""

    def map(self, function: Callable[[Part], T], regions: Sequence[Region]) -> list[T]:
        """Call a function with parts, here or elsewhere, in any order; return what it gave, in that of the regions."""


@dataclass(frozen=True)
class BadPixels:
    """Which pixels hold no light, by what is usual in the whole images."""

    no_data_from: tuple[float, float] = (NOT_FINITE_FROM, NOT_FINITE_FROM)
    usual: tuple[Usual, Usual] | None = None  #: None: nobody looks for hot pixels
    most: tuple[float, float] = (math.inf, math.inf)  #: -1 where far pixels are too many to be faults


@dataclass(frozen=True)
class Shared:
    """What is the same for every part of a pair."""

    shape: tuple[int, int]
    request: Request
    bad: BadPixels
    gaps: bool  #: some pixel holds no light
    lights: Lights | None = None  #: and the rest for ``"refined"`` only
    whole: Whole | None = None
    exchanged: bool = False  #: worked on with the images in the other order
    models: Any = None  #: of the noise of each image, if it depends on the light

    @property
    def halo(self) -> int:
        """How far beyond its core a part must reach, px."""
        if self.request.method == "refined":
            return refined_halo(self.request)
        reach = self.request.reach
        # A gap within reach of a good pixel is filled from a good one no farther from the gap than that pixel is.
        return math.ceil((1 + math.sqrt(2)) * reach) + 1 if self.gaps else reach

    @property
    def notes(self) -> dict[str, Any]:
        """What was found, for the settings of a map."""
        notes: dict[str, Any] = {"max_sigma": self.request.max_sigma}
        if self.whole is not None:
            low, high = self.whole.limits
            unit = high - low if high > low else 1.0
            noise = [float(each) * unit for each in self.whole.noise.sensor]
            swapped = self.exchanged or self.request.sharper == "second"
            notes |= {"kernel": self.whole.family, "noise": noise[::-1] if swapped else noise}
        return notes


def refined_halo(request: Request) -> int:
    """Return how far beyond its core a tile of ``"refined"`` must reach, px."""
    return max(MARGIN, flag_margin(request))


def find_shared(parts: Parts, asked: Asked) -> Shared:
    """Look at a pair as closely as the method needs, and return what its parts share."""
    asked.check()
    form = parts.form
    models = asked.noise_models()
    given = asked.plain_noise() if models is None else (0.0, 0.0)
    request = asked.request(form, given_noise=given)  # refuses what does not fit before anything is read
    exact = asked.entry.surveys
    patches = places_of_patches(form.shape)
    regions = _regions(form.shape, LOOK_SIDE) if exact else patches
    bad, seen = _look_through(parts, regions, exact)
    if models is not None:
        given = _mean_noise(parts, patches, bad, models)
    if exact:
        one, two = (
            seen.surveys[i].intensities(seen.usual(i, 2) if _is_float(image) else None)
            for i, image in enumerate((form.first, form.second))
        )
        request = asked.request(form, given_noise=given, overall=(one, two))
        return Shared(form.shape, request, bad, seen.gaps)
    return _for_refined(parts, asked.request(form, given_noise=given), bad, seen, models)


def clean(part: Part, bad: BadPixels) -> RawPair:
    """Return a part with values at all pixels, and which of them are to be believed."""
    filled, goods = _without_bad_pixels(part, bad)
    known = [good for good in (*goods, part.valid) if good is not None]
    finite = np.asarray(np.logical_and.reduce(known)) if known else None
    return RawPair(filled[0], filled[1], finite, part.clipped)


def _without_bad_pixels(part: Part, bad: BadPixels) -> tuple[list[AnyArray], list[BoolArray | None]]:
    """Return both images with values at all pixels, and which pixels of each were good (None: all)."""
    goods: list[BoolArray | None] = []
    filled: list[AnyArray] = []
    for image, limit in zip(part.images(), bad.no_data_from, strict=True):
        without = no_data(image, _limit_at(limit))
        good = None if without is None or not without.any() else ~without
        goods.append(good)
        filled.append(image if good is None else _filled(image, good, bad))
    if bad.usual is not None:
        for index, hot in enumerate(hot_pixels(filled[0], filled[1], bad.usual, bad.most)):
            if len(hot[0]):
                good = goods[index]
                good = np.ones(filled[index].shape[:2], bool) if good is None else good.copy()
                good[hot] = False
                goods[index], filled[index] = good, _filled(part.images()[index], good, bad)
    return filled, goods


def _limit_at(limit: float) -> Usual:
    """Return what is usual in an image whose values are no light from a limit on."""
    return Usual(0.0, 0.0, 0.0, limit / 1e8)


def _filled(image: AnyArray, good: BoolArray, bad: BadPixels) -> AnyArray:
    if good.any():
        return without_gaps(image, good)
    return np.full_like(image, 0 if bad.usual is None else bad.usual[0].middle)


class _Seen:
    """What a look at a part, or at several, has shown of both images."""

    def __init__(self) -> None:
        #: Of each image: values as they came, of its good pixels, of those that are good in both and declared valid.
        self.samples: list[list[list[AnyArray]]] = [[[], [], []], [[], [], []]]
        self.surveys = [Survey(), Survey()]
        self.least, self.largest = [math.inf] * 2, [-math.inf] * 2
        self.far = [0, 0]
        self.gaps = self.usable = False

    def add(self, other: _Seen) -> None:
        for i in (0, 1):
            for mine, theirs in zip(self.samples[i], other.samples[i], strict=True):
                mine += theirs
            self.surveys[i].add(other.surveys[i])
            self.least[i] = min(self.least[i], other.least[i])
            self.largest[i] = max(self.largest[i], other.largest[i])
            self.far[i] += other.far[i]
        self.gaps |= other.gaps
        self.usable |= other.usable

    def usual(self, i: int, which: int) -> Usual:
        return usual_of(np.concatenate(self.samples[i][which]))


@dataclass(frozen=True)
class _Look:
    """A look at a part: its good pixels, their figures, a sample. Shipped to where the part is."""

    bad: BadPixels
    step: int
    surveys: bool
    shape: tuple[int, int]

    def __call__(self, part: Part) -> _Seen:
        filled, goods = _without_bad_pixels(part, self.bad)
        inside, place = self._inside(part.region)
        every = tuple(slice(-each.start % self.step, None, self.step) for each in place)
        valid = None if part.valid is None else part.valid[inside]
        known = [good[inside] for good in goods if good is not None]
        seen = _Seen()
        seen.gaps = bool(known)
        if valid is not None:
            known.append(valid)
        finite = np.asarray(np.logical_and.reduce(known)) if known else None
        for i, stored in enumerate(part.images()):
            values = filled[i][inside]
            own = goods[i]
            seen.samples[i][0].append(stored[inside][every].ravel())
            for which, good in ((1, None if own is None else own[inside]), (2, finite)):
                seen.samples[i][which].append((values[every] if good is None else values[every][good[every]]).ravel())
            if finite is None or finite.any():
                chosen = values if finite is None else values[finite]
                seen.least[i], seen.largest[i] = float(chosen.min()), float(chosen.max())
                seen.usable = True
            if self.surveys:
                seen.surveys[i].look_at(values, finite)
            if self.bad.usual is not None:
                seen.far[i] = len(far_pixels(values, self.bad.usual[i])[0])
        return seen

    def _inside(self, region: Region) -> tuple[Region, Region]:
        """Return what is to be looked at: counted from the corner of the part, and in the whole."""
        if not self.surveys:
            return (slice(None), slice(None)), region
        starts = [-(-each.start // LOOK_SIDE) * LOOK_SIDE for each in region]
        place = [slice(a, min(a + LOOK_SIDE, n)) for a, n in zip(starts, self.shape, strict=True)]
        rows, columns = (slice(p.start - r.start, p.stop - r.start) for p, r in zip(place, region, strict=True))
        return (rows, columns), (place[0], place[1])


def _look_through(parts: Parts, regions: Sequence[Region], surveys: bool) -> tuple[BadPixels, _Seen]:
    """Return the rule for bad pixels, and what is seen by it."""
    form = parts.form
    # All pixels of the grid that ``usual_values`` takes; of patches, which are a sample themselves, every fourth.
    step = sample_step(form.shape) if surveys else 4

    def look(bad: BadPixels, around: int = 0) -> _Seen:
        total, *others = parts.map(
            _Look(bad, step, surveys, form.shape), [_grown(region, form.shape, around) for region in regions]
        )
        for each in others:
            total.add(each)
        return total

    bad = BadPixels()
    seen = look(bad)
    if not seen.usable:
        raise InputError("valid leaves no pixel to use; at least one must be True and finite in both images")
    if all(_is_ordinary(seen, i, image) for i, image in enumerate((form.first, form.second))):
        return bad, seen
    bad = replace(bad, no_data_from=(seen.usual(0, 0).no_data_from, seen.usual(1, 0).no_data_from))
    seen = look(bad)
    bad = replace(bad, usual=(seen.usual(0, 1), seen.usual(1, 1)))
    around = AROUND if surveys else 0
    seen = look(bad, around)
    looked_at = form.shape if surveys else (len(regions), PATCH * PATCH)
    one, two = (math.inf if far <= most_faults(looked_at) else -1.0 for far in seen.far)
    if (one, two) == (math.inf, math.inf):
        return bad, seen
    bad = replace(bad, most=(one, two))
    return bad, look(bad, around)


def _is_ordinary(seen: _Seen, i: int, image: AnyArray) -> bool:
    if image.dtype.itemsize == 1:
        return True
    low, high = seen.least[i], seen.largest[i]
    return all(seen.usual(i, which).is_ordinary(low, high) for which in (0, 1))


def _for_refined(parts: Parts, request: Request, bad: BadPixels, seen: _Seen, models: Any) -> Shared:
    """Measure the patches that are seen as tiles of an image are."""
    form = parts.form
    one, two = (
        lights_of(seen.usual(i, 1), -math.inf, math.inf) if _is_float(image) else None
        for i, image in enumerate((form.first, form.second))
    )
    lights = Lights((one, two))
    pairs = [clean(part, bad).part() for part in parts.map(_itself, places_of_patches(form.shape))]
    exchanged = False
    if request.sharper == "auto":
        details = [sum(_detail(getattr(pair, side)) for pair in pairs) for side in ("first", "second")]
        exchanged = details[0] < details[1]
    if exchanged:
        pairs = [replace(pair, first=pair.second, second=pair.first) for pair in pairs]
        lights = Lights(lights.ranges[::-1])
        request = replace(request, given_noise=None if request.given_noise is None else request.given_noise[::-1])
        models = None if models is None else models[::-1]
    whole = measure_patches([(pair, lights.usable(pair)) for pair in pairs], request)
    return Shared(form.shape, request, bad, seen.gaps, lights, whole, exchanged, models)


def _itself(part: Part) -> Part:
    return part


def _detail(image: FloatArray) -> float:
    return float(sum(np.square(np.diff(image, axis=axis)).sum() for axis in (0, 1)))


@dataclass(frozen=True)
class _NoiseHere:
    """The mean variance of the noise of both images in a part, by their models, and over how many pixels."""

    bad: BadPixels
    models: Any

    def __call__(self, part: Part) -> tuple[float, float, int]:
        raw = clean(part, self.bad)
        if not raw.usable.any():
            return 0.0, 0.0, 0
        light = smooth_light(unit_float(raw.first), unit_float(raw.second))
        (one, two), _ = noise_at_light(self.models[0], self.models[1], light, raw.usable)
        return one**2, two**2, int(raw.usable.sum())


def _mean_noise(parts: Parts, patches: Sequence[Region], bad: BadPixels, models: Any) -> tuple[float, float]:
    found = np.array(parts.map(_NoiseHere(bad, models), patches))
    if not found[:, 2].any():
        return models[0].read, models[1].read
    one, two = np.sqrt(np.average(found[:, :2], axis=0, weights=found[:, 2]))
    return float(one), float(two)


def _is_float(image: AnyArray) -> bool:
    return bool(np.issubdtype(image.dtype, np.floating))


def _regions(shape: tuple[int, int], side: int) -> list[Region]:
    return [
        (slice(top, min(top + side, shape[0])), slice(left, min(left + side, shape[1])))
        for top in range(0, shape[0], side)
        for left in range(0, shape[1], side)
    ]


def _grown(region: Region, shape: tuple[int, int], by: int) -> Region:
    rows, columns = (
        slice(max(each.start - by, 0), min(each.stop + by, length)) for each, length in zip(region, shape, strict=True)
    )
    return rows, columns
