"""The refined estimator's likelihood, prior and descent, on the residuals of equal-blur matching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..camera import Camera
from ..psf import Psf
from ..refined import engine, uncertainty
from ..refined.coordinate import SIGMA, VARIANCE, Coordinate
from ..refined.likelihood import Likelihood
from ..refined.noise import NoiseTables, PairNoise, Stated, dithered_share, estimate_noise, noise_tables
from ..refined.prepare import leading_colours, prepare
from ..refined.prior import box_any
from ..refined.refine import descend
from ..refined.stack import STEP, ResidualStack
from .candidates import DepthAxis, NoisePower, UniformStack, depth_axis, noise_power, residual_volume
from .edges import settle_edges

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
class _AxisCoordinate(Coordinate):
    """The axis itself; a unit of relative blur is as many levels everywhere."""

    unit: float = 1.0

    def scale(self, z: Array) -> Array:
        """Return the change of ``z`` that stands for a relative change of blur by 1."""
        return np.full_like(z, self.unit)


@dataclass(frozen=True)
class _MatchNoise(PairNoise):
    """Noise of the residual: both images' enters, filtered."""

    power: NoisePower

    def tables(self, stack: ResidualStack) -> NoiseTables:
        """Return what the noise does to the residuals of a stack."""
        covariance = self.power.covariance(self.sensor)
        return noise_tables(
            covariance,
            own=np.diagonal(self.power.covariance(self.rounding)),
            passed=np.diagonal(covariance),
            to_s=lambda level: np.full(len(level), -1 / float(stack.s_levels[1] - stack.s_levels[0])),
        )


class _MatchLikelihood(Likelihood):
    """The likelihood of matched residuals; bad pixels reach as far as the circle they are blurred with."""

    def __init__(self, camera: Camera, axis: DepthAxis, *rest: Any) -> None:
        self._camera, self._axis = camera, axis
        super().__init__(*rest)

    def radius(self, s: Array) -> Array:
        """Return the radius of the larger of the two circles, px."""
        u = self._axis.u(s)
        constants = zip(self._camera.circle_constants_px_m, self._camera.focus_per_m, strict=True)
        one, two = (np.abs(np.float32(c) * (u - np.float32(u_i))) for c, u_i in constants)
        return np.asarray(np.maximum(one, two) / 2)

    def exclude_reach(self, s: Array) -> None:
        """Give no weight to pixels whose circles reach an invalid one, and little to those that reach the border.

        What lies beyond the border is mirrored, but the light that came from there was not.
        """
        radius = self.radius(s)
        rows, columns = (np.minimum(np.arange(n), np.arange(n)[::-1]) for n in s.shape)
        inside = np.minimum(rows[:, None], columns).astype(np.float32) + np.float32(0.5)
        weight = np.square(np.clip(inside / (radius + 1), BORDER_WEIGHT, 1))
        if self._distance is not None:
            weight *= self._distance > 1 + radius
        self.weight = np.asarray(weight, np.float32)


def match(
    first: NDArray[Any],
    second: NDArray[Any],
    camera: Camera,
    psf: Psf,
    *,
    u_range: tuple[float, float],
    side: str,
    noise: tuple[float, float] | None,
    valid: NDArray[np.bool_],
    floor: float,
    window: int,
    workers: int,
    progress: Callable[[float], None],
) -> Matched:
    """Estimate inverse depth from checked (H, W, C) images."""
    pair = prepare(first, second, valid)
    images = leading_colours(pair.first, pair.second)
    axis = depth_axis(camera, u_range, side)
    volume = residual_volume(*images, camera, psf, axis, floor, workers, lambda share: progress(0.3 * share))
    power = noise_power(camera, psf, axis, floor)
    total = power.total
    reference = float(np.median(total))
    best = _best_fit(volume, total / reference)
    stated = Stated(noise).on_scale(pair.unit)
    sensor = estimate_noise(pair.first, pair.second, pair.usable, 2 * float(np.median(best)) / reference, stated)
    model = _MatchNoise(sensor.sensor, sensor.rounding, power)
    with engine.gather("opencv", workers) as crew:  # the compiled loops know another spacing of levels
        stack = UniformStack(volume, axis.levels, power.gain(), crew)
        trust = np.minimum(dithered_share(pair.first), dithered_share(pair.second))
        likelihood = _MatchLikelihood(
            camera, axis, stack, model, best, (stack.lowest, stack.highest), trust, pair.distance
        )
        likelihood.noise_ratio = total / reference
        base = SIGMA if axis.is_sigma else VARIANCE
        coordinate = _AxisCoordinate(
            False, base.first_stiffness, max(base.most_stiffness, MOST_STIFFNESS), unit=axis.step / STEP
        )
        texture = (uncertainty.local_texture(images[0], window), uncertainty.local_texture(images[1], window))
        found = descend(likelihood, coordinate, pair, texture, window, lambda share: progress(0.3 + 0.7 * share))
        filled = _filled(likelihood, found.s, coordinate, window)
    u, u_stderr = axis.u(found.s).astype(np.float32), found.s_stderr / np.float32(abs(axis.gain))
    reach = 2 * likelihood.radius(found.s).max() + 1
    guide = _sharper(images, camera, u)
    u, u_stderr = settle_edges(u, u_stderr, guide, max(camera.circle_constants_px_m), int(np.ceil(reach)))
    return _answer(axis, u, u_stderr, filled, model, pair.unit)


def _best_fit(volume: Array, relative_noise: NDArray[np.float64]) -> Array:
    """Return the least 5 x 5 mean of ``e^2`` over the levels, on the scale of the median level's noise."""
    best: Array | None = None
    for k, ratio in enumerate(relative_noise):
        power = engine.box(np.square(volume[:, k]).mean(axis=0), 5) * np.float32(1 / ratio)
        best = power if best is None else np.minimum(best, power)
    assert best is not None
    return best


def _filled(likelihood: Likelihood, x: Array, coordinate: Coordinate, window: int) -> NDArray[np.bool_]:
    """Return where the window around a pixel leaves its depth open."""
    evidence = likelihood.evidence(x, inflate=True)
    return np.asarray(box_any(evidence.w, window) * np.float32(window**2) * coordinate.scale(x) ** 2 < 1)


def _sharper(images: tuple[Array, Array], camera: Camera, u: Array) -> Array:
    """Return at each pixel the image whose circle is the smaller."""
    constants = zip(camera.circle_constants_px_m, camera.focus_per_m, strict=True)
    one, two = (np.abs(np.float32(c) * (u - np.float32(u_i))) for c, u_i in constants)
    return np.asarray(np.where(one <= two, images[0], images[1]))


def _answer(
    axis: DepthAxis, u: Array, u_stderr: Array, filled: NDArray[np.bool_], noise: PairNoise, unit: float
) -> Matched:
    wide = u.astype(np.float64)
    low, high = sorted(axis.u(axis.levels[[0, -1]]))
    margin = 0.02 * axis.step / abs(axis.gain)
    ends = (wide <= low + margin) | (wide >= high - margin)
    return Matched(
        wide,
        u_stderr.astype(np.float64),
        filled,
        ends,
        (noise.sensor[0] * unit, noise.sensor[1] * unit),
        len(axis.levels),
    )
