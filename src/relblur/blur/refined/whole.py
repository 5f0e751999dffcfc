"""What a tile must know of its image: scale, colours, noise and kernel, measured on patches all over it.

Left to themselves, a tile of sky and a tile of leaves would be put on different scales, see different colours and
believe in different noise.  Patches on a regular grid stand for the whole: the quantities are quantiles and sums over
many pixels, and a million of them tell the same as sixty million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...filters.kernels import Family
from .engine import open_loops
from .likelihood import noise as noise_
from .likelihood.family import choose_discs, compare, is_better, other_family, usual_family
from .likelihood.likelihood import best_fit
from .likelihood.sensor import measure_powers
from .likelihood.stack import ResidualStack, blurred, build_stack
from .loops import Loops
from .prepare import Pair, colour_directions, intensity_range, leading_colours, prepare

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
    noise: noise_.PairNoise
    family: Family


def measure_whole(
    patches: Sequence[Patch],
    *,
    signed: bool,
    given: noise_.GivenNoise,
    prefilter: float,
    max_sigma: float,
    workers: int,
) -> Whole:
    """Measure an image pair on (first, second, usable) patches of it."""
    limits = intensity_range(
        [np.concatenate([patch[side][patch[2]] for patch in patches]) for side in (0, 1)],
    )
    pairs = [prepare(*patch, limits) for patch in patches]
    directions = colour_directions([(pair.first, pair.second) for pair in pairs])
    joined = ([pair.first for pair in pairs], [pair.second for pair in pairs])
    one, two = (noise_.rounding_floor(np.concatenate([image.ravel() for image in images])) for images in joined)
    seen = [_Seen(pair, _images(pair, directions, prefilter)) for pair in pairs if pair.usable.any()]
    given = given.on_scale(pairs[0].unit)
    family = usual_family(signed)
    if not seen:
        return Whole(limits, directions, noise_.PairNoise(given.deviations or (0.0, 0.0), (one, two)), family)
    with open_loops("opencv", workers) as loops:
        sample = _Sample(seen, signed, given, (one, two), prefilter, max_sigma, loops)
        noise = sample.noise(family)
        if prefilter == 0 and sample.prefers_another(family, noise):
            family = other_family(family)
            noise = sample.noise(family)
        lens = sample.discs(family, noise) if prefilter == 0 and not noise.is_arithmetic else None
        if lens is not None:
            family = lens
            noise = sample.noise(family)
    return Whole(limits, directions, noise, family)


@dataclass(frozen=True)
class _Seen:
    """A patch with something to see, and the (prefiltered) colours that are used of it."""

    pair: Pair
    images: tuple[Array, Array]


@dataclass(frozen=True)
class _Sample:
    """The patches of an image together."""

    seen: Sequence[_Seen]
    signed: bool
    given: noise_.GivenNoise
    rounding: tuple[float, float]
    prefilter: float
    max_sigma: float
    loops: Loops

    def stacks(self, family: Family) -> Iterator[ResidualStack]:
        """Build the stack of one patch after the other: all of them would not fit."""
        for each in self.seen:
            yield build_stack(
                *each.images,
                lowest=-(self.max_sigma**2) if self.signed else 0.0,
                highest=self.max_sigma**2,
                family=family,
                prefilter=self.prefilter**2,
                team=self.loops.team,
            )

    def noise(self, family: Family) -> noise_.PairNoise:
        """Return the noise of the pair if its blur is of a family."""
        given = self.given
        if given.deviations is not None and not given.may_differ:
            return noise_.PairNoise(given.deviations, self.rounding)
        best = [best_fit(stack, self.loops).ravel() / np.float32(stack.gain.q0) for stack in self.stacks(family)]
        powers = [measure_powers(each.pair.first, each.pair.second, each.pair.usable) for each in self.seen]
        residual = float(np.median(np.concatenate(best)))
        return noise_.decide_noise(powers, residual, self.rounding, lambda: self.stacks(family), given.deviations)

    def prefers_another(self, family: Family, noise: noise_.PairNoise) -> bool:
        """Tell whether the other family suits the patches better."""
        preferences = [
            compare(stack, each.images, noise, each.pair.usable, family, self.loops.team)
            for stack, each in zip(self.stacks(family), self.seen, strict=True)
        ]
        return is_better(preferences, noise, family)

    def discs(self, family: Family, noise: noise_.PairNoise) -> Family | None:
        """Return the discs that suit the patches better, None if none do."""
        most = self.max_sigma**2
        patches = [(each.images, each.pair.usable) for each in self.seen]
        return choose_discs(patches, noise, family, -most if self.signed else 0.0, most, self.loops.team)


def _images(pair: Pair, directions: Array | None, prefilter: float) -> tuple[Array, Array]:
    images = leading_colours(pair.first, pair.second, directions)
    return blurred(images, prefilter) if prefilter > 0 else images
