"""Quantities that the tiles of an image share: scale, colours, noise and kernel, measured on patches all over it.

By itself, a tile of sky would have another scale, other colours and other noise than a tile of leaves.  Patches on a
regular grid stand for the whole: the quantities are quantiles and sums over many pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...field import Loops, choose_loops
from ...filters.kernels import Family
from ...kernels.threads import Team
from .family import choose_family, usual_family
from .noise import GivenNoise, PairNoise, decide_noise, rounding_floor
from .planes import Planes, colour_directions, intensity_range, leading_colours, prepare
from .residuals import Residuals, blurred, build_residuals
from .sensor import measure_powers

__all__ = ["Whole", "measure_whole"]

Array = NDArray[np.float32]
Patch = tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]


@dataclass(frozen=True)
class Whole:
    """Quantities that all tiles of an image share.

    Attributes
    ----------
    limits : (float, float)
        Intensities between which the working scale is 1.
    directions : (components, channels) or None
        Colour directions in use; None for grey.
    noise : PairNoise
        On the working scale.
    family : str
        "sampled", "band_limited", or discs with their parameter.
    """

    limits: tuple[float, float]
    directions: Array | None
    noise: PairNoise
    family: Family


def measure_whole(
    patches: Sequence[Patch],
    *,
    signed: bool,
    given: GivenNoise,
    prefilter: float,
    max_sigma: float,
    engine: str,
    workers: int,
) -> Whole:
    """Measure an image pair on (first, second, usable) patches of it."""
    limits = intensity_range(
        [np.concatenate([patch[side][patch[2]] for patch in patches]) for side in (0, 1)],
    )
    pairs = [prepare(*patch, limits) for patch in patches]
    directions = colour_directions([(pair.first, pair.second) for pair in pairs])
    joined = ([pair.first for pair in pairs], [pair.second for pair in pairs])
    one, two = (rounding_floor(np.concatenate([image.ravel() for image in images])) for images in joined)
    seen = [_Seen(pair, _images(pair, directions, prefilter)) for pair in pairs if pair.usable.any()]
    given = given.on_scale(pairs[0].unit)
    family = usual_family(signed)
    if not seen:
        return Whole(limits, directions, PairNoise(given.deviations or (0.0, 0.0), (one, two)), family)
    with Team(workers) as team:
        loops = choose_loops(engine, team)
        sample = _Sample(seen, signed, given, (one, two), prefilter, max_sigma, loops)
        noise = sample.noise(family)
        if prefilter == 0:
            parts = [(each.images, each.pair.usable) for each in seen]
            chosen = choose_family(parts, noise, family, sample.lowest, max_sigma**2, loops)
            if chosen != family:
                family, noise = chosen, sample.noise(chosen)
    return Whole(limits, directions, noise, family)


@dataclass(frozen=True)
class _Seen:
    """A patch with something to see, and the (prefiltered) colours that are used of it."""

    pair: Planes
    images: tuple[Array, Array]


@dataclass(frozen=True)
class _Sample:
    """The patches of an image together."""

    seen: Sequence[_Seen]
    signed: bool
    given: GivenNoise
    rounding: tuple[float, float]
    prefilter: float
    max_sigma: float
    loops: Loops

    @property
    def lowest(self) -> float:
        """The least ``s``, px^2."""
        return -(self.max_sigma**2) if self.signed else 0.0

    def stacks(self, family: Family) -> Iterator[Residuals]:
        """Build the residuals of one patch after the other: all of them would not fit."""
        for each in self.seen:
            yield build_residuals(
                *each.images,
                lowest=self.lowest,
                highest=self.max_sigma**2,
                family=family,
                prefilter=self.prefilter**2,
                loops=self.loops,
            )

    def noise(self, family: Family) -> PairNoise:
        """Return the noise of the pair if its blur is of a family."""
        given = self.given
        if given.deviations is not None and not given.may_differ:
            return PairNoise(given.deviations, self.rounding)
        best = [
            self.loops.best_fit(stack.planes, stack.gain.relative).ravel() / np.float32(stack.gain.q0)
            for stack in self.stacks(family)
        ]
        powers = [measure_powers(each.pair.first, each.pair.second, each.pair.usable) for each in self.seen]
        residual = float(np.median(np.concatenate(best)))
        return decide_noise(powers, residual, self.rounding, lambda: self.stacks(family), given.deviations)


def _images(pair: Planes, directions: Array | None, prefilter: float) -> tuple[Array, Array]:
    images = leading_colours(pair.first, pair.second, directions)
    return (blurred(images[0], prefilter), blurred(images[1], prefilter)) if prefilter > 0 else images
