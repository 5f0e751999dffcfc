"""Quantities of a whole pair: scale, colours, noise and kernel, measured on the pair or on patches of it.

The tiles of an image share them, because a tile of sky and one of leaves would give different values.  Patches on a
regular grid are sufficient for the quantiles and sums over many pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.inputs import Pair
from ...field import Loops, choose_loops
from ...filters.kernels import Family
from ...kernels.threads import Team
from ..request import Request
from .family import choose_family, usual_family
from .noise import GivenNoise, PairNoise, estimate_noise
from .planes import Planes, colour_directions, in_colours, intensity_range, prepare
from .residuals import Residuals, blurred, build_residuals

__all__ = ["Measurement", "Whole", "given_noise", "measure_whole"]

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Whole:
    """Quantities that all tiles of an image share."""

    limits: tuple[float, float]  #: intensities whose distance is 1 on the working scale
    directions: Array | None  #: selected colour directions, (components, channels); None for grey
    noise: PairNoise  #: on the working scale
    family: Family  #: "sampled", "band_limited", or discs with their parameter


def measure_whole(patches: Sequence[Pair], request: Request) -> Whole:
    """Measure an image on patches; the request must have ``lights``."""
    assert request.lights is not None
    images = [(each.first, each.second) for each in patches]
    if request.sharper == "second":  # the sharper image is first in the estimator
        images = [(two, one) for one, two in images]
    usable = [request.lights.usable(each) for each in patches]
    limits = intensity_range(
        [np.concatenate([pair[side][use] for pair, use in zip(images, usable, strict=True)]) for side in (0, 1)]
    )
    parts = [prepare(one, two, use, limits) for (one, two), use in zip(images, usable, strict=True)]
    directions = colour_directions([(part.first, part.second) for part in parts])
    with Team(request.workers) as team:
        loops = choose_loops(request.engine, team)
        measured = Measurement(parts, directions, request, request.prefilter, loops)
    return Whole(limits, directions, measured.noise, measured.family)


def given_noise(request: Request) -> GivenNoise:
    """Return the noise of a request; that of the sharper image, if the request has one, is first."""
    deviations = request.given_noise
    if deviations is not None and request.sharper == "second":
        deviations = deviations[::-1]
    return GivenNoise(deviations, request.noise_may_differ)


class Measurement:
    """Noise and kernel of a pair, from parts of it; the sharper image, if the request has one, is first."""

    def __init__(
        self, parts: Sequence[Planes], directions: Array | None, request: Request, prefilter: float, loops: Loops
    ) -> None:
        self._request, self._prefilter, self._loops = request, prefilter, loops
        self._parts = [part for part in parts if part.usable.any()] or list(parts[:1])
        #: The prefiltered images of the parts in the selected colour directions.
        self.images = [
            (self._filtered(in_colours(part.first, directions)), self._filtered(in_colours(part.second, directions)))
            for part in self._parts
        ]
        # Residuals of the latest family, kept if there is one part.
        self._built: dict[Family, Residuals] = {}
        if request.whole is not None:
            self.noise, self.family = request.whole.noise, request.whole.family
            return
        self._given = given_noise(request).on_scale(parts[0].unit)
        self.family = usual_family(request.sharper == "auto")
        self.noise = self._measured_noise()
        # Prefiltered images do not contain the detail that distinguishes the kernels.
        if prefilter == 0:
            pairs = [(images, part.usable) for images, part in zip(self.images, self._parts, strict=True)]
            chosen = choose_family(pairs, self.noise, self.family, *self._limits, loops)
            if chosen != self.family:
                self.family = chosen
                self.noise = self._measured_noise()

    @property
    def _limits(self) -> tuple[float, float]:
        most = self._request.max_sigma**2
        return (-most if self._request.sharper == "auto" else 0.0), most

    def _filtered(self, image: Array) -> Array:
        return blurred(image, self._prefilter) if self._prefilter > 0 else image

    def stacks(self) -> Iterator[Residuals]:
        """Yield the residuals of one part after the other."""
        for images in self.images:
            if self.family in self._built:
                yield self._built[self.family]
                continue
            self._built.clear()
            built = build_residuals(*images, self._limits, self.family, self._prefilter**2, self._loops)
            if len(self.images) == 1:
                self._built[self.family] = built
            yield built

    def _measured_noise(self) -> PairNoise:
        given, residual = self._given, 0.0
        if given.deviations is None or given.may_differ:
            best = [
                self._loops.best_fit(stack.planes, stack.gain.relative).ravel() / np.float32(stack.gain.q0)
                for stack in self.stacks()
            ]
            residual = float(np.median(np.concatenate(best)))
        return estimate_noise(self._parts, residual, given, self.stacks)
