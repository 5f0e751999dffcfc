"""Statistics that all tiles share, for pairs that are read in parts.

``paper`` and ``window`` need exact statistics of the whole images, so that the result does not depend on the tiles.
They read every pixel once, and up to twice more if values lie far beyond the rest. ``refined`` measures patches on a
regular grid: its scale, colours, noise and kernel are quantiles and sums over many pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..base._typing import AnyArray, BoolArray
from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.pixels import (
    NOT_FINITE_FROM,
    Usual,
    far_pixels,
    hot_pixels,
    most_faults,
    no_data,
    sample_step,
    usual_of,
    without_gaps,
)
from .dense.run import PATCH, measure_patches, notes_of, patches_of
from .estimating import Estimating, noise_models, plain_noise, request_of
from .methods import METHOD_TABLE
from .noise import noise_at_light, smooth_light
from .request import Request
from .tiles import Region, Tile, cut_into_tiles, grown
from .whole_image import CELL, Lights, Survey, lights_of

__all__ = ["GlobalStatistics", "Source", "clean", "compute", "measure_source"]

#: Side of the parts that are surveyed together, px: a multiple of the cells of a survey.
SURVEY_SIDE = 8 * CELL

#: Margin around a part to distinguish hot pixels from lights, px.
AROUND = 4

#: Sampling step within a patch, px.
PATCH_STEP = 4


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


@dataclass(frozen=True)
class BadPixels:
    """The thresholds for bad pixels, from the usual values of the whole images."""

    no_data_from: tuple[float, float] = (NOT_FINITE_FROM, NOT_FINITE_FROM)
    usual: tuple[Usual, Usual] | None = None  #: None: no search for hot pixels
    most: tuple[float, float] = (math.inf, math.inf)  #: -1 where far pixels are too many to be faults


@dataclass(frozen=True)
class GlobalStatistics:
    """Statistics that all tiles of a pair share."""

    shape: tuple[int, int]
    request: Request
    bad: BadPixels
    gaps: bool  #: whether some pixels are bad

    @property
    def halo(self) -> int:
        """Smallest halo of a tile, px."""
        if not self.gaps or self.request.overall is None:
            return 0
        # A gap within reach of a good pixel is filled from that pixel or from a nearer one.
        return math.ceil((1 + math.sqrt(2)) * self.request.reach) + 1

    @property
    def notes(self) -> dict[str, Any]:
        """Measured values for the settings of a map."""
        return notes_of(self.request)


def measure_source(source: Source, options: Estimating) -> GlobalStatistics:
    """Read all pixels or patches of a pair, as its method needs; return the statistics that its tiles share."""
    form, exact = source.form, METHOD_TABLE[options.method].surveys
    models = noise_models(options)
    given = plain_noise(options) if models is None else (0.0, 0.0)
    request_of(options, form, given)  # refuses wrong options before anything is read
    places = patches_of(form.shape)
    tiles = cut_into_tiles(form.shape, SURVEY_SIDE, 0, SURVEY_SIDE) if exact else [Tile(each, each) for each in places]
    bad, (one, two) = _look_through(source, tiles, exact)
    patches = []
    if models is not None or not exact:
        patches = [raw.part() for raw in compute([source.call(clean, place, bad) for place in places])]
    if models is not None:
        light = np.concatenate([smooth_light(each.first, each.second).ravel() for each in patches])
        given, _ = noise_at_light(*models, light, np.concatenate([each.usable.ravel() for each in patches]))
    request, gaps = request_of(options, form, given), one.gaps or two.gaps
    if exact:
        overall = one.survey.intensities(one.usual()), two.survey.intensities(two.usual())
        return GlobalStatistics(form.shape, replace(request, overall=overall), bad, gaps)
    ranges = [None if (usual := each.usual()) is None else lights_of(usual, -math.inf, math.inf) for each in (one, two)]
    request = measure_patches(patches, replace(request, lights=Lights((ranges[0], ranges[1]))))
    return GlobalStatistics(form.shape, request, bad, gaps)


def clean(part: RawPair, bad: BadPixels) -> RawPair:
    """Fill the bad pixels of a part, and mark the pixels that are good and valid."""
    filled, goods = _without_bad_pixels(part, bad)
    known = [each for each in (*goods, part.finite) if each is not None]
    finite = np.asarray(np.logical_and.reduce(known)) if known else None
    return RawPair(filled[0], filled[1], finite, part.clipped)


def _without_bad_pixels(part: RawPair, bad: BadPixels) -> tuple[list[AnyArray], list[BoolArray | None]]:
    """Fill the bad pixels of both images; return the images, and the good pixels of each (None: all)."""
    images = part.first, part.second
    goods: list[BoolArray | None] = []
    for image, limit in zip(images, bad.no_data_from, strict=True):
        without = no_data(image, Usual(0.0, 0.0, 0.0, limit / 1e8))
        goods.append(None if without is None or not without.any() else ~without)
    usual = (None, None) if bad.usual is None else bad.usual
    filled = [_filled(*each) for each in zip(images, goods, usual, strict=True)]
    if bad.usual is not None:
        for i, hot in enumerate(hot_pixels(filled[0], filled[1], bad.usual, bad.most)):
            if len(hot[0]):
                good = goods[i]
                good = np.ones(images[i].shape[:2], bool) if good is None else good
                good[hot] = False
                goods[i], filled[i] = good, _filled(images[i], good, bad.usual[i])
    return filled, goods


def _filled(image: AnyArray, good: BoolArray | None, usual: Usual | None) -> AnyArray:
    if good is None:
        return image
    return without_gaps(image, good) if good.any() else np.full_like(image, 0 if usual is None else usual.middle)


class _Figures:
    """Statistics of one image over one part or several."""

    def __init__(self) -> None:
        self.stored: list[AnyArray] = []  #: sample of all pixels
        self.kept: list[AnyArray] = []  #: sample of the valid pixels that are good in both images
        self.survey = Survey()
        self.least, self.largest, self.far = math.inf, -math.inf, 0
        self.gaps = False

    def add(self, other: _Figures) -> None:
        self.stored += other.stored
        self.kept += other.kept
        self.survey.add(other.survey)
        self.least, self.largest = min(self.least, other.least), max(self.largest, other.largest)
        self.far += other.far
        self.gaps |= other.gaps

    def usual(self) -> Usual | None:
        """Return the usual values of an image of floats; None for integers."""
        kept = np.concatenate(self.kept)
        return usual_of(kept) if np.issubdtype(kept.dtype, np.floating) else None

    def rule(self) -> tuple[float, Usual, bool]:
        """Return the least magnitude of no data, the usual values below it, and whether all values are ordinary."""
        stored = np.concatenate(self.stored)
        of_all = usual_of(stored)
        usual = usual_of(stored[(np.abs(stored) < of_all.no_data_from).all(axis=1)])
        ordinary = all(of.is_ordinary(self.least, self.largest) for of in (of_all, usual))
        return of_all.no_data_from, usual, ordinary or stored.dtype.itemsize == 1


def _look(part: RawPair, tile: Tile, bad: BadPixels, step: int, surveys: bool) -> tuple[_Figures, _Figures]:
    """Return the statistics of both images over a tile's core; ``part`` is its outer rectangle."""
    here, every = tile.inside, tuple(slice(-each.start % step, None, step) for each in tile.core)
    filled, goods = _without_bad_pixels(part, bad)
    known = [each[here] for each in (*goods, part.finite) if each is not None]
    finite = np.asarray(np.logical_and.reduce(known)) if known else None
    both = _Figures(), _Figures()
    for i, (seen, stored) in enumerate(zip(both, (part.first, part.second), strict=True)):
        values = filled[i][here]
        seen.gaps = goods[i] is not None
        seen.stored.append(stored[here][every].reshape(-1, stored.shape[2]))
        seen.kept.append((values[every] if finite is None else values[every][finite[every]]).ravel())
        chosen = values if finite is None else values[finite]
        if chosen.size:
            seen.least, seen.largest = float(chosen.min()), float(chosen.max())
        if surveys:
            seen.survey.look_at(values, finite)
        if bad.usual is not None:
            seen.far = len(far_pixels(values, bad.usual[i])[0])
    return both


