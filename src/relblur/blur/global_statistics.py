"""Figures that all tiles of a pair must agree on, for pairs that are never held whole.

``paper`` and ``window`` need the exact figures of the whole images to return the same bits: every pixel is read once,
and again (twice at most) if values lie far beyond the rest. ``refined`` measures patches on a regular grid: its scale,
colours, noise and kernel are quantiles and sums over many pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from ..base._typing import AnyArray, BoolArray
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
from .dense.run import PATCH, measure_patches, notes_of, patches_of
from .noise import noise_at_light, smooth_light
from .request import Request
from .tiles import Region, Tile, cut_into_tiles, grown
from .whole_image import CELL, Lights, Survey, lights_of

__all__ = ["GlobalStatistics", "Part", "Source", "clean", "compute", "measure_source"]

T = TypeVar("T")

#: Side of the parts that are surveyed together, px: a multiple of the cells of a survey.
SURVEY_SIDE = 8 * CELL

#: Pixels around a part that tell its hot pixels from lights.
AROUND = 4

#: Sampling step within a patch, px: patches are a sample already.
PATCH_STEP = 4


@dataclass(frozen=True)
class Part:
    """A rectangle of a pair as it is stored: (H, W, C) images and maps of their size."""

    first: AnyArray
    second: AnyArray
    valid: BoolArray | None
    clipped: BoolArray | None

    def images(self) -> tuple[AnyArray, AnyArray]:
        """Return both."""
        return self.first, self.second


class Source(Protocol):
    """A pair of which rectangles are read by Dask tasks."""

    @property
    def form(self) -> RawPair:
        """Arrays of the pair's shape and types without its values."""

    def call(self, function: Callable[..., Any], region: Region, *further: Any) -> Any:
        """Return the delayed call of a function with a :class:`Part` and further arguments."""


def compute(calls: Sequence[Any]) -> list[Any]:
    """Return the results of delayed calls, by the scheduler that Dask is set to."""
    import dask

    return list(dask.compute(*calls, traverse=False))


@dataclass(frozen=True)
class BadPixels:
    """The rule that tells which pixels hold no light, by what is usual in the whole images."""

    no_data_from: tuple[float, float] = (NOT_FINITE_FROM, NOT_FINITE_FROM)
    usual: tuple[Usual, Usual] | None = None  #: None: without a search for hot pixels
    most: tuple[float, float] = (math.inf, math.inf)  #: -1 where far pixels are too many to be faults


@dataclass(frozen=True)
class GlobalStatistics:
    """What is the same for every tile of a pair."""

    shape: tuple[int, int]
    request: Request
    bad: BadPixels
    gaps: bool  #: some pixel holds no light

    @property
    def halo(self) -> int:
        """Smallest halo of a tile, px."""
        if not self.gaps or self.request.overall is None:
            return 0
        # A gap within reach of a good pixel is filled from a good one no farther from the gap than that pixel is.
        return math.ceil((1 + math.sqrt(2)) * self.request.reach) + 1

    @property
    def notes(self) -> dict[str, Any]:
        """What was found, for the settings of a map."""
        return notes_of(self.request)


def measure_source(source: Source, options: Asked) -> GlobalStatistics:
    """Read a pair as closely as the method needs, and return what its tiles share."""
    options.check()
    form, exact = source.form, options.entry.surveys
    models = options.noise_models()
    given = options.plain_noise() if models is None else (0.0, 0.0)
    options.request(form, given)  # refuses what does not fit before anything is read
    patches = [Tile(patch, patch) for patch in patches_of(form.shape)]
    bad, seen = _look_through(
        source, cut_into_tiles(form.shape, SURVEY_SIDE, 0, SURVEY_SIDE) if exact else patches, exact
    )
    if models is not None:
        given = _mean_noise(source, patches, bad, models)
    request = options.request(form, given)
    usual = [seen.usual(i) if _is_float(image) else None for i, image in enumerate((form.first, form.second))]
    if exact:
        one, two = (survey.intensities(of) for survey, of in zip(seen.surveys, usual, strict=True))
        return GlobalStatistics(form.shape, replace(request, overall=(one, two)), bad, seen.gaps)
    ranges = [None if of is None else lights_of(of, -math.inf, math.inf) for of in usual]
    parts = compute([source.call(clean, patch.outer, bad) for patch in patches])
    request = replace(request, lights=Lights((ranges[0], ranges[1])))
    request = measure_patches([raw.part() for raw in parts], request)
    return GlobalStatistics(form.shape, request, bad, seen.gaps)


def clean(part: Part, bad: BadPixels) -> RawPair:
    """Return a part with values at all pixels, and which of them hold light and are valid."""
    filled, finite = _without_bad_pixels(part, bad)
    if part.valid is not None:
        finite = part.valid if finite is None else finite & part.valid
    return RawPair(filled[0], filled[1], finite, part.clipped)


def _without_bad_pixels(part: Part, bad: BadPixels) -> tuple[list[AnyArray], BoolArray | None]:
    """Return both images with values at all pixels, and which pixels held light in both (None: all)."""
    goods: list[BoolArray | None] = []
    for image, limit in zip(part.images(), bad.no_data_from, strict=True):
        without = no_data(image, Usual(0.0, 0.0, 0.0, limit / 1e8))
        goods.append(None if without is None or not without.any() else ~without)
    filled = [_filled(part, i, good, bad) for i, good in enumerate(goods)]
    if bad.usual is not None:
        for i, hot in enumerate(hot_pixels(filled[0], filled[1], bad.usual, bad.most)):
            if len(hot[0]):
                good = goods[i]
                good = np.ones(filled[i].shape[:2], bool) if good is None else good
                good[hot] = False
                goods[i], filled[i] = good, _filled(part, i, good, bad)
    known = [good for good in goods if good is not None]
    return filled, np.asarray(np.logical_and.reduce(known)) if known else None


