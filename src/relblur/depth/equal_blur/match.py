"""Estimate the inverse depth of a pair from its residuals at equal blur, by :mod:`relblur.field`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base._typing import Progress
from ...base.inputs import Pair
from ...blur.dense.coherence import Coherence
from ...blur.dense.noise import GivenNoise, PairNoise, estimate_noise
from ...blur.dense.planes import Planes, colour_directions, in_colours, prepare
from ...field import Loops, Volume, choose_loops, filled, rims, solve
from ...kernels.threads import Team
from ..camera import Camera
from .candidates import NoisePower, depth_axis, noise_power, residual_volume
from .edges import settle_edges
from .task import MatchTask, TaskNoise

__all__ = ["STIFFNESS", "Matched", "match", "measured_noise", "weight_inside"]

Array = NDArray[np.float32]

#: Square root of the minimum weight of a pixel at the border.
BORDER_WEIGHT = 0.1
#: Stiffness of the prior (log10 of the inverse variance of the curvature): initial and maximum value. Higher than for a
#: fitted Gaussian, because with a known shape of blur only the scene curves the map.
STIFFNESS = (4.0, 8.0)
#: The same for two apertures, where the axis is sigma.
STIFFNESS_OF_SIGMA = (5.0, 9.0)


@dataclass(frozen=True)
class Matched:
    """Inverse depth and standard error at every pixel, and the masks of filled pixels and of pixels at a limit."""

    u: NDArray[np.float64]
    u_stderr: NDArray[np.float64]
    filled: NDArray[np.bool_]
    at_limit: NDArray[np.bool_]
    noise: tuple[float, float]
    levels: int


def match(given: Pair, task: MatchTask, engine: str, workers: int, progress: Progress) -> Matched:
    """Estimate inverse depth from a checked pair."""
    camera = task.camera
    pair = prepare(given.first, given.second, given.usable)
    directions = colour_directions([(pair.first, pair.second)])
    images = in_colours(pair.first, directions), in_colours(pair.second, directions)
    axis = depth_axis(camera, task.u_range, task.side)
    residuals = residual_volume(*images, camera, task.psf, axis, workers, lambda share: progress(0.3 * share))
    power = noise_power(camera, task.psf, axis)

    def radius(x: Array) -> Array:
        """Return the radius of the larger of the two circles of confusion, px."""
        return np.asarray(np.maximum(*_circles(camera, axis.u(x))) / 2)

    with Team(workers) as team:
        loops = choose_loops(engine, team)
        noise = measured_noise(residuals, power, pair, task.noise, loops)
        # Coherence needs the relative variance, which is the axis of focus pairs only.
        support = None if noise.is_arithmetic or axis.is_sigma else Coherence(*images, loops)
        volume = Volume(
            residuals,
            axis.between,
            power.noise(noise.sensor, noise.rounding, task.noise),
            (float(axis.levels[0]), float(axis.levels[-1])),
            power.independent,
            support,
            support_in_search=False,
            weight_at=lambda x: weight_inside(radius(x), pair.distance),
            stiffness=STIFFNESS_OF_SIGMA if axis.is_sigma else STIFFNESS,
            loops=loops,
        )
        solution = solve(volume, lambda share: progress(0.3 + 0.7 * share))
    u, u_stderr = axis.u(solution.z).astype(np.float32), solution.stderr / np.float32(abs(axis.gain))
    reach = int(np.ceil(2 * radius(solution.z).max() + 1))
    # The image with the smaller circle shows the outlines.
    guide = np.where(np.less_equal(*_circles(camera, u)), images[0], images[1])
    u, u_stderr = settle_edges(u, u_stderr, guide, max(camera.circle_constants_px_m), reach)
    uninformative = filled(solution.w, volume.axis.scale(solution.z), task.window)
    return Matched(
        u.astype(np.float64),
        u_stderr.astype(np.float64),
        uninformative if support is None else rims(uninformative),
        axis.at_end(u.astype(np.float64)),
        (noise.sensor[0] * pair.unit, noise.sensor[1] * pair.unit),
        len(axis.levels),
    )


def measured_noise(residuals: Array, power: NoisePower, pair: Planes, given: TaskNoise, loops: Loops) -> PairNoise:
    """Return the noise of a pair: the given noise, else that of its residuals at equal blur."""
    reference = float(np.median(power.total))
    residual = 2 * float(np.median(loops.best_fit(residuals, power.total / reference))) / reference
    return estimate_noise([pair], residual, GivenNoise(given.deviations).on_scale(pair.unit))


def weight_inside(radius: Array, distance: Array | None) -> Array:
    """Return the weight of each pixel for the radius of its blur, px.

    Pixels whose blur reaches the border have small weights, because light from outside the frame is missing. Pixels
    whose blur reaches an unusable pixel, ``distance`` px away, have weight 0.
    """
    rows, columns = (np.minimum(np.arange(n), np.arange(n)[::-1]) for n in radius.shape)
    inside = np.minimum(rows[:, None], columns).astype(np.float32) + np.float32(0.5)
    weight = np.square(np.clip(inside / (radius + 1), BORDER_WEIGHT, 1))
    if distance is not None:
        weight *= distance > 1 + radius
    return np.asarray(weight, np.float32)


def _circles(camera: Camera, u: Array) -> tuple[Array, Array]:
    """Return the diameters of the circles of confusion of both images, px."""
    constants = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    one, two = (np.abs(np.float32(c) * (u - np.float32(u_i))) for c, u_i in constants)
    return one, two
