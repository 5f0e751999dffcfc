"""The refined estimator: a dense map of ``s = sigma_second^2 - sigma_first^2`` with its standard error.

The map maximises a posterior: the *likelihood* says how well each pixel's residual fits (``stack``, ``noise``,
``likelihood``), the *prior* that ``s`` is piecewise affine with jumps (``prior``), as stiff as the data allow
(``strength``).  ``descent`` finds it; where the data are silent the map does as it does elsewhere (``stationary``);
``uncertainty`` reads the error bar off the same quantities.  The loops over pixels (``loops``) are those of an engine.

Costs about ``4 (channels + 4) * levels`` bytes per pixel at its peak (53 levels signed, 27 one-sided): 1.1 kB for a
grey signed pair, held by the stack and, while labelling, by four volumes of costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...filters.discs import apart_of
from ...filters.kernels import Family
from ..request import Request
from . import uncertainty
from .descent import descend
from .discrete import jumps
from .engine import open_loops
from .likelihood.coherence import SharedTexture
from .likelihood.family import choose_discs, compare, is_better, other_family, usual_family
from .likelihood.likelihood import Likelihood, best_fit, reach_of_blur
from .likelihood.noise import GivenNoise, PairNoise, dithered_share, estimate_noise
from .likelihood.shading import remove_slow
from .likelihood.stack import ResidualStack, blurred, build_stack
from .loops import Loops
from .prepare import Pair, leading_colours, prepare
from .prior.coordinate import SIGMA, VARIANCE
from .whole import Whole

Array = NDArray[np.float32]

#: Noise of compression that may be alike in both images, as part of its variance in textured places: what is left of
#: it in plain ones.  Chosen on `camera` at quality 75, whose sky has none of the scene's texture.
_ALIKE = 0.1
#: Relative error of ``s`` that discs leave: their parameter is known to 9 %, and lenses are no perfect discs.
_SHAPE_ERROR = 0.02
#: Smallest sigma of the one-sided map: below it the sampled Gaussian is a delta and has no slope.
_SMALLEST_SIGMA = 0.15


@dataclass(frozen=True)
class Refined:
    """A dense map of relative blur.

    Attributes
    ----------
    s : (H, W) float32
        Variance difference in px^2, positive where ``second`` is the blurrier.
    s_stderr : (H, W) float32
        Its standard error in px^2: about 68 % of errors are smaller.
    filled : (H, W) bool
        True where the 9 x 9 pixels around say too little: the value comes from neighbours farther away.
    noise : (float, float)
        Sensor noise used, standard deviation of ``first`` and ``second`` on the input's intensity scale.
    iterations : int
    steps : dict
        Intermediates, for looking at: ``start`` (labelling), ``mu`` (stiffness), ``information``, ``misfit``.
    family : str
        The kernels whose variance ``s`` is: "sampled" or "band_limited" Gaussians, or "discs" and their parameter;
        None if they are none.
    """

    s: Array
    s_stderr: Array
    filled: NDArray[np.bool_]
    noise: tuple[float, float]
    iterations: int
    steps: dict[str, Array] = field(repr=False)
    family: Family | None = None


def refine(
    first: NDArray[Any],
    second: NDArray[Any],
    request: Request,
    *,
    valid: NDArray[np.bool_] | None = None,
    whole: Whole | None = None,
    progress: Callable[[float], None] | None = None,
) -> Refined:
    """Estimate how much blurrier ``second`` is than ``first`` at every pixel.

    Parameters
    ----------
    first, second : (H, W) or (H, W, C) array
        The pair, in linear light, on any intensity scale.  Channels are used together and give one map.
    request : Request
        What is asked; the noise is on the intensity scale of the images, ``relative_variance`` of their size.
    valid : (H, W) bool, optional
        False where the images must not be used (clipped, dead); pixels their blur reaches are excluded too.
    whole : Whole, optional
        What a tile shares with the other tiles of its image, measured on (first, second) in the order of ``sharper``:
        the sharper first where one is given.  Scale, colours and noise are then not looked for here.
    progress : callable, optional
        Called with the share done, 0 to 1.
    """
    tell = progress or (lambda share: None)
    given = GivenNoise(request.given_noise, request.noise_may_differ, request.noise_repeats)
    swapped = request.sharper == "second"
    if swapped:
        first, second, given = second, first, given.swapped()
    pair = prepare(first, second, valid, whole.limits if whole else None)
    task = Task(pair, request, given.on_scale(pair.unit), whole)

    def estimate(prefilter: float, tell: Callable[[float], None]) -> Refined:
        with open_loops(request.engine.name, request.workers) as loops:
            return _estimate(task, prefilter, loops, tell)

    prefilter = request.prefilter
    if prefilter > 0:  # which blurs jumps too: there a narrower one tells more
        wide = estimate(prefilter, lambda share: tell(share / 2))
        narrow = estimate(jumps.NARROWER * prefilter, lambda share: tell(0.5 + share / 2))
        found = _blend(wide, narrow, jumps.share_of_wide(wide.s, narrow.s, prefilter))
    else:
        found = estimate(0.0, tell)
    return _swapped(found) if swapped else found


def _swapped(found: Refined) -> Refined:
    """Return the result for the two images in the other order."""
    steps = {**found.steps, "start": -found.steps["start"]}
    return replace(found, s=-found.s, noise=found.noise[::-1], steps=steps)


def _blend(one: Refined, two: Refined, share: Array) -> Refined:
    """Return the map of which ``share`` is the first and the rest the second."""
    return replace(
        one,
        s=share * one.s + (1 - share) * two.s,
        s_stderr=share * one.s_stderr + (1 - share) * two.s_stderr,
        filled=np.where(share > np.float32(0.5), one.filled, two.filled),
        iterations=max(one.iterations, two.iterations),
    )


@dataclass(frozen=True)
class Task:
    """A prepared pair, whose first image is the sharper one unless ``signed``, and what is asked of it."""

    pair: Pair
    request: Request
    given: GivenNoise
    whole: Whole | None

    @property
    def signed(self) -> bool:
        """Whether either image may be the sharper at any pixel."""
        return self.request.sharper == "auto"

    @property
    def relative_variance(self) -> Array | None:
        """Variance of the noise at each pixel over its mean; None if it is the same everywhere."""
        relative = self.request.relative_variance
        return None if relative is None else np.asarray(relative, np.float32)


def _estimate(task: Task, prefilter: float, loops: Loops, progress: Callable[[float], None]) -> Refined:
    images = leading_colours(task.pair.first, task.pair.second, task.whole.directions if task.whole else None)
    if prefilter > 0:
        images = blurred(images, prefilter)
    likelihood, images, family = build_likelihood(task, images, prefilter, loops)
    window = task.request.window
    texture = (uncertainty.local_texture(images[0], window), uncertainty.local_texture(images[1], window))
    found = descend(likelihood, VARIANCE if task.signed else SIGMA, progress)
    sensor, unit = likelihood.noise.sensor, task.pair.unit
    return Refined(
        found.s,
        found.s_stderr,
        uncertainty.filled(found.s, found.evidence, texture, window),
        (sensor[0] * unit, sensor[1] * unit),
        found.iterations,
        found.steps,
        family,
    )


def build_likelihood(
    task: Task, images: tuple[Array, Array], prefilter: float, loops: Loops
) -> tuple[Likelihood, tuple[Array, Array], Family]:
    """Build the residual stack of the (prefiltered) images, and the noise model of the pair they came from.

    Also returns the images as they are used, and the family of Gaussians that was found to suit the pair.
    """
    pair, signed, whole = task.pair, task.signed, task.whole
    most = task.request.max_sigma**2
    family = usual_family(signed) if whole is None else whole.family

    def look(family: Family) -> tuple[ResidualStack, Array, PairNoise]:
        stack = build_stack(
            images[0],
            images[1],
            lowest=-most if signed else 0.0,
            highest=most,
            family=family,
            prefilter=prefilter**2,
            team=loops.team,
        )
        best = best_fit(stack, loops)
        if whole is not None:
            return stack, best, whole.noise
        residual = float(np.median(best)) / stack.gain.q0
        noise = estimate_noise(pair.first, pair.second, pair.usable, residual, task.given, lambda: [stack])
        return stack, best, noise

    stack, best, noise = look(family)
    # Prefiltered images have lost the detail that tells the families apart.
    if (
        whole is None
        and prefilter == 0
        and is_better([compare(stack, images, noise, pair.usable, family, loops.team)], noise, family)
    ):
        family = other_family(family)
        del stack
        stack, best, noise = look(family)
    if whole is None and prefilter == 0 and not noise.is_arithmetic:
        lens = choose_discs([(images, pair.usable)], noise, family, -most if signed else 0.0, most, loops.team)
        if lens is not None:
            family = lens
            del stack
            stack, best, noise = look(family)
    if not noise.is_arithmetic:
        remove_slow(stack.residuals, task.request.max_sigma, pair.usable, loops.team)
        best = best_fit(stack, loops)
    # A sampled Gaussian of the least width has no slope to descend by.
    bounds = (stack.lowest if signed else _SMALLEST_SIGMA**2, stack.highest)
    trust = dithered_share(pair.second)
    if signed:  # either may be the blurrier one, the one that rounding flattens
        trust = np.minimum(trust, dithered_share(pair.first))
    residual_noise = replace(noise.on(stack, task.relative_variance), repeats=task.given.repeats)
    alike = residual_noise.relative * np.float32(_ALIKE * max(noise.sensor) ** 2) if task.given.repeats else None
    shared = None if noise.is_arithmetic else SharedTexture(*images, loops.team, alike)
    reach = reach_of_blur(pair.distance)
    likelihood = Likelihood(stack, residual_noise, best, bounds, trust, reach, loops, shared)
    likelihood.shape_error = _SHAPE_ERROR if apart_of(family) is not None else 0.0
    return likelihood, images, family
