"""Many frames in small steps: the place about which the frames are symmetric.

A point has the same blur at equal distances in front of and behind its best focus ``x``, for any shape and growth of
the blur. So the difference of the frames at ``x + d`` and ``x - d`` is zero at every pixel. Frames are interpolated
along the stack. The differences are then split into bands, which removes slow differences. The covariance of the
residuals ``e`` of all distances and bands is measured at the present map. Their derivative by ``x`` is computed from
frames smoothed along the stack, which have less noise, and multiplied by a measured factor. Gauss-Newton steps with the
score ``e' covariance^-1 de/dx`` and the prior (:mod:`.plate`) start at the frame with the most detail.

Noise in the derivative makes the information ``de/dx' covariance^-1 de/dx`` too large. The factor is measured from the
change of the score for changes of the map by a smooth pattern.

Memory: eight bytes a pixel for each frame, and 360 for the residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from ..base._typing import Progress
from ..base.options import Stack
from ..base.pixels import without_gaps
from ..blur.dense.coherence import Coherence
from ..depth.camera import Camera
from ..field import Loops, choose_loops, filled, plain_variance, rims
from ..kernels.threads import Team, count_workers
from .few import camera_of
from .frames import Frames
from .law import growth_of_blur
from .plate import LAST_ORDER, ORDER, Smoothness, fit_smoothness, posterior_variance, prior_step
from .stack_map import StackEstimate

__all__ = ["estimate_by_symmetry", "most_symmetric"]

Array = NDArray[np.float32]
Bools = NDArray[np.bool_]

#: Limits of the bands, px (standard deviations of Gaussians), half an octave apart. Wider ones blur the map.
BANDS = (0.6, 0.85, 1.2, 1.7, 2.4)
#: Distances from the place of best focus at which frames are compared, steps. Six or twelve change little.
DISTANCES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
#: Least fraction of pixels with frames on both sides at a distance.
_LEAST_SHARE = 0.1
#: Standard deviation of the smoothing along the stack: fraction of the number of frames, and largest (frames). From 2
#: to 3 the error on the generated stacks is the same, at 1 it is 10 % larger.
_SMOOTH, _MOST_SMOOTH = 1 / 12, 3.0
#: Amplitude of the pattern that measures the information (steps), and the round of the measurement.
_MOVED, _CHECKED = 0.1, 2
#: Bend that is a jump, steps per px^3, in the last round per px^4; a jump by one step has a bend of 2 to 3.
BREAKS = 0.5
ROUNDS = 6
#: Largest change of the map in a round, steps.
_MOST = 0.5
#: Width of the window of the detail energy (px), and the least ratio of the largest energy to the median of the frames.
_DETAIL_WIDTH, _PROMINENT = 2.75, 2.0
#: Width of the window of the local size of residuals, px, and the rounding error added to its square (mean 1).
_LOCAL, _ROUNDED = 4.0, 0.01
#: Fraction of a residual's variance that is independent of all others, from interpolation between frames. At 0.0001 the
#: map of a coarse stack is wavy; from 0.1 to 1 the generated stacks do not change.
_RIDGE = 0.2
#: Number of pixels of a block, and of the sample of the covariance.
_PART = 1 << 16
#: Least standard error (steps) of stacks, of those with few frames, and the number of frames that is not few.
_LEAST_STDERR, _COARSE_STDERR, _COARSE = 0.01, 0.06, 8
#: Standard error of interpolation, steps, at a growth of 1 px a step; it grows with the third power of the growth.
#: Errors on white noise are 0.12 (RMS over the places) at 1 px, 0.02 at 0.6 px.
_BETWEEN = 0.1
#: Side of the patch in the middle on which the growth of the blur is measured, px.
_PATCH = 360
#: Side of the square that determines a pixel to one step, px; otherwise the pixel is filled.
_WINDOW = 9
#: Least difference of a pixel beside a jump from the mean around it, steps.
_JUMP = 0.3


def estimate_by_symmetry(
    frames: Frames, places: NDArray[np.float64], camera: Camera | None, options: Stack, progress: Progress
) -> StackEstimate:
    """Return the place of best focus at every pixel, and the growth of the blur."""
    smalls, forward = [frame.small for frame in frames.frames], 1 if places[-1] > places[0] else -1
    greys = [np.sqrt(np.maximum(small.mean(axis=2), 0)) for small in smalls[::forward]]
    with Team(count_workers(options.workers)) as team:
        loops = choose_loops(options.engine, team)
        estimate = most_symmetric(greys, frames.usable, places[::forward], loops, lambda share: progress(0.9 * share))
    middle, apart = len(smalls) // 2, 2 * max(1, len(smalls) // 10)
    if camera is None:
        three = [max(middle - apart, 0), middle, min(middle + apart, len(smalls) - 1)]
        rows, columns = (slice(max(0, (n - _PATCH) // 2), (n + _PATCH) // 2) for n in frames.usable.shape)
        patches, usable = [smalls[n][rows, columns] for n in three], frames.usable[rows, columns]
        growth = growth_of_blur(patches, usable, places[three], options)
    else:
        growth = float(camera_of(camera, frames, middle).blur_constants_px_m[0])
    step = float(np.ptp(places)) / (len(places) - 1)
    between = step * _BETWEEN * (growth * step) ** 3 if growth == growth else 0.0
    return estimate._replace(stderr=np.hypot(estimate.stderr, between), growth=growth)


@dataclass(frozen=True)
class _Frames:
    """Frames (N, H, W) at increasing places, and their smoothed derivative along the stack, for interpolation.

    The first and the last frame are repeated.
    """

    frames: Array
    slopes: Array
    places: NDArray[np.float64]
    usable: Bools
    loops: Loops

    @staticmethod
    def of(greys: Sequence[Array], usable: Bools, places: NDArray[np.float64], loops: Loops) -> _Frames:
        frames = np.stack([np.asarray(grey, np.float32) for grey in greys])
        width = min(_MOST_SMOOTH, _SMOOTH * (len(frames) - 1))
        slopes = gaussian_filter1d(frames, width, axis=0, order=1, mode="nearest")
        around = ((1, 1), (0, 0), (0, 0))
        return _Frames(np.pad(frames, around, mode="edge"), np.pad(slopes, around, mode="edge"), places, usable, loops)

    @property
    def step(self) -> float:
        """Mean distance of two frames."""
        return float(np.ptp(self.places)) / (len(self.places) - 1)

    def index(self, x: Array) -> Array:
        """Return the fractional index of places."""
        return np.interp(x, self.places, np.arange(len(self.places))).astype(np.float32)

    def at(self, x: Array) -> tuple[Array, Array, Array]:
        """Return value, derivative by the place, and smoothed derivative at places."""
        index = self.index(x)
        base = np.clip(index.astype(np.intp), 0, len(self.places) - 2)
        rate = (1 / np.diff(self.places)[base]).astype(np.float32)
        level = np.clip(index, 0, len(self.places) - 1) + np.float32(1)
        value, slope = self.loops.read(self.frames[None], level)
        return value[0], slope[0] * rate, self.loops.read(self.slopes[None], level)[0][0] * rate


def most_symmetric(
    greys: Sequence[Array], usable: Bools, places: NDArray[np.float64], loops: Loops, progress: Progress
) -> StackEstimate:
    """Return the place of best focus at every pixel from aligned grey (H, W) frames whose places increase."""
    volume = _Frames.of(greys, usable, places, loops)
    step = volume.step
    x = _most_detail(greys, volume)
    progress(0.2)
    smoothness, share = Smoothness(1.0, 1.0), np.float32(1)
    for number in range(ROUNDS):
        residuals = _Residuals.at(volume, x)
        weighting = residuals.weighting()
        score, information = residuals.evidence(weighting)
        if number == _CHECKED:
            moved = _pattern(x.shape, smoothness.finest(information)) * np.float32(_MOVED * step)
            up, down = (_Residuals.at(volume, x + m).evidence(weighting)[0] for m in (moved, -moved))
            change = float(((up - down) * moved).sum() / 2)
            share = np.float32(np.clip(change / max(float((information * moved**2).sum()), 1e-20), 0.1, 1))
        # If the system of the last round does not converge, that of the others is solved.
        for order in (LAST_ORDER, ORDER) if number == ROUNDS - 1 else (ORDER,):
            smoothness = fit_smoothness(x, score, information * share, order)
            inflation = np.float32(smoothness.inflation)
            held = _blurred(information * share / inflation, 1.0)
            move, solved = prior_step(x, score / inflation, held, smoothness, BREAKS * step)
            if solved:
                break
        x = np.clip(x + np.clip(move, -_MOST * step, _MOST * step), places[0], places[-1]).astype(np.float32)
        progress(0.2 + 0.8 * (number + 1) / ROUNDS)
    range_variance, steps = np.float32(np.ptp(places) ** 2 / 12), np.full_like(x, step)
    supported = held * _support(volume, x)
    variance = posterior_variance(_blurred(held, 4.0), smoothness) + plain_variance(supported, steps, range_variance)
    least = _COARSE_STDERR if len(greys) < _COARSE else _LEAST_STDERR
    variance = np.minimum(variance, range_variance) + _at_jumps(x, step) + np.float32((least * step) ** 2)
    margin = 0.02 * step
    ends = np.asarray((x <= places[0] + margin) | (x >= places[-1] - margin))
    noise = float(np.median(np.abs(_bands(volume.frames[0])[0])) / 0.6745)
    plain = rims(filled(supported, steps, _WINDOW))
    return StackEstimate(x.astype(np.float64), np.sqrt(variance).astype(np.float64), plain, ends, noise, float("nan"))


def _most_detail(greys: Sequence[Array], volume: _Frames) -> Array:
    """Return the place of the largest Laplacian energy, by a parabola of its logarithm; uncertain pixels are filled."""
    energy = np.stack([_log_energy(grey) for grey in greys])
    best = np.clip(energy.argmax(axis=0), 1, len(greys) - 2)
    before, peak, after = (np.take_along_axis(energy, (best + o)[None], axis=0)[0] for o in (-1, 0, 1))
    bend = np.minimum(before - 2 * peak + after, np.float32(-1e-6))
    index = best + np.clip((before - after) / (2 * bend), -1, 1)
    certain = (peak - np.median(energy, axis=0) > np.float32(np.log(_PROMINENT))) & volume.usable
    start = np.interp(index, np.arange(len(greys)), volume.places).astype(np.float32)
    if certain.all() or not certain.any():
        return start
    return np.where(certain, start, _blurred(without_gaps(start, certain).astype(np.float32), 6.0))


def _log_energy(grey: Array) -> Array:
    fine = cv2.Laplacian(np.asarray(grey, np.float32), cv2.CV_32F, borderType=cv2.BORDER_REFLECT)
    return np.log(_blurred(fine * fine, _DETAIL_WIDTH) + np.float32(1e-12))


def _blurred(image: Array, width: float) -> Array:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), width, borderType=cv2.BORDER_REFLECT))


def _bands(image: Array) -> list[Array]:
    levels = [image, *(_blurred(image, width) for width in BANDS)]
    return [fine - coarse for fine, coarse in pairwise(levels)]


def _dot(one: Array, two: Array, inside: Bools) -> float:
    return float((one[inside] * two[inside]).sum(dtype=np.float64))


def _pattern(shape: tuple[int, ...], width: float) -> Array:
    """Return a smooth random pattern whose mean square is 1."""
    smooth = _blurred(np.random.default_rng(0).standard_normal(shape, np.float32), width)
    return np.asarray(smooth / smooth.std())


def _support(volume: _Frames, x: Array) -> Array:
    """Return the share of the texture around each pixel that is common to the two frames nearest to its place.

    One of these frames has an even number, the other an odd one.
    """
    index, count = volume.index(x), len(volume.places)

    def nearest(parity: int) -> Array:
        number = np.clip(2 * np.round((index - parity) / 2) + parity, parity, count - 1 - (count - 1 - parity) % 2)
        return np.take_along_axis(volume.frames, 1 + number.astype(np.intp)[None], axis=0)

    texture, in_focus = Coherence(nearest(0), nearest(1), volume.loops), np.zeros_like(x)
    return np.asarray(texture.at(in_focus) * texture.local_support(in_focus))


@dataclass(frozen=True)
class _Residuals:
    """Residuals and their derivatives, (distances times bands, H, W), and the pixels with both frames of a distance."""

    error: Array
    slope: Array
    both: Bools

    @staticmethod
    def at(volume: _Frames, x: Array) -> _Residuals:
        """Return the residuals at ``x``, for the distances at which enough pixels have both frames."""
        errors: list[Array] = []
        derivatives: list[Array] = []
        sides: list[Bools] = []
        for distance in DISTANCES:
            away = np.float32(distance * volume.step)
            both = (x + away <= volume.places[-1]) & (x - away >= volume.places[0]) & volume.usable
            if both.mean() < _LEAST_SHARE and sides:
                break
            beside = zip(volume.at(x + away), volume.at(x - away), strict=True)
            error, own, smooth = (_bands((ahead - behind) * both) for ahead, behind in beside)
            errors += error
            for this, rough in zip(smooth, own, strict=True):
                gain = _dot(rough, this, both) / (_dot(this, this, both) + 1e-20)
                derivatives.append(np.float32(max(gain, 0.0)) * this)
            sides.append(both)
        return _Residuals(np.stack(errors), np.stack(derivatives), np.stack(sides))

    def weighting(self) -> tuple[Array, Array]:
        """Return the local size of the residuals (mean 1), and the matrix that makes them white.

        The noise of files grows with detail. The matrix is lower triangular, so that distances can be left out at its
        end.
        """
        total, weight = np.zeros_like(self.error[0]), np.zeros_like(self.error[0])
        for number, error in enumerate(self.error):
            both = self.both[number // len(BANDS)]
            total += np.square(error) / np.float32(_dot(error, error, both) / max(both.sum(), 1) + 1e-20)
            weight += both
        around = _blurred(total, _LOCAL) / np.maximum(_blurred(weight, _LOCAL), np.float32(1e-3))
        local = np.sqrt(around + np.float32(_ROUNDED)).ravel()
        count, inside = len(self.error), np.flatnonzero(self.both[-1])
        inside = inside[:: max(1, len(inside) // _PART)]
        sample = self.error.reshape(count, -1)[:, inside] / local[inside]
        covariance = sample.astype(np.float64) @ sample.T / max(1, len(inside))
        covariance += np.diag(_RIDGE * np.diagonal(covariance) + 1e-20)
        return local, np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), np.float32)

    def evidence(self, weighting: tuple[Array, Array]) -> tuple[Array, Array]:
        """Return the derivative of the cost by the place of every pixel, and its information."""
        _, height, width = self.error.shape
        error, slope = (values.reshape(len(values), -1) for values in (self.error, self.slope))
        counts = np.repeat(self.both, len(BANDS), axis=0).reshape(len(error), -1)
        local, white = weighting
        used = min(len(error), len(white))
        white = white[:used, :used]
        score, information = np.zeros(height * width, np.float32), np.zeros(height * width, np.float32)
        for begin in range(0, height * width, _PART):
            part = slice(begin, begin + _PART)
            e = white @ (error[:used, part] / local[part])
            d = (white @ (slope[:used, part] / local[part])) * counts[:used, part]
            score[part], information[part] = (e * d).sum(axis=0), (d * d).sum(axis=0)
        return score.reshape(height, width), information.reshape(height, width)


def _at_jumps(x: Array, step: float) -> Array:
    """Return the variance of pixels that may be on the other side of a jump, within 3 px of it."""
    away = np.abs(x - cv2.blur(x, (7, 7), borderType=cv2.BORDER_REFLECT))
    jumps = np.where(away > np.float32(_JUMP * step), np.square(away), 0)
    return np.asarray(cv2.dilate(jumps.astype(np.float32), np.ones((5, 5), np.uint8)))
