"""The dense map of a pair: ``s = sigma_second^2 - sigma_first^2`` at every pixel, with its standard error.

The pair becomes a volume of residuals at candidate blurs (:mod:`.residuals`) with its noise (:mod:`.noise`), kernels
(:mod:`.family`) and shared texture (:mod:`.coherence`); :mod:`relblur.field` finds the map.

With u = 1 / z affine over a plane and blur ``sigma_i = k |u - u_i|`` for focus at ``1 / u_i``, ``s`` is affine in ``u``
for two focus settings.  Where one image is given as the sharper everywhere (all in focus, a small aperture), its own
blur is negligible and ``sigma = k |u - u_2|`` is affine: the map is then found in sigma.

A prefilter blurs jumps too.  With one, the map is made of two: away from jumps that of the prefilter, at jumps that of
a narrower one.

Memory: about ``4 (channels + 2) * levels`` bytes a pixel, for the residuals and, while labelling, for costs on a
quarter of the pixels.
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
#: Standard deviation of the window of slow differences of brightness, over the largest blur. Chosen on `dfd_carvalho`
#: (two apertures, walls) and `street`: narrower windows calm walls more, wider ones keep more of a large blur.
_SLOW = 2.5
#: Width of the narrow prefilter over that of the wide one, and the step from pixel to pixel that is a jump, relative.
_NARROWER, _JUMP = 0.65, np.float32(0.2)
#: Distances from a jump up to which the narrow prefilter and from which the wide one is used, widths of the prefilter.
_NEAR, _FAR = 2.5, 5.0


@dataclass(frozen=True)
class DenseMap:
    """A dense map of relative blur, (H, W) float32."""

    s: Array  #: variance difference in px^2, positive where ``second`` is the blurrier
    s_stderr: Array  #: its standard error in px^2: about 68 % of errors are smaller
    filled: NDArray[np.bool_]  #: the window around does not determine the value: it comes from farther away
    noise: tuple[float, float]  #: sensor noise used, of ``first`` and ``second`` on the input's intensity scale
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

    The (H, W) or (H, W, C) images are in linear light, on any intensity scale; channels are used together.  The noise
    of the request is on that scale.  ``valid`` excludes pixels (clipped, dead), and all whose blur reaches them.
    """
    swapped = request.sharper == "second"
    if swapped:
        first, second = second, first
    planes = prepare(first, second, valid, request.whole.limits if request.whole else None)
    prefilter = request.prefilter
    with Team(request.workers) as team:
        loops = choose_loops(request.engine, team)
        if prefilter == 0:
            found = _map(planes, request, 0.0, loops, progress)
        else:
            wide = _map(planes, request, prefilter, loops, lambda share: progress(share / 2))
            narrow = _map(planes, request, _NARROWER * prefilter, loops, lambda share: progress(0.5 + share / 2))
            found = _blend(wide, narrow, _share_of_wide(wide.s, narrow.s, prefilter))
    if not swapped:
        return found
    steps = {**found.steps, "start": -found.steps["start"]}
    return replace(found, s=-found.s, noise=found.noise[::-1], steps=steps)


def _blend(wide: DenseMap, narrow: DenseMap, share: Array) -> DenseMap:
    """Return the map of which ``share`` is the first and the rest the second."""
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
    # A jump that only the narrow prefilter shows is a speck.
    jumps |= _jumps(narrow) & (_distance(jumps) < _FAR * prefilter)
    share = (_distance(jumps) / np.float32(prefilter) - _NEAR) / (_FAR - _NEAR)
    return np.asarray(np.clip(share, 0, 1), np.float32)


def _distance(jumps: NDArray[np.bool_]) -> Array:
    """Return the distance to the next jump, px."""
    return np.asarray(cv2.distanceTransform((~jumps).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE))


def _jumps(s: Array) -> NDArray[np.bool_]:
    """Return the pixels on both sides of a jump."""
    least = _JUMP * relative_scale(s)
    found = np.zeros(s.shape, bool)
    for one, two in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        jump = np.abs(s[one] - s[two]) > np.minimum(least[one], least[two])
        found[one] |= jump
        found[two] |= jump
    return found


def _map(planes: Planes, request: Request, prefilter: float, loops: Loops, progress: Progress) -> DenseMap:
    volume, images, noise, family = build_volume(planes, request, prefilter, loops)
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
    return DenseMap(s, stderr, plain, deviations, steps, family)


def build_volume(
    planes: Planes, request: Request, prefilter: float, loops: Loops
) -> tuple[Volume, tuple[Array, Array], PairNoise, Family]:
    """Return the residuals of a pair, with the images, the noise and the kernels that they are made with."""
    whole = request.whole
    directions = whole.directions if whole else colour_directions([(planes.first, planes.second)])
    measured = Measurement([planes], directions, request, prefilter, loops)
    noise, family = measured.noise, measured.family
    images, residuals = measured.images[0], next(measured.stacks())
    known = request.relative_variance
    relative = None if known is None else np.ascontiguousarray(known, np.float32)
    support: Support | None = None
    if not noise.is_arithmetic:
        _remove_slow(residuals.planes, _SLOW * request.max_sigma, planes.usable, loops.team)
        alike = None
        if request.noise_repeats:
            alike = np.float32(_ALIKE * max(noise.sensor) ** 2) * np.ones(planes.usable.shape, np.float32)
            alike = alike if relative is None else alike * relative
        support = Coherence(*images, loops, alike)
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

    Blur moves light over a few pixels.  Vignetting, glare and offsets differ slowly between photographs, which looks
    like a very large blur where an image shows nothing but shading.  Computed pairs keep their slow differences: where
    blur varies, the window would mix it.
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

    def local_support(self, z: Array) -> Array:
        return self.of_s.local_support(np.square(z))


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
