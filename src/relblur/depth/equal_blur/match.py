"""The refined estimator's likelihood, prior and descent, on the residuals of equal-blur matching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...blur.refined.descent import Descent, descend
from ...blur.refined.engine import open_loops
from ...blur.refined.likelihood.coherence import SharedTexture
from ...blur.refined.likelihood.likelihood import Likelihood
from ...blur.refined.likelihood.noise import (
    GivenNoise,
    PairNoise,
    ResidualNoise,
    dithered_share,
    estimate_noise,
    noise_tables,
    residual_noise,
)
from ...blur.refined.likelihood.stack import ResidualStack
from ...blur.refined.prepare import leading_colours, prepare
from ...blur.refined.prior.coordinate import SIGMA, VARIANCE, Coordinate
from ...blur.refined.uncertainty import beside, information_around
from ...filters.level_axis import LevelAxis
from ..camera import Camera
from .candidates import DepthAxis, NoisePower, depth_axis, noise_power, residual_volume
from .edges import settle_edges
from .task import MatchTask, TaskNoise

Array = NDArray[np.float32]

#: Square root of the least weight of a pixel at the border.
BORDER_WEIGHT = 0.1
#: The blur is known, so the axis bends with the scene alone: the prior may be stiffer than for a fitted Gaussian.
MOST_STIFFNESS = 8.0


@dataclass(frozen=True)
class Matched:
    """Inverse depth at every pixel, its standard error, where it comes from farther away, where it is at the end."""

    u: NDArray[np.float64]
    u_stderr: NDArray[np.float64]
    filled: NDArray[np.bool_]
    at_limit: NDArray[np.bool_]
    noise: tuple[float, float]
    levels: int


@dataclass(frozen=True)
class _Circles:
    """The circles of confusion along the axis, and which pixels they spoil.

    ``distance`` is that to the nearest pixel that must not be used, px; None if there is none.
    """

    camera: Camera
    axis: DepthAxis
    distance: Array | None

    def radius(self, x: Array) -> Array:
        """Return the radius of the larger of the two circles, px."""
        u = self.axis.u(x)
        constants = zip(self.camera.circle_constants_px_m, self.camera.focus_per_m, strict=True)
        one, two = (np.abs(np.float32(c) * (u - np.float32(u_i))) for c, u_i in constants)
        return np.asarray(np.maximum(one, two) / 2)

    def weight(self, x: Array) -> Array:
        """Return no weight for pixels whose circles reach an invalid one, and little for those that reach the border.

        What lies beyond the border is mirrored, but the light that came from there was not.
        """
        radius = self.radius(x)
        rows, columns = (np.minimum(np.arange(n), np.arange(n)[::-1]) for n in x.shape)
        inside = np.minimum(rows[:, None], columns).astype(np.float32) + np.float32(0.5)
        weight = np.square(np.clip(inside / (radius + 1), BORDER_WEIGHT, 1))
        if self.distance is not None:
            weight *= self.distance > 1 + radius
        return np.asarray(weight, np.float32)


class _Matching(Likelihood):
    """The likelihood of a matching: all texture finds the depth, but only shared texture counts for its error bar."""

    counted: SharedTexture | None = None

    def located(self, s: Array, w: Array) -> Array:
        """Return the part of the information at a map ``s`` that both images show, and that is about the pixel."""
        return w if self.counted is None else w * self.counted.at(s) * self.counted.located(s)


def _noise_of(
    noise: PairNoise, power: NoisePower, ratio: NDArray[np.float64], stack: ResidualStack, known: TaskNoise
) -> ResidualNoise:
    """Return the noise of the residuals: both images' enters, filtered."""
    covariance = power.covariance(noise.sensor)
    tables = noise_tables(
        covariance,
        own=np.diagonal(power.covariance(noise.rounding)),
        passed=np.diagonal(covariance),
        axis=stack.axis,
    )
    varying = None if known.relative_variance is None else np.asarray(known.relative_variance, np.float32)
    found = residual_noise(noise.sensor, tables, ratio, stack.residuals.shape[2:], varying)
    return replace(found, repeats=known.repeats)