def _filled(part: Part, i: int, good: BoolArray | None, bad: BadPixels) -> AnyArray:
    image = part.images()[i]
    if good is None:
        return image
    if good.any():
        return without_gaps(image, good)
    return np.full_like(image, 0 if bad.usual is None else bad.usual[i].middle)


class _Seen:
    """Figures of both images over a part, or over several."""

    def __init__(self) -> None:
        #: Samples of each image: of all pixels as stored, and of those that hold light in both and are valid.
        self.stored: tuple[list[AnyArray], list[AnyArray]] = ([], [])
        self.kept: tuple[list[AnyArray], list[AnyArray]] = ([], [])
        self.surveys = Survey(), Survey()
        self.least, self.largest = [math.inf] * 2, [-math.inf] * 2
        self.far = [0, 0]
        self.gaps = self.usable = False

    def add(self, other: _Seen) -> None:
        for i in (0, 1):
            self.stored[i].extend(other.stored[i])
            self.kept[i].extend(other.kept[i])
            self.surveys[i].add(other.surveys[i])
            self.least[i] = min(self.least[i], other.least[i])
            self.largest[i] = max(self.largest[i], other.largest[i])
            self.far[i] += other.far[i]
        self.gaps |= other.gaps
        self.usable |= other.usable

    def usual(self, i: int) -> Usual:
        return usual_of(np.concatenate(self.kept[i]))


def _look(part: Part, tile: Tile, bad: BadPixels, step: int, surveys: bool) -> _Seen:
    """Return the figures of a tile's core; the part is its outer rectangle."""
    seen, here = _Seen(), tile.inside
    filled, good = _without_bad_pixels(part, bad)
    finite, valid = (None if each is None else each[here] for each in (good, part.valid))
    seen.gaps = good is not None
    if valid is not None:
        finite = valid if finite is None else finite & valid
    every = tuple(slice(-each.start % step, None, step) for each in tile.core)
    for i, stored in enumerate(part.images()):
        values = filled[i][here]
        seen.stored[i].append(stored[here][every].reshape(-1, stored.shape[2]))
        seen.kept[i].append((values[every] if finite is None else values[every][finite[every]]).ravel())
        if finite is None or finite.any():
            chosen = values if finite is None else values[finite]
            seen.least[i], seen.largest[i] = float(chosen.min()), float(chosen.max())
            seen.usable = True
        if surveys:
            seen.surveys[i].look_at(values, finite)
        if bad.usual is not None:
            seen.far[i] = len(far_pixels(values, bad.usual[i])[0])
    return seen


def _look_through(source: Source, tiles: Sequence[Tile], surveys: bool) -> tuple[BadPixels, _Seen]:
    """Return the rule for bad pixels, and the figures of the pixels that are left."""
    form = source.form
    # All pixels of the grid that ``usual_values`` takes.
    step = sample_step(form.shape) if surveys else PATCH_STEP

    def look(bad: BadPixels) -> _Seen:
        around = AROUND if surveys and bad.usual is not None else 0
        outer = [Tile(tile.core, grown(tile.core, around, form.shape)) for tile in tiles]
        total, *others = compute([source.call(_look, tile.outer, tile, bad, step, surveys) for tile in outer])
        for each in others:
            total.add(each)
        return total

    seen = look(BadPixels())
    if not seen.usable:
        raise InputError("valid leaves no pixel to use; at least one must be True and finite in both images")
    limits, usual, ordinary = [], [], True
    for i, image in enumerate((form.first, form.second)):
        stored = np.concatenate(seen.stored[i])
        of_all = usual_of(stored)
        limits.append(of_all.no_data_from)
        usual.append(usual_of(stored[(np.abs(stored) < limits[i]).all(axis=1)]))
        within = all(of.is_ordinary(seen.least[i], seen.largest[i]) for of in (of_all, usual[i]))
        ordinary &= within or image.dtype.itemsize == 1
    if ordinary:
        return BadPixels(), seen
    bad = BadPixels((limits[0], limits[1]), (usual[0], usual[1]))
    seen = look(bad)
    looked_at = form.shape if surveys else (len(tiles), PATCH * PATCH)
    one, two = (math.inf if far <= most_faults(looked_at) else -1.0 for far in seen.far)
    if (one, two) == (math.inf, math.inf):
        return bad, seen
    bad = replace(bad, most=(one, two))
    return bad, look(bad)


def _noise_here(part: Part, bad: BadPixels, models: Any) -> tuple[float, float, int]:
    """Return the mean variance of the noise of both images in a part, by their models, and over how many pixels."""
    raw = clean(part, bad)
    if not raw.usable.any():
        return 0.0, 0.0, 0
    light = smooth_light(unit_float(raw.first), unit_float(raw.second))
    (one, two), _ = noise_at_light(models[0], models[1], light, raw.usable)
    return one**2, two**2, int(raw.usable.sum())


def _mean_noise(source: Source, patches: Sequence[Tile], bad: BadPixels, models: Any) -> tuple[float, float]:
    found = np.array(compute([source.call(_noise_here, patch.outer, bad, models) for patch in patches]))
    if not found[:, 2].any():
        return models[0].read, models[1].read
    one, two = np.sqrt(np.average(found[:, :2], axis=0, weights=found[:, 2]))
    return float(one), float(two)


def _is_float(image: AnyArray) -> bool:
    return bool(np.issubdtype(image.dtype, np.floating))
