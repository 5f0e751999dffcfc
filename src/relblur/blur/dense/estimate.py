"""The dense map of a pair: ``s = sigma_second^2 - sigma_first^2`` at every pixel, with its standard error.

The pair becomes a volume of residuals at candidate blurs (:mod:`.residuals`) with its noise (:mod:`.noise`), kernels
(:mod:`.family`) and shared texture (:mod:`.coherence`); :mod:`relblur.field` finds the map.

With u = 1 / z affine over a plane and blur ``sigma_i = k |u - u_i|`` for focus at ``1 / u_i``, ``s`` is affine in ``u``
for two focus settings.  Where one image is given as the sharper everywhere (all in focus, a small aperture), its own
blur is negligible and ``sigma = k |u - u_2|`` is affine: the map is then found in sigma.

Costs about ``4 (channels + 2) * levels`` bytes a pixel at its peak, held by the residuals and, while labelling, by
costs on a quarter of the pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...field import AsinhAxis, Loops, RootAxis, Support, Volume, box_any, choose_loops, filled, rims, solve
from ...filters.discs import apart_of
from ...filters.kernels import SOFTENING, STEP, Family
from ...kernels.threads import Team
from ..request import Request
from . import jumps
from .coherence import Coherence
from .family import choose_family, usual_family
from .noise import GivenNoise, PairNoise, estimate_noise, rounding_floor
from .planes import Planes, leading_colours, prepare
from .residuals import Residuals, blurred, build_residuals
from .shading import remove_slow
from .whole import Whole

__all__ = ["DenseMap", "build_volume", "estimate", "reach_of_blur"]

Array = NDArray[np.float32]

#: Fraction of the variance of JPEG noise that is common to both images in flat areas. Chosen on `camera` at quality 75.
_ALIKE = 0.1
#: Relative error of ``s`` that discs leave: their parameter is known to 9 %, and lenses are no perfect discs.
_SHAPE_ERROR = 0.02
#: Smallest sigma of the one-sided map, px: below it the sampled Gaussian is a delta and has no slope.
_SMALLEST_SIGMA = 0.15
#: log10 of the inverse variance of the map's curvature at the start and at most, for ``s`` and for sigma. Sigma may be
#: stiffer: only the scene bends it, while ``s`` of a plane is affine for an ideal lens only.
_STIFFNESS = {"s": (4.0, 6.5), "sigma": (5.0, 9.0)}
#: Fraction of the blurrier image's local variance below which residuals must lie: with more, no blur explains it.
_EXPLAINED = np.float32(0.5)


@dataclass(frozen=True)
class DenseMap:
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
        Intermediates: ``start`` (labelling), ``mu`` (stiffness), ``information``, ``misfit``.
    family : str
        The kernels whose variance ``s`` is: "sampled" or "band_limited" Gaussians, or "discs" and their parameter.
    """

    s: Array
    s_stderr: Array
    filled: NDArray[np.bool_]
    noise: tuple[float, float]
    iterations: int
    steps: dict[str, Array] = field(repr=False)
    family: Family | None = None


