"""What a tile must know of the image it was cut from: scale, colours and noise, measured on patches all over it.

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

from . import noise as noise_
from .engine import gather
from .likelihood import best_fit
from .prepare import Pair, colour_directions, intensity_range, leading_colours, prepare
from .sensor import look
from .stack import ResidualStack, blurred, build_stack

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
    """

    limits: tuple[float, float]
    directions: Array | None
    noise: noise_.PairNoise


def measure_whole(
    patches: Sequence[Patch],
    *,
    signed: bool,
    given: tuple[float, float] | None,
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
    return Whole(limits, directions, _noise(pairs, directions, signed, given, prefilter, max_sigma, workers))


def _noise(
    pairs: Sequence[Pair],
    directions: Array | None,
    signed: bool,
    given: tuple[float, float] | None,
    prefilter: float,
    max_sigma: float,
    workers: int,
) -> noise_.PairNoise:
    joined = ([pair.first for pair in pairs], [pair.second for pair in pairs])
    one, two = (noise_.rounding_floor(np.concatenate([image.ravel() for image in images])) for images in joined)
    if given is not None:
        unit = pairs[0].unit
        return noise_.PairNoise((given[0] / unit, given[1] / unit), (one, two))
    seen = [pair for pair in pairs if pair.usable.any()]
    if not seen:
        return noise_.PairNoise((0.0, 0.0), (one, two))

    def stacks() -> Iterator[ResidualStack]:
        with gather("opencv", workers) as crew:
            for pair in seen:
                images = leading_colours(pair.first, pair.second, directions)
                if prefilter > 0:
                    images = blurred(images, prefilter)
                yield build_stack(
                    images[0],
                    images[1],
                    lowest=-(max_sigma**2) if signed else 0.0,
                    highest=max_sigma**2,
                    family="bandlimited" if signed else "sampled",
                    prefilter=prefilter**2,
                    crew=crew,
                )

    best = [best_fit(stack).ravel() / np.float32(stack.gain.q0) for stack in stacks()]
    witnesses = [look(pair.first, pair.second, pair.usable) for pair in seen]
    return noise_.decide_noise(witnesses, float(np.median(np.concatenate(best))), (one, two), stacks)
