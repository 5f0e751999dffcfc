"""What a tile must know of the image it was cut from: scale, colours and noise, measured on patches all over it.

Left to themselves, a tile of sky and a tile of leaves would be put on different scales, see different colours and
believe in different noise.  Patches on a regular grid stand for the whole: the quantities are quantiles and sums over
many pixels, and a million of them tell the same as sixty million.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import noise as noise_
from .engine import gather
from .likelihood import best_fit
from .prepare import Pair, colour_directions, intensity_range, leading_colours, prepare
from .stack import blur, build_stack

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
    steps = [
        noise_.quantisation_step(np.concatenate([image.ravel() for image in images]))
        for images in ([pair.first for pair in pairs], [pair.second for pair in pairs])
    ]
    rounding = [max(step / np.sqrt(12.0), noise_.ROUNDING) for step in steps]
    if given is not None:
        unit = pairs[0].unit
        return noise_.PairNoise((given[0] / unit, given[1] / unit), (float(rounding[0]), float(rounding[1])))
    least, best = [], []
    for pair in pairs:
        if not pair.usable.any():
            continue
        least.append(noise_.texture_free_power(pair.first, pair.second)[pair.usable])
        images = leading_colours(pair.first, pair.second, directions)
        if prefilter > 0:
            one, two = (np.stack([blur(p, prefilter**2, "bandlimited") for p in image]) for image in images)
            images = (one, two)
        with gather("opencv", workers) as crew:
            stack = build_stack(
                images[0],
                images[1],
                lowest=-(max_sigma**2) if signed else 0.0,
                highest=max_sigma**2,
                family="bandlimited" if signed else "sampled",
                prefilter=prefilter**2,
                crew=crew,
            )
            best.append(best_fit(stack).ravel() / np.float32(stack.gain.q0))
    total = 0.0
    if best:
        texture_free = noise_.noise_of_power(np.concatenate(least))
        total = min(texture_free**2, noise_._LEAST * float(np.median(np.concatenate(best))))
    n = float(np.sqrt(max(total - max(rounding) ** 2, 0.0)))
    return noise_.PairNoise((n, n), (float(rounding[0]), float(rounding[1])))
