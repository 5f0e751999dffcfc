"""Inverse depth of a pair: residuals at equal blur, and the map that :mod:`relblur.field` finds for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...blur.dense.coherence import Coherence
from ...blur.dense.noise import GivenNoise, PairNoise, estimate_noise
from ...blur.dense.planes import leading_colours, prepare
from ...field import Volume, choose_loops, filled, rims, solve
from ...kernels.threads import Team
from ..camera import Camera
from .candidates import DepthAxis, depth_axis, noise_power, residual_volume
from .edges import settle_edges
from .task import MatchTask

__all__ = ["FIRST_STIFFNESS", "MOST_STIFFNESS", "Matched", "match", "weight_inside"]

Array = NDArray[np.float32]

#: Square root of the least weight of a pixel at the border.
BORDER_WEIGHT = 0.1
#: log10 of the inverse variance of the curvature, at the start and at most. The blur is known, so the axis bends with
#: the scene alone: the prior may be stiffer than for a fitted Gaussian.
FIRST_STIFFNESS, MOST_STIFFNESS = 4.0, 8.0
#: The same for two apertures, whose axis is a sigma.
_OF_SIGMA = (5.0, 9.0)


@dataclass(frozen=True)
class Matched:
    """Inverse depth at every pixel, its standard error, where it comes from farther away, where it is at the end."""

    u: NDArray[np.float64]
    u_stderr: NDArray[np.float64]
    filled: NDArray[np.bool_]
    at_limit: NDArray[np.bool_]
    noise: tuple[float, float]
    levels: int


def match(
    first: NDArray[Any],
    second: NDArray[Any],
    valid: NDArray[np.bool_],
    task: MatchTask,
    engine: str,
    workers: int,
    progress: Callable[[float], None],
) -> Matched:
    """Estimate inverse depth from checked (H, W, C) images."""
    camera, psf, floor = task.camera, task.psf, task.floor
    pair = prepare(first, second, valid)
    images = leading_colours(pair.first, pair.second)
    axis = depth_axis(camera, task.u_range, task.side)
    residuals = residual_volume(*images, camera, psf, axis, floor, workers, lambda share: progress(0.3 * share))
    power = noise_power(camera, psf, axis, floor)
    radius = _larger_radius(camera, axis)
    with Team(workers) as team:
        loops = choose_loops(engine, team)
        reference = float(np.median(power.total))
        residual = 2 * float(np.median(loops.best_fit(residuals, power.total / reference))) / reference
        given = GivenNoise(task.noise.deviations).on_scale(pair.unit)
        noise = estimate_noise(pair.first, pair.second, pair.usable, residual, given)
        # The bands of shared texture depend on relative variance, which is the axis of a focus pair only.
        support = None if noise.is_arithmetic or axis.is_sigma else Coherence(*images, loops)
        first_stiffness, most_stiffness = _OF_SIGMA if axis.is_sigma else (FIRST_STIFFNESS, MOST_STIFFNESS)
        volume = Volume(
            residuals,
            axis.between,
            power.noise(noise.sensor, noise.rounding, task.noise.relative_variance, task.noise.repeats),
            (float(axis.levels[0]), float(axis.levels[-1])),
            power.independent,
            support,
            support_finds=False,
            weight_at=lambda x: weight_inside(radius(x), pair.distance),
            first_stiffness=first_stiffness,
            most_stiffness=most_stiffness,
            loops=loops,
        )
        found = solve(volume, lambda share: progress(0.3 + 0.7 * share))
    u, u_stderr = axis.u(found.z).astype(np.float32), found.stderr / np.float32(abs(axis.gain))
    reach = 2 * radius(found.z).max() + 1
    guide = _sharper(images, camera, u)
    u, u_stderr = settle_edges(u, u_stderr, guide, max(camera.circle_constants_px_m), int(np.ceil(reach)))
    plain = filled(found.w, volume.axis.scale(found.z), task.window)
    return _answer(axis, u, u_stderr, plain if support is None else rims(plain), noise, pair.unit)


def weight_inside(radius: Array, distance: Array | None) -> Array:
    """Return the weight of pixels by the radius of their blur, px.

    Light from beyond the border is missing, so pixels whose blur reaches the border count little.  Pixels whose blur
    reaches an unusable one, ``distance`` px away, do not count.
    """
    rows, columns = (np.minimum(np.arange(n), np.arange(n)[::-1]) for n in radius.shape)
    inside = np.minimum(rows[:, None], columns).astype(np.float32) + np.float32(0.5)
    weight = np.square(np.clip(inside / (radius + 1), BORDER_WEIGHT, 1))
    if distance is not None:
        weight *= distance > 1 + radius
    return np.asarray(weight, np.float32)


def _larger_radius(camera: Camera, axis: DepthAxis) -> Callable[[Array], Array]:
    """Return a function of places on the axis: the radius of the larger of the two circles of confusion, px."""

    def radius(x: Array) -> Array:
        return np.asarray(np.maximum(*_circles(camera, axis.u(x))) / 2)

    return radius


def _circles(camera: Camera, u: Array) -> tuple[Array, Array]:
    """Return the diameters of the circles of confusion of both images, px."""
    constants = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    one, two = (np.abs(np.float32(c) * (u - np.float32(u_i))) for c, u_i in constants)
    return one, two


def _sharper(images: tuple[Array, Array], camera: Camera, u: Array) -> Array:
    """Return at each pixel the image whose circle is the smaller."""
    one, two = _circles(camera, u)
    return np.asarray(np.where(one <= two, images[0], images[1]))


def _answer(
    axis: DepthAxis, u: Array, u_stderr: Array, plain: NDArray[np.bool_], noise: PairNoise, unit: float
) -> Matched:
    wide = u.astype(np.float64)
    return Matched(
        wide,
        u_stderr.astype(np.float64),
        plain,
        axis.at_end(wide),
        (noise.sensor[0] * unit, noise.sensor[1] * unit),
        len(axis.levels),
    )