def _look_through(source: Source, tiles: Sequence[Tile], surveys: bool) -> tuple[BadPixels, tuple[_Figures, _Figures]]:
    """Return the thresholds for bad pixels, and the statistics of the good pixels."""
    shape = source.form.shape
    step = sample_step(shape) if surveys else PATCH_STEP  # surveys: the grid that ``usual_values`` takes

    def look(bad: BadPixels) -> tuple[_Figures, _Figures]:
        around = AROUND if surveys and bad.usual is not None else 0
        outer = [Tile(tile.core, grown(tile.core, around, shape)) for tile in tiles]
        total, *others = compute([source.call(_look, tile.outer, tile, bad, step, surveys) for tile in outer])
        for each in others:
            total[0].add(each[0])
            total[1].add(each[1])
        return total[0], total[1]

    bad = BadPixels()
    one, two = look(bad)
    if one.largest < one.least:
        raise InputError("valid leaves no pixel to use; at least one must be True and finite in both images")
    rules = one.rule(), two.rule()
    if rules[0][2] and rules[1][2]:
        return bad, (one, two)
    bad = BadPixels((rules[0][0], rules[1][0]), (rules[0][1], rules[1][1]))
    one, two = look(bad)
    most = most_faults(shape if surveys else (len(tiles), PATCH * PATCH))
    if max(one.far, two.far) <= most:
        return bad, (one, two)
    bad = replace(bad, most=(math.inf if one.far <= most else -1.0, math.inf if two.far <= most else -1.0))
    return bad, look(bad)
