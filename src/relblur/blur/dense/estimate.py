"""The dense map of a pair: ``s = sigma_second^2 - sigma_first^2`` at every pixel, with its standard error.

The input of the solver, :mod:`relblur.field`, is a volume of residuals at candidate blurs (:mod:`.residuals`), with
their noise (:mod:`.noise`), kernels (:mod:`.family`) and support (:mod:`.coherence`).

With u = 1 / z affine over a plane and blur ``sigma_i = k |u - u_i|`` for focus at ``1 / u_i``, ``s`` is affine in ``u``
for two focus settings.  If one image is sharper everywhere (all in focus, a small aperture), its own blur is negligible
and ``sigma = k |u - u_2|`` is affine.  Then the variable of the solver is sigma.

A prefilter blurs jumps too.  With a prefilter the result is a blend of two maps: at jumps, one with a narrower
prefilter.

Memory: about ``4 (channels + 2) * levels`` bytes a pixel for the residuals, and for costs on a quarter of the pixels
during the labelling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ...base._typing import Progress
from ...field import (
    AsinhAxis,
    Loops,
    RootAxis,
    Support,
    Volume,
    box_any,
    cell_means,
    choose_loops,
    enlarged,
    filled,
    rims,
    solve,
)
from ...filters.discs import apart_of
from ...filters.kernels import SOFTENING, STEP, Family, relative_scale
from ...kernels.threads import Team
from ..request import Request
from .coherence import Coherence
from .noise import PairNoise
from .planes import Planes, colour_directions, prepare
from .whole import Measurement

__all__ = ["DenseMap", "build_volume", "estimate", "reach_of_blur"]

Array = NDArray[np.float32]

#: Fraction of the variance of JPEG noise that is common to both images in flat areas. Chosen on `camera` at quality 75.
_COMMON_NOISE = 0.1
#: Relative standard error of ``s`` with discs: their parameter has an error of 9 %, and lenses differ from discs.
_SHAPE_ERROR = 0.02
#: Smallest sigma of the one-sided map, px: below it the sampled Gaussian is a delta and has no slope.
_SMALLEST_SIGMA = 0.15
#: Initial and largest log10 of the inverse variance of the map's curvature, for ``s`` and for sigma. Sigma may be
#: stiffer, because ``s`` of a plane is affine for an ideal lens only.
_STIFFNESS = {"s": (4.0, 6.5), "sigma": (5.0, 9.0)}
#: Largest mean square of the residuals, as a fraction of the blurrier image's local variance, that blur explains.
_EXPLAINED = np.float32(0.5)
#: Standard deviation of the window of slow brightness differences, over the largest blur. Chosen on `dfd_carvalho` and
#: `street`: narrower windows reduce errors on walls, wider ones those of large blur.
_SLOW = 2.5
#: Width of the narrow prefilter over that of the wide one, and the step from pixel to pixel that is a jump, relative.
_NARROWER, _JUMP = 0.65, np.float32(0.2)
#: Distances from a jump between which the maps are blended, from the narrow to the wide prefilter, in its widths.
_NEAR, _FAR = 2.5, 5.0


@dataclass(frozen=True)
class DenseMap:
    """A dense map of relative blur, (H, W) float32."""

    s: Array  #: variance difference in px^2, positive where ``second`` is the blurrier
    s_stderr: Array  #: its standard error in px^2: about 68 % of errors are smaller
    filled: NDArray[np.bool_]  #: pixels whose value the window around them does not determine
    noise: tuple[float, float]  #: sensor noise of ``first`` and ``second`` on the input's intensity scale
    steps: dict[str, Array] = field(repr=False)  #: intermediates of :class:`relblur.field.Field`
    family: Family  #: "sampled" or "band_limited" Gaussians, or "discs" and their parameter


def estimate(
    first: NDArray[Any],
    second: NDArray[Any],
    request: Request,
    *,
    valid: NDArray[np.bool_] | None = None,
    progress: Progress = lambda share: None,
) -> DenseMap:
    """Estimate how much blurrier ``second`` is than ``first`` at every pixel.

    The (H, W) or (H, W, C) images are in linear light, on any intensity scale, which is also that of the request's
    noise.  All channels are used for one map.  ``valid`` excludes pixels, and those whose blur reaches them.
    """
    swapped = request.sharper == "second"
    if swapped:
        first, second = second, first
    planes = prepare(first, second, valid, request.whole.limits if request.whole else None)
    prefilter = request.prefilter
    with Team(request.workers) as team:
        loops = choose_loops(request.engine, team)
        if prefilter == 0:
            dense_map = _map(planes, request, 0.0, loops, progress)
        else:
            wide = _map(planes, request, prefilter, loops, lambda share: progress(share / 2))
            narrow = _map(planes, request, _NARROWER * prefilter, loops, lambda share: progress(0.5 + share / 2))
            dense_map = _blend(wide, narrow, _share_of_wide(wide.s, narrow.s, prefilter))
    if not swapped:
        return dense_map
    steps = {**dense_map.steps, "start": -dense_map.steps["start"]}
    return replace(dense_map, s=-dense_map.s, noise=dense_map.noise[::-1], steps=steps)


def _blend(wide: DenseMap, narrow: DenseMap, share: Array) -> DenseMap:
    """Return the weighted mean of two maps; ``share`` is the weight of the first."""
    return replace(
        wide,
        s=share * wide.s + (1 - share) * narrow.s,
        s_stderr=share * wide.s_stderr + (1 - share) * narrow.s_stderr,
        filled=np.where(share > np.float32(0.5), wide.filled, narrow.filled),
    )


def _share_of_wide(wide: Array, narrow: Array, prefilter: float) -> Array:
    """Return the weight of the map ``wide`` at each pixel, 0 at its jumps and at those of ``narrow`` beside them."""
    jumps = _jumps(wide)
    if not jumps.any():
        return np.ones_like(wide)
    # Jumps of the narrow prefilter alone are specks.
    jumps |= _jumps(narrow) & (_distance(jumps) < _FAR * prefilter)
    share = (_distance(jumps) / np.float32(prefilter) - _NEAR) / (_FAR - _NEAR)
    return np.asarray(np.clip(share, 0, 1), np.float32)


def _distance(jumps: NDArray[np.bool_]) -> Array:
    """Return the distance to the next jump, px."""
    return np.asarray(cv2.distanceTransform((~jumps).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE))


def _jumps(s: Array) -> NDArray[np.bool_]:
    """Return the pixels on both sides of a jump."""
    least = _JUMP * relative_scale(s)
    jumps = np.zeros(s.shape, bool)
    for one, two in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        jump = np.abs(s[one] - s[two]) > np.minimum(least[one], least[two])
        jumps[one] |= jump
        jumps[two] |= jump
    return jumps


def _map(planes: Planes, request: Request, prefilter: float, loops: Loops, progress: Progress) -> DenseMap:
    volume, images, noise, family = build_volume(planes, request, prefilter, loops)
    field = solve(volume, progress)
    scale = volume.axis.scale(field.z)
    s, stderr, steps = field.z, field.stderr, field.steps
    if request.sharper != "auto":
        s, stderr = np.square(field.z), 2 * field.z * field.stderr
        steps = {**steps, "start": np.square(steps["start"])}
    texture = [_local_variance(image, request.window) for image in images]
    unexplained = box_any(field.power, request.window) > _EXPLAINED * np.where(s >= 0, texture[1], texture[0])
    plain = rims(filled(field.w, scale, request.window) | unexplained)
    deviations = (noise.sensor[0] * planes.unit, noise.sensor[1] * planes.unit)
    return DenseMap(s, stderr, plain, deviations, steps, family)


def build_volume(
    planes: Planes, request: Request, prefilter: float, loops: Loops
) -> tuple[Volume, tuple[Array, Array], PairNoise, Family]:
    """Return the residuals of a pair, and the images, noise and kernels from which they are computed."""
    whole = request.whole
    directions = whole.directions if whole else colour_directions([(planes.first, planes.second)])
    measured = Measurement([planes], directions, request, prefilter, loops)
    noise, family = measured.noise, measured.family
    images, residuals = measured.images[0], next(measured.stacks())
    variance = request.relative_variance
    relative = None if variance is None else np.ascontiguousarray(variance, np.float32)
    support: Support | None = None
    if not noise.is_arithmetic:
        _remove_slow(residuals.planes, _SLOW * request.max_sigma, planes.usable, loops.team)
        common = None
        if request.noise_repeats:
            common = np.float32(_COMMON_NOISE * max(noise.sensor) ** 2) * np.ones(planes.usable.shape, np.float32)
            common = common if relative is None else common * relative
        support = Coherence(*images, loops, common)
    signed = request.sharper == "auto"
    axis = AsinhAxis(float(residuals.levels[0]), SOFTENING, STEP)
    volume = Volume(
        residuals.planes,
        axis,
        noise.of(residuals, relative, request.noise_repeats),
        (float(residuals.levels[0]), float(residuals.levels[-1])),
        residuals.gain.independent,
        support,
        weight_at=reach_of_blur(planes.distance),
        stiffness=_STIFFNESS["s" if signed else "sigma"],
        shape_error=0.0 if apart_of(family) is None else _SHAPE_ERROR,
        loops=loops,
    )
    return volume if signed else _in_sigma(volume, axis), images, noise, family


def _remove_slow(planes: Array, width: float, usable: NDArray[np.bool_], team: Team) -> None:
    """Subtract the mean around, over a Gaussian window, from residuals in place.

    Vignetting, glare and offsets are slow differences between photographs.  In an area without texture they have the
    effect of a very large blur.  Computed pairs have no such differences, so their residuals are not changed.
    """
    height, cols = usable.shape
    cell = max(1, int(width / 4))

    def mean_around(plane: Array) -> Array:
        small = cv2.GaussianBlur(cell_means(plane, cell), (0, 0), width / cell, borderType=cv2.BORDER_REFLECT)
        return enlarged(np.asarray(small), (height, cols))

    mask = usable.astype(np.float32)
    share = np.maximum(mean_around(mask), np.float32(1e-3))

    def remove(plane: Array) -> None:
        plane -= mean_around(plane * mask) / share

    team.each(remove, planes.reshape(-1, height, cols))


def _in_sigma(volume: Volume, axis: AsinhAxis) -> Volume:
    """Return a one-sided volume with the variable sigma."""
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

    def local_support(self, z: Array) -> Array:
        return self.of_s.local_support(np.square(z))


def reach_of_blur(distance: Array | None) -> Callable[[Array], Array] | None:
    """Return the weight of pixels by their distance (px) from unusable ones; None if there are none.

    A pixel within two sigma and a pixel of an unusable one has the weight 0.
    """
    if distance is None:
        return None
    return lambda s: (distance > 1 + 2 * np.sqrt(np.abs(s))).astype(np.float32)


def _local_variance(image: Array, window: int) -> Array:
    """Return the variance over a window, mean of the (channels, H, W) planes."""
    planes = [box_any(np.square(plane), window) - np.square(box_any(plane, window)) for plane in image]
    return np.asarray(np.mean(planes, axis=0))
