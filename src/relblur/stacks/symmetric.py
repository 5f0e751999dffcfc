"""Many frames in small steps: the place about which the frames are symmetric.

At equal distances in front of and behind its best focus ``x`` a point is blurred alike, whatever the shape of the
blur and however it grows. So the differences of frames at ``x + d`` and ``x - d`` vanish at every pixel by itself;
frames between frames are interpolated. They are taken at every pixel's own ``x`` first and split into bands after, so
that slopes do no harm. Residuals ``e`` of all distances and bands have a covariance, which is measured on the map as
it is, and a derivative by ``x``, which frames smoothed along the stack tell with less noise, up to a factor that is
measured too. Gauss-Newton steps move every pixel from the frame with the most detail to where
``e' covariance^-1 de/dx`` and the pull of the prior (:mod:`relblur.stacks.plate`) balance.

Noise in the derivative makes the information ``de/dx' covariance^-1 de/dx`` too large. What it is can be seen: the map
is moved up and down by a smooth pattern, and the score follows.

Memory: eight bytes a pixel for each frame, and 360 for the residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from ..base._typing import Progress
from ..base.pixels import without_gaps
from ..blur.dense.coherence import Coherence
from ..field import Loops, filled, hidden_variance, rims
from .found import Found
from .plate import LAST_ORDER, ORDER, Smoothness, fit_smoothness, posterior_variance, prior_step

__all__ = ["estimate_by_symmetry"]

Array = NDArray[np.float32]

#: Limits of the bands, px (standard deviations of Gaussians), half an octave apart, the finest from the frame itself.
#: Wider ones blur the map.
BANDS = (0.6, 0.85, 1.2, 1.7, 2.4)
#: Distances from the place of best focus at which frames are compared, steps. Six or twelve change little.
DISTANCES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
#: A distance takes part if this share of the map has frames on both sides.
_LEAST_SHARE = 0.1
#: Frames over which the derivative along the stack is smoothed (standard deviation): a share of their number, at most
#: so many. From 2 to 3 the error on the generated stacks is the same, at 1 it is 10 % larger.
_SMOOTH, _MOST_SMOOTH = 1 / 12, 3.0
#: Height of the pattern by which the information is checked, steps, and the round in which it is.
_MOVED, _CHECKED = 0.1, 2
#: Bend at which the surface breaks, steps per px^3, in the last round per px^4: a jump of a step is 2 to 3 of either.
BREAKS = 0.5
ROUNDS = 6
#: Largest move of one round, steps.
_MOST = 0.5
#: Width of the window of the first look, px, and the least ratio of its best frame to the middle one.
_LOOK, _PROMINENT = 2.75, 2.0
#: Width of the window in which residuals are as large as they are, px, and what is added to the square of that size
#: (its mean is 1) because files are rounded.
_LOCAL, _ROUNDED = 4.0, 0.01
#: Share of a residual's variance that is its own, however much it repeats others: what interpolation between frames
#: errs by. At 0.0001 the map of a coarse stack is wavy; from 0.1 to 1 the generated stacks do not notice.
_RIDGE = 0.2
#: Numbers taken at a time when residuals are combined.
_PART = 1 << 16
#: Least standard error, steps: interpolation between frames. Of fewer frames than these blur grows too fast for it.
_LEAST_STDERR, _COARSE_STDERR, _COARSE = 0.01, 0.06, 8
#: Side of the square that must determine a pixel's place to a step, else it counts as filled, px.
_WINDOW = 9
#: A pixel this far from the mean around it lies beside a jump, steps.
_JUMP = 0.3


@dataclass(frozen=True)
class _Volume:
    """Frames of one band, (N, H, W), read between frames by the cubic of Catmull and Rom.

    The first and the last are there twice.
    """

    repeated: Array
    loops: Loops

    @staticmethod
    def of(frames: Array, loops: Loops) -> _Volume:
        return _Volume(np.pad(frames, ((1, 1), (0, 0), (0, 0)), mode="edge"), loops)

    @property
    def frames(self) -> Array:
        return self.repeated[1:-1]

    def at(self, index: Array) -> tuple[Array, Array]:
        """Return value and derivative at a fractional index of every pixel."""
        level = np.clip(index, 0, len(self.repeated) - 3) + np.float32(1)
        value, slope = self.loops.read(self.repeated[None], level)
        return value[0], slope[0]


@dataclass(frozen=True)
class _Axis:
    """Places of the frames, increasing, and the fractional index of a place."""

    places: NDArray[np.float64]

    @property
    def step(self) -> float:
        return float(np.ptp(self.places)) / (len(self.places) - 1)

    def index(self, x: Array) -> tuple[Array, Array]:
        """Return the index of places, and its derivative."""
        whole = np.arange(len(self.places))
        index = np.interp(x, self.places, whole)
        base = np.clip(index.astype(np.intp), 0, len(whole) - 2)
        return index.astype(np.float32), (1 / np.diff(self.places)[base]).astype(np.float32)


def estimate_by_symmetry(
    frames: Sequence[NDArray[Any]],
    usable: NDArray[np.bool_],
    places: NDArray[np.float64],
    loops: Loops,
    progress: Progress,
) -> Found:
    """Return the place of best focus at every pixel from aligned grey (H, W) frames, whose places increase."""
    axis = _Axis(places)
    start, sure = _most_detail(frames, axis)
    volume = _Volume.of(np.stack([np.asarray(frame, np.float32) for frame in frames]), loops)
    x = _from_around(start, sure & usable)
    width = min(_MOST_SMOOTH, _SMOOTH * (len(frames) - 1))
    slopes = _Volume.of(gaussian_filter1d(volume.frames, width, axis=0, order=1, mode="nearest"), loops)
    progress(0.2)
    smoothness, share = Smoothness(1.0, 1.0), np.float32(1)
    for number in range(ROUNDS):
        residuals = _Residuals.at(volume, slopes, axis, x, usable)
        weighting = residuals.weighting()
        score, information = residuals.evidence(weighting)
        if number == _CHECKED:
            moved = _pattern(x.shape, smoothness.finest(information)) * np.float32(_MOVED * axis.step)
            ways = (_Residuals.at(volume, slopes, axis, x + m, usable).evidence(weighting)[0] for m in (moved, -moved))
            follows = float(((next(ways) - next(ways)) * moved).sum() / 2)
            share = np.float32(np.clip(follows / max(float((information * moved**2).sum()), 1e-20), 0.1, 1))
        # The last step's prior is harder to solve: where it is not, that of the others serves.
        for order in (LAST_ORDER, ORDER) if number == ROUNDS - 1 else (ORDER,):
            move, smoothness, held, solved = _step(x, score, information * share, order, BREAKS * axis.step)
            if solved:
                break
        x = np.clip(x + np.clip(move, -_MOST * axis.step, _MOST * axis.step), places[0], places[-1])
        x = x.astype(np.float32)
        progress(0.2 + 0.8 * (number + 1) / ROUNDS)
    around = cv2.GaussianBlur(held, (0, 0), 4.0, borderType=cv2.BORDER_REFLECT)
    most = np.float32(np.ptp(places) ** 2 / 12)
    step = np.full_like(x, axis.step)
    known = held * _shared(volume, axis, x)
    variance = posterior_variance(around, smoothness) + hidden_variance(known, step, most)
    variance = np.minimum(variance, most) + _at_jumps(x, axis.step)
    least = _COARSE_STDERR if len(frames) < _COARSE else _LEAST_STDERR
    stderr = np.sqrt(variance + np.float32((least * axis.step) ** 2))
    plain = rims(filled(known, step, _WINDOW))
    margin = 0.02 * axis.step
    ends = (x <= places[0] + margin) | (x >= places[-1] - margin)
    noise = float(np.median(np.abs(_bands(volume.frames[0])[0])) / 0.6745)
    return Found(x.astype(np.float64), stderr.astype(np.float64), plain, np.asarray(ends), noise)


def _shared(volume: _Volume, axis: _Axis, x: Array) -> Array:
    """Return the share of the texture around each pixel that two frames at its place show, not noise of one of them.

    The frames are the two nearest to the place, one with an even number and one with an odd one.
    """
    index, _ = axis.index(x)
    frames, count = volume.frames, len(volume.frames)

    def nearest(parity: int) -> Array:
        number = np.clip(2 * np.round((index - parity) / 2) + parity, parity, count - 1 - (count - 1 - parity) % 2)
        return np.take_along_axis(frames, number.astype(np.intp)[None], axis=0)

    texture = Coherence(nearest(0), nearest(1), volume.loops)
    in_focus = np.zeros_like(x)
    return np.asarray(texture.at(in_focus) * texture.located(in_focus))


def _step(
    x: Array, score: Array, information: Array, order: int, breaks: float
) -> tuple[Array, Smoothness, Array, bool]:
    """Return the step to the balance of evidence and prior, the prior, the information, and whether it was solved."""
    smoothness = fit_smoothness(x, score, information, order)
    inflation = np.float32(smoothness.inflation)
    held = cv2.GaussianBlur(information / inflation, (0, 0), 1.0, borderType=cv2.BORDER_REFLECT)
    move, solved = prior_step(x, score / inflation, held, smoothness, breaks)
    return move, smoothness, np.asarray(held), solved


def _most_detail(frames: Sequence[NDArray[Any]], axis: _Axis) -> tuple[Array, NDArray[np.bool_]]:
    """Return where the Laplacian has the most energy, by a parabola of its logarithm, and where that is sure."""
    energy = np.stack([_log_energy(frame) for frame in frames])
    best = np.clip(energy.argmax(axis=0), 1, len(frames) - 2)
    before, peak, after = (np.take_along_axis(energy, (best + o)[None], axis=0)[0] for o in (-1, 0, 1))
    bend = np.minimum(before - 2 * peak + after, np.float32(-1e-6))
    index = best + np.clip((before - after) / (2 * bend), -1, 1)
    sure = peak - np.median(energy, axis=0) > np.float32(np.log(_PROMINENT))
    return np.interp(index, np.arange(len(frames)), axis.places).astype(np.float32), np.asarray(sure)


def _log_energy(frame: NDArray[Any]) -> Array:
    fine = cv2.Laplacian(np.asarray(frame, np.float32), cv2.CV_32F, borderType=cv2.BORDER_REFLECT)
    return np.log(cv2.GaussianBlur(fine * fine, (0, 0), _LOOK, borderType=cv2.BORDER_REFLECT) + np.float32(1e-12))


def _from_around(start: Array, sure: NDArray[np.bool_]) -> Array:
    """Give unsure pixels a smooth continuation of the sure ones."""
    if sure.all() or not sure.any():
        return start
    near = without_gaps(start, sure).astype(np.float32)
    smooth = cv2.GaussianBlur(near, (0, 0), 6.0, borderType=cv2.BORDER_REFLECT)
    return np.where(sure, start, smooth)


def _bands(image: Array) -> list[Array]:
    bands, finer = [], image
    for width in BANDS:
        coarser = cv2.GaussianBlur(image, (0, 0), width, borderType=cv2.BORDER_REFLECT)
        bands.append(finer - coarser)
        finer = coarser
    return bands


def _dot(one: Array, two: Array, inside: NDArray[np.bool_]) -> float:
    return float((one[inside] * two[inside]).sum(dtype=np.float64))


def _pattern(shape: tuple[int, ...], width: float) -> Array:
    """Return a smooth random pattern whose mean square is 1."""
    noise = np.random.default_rng(0).standard_normal(shape, np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), width, borderType=cv2.BORDER_REFLECT)
    return np.asarray(smooth / smooth.std())


@dataclass(frozen=True)
class _Residuals:
    """Residuals and their derivatives, (distances times bands, H, W), and where each distance has both sides."""

    error: Array
    slope: Array
    both: NDArray[np.bool_]

    @staticmethod
    def at(volume: _Volume, slopes: _Volume, axis: _Axis, x: Array, usable: NDArray[np.bool_]) -> _Residuals:
        """Compare the frames on either side of ``x`` at each distance that enough pixels have."""
        errors: list[Array] = []
        derivatives: list[Array] = []
        sides: list[NDArray[np.bool_]] = []
        for distance in DISTANCES:
            away = np.float32(distance * axis.step)
            both = (x + away <= axis.places[-1]) & (x - away >= axis.places[0]) & usable
            if both.mean() < _LEAST_SHARE and sides:
                break
            ahead, by_ahead = axis.index(x + away)
            behind, by_behind = axis.index(x - away)
            one, slope_one = volume.at(ahead)
            two, slope_two = volume.at(behind)
            errors += _bands((one - two) * both)
            own = _bands((slope_one * by_ahead - slope_two * by_behind) * both)
            smooth = _bands((slopes.at(ahead)[0] * by_ahead - slopes.at(behind)[0] * by_behind) * both)
            for this, rough in zip(smooth, own, strict=True):
                gain = _dot(rough, this, both) / (_dot(this, this, both) + 1e-20)
                derivatives.append(np.float32(max(gain, 0.0)) * this)
            sides.append(both)
        return _Residuals(np.stack(errors), np.stack(derivatives), np.stack(sides))

    def weighting(self) -> tuple[Array, Array]:
        """Return how large residuals are around each pixel, and the matrix that makes them white."""
        local = self._local_size().ravel()
        return local, self._whitening(local)

    def evidence(self, weighting: tuple[Array, Array]) -> tuple[Array, Array]:
        """Return the derivative of the cost by the place of every pixel, and its information."""
        _, height, width = self.error.shape
        error, slope = (values.reshape(len(values), -1) for values in (self.error, self.slope))
        local, white = weighting
        counts = np.repeat(self.both, len(BANDS), axis=0).reshape(len(error), -1)
        white = white[: len(error), : len(error)]
        score, information = np.zeros(height * width, np.float32), np.zeros(height * width, np.float32)
        for begin in range(0, height * width, _PART):
            part = slice(begin, begin + _PART)
            e = white @ (error[: len(white), part] / local[part])
            d = (white @ (slope[: len(white), part] / local[part])) * counts[: len(white), part]
            score[part], information[part] = (e * d).sum(axis=0), (d * d).sum(axis=0)
        return score.reshape(height, width), information.reshape(height, width)

    def _local_size(self) -> Array:
        """Return how large residuals are around each pixel, their mean being 1: noise of files grows with detail."""
        total, weight = np.zeros_like(self.error[0]), np.zeros_like(self.error[0])
        for number, error in enumerate(self.error):
            both = self.both[number // len(BANDS)]
            total += np.square(error) / np.float32(_dot(error, error, both) / max(both.sum(), 1) + 1e-20)
            weight += both
        around, counted = (cv2.GaussianBlur(v, (0, 0), _LOCAL, borderType=cv2.BORDER_REFLECT) for v in (total, weight))
        return np.sqrt(around / np.maximum(counted, np.float32(1e-3)) + np.float32(_ROUNDED))

    def _whitening(self, local: Array) -> Array:
        """Return the triangle that makes residuals white: of farther frames it needs nearer ones, not the reverse."""
        count = len(self.error)
        inside = np.flatnonzero(self.both[-1])
        inside = inside[:: max(1, len(inside) // _PART)]
        sample = self.error.reshape(count, -1)[:, inside] / local[inside]
        covariance = sample.astype(np.float64) @ sample.T / max(1, len(inside))
        covariance += np.diag(_RIDGE * np.diagonal(covariance) + 1e-20)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), np.float32)


def _at_jumps(x: Array, step: float) -> Array:
    """Return the variance of pixels that may lie on the other side of a jump, 3 px around it."""
    away = np.abs(x - cv2.blur(x, (7, 7), borderType=cv2.BORDER_REFLECT))
    jumps = np.where(away > np.float32(_JUMP * step), np.square(away), 0)
    return np.asarray(cv2.dilate(jumps.astype(np.float32), np.ones((5, 5), np.uint8)))