def match(
    first: NDArray[Any],
    second: NDArray[Any],
    valid: NDArray[np.bool_],
    task: MatchTask,
    engine: str,
    workers: int,
    progress: Callable[[float], None],
) -> Matched:
    """Estimate inverse depth from checked (H, W, C) images, on the loops of an engine, "opencv" or "numba"."""
    camera, psf, floor = task.camera, task.psf, task.floor
    pair = prepare(first, second, valid)
    images = leading_colours(pair.first, pair.second)
    axis = depth_axis(camera, task.u_range, task.side)
    volume = residual_volume(*images, camera, psf, axis, floor, workers, lambda share: progress(0.3 * share))
    power = noise_power(camera, psf, axis, floor)
    stack = ResidualStack(volume, axis.levels, axis.between, power.gain())
    circles = _Circles(camera, axis, pair.distance)
    with open_loops(engine, workers) as loops:
        reference = float(np.median(power.total))
        ratio = power.total / reference
        best = loops.best_fit(stack, 1 / ratio)
        residual = 2 * float(np.median(best)) / reference
        model = estimate_noise(
            pair.first, pair.second, pair.usable, residual, GivenNoise(task.noise.deviations).on_scale(pair.unit)
        )
        trust = np.minimum(dithered_share(pair.first), dithered_share(pair.second))
        bounds = (stack.lowest, stack.highest)
        noise = _noise_of(model, power, ratio, stack, task.noise)
        likelihood = _Matching(stack, noise, best, bounds, trust, circles.weight, loops)
        # The bands of shared texture go by relative variance, which is the axis of a focus pair alone.
        if not (model.is_arithmetic or axis.is_sigma):
            likelihood.counted = SharedTexture(*images)
        found = descend(likelihood, _coordinate(axis), lambda share: progress(0.3 + 0.7 * share))
    u, u_stderr = axis.u(found.s).astype(np.float32), found.s_stderr / np.float32(abs(axis.gain))
    reach = 2 * circles.radius(found.s).max() + 1
    guide = _sharper(images, camera, u)
    u, u_stderr = settle_edges(u, u_stderr, guide, max(camera.circle_constants_px_m), int(np.ceil(reach)))
    filled = _filled(found, stack.axis, task.window, likelihood.counted is not None)
    return _answer(axis, u, u_stderr, filled, model, pair.unit)


def _coordinate(axis: DepthAxis) -> Coordinate:
    """Return the axis itself as the coordinate."""
    usual = SIGMA if axis.is_sigma else VARIANCE
    return Coordinate(False, usual.first_stiffness, max(usual.most_stiffness, MOST_STIFFNESS))


def _filled(found: Descent, axis: LevelAxis, window: int, rims: bool) -> NDArray[np.bool_]:
    """Return where the window around a pixel leaves its depth open, the rims of such areas included if wanted."""
    silent = information_around(found.evidence.w, window) * axis.scale(found.s) ** 2 < 1
    return np.asarray(silent | beside(silent) if rims else silent)


def _sharper(images: tuple[Array, Array], camera: Camera, u: Array) -> Array:
    """Return at each pixel the image whose circle is the smaller."""
    constants = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    one, two = (np.abs(np.float32(c) * (u - np.float32(u_i))) for c, u_i in constants)
    return np.asarray(np.where(one <= two, images[0], images[1]))


def _answer(
    axis: DepthAxis, u: Array, u_stderr: Array, filled: NDArray[np.bool_], noise: PairNoise, unit: float
) -> Matched:
    wide = u.astype(np.float64)
    return Matched(
        wide,
        u_stderr.astype(np.float64),
        filled,
        axis.at_end(wide),
        (noise.sensor[0] * unit, noise.sensor[1] * unit),
        len(axis.levels),
    )
