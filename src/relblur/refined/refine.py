"""The refined estimator: a dense map of ``s = sigma_second^2 - sigma_first^2`` with its standard error.

The map maximises a posterior: the *likelihood* says how well each pixel's residual fits (``stack``, ``noise``,
``likelihood``), the *prior* that ``s`` is piecewise affine with jumps (``prior``), as stiff as the data allow
(``strength``).  A global discrete labelling finds the right basin (``labels``); Gauss-Newton steps, each one linear
system (``solver``), descend in it, with discrete moves in between (``propagate``); where the data are silent the map
does as it does elsewhere (``habit``); ``uncertainty`` reads the error bar off the same quantities.

Costs about ``4 (channels + 4) * levels`` bytes per pixel at its peak (53 levels signed, 27 one-sided): 1.1 kB for a
grey signed pair, held by the stack and, while labelling, by four volumes of costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import jumps, labels, prior, strength, uncertainty
from .coordinate import SIGMA, VARIANCE, Coordinate
from .engine import Crew, gather
from .family import compare, is_better, other_family, usual_family
from .likelihood import Likelihood, best_fit
from .noise import PairNoise, Stated, dithered_share, estimate_noise
from .prepare import Pair, leading_colours, prepare
from .propagate import follow_majority, propagate
from .slope import SlopeField
from .stack import Family, ResidualStack, blurred, build_stack
from .whole import Whole

Array = NDArray[np.float32]

#: Gauss-Newton steps.  The stiffness settles by the ninth; the rest is convergence, and two more change little.
ITERATIONS = 12
#: First iteration at which stiffness is tested: before, the start's staircase is still being smoothed away.
_FIRST_TEST = 3
#: Last iteration that may stiffen: afterwards the map must have time to follow.
_LAST_STIFFENING = 8
#: Jump tolerance over the first iterations as a share of sqrt(s^2 + C^2): the start is a staircase of 20 % steps in s.
_STAIRCASE = (0.26, 0.12, 0.06)
#: Steps below this (px^2 of s, px of sigma) from pixel to pixel are never jumps.
_SMALLEST_JUMP = 0.01
#: Discrete moves: iteration -> (reach of the neighbour, side of the judging window), from coarse to fine.
_MOVES = {4: (4, 5), 6: (2, 3), 8: (1, 3)}
#: The descent ends early when a step moves the map by less than this many standard errors.
_SETTLED = 0.12
#: Conjugate-gradient steps for the map and for its slopes.
_MAP_STEPS, _SLOPE_STEPS = 5, 10
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
    family : {"sampled", "band_limited"}
        The Gaussians whose variance ``s`` is; None if they are none.
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
    *,
    sharper: Literal["auto", "first", "second"] = "auto",
    noise: float | tuple[float, float] | None = None,
    noise_may_differ: bool = False,
    relative_variance: NDArray[Any] | None = None,
    valid: NDArray[np.bool_] | None = None,
    prefilter: float = 0.0,
    max_sigma: float = 5.0,
    window: int = 9,
    engine: str = "opencv",
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
    whole: Whole | None = None,
) -> Refined:
    """Estimate how much blurrier ``second`` is than ``first`` at every pixel.

    Parameters
    ----------
    first, second : (H, W) or (H, W, C) array
        The pair, in linear light, on any intensity scale.  Channels are used together and give one map.
    sharper : {"auto", "first", "second"}
        ``"first"`` states that ``first`` is the sharper everywhere (``s >= 0``), which is more accurate where true;
        ``"auto"`` decides per pixel.
    noise : float or (float, float), optional
        Standard deviation of the sensor noise (of each image), on the intensity scale of the input.  Estimated if not
        given.
    noise_may_differ : bool
        The noise given is that of the less noisy image: the other's is raised if the pair clearly shows more.
    relative_variance : (H, W), optional
        Variance of the noise at each pixel over its mean, if it is not the same everywhere.
    valid : (H, W) bool, optional
        False where the images must not be used (clipped, dead); pixels their blur reaches are excluded too.
    prefilter : float
        Blur *both* images by this sigma (px) first.  0 finds the best Gaussian re-blur.  1.5 to 2 makes ``s`` follow
        second moments rather than the shape of the blur: better for depth from a real lens.  It takes twice as long:
        at jumps a narrower one is used (``jumps``).
    max_sigma : float
        Largest relative blur looked for, px.
    window : int
        Side of the square within which a pixel's own surroundings must determine its blur, else it counts as filled.
    engine : {"opencv", "numba"}
        The loops in NumPy and OpenCV, or compiled ones: the same to rounding, and three times as fast once compiled.
    workers : int
        Threads; the result does not depend on it.
    progress : callable, optional
        Called with the share done, 0 to 1.
    whole : Whole, optional
        What a tile shares with the other tiles of its image, measured on (first, second) in the order of ``sharper``:
        the sharper first where one is stated.  Scale, colours and noise are then not looked for here.

    Returns
    -------
    Refined

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import gaussian_filter
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> result = refine(sharp, gaussian_filter(sharp, 1.5), sharper="first")
    >>> bool(abs(np.sqrt(np.median(result.s)) - 1.5) < 0.01)
    True
    """
    stated = Stated(noise if noise is None or isinstance(noise, tuple) else (noise, noise), noise_may_differ)
    relative = None if relative_variance is None else np.asarray(relative_variance, np.float32)
    tell = progress or (lambda share: None)
    turned = sharper == "second"
    if turned:
        first, second, stated = second, first, stated.turned()
    pair = prepare(first, second, valid, whole.limits if whole else None)
    stated = stated.on_scale(pair.unit)

    def estimate(prefilter: float, tell: Callable[[float], None]) -> Refined:
        with gather(engine, workers) as crew:
            return _estimate(pair, sharper == "auto", stated, relative, prefilter, max_sigma, window, crew, whole, tell)

    if prefilter > 0:
        wide = estimate(prefilter, lambda share: tell(share / 2))
        narrow = estimate(jumps.NARROWER * prefilter, lambda share: tell(0.5 + share / 2))
        found = _blend(wide, narrow, jumps.share_of_wide(wide.s, narrow.s, prefilter))
    else:
        found = estimate(0.0, tell)
    return _turned(found) if turned else found


def _turned(found: Refined) -> Refined:
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


def _estimate(
    pair: Pair,
    signed: bool,
    stated: Stated,
    relative: Array | None,
    prefilter: float,
    max_sigma: float,
    window: int,
    crew: Crew,
    whole: Whole | None,
    progress: Callable[[float], None],
) -> Refined:
    """Estimate a pair whose first image is the sharper one unless ``signed``."""
    images = leading_colours(pair.first, pair.second, whole.directions if whole else None)
    if prefilter > 0:
        images = blurred(images, prefilter)
    likelihood, family = _likelihood(pair, images, signed, stated, relative, prefilter, max_sigma, crew, whole)
    texture = (uncertainty.local_texture(images[0], window), uncertainty.local_texture(images[1], window))
    found = descend(likelihood, VARIANCE if signed else SIGMA, pair, texture, window, progress)
    return replace(found, family=family)


def _moved(delta: Array, w: Array, variance: Array) -> float:
    """Return the root mean square of a step in standard errors, single pixels counting three at most."""
    squares = np.minimum(np.square(delta) * (w + 1 / variance), np.float32(9))
    return float(np.sqrt(np.mean(squares, dtype=np.float64)))


def _likelihood(
    pair: Pair,
    images: tuple[Array, Array],
    signed: bool,
    stated: Stated,
    relative: Array | None,
    prefilter: float,
    max_sigma: float,
    crew: Crew,
    whole: Whole | None,
) -> tuple[Likelihood, Family]:
    """Build the residual stack of the (prefiltered) images, and the noise model of the pair they came from.

    Also returns the family of Gaussians that was found to suit the pair.
    """
    family = usual_family(signed) if whole is None else whole.family

    def look(family: Family) -> tuple[ResidualStack, Array, PairNoise]:
        stack = build_stack(
            images[0],
            images[1],
            lowest=-(max_sigma**2) if signed else 0.0,
            highest=max_sigma**2,
            family=family,
            prefilter=prefilter**2,
            crew=crew,
        )
        best = best_fit(stack)
        if whole is not None:
            return stack, best, whole.noise
        residual = float(np.median(best)) / stack.gain.q0
        noise = estimate_noise(pair.first, pair.second, pair.usable, residual, stated, lambda: [stack])
        return stack, best, noise

    stack, best, noise = look(family)
    # Prefiltered images have lost the detail that tells the families apart.
    if (
        whole is None
        and prefilter == 0
        and is_better([compare(stack, images, noise, pair.usable, family)], noise, family)
    ):
        family = other_family(family)
        del stack
        stack, best, noise = look(family)
    # A sampled Gaussian of the least width has no slope to descend by.
    bounds = (stack.lowest if signed else _SMALLEST_SIGMA**2, stack.highest)
    trust = dithered_share(pair.second)
    if signed:  # either may be the blurrier one, the one that rounding flattens
        trust = np.minimum(trust, dithered_share(pair.first))
    return Likelihood(stack, noise, best, bounds, trust, pair.distance, relative), family


def descend(
    likelihood: Likelihood,
    coordinate: Coordinate,
    pair: Pair,
    texture: tuple[Array, Array],
    window: int,
    progress: Callable[[float], None],
) -> Refined:
    """Find the map of greatest posterior probability."""
    crew = likelihood.stack.crew
    start = labels.label(likelihood)
    shape = (start.shape[0], start.shape[1])
    z = before = coordinate.of(start)
    slopes = SlopeField(shape, crew)
    slope = slopes.pixels()
    log_mu = strength.initial(shape, coordinate.first_stiffness)
    for iteration in range(ITERATIONS):
        s, scale = coordinate.at(z, crew)
        likelihood.exclude_reach(s)
        evidence = likelihood.evidence(s, inflate=iteration > 0)
        w, g = coordinate.carry(evidence.w, evidence.g, z, crew)
        if iteration >= _FIRST_TEST:
            test = strength.score_test(w, g, scale, crew)
            may_stiffen = iteration <= _LAST_STIFFENING
            log_mu = strength.adapt(log_mu, test, may_stiffen, coordinate.most_stiffness)
        mu = strength.spread(log_mu, shape)
        variance = prior.posterior_variance(w, mu, crew)
        staircase = np.float32(_STAIRCASE[iteration] if iteration < len(_STAIRCASE) else 0.0)
        tolerance = np.maximum(np.float32(_SMALLEST_JUMP), staircase * scale)
        edges = prior.link(z, slope, variance, mu, tolerance, crew)
        slopes.fit(z, w, g, edges, variance, mu, _SLOPE_STEPS)
        slope = slopes.pixels()
        delta = prior.solve_step(z, slope, w, g, slopes.draw(), edges, variance, _MAP_STEPS, crew)
        z = coordinate.move(z, delta, scale, likelihood.bounds, crew)
        if iteration == _LAST_STIFFENING:
            before = z
        if iteration in _MOVES:
            z = coordinate.of(follow_majority(likelihood, coordinate.to_s(z)))
            z = propagate(likelihood, coordinate, z, slope, *_MOVES[iteration])
        likelihood.refit_misfit(coordinate.to_s(z), evidence, w, variance)
        progress((iteration + 1) / ITERATIONS)
        if iteration > _LAST_STIFFENING and _moved(delta, w, variance) < _SETTLED:
            progress(1.0)
            break
    s, scale = coordinate.at(z, crew)
    evidence = likelihood.evidence(s, inflate=True)
    w, _ = coordinate.carry(evidence.w, evidence.g, z, crew)
    variance = prior.posterior_variance(w, mu, crew, prior.count_lines(edges))
    stderr = coordinate.gain(z) * uncertainty.standard_error(z, before, scale, w, variance, mu, edges)
    sensor = likelihood.noise.sensor
    return Refined(
        s,
        stderr,
        uncertainty.filled(s, evidence, texture, window),
        (sensor[0] * pair.unit, sensor[1] * pair.unit),
        iteration + 1,
        {"start": start, "mu": mu, "information": evidence.w, "misfit": likelihood.misfit},
    )