def estimate(
    first: NDArray[Any],
    second: NDArray[Any],
    request: Request,
    *,
    valid: NDArray[np.bool_] | None = None,
    whole: Whole | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> DenseMap:
    """Estimate how much blurrier ``second`` is than ``first`` at every pixel.

    Parameters
    ----------
    first, second : (H, W) or (H, W, C) array
        The pair, in linear light, on any intensity scale.  Channels are used together and give one map.
    request : Request
        Its noise is on the intensity scale of the images, its ``relative_variance`` of their size.
    valid : (H, W) bool, optional
        False where the images must not be used (clipped, dead); pixels their blur reaches are excluded too.
    whole : Whole, optional
        Quantities that a tile shares with the other tiles of its image, for the images in the order of ``sharper``:
        the sharper first where one is given.
    progress : callable
        Called with the share done, 0 to 1.
    """
    given = GivenNoise(request.given_noise, request.noise_may_differ, request.noise_repeats)
    swapped = request.sharper == "second"
    if swapped:
        first, second, given = second, first, given.swapped()
    planes = prepare(first, second, valid, whole.limits if whole else None)
    given, prefilter = given.on_scale(planes.unit), request.prefilter
    with Team(request.workers) as team:
        loops = choose_loops(request.engine, team)
        if prefilter > 0:
            # A prefilter blurs jumps too: a narrower one is used there.
            wide = _map(planes, request, given, whole, prefilter, loops, lambda share: progress(share / 2))
            narrower = jumps.NARROWER * prefilter
            narrow = _map(planes, request, given, whole, narrower, loops, lambda share: progress(0.5 + share / 2))
            found = _blend(wide, narrow, jumps.share_of_wide(wide.s, narrow.s, prefilter))
        else:
            found = _map(planes, request, given, whole, 0.0, loops, progress)
    if not swapped:
        return found
    steps = {**found.steps, "start": -found.steps["start"]}
    return replace(found, s=-found.s, noise=found.noise[::-1], steps=steps)


def _blend(one: DenseMap, two: DenseMap, share: Array) -> DenseMap:
    """Return the map of which ``share`` is the first and the rest the second."""
    return replace(
        one,
        s=share * one.s + (1 - share) * two.s,
        s_stderr=share * one.s_stderr + (1 - share) * two.s_stderr,
        filled=np.where(share > np.float32(0.5), one.filled, two.filled),
        iterations=max(one.iterations, two.iterations),
    )


def _map(
    planes: Planes,
    request: Request,
    given: GivenNoise,
    whole: Whole | None,
    prefilter: float,
    loops: Loops,
    progress: Callable[[float], None],
) -> DenseMap:
    volume, images, noise, family = build_volume(planes, request, given, whole, prefilter, loops)
    found = solve(volume, progress)
    scale = volume.axis.scale(found.z)
    s, stderr, steps = found.z, found.stderr, found.steps
    if request.sharper != "auto":
        s, stderr = np.square(found.z), 2 * found.z * found.stderr
        steps = {**steps, "start": np.square(steps["start"])}
    texture = [_local_variance(image, request.window) for image in images]
    unexplained = box_any(found.power, request.window) > _EXPLAINED * np.where(s >= 0, texture[1], texture[0])
    plain = rims(filled(found.w, scale, request.window) | unexplained)
    deviations = (noise.sensor[0] * planes.unit, noise.sensor[1] * planes.unit)
    return DenseMap(s, stderr, plain, deviations, found.iterations, steps, family)


def build_volume(
    planes: Planes, request: Request, given: GivenNoise, whole: Whole | None, prefilter: float, loops: Loops
) -> tuple[Volume, tuple[Array, Array], PairNoise, Family]:
    """Return the residuals of a pair, with the images, the noise and the kernels that they are made with."""
    images = leading_colours(planes.first, planes.second, whole.directions if whole else None)
    if prefilter > 0:
        images = blurred(images[0], prefilter), blurred(images[1], prefilter)
    signed, most = request.sharper == "auto", request.max_sigma**2
    lowest = -most if signed else 0.0

    rounding = rounding_floor(planes.first), rounding_floor(planes.second)

    def look(family: Family, into: Array | None = None) -> tuple[Residuals, PairNoise]:
        residuals = build_residuals(
            *images, lowest=lowest, highest=most, family=family, prefilter=prefilter**2, loops=loops, into=into
        )
        if whole is not None:
            return residuals, whole.noise
        gain = residuals.gain
        residual = float(np.median(loops.best_fit(residuals.planes, gain.relative))) / gain.q0
        pair = planes.first, planes.second, planes.usable
        return residuals, estimate_noise(*pair, residual, given, lambda: [residuals], rounding)

    family = usual_family(signed) if whole is None else whole.family
    residuals, noise = look(family)
    # Prefiltered images have lost the detail that distinguishes the kernels.
    if whole is None and prefilter == 0:
        chosen = choose_family([(images, planes.usable)], noise, family, lowest, most, loops)
        if chosen != family:
            family = chosen
            residuals, noise = look(family, residuals.planes)
    known = request.relative_variance
    relative = None if known is None else np.ascontiguousarray(known, np.float32)
    support: Support | None = None
    if not noise.is_arithmetic:
        remove_slow(residuals.planes, request.max_sigma, planes.usable, loops.team)
        alike = None
        if given.repeats:
            alike = np.float32(_ALIKE * max(noise.sensor) ** 2) * np.ones(images[0].shape[1:], np.float32)
            alike = alike if relative is None else alike * relative
        support = Coherence(*images, loops, alike)
    axis = AsinhAxis(float(residuals.levels[0]), SOFTENING, STEP)
    reach = reach_of_blur(planes.distance)
    first_stiffness, most_stiffness = _STIFFNESS["s" if signed else "sigma"]
    volume = Volume(
        residuals.planes,
        axis,
        noise.of(residuals, relative, given.repeats),
        (float(residuals.levels[0]), float(residuals.levels[-1])),
        residuals.gain.independent,
        support,
        weight_at=reach,
        first_stiffness=first_stiffness,
        most_stiffness=most_stiffness,
        shape_error=0.0 if apart_of(family) is None else _SHAPE_ERROR,
        loops=loops,
    )
    return volume if signed else _in_sigma(volume, axis), images, noise, family


def _in_sigma(volume: Volume, axis: AsinhAxis) -> Volume:
    """Return a one-sided volume with sigma as its value."""
    weight_at = volume.weight_at
    return replace(
        volume,
        axis=RootAxis(axis),
        limits=(_SMALLEST_SIGMA, float(np.sqrt(volume.limits[1]))),
        support=None if volume.support is None else _OfSigma(volume.support),
        weight_at=None if weight_at is None else lambda sigma: weight_at(np.square(sigma)),
    )


@dataclass(frozen=True)
class _OfSigma:
    """A support in ``s``, for maps of sigma."""

    of_s: Support

    def of_step(self, low: float, high: float) -> Array:
        return self.of_s.of_step(low**2, high**2)

    def at(self, z: Array) -> Array:
        return self.of_s.at(np.square(z))

    def located(self, z: Array) -> Array:
        return self.of_s.located(np.square(z))


def reach_of_blur(distance: Array | None) -> Callable[[Array], Array] | None:
    """Return the weight of pixels at some distance (px) from unusable ones, None if there are none.

    A pixel whose blur (two sigma and a pixel) reaches one of them has the weight 0.
    """
    if distance is None:
        return None
    return lambda s: (distance > 1 + 2 * np.sqrt(np.abs(s))).astype(np.float32)


def _local_variance(image: Array, window: int) -> Array:
    """Return the variance over a window, mean of the (channels, H, W) planes."""
    planes = [box_any(np.square(plane), window) - np.square(box_any(plane, window)) for plane in image]
    return np.asarray(np.mean(planes, axis=0))
