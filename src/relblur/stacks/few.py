"""A few frames whose law of blur is known: the joint likelihood of all of them at candidate places.

At a candidate ``x`` (an inverse distance, or a place between frames) frame ``i`` has the transfer function
``H_i = h(c_i (x_i - x))``. The scene itself being unknown, what the frames ``D_i`` say about ``x`` is what is left when
the most likely scene is taken out of them,

    sum_i |D_i|^2 - |sum_i conj(H_i) D_i|^2 / sum_i |H_i|^2  =  sum_{i<j} |H_j D_i - H_i D_j|^2 / sum_i |H_i|^2,

Lagrange's identity: the sum over *all pairs* of what is left of each at equal blur, each counted as it should be. It
is computed as ``N - 1`` residuals of white, equal noise,

    e_k = (H_k P_k - E_k D_k) / sqrt(E_k (E_k + |H_k|^2)),   P_k = sum_{i<k} conj(H_i) D_i,   E_k = sum_{i<k} |H_i|^2,

which :mod:`relblur.field` takes as if they were the channels of one pair. Near frames bring the precision; a place on
the wrong side of focus, which two frames may admit, is ruled out by the others.

Costs ``4 (N - 1 + 4) * levels`` bytes per pixel of the map.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ..base._typing import Progress
from ..blur.dense.coherence import Coherence
from ..blur.dense.noise import GivenNoise, estimate_noise
from ..blur.dense.planes import Planes, colour_directions, intensity_range, prepare
from ..depth.equal_blur.candidates import CIRCLE_STEP_PX, DepthAxis, NoisePower, softening
from ..depth.equal_blur.edges import settle_edges
from ..depth.equal_blur.match import FIRST_STIFFNESS, MOST_STIFFNESS, weight_inside
from ..depth.equal_blur.task import NOISE_FLOOR, TaskNoise
from ..depth.psf import Psf, Transfer
from ..field import Loops, Volume, choose_loops, filled, rims, solve
from ..kernels.threads import Team
from .found import Found

__all__ = ["JointTask", "estimate_jointly"]

Array = NDArray[np.float32]

#: Memory for the residuals, bytes; more levels than fit are not laid.
MOST_BYTES = 800e6
LEAST_LEVELS, MOST_LEVELS = 16, 120
#: Side of the square around a pixel at an end in which others beyond all frames count as being there too, px. In the
#: corners of a phone's stack 0.5 % of the map stays unflagged at half the nearest distance; with 9, 1.4 %.
DRAWN_ALONG = 13
#: Side of the square that must determine a pixel's place, else it counts as filled, px.
WINDOW = 9


@dataclass(frozen=True)
class JointTask:
    """How the frames were taken.

    Attributes
    ----------
    places : (N,)
        Where each frame is in focus: 1/m, or frames.
    circles : (N,)
        Diameter of the circle of confusion per unit of distance from there, px.
    psf : Psf
    span : (float, float)
        Places to look at, low and high.
    kappa : float
        Standard deviation of the blur over its diameter.
    noise : TaskNoise
        What is known of the noise of the first and the last frame.
    """

    places: NDArray[np.float64]
    circles: NDArray[np.float64]
    psf: Psf
    span: tuple[float, float]
    kappa: float
    noise: TaskNoise = field(default_factory=TaskNoise)

    def transfers(self, transfer: Transfer, x: float) -> list[NDArray[Any]]:
        """Return what each frame's blur does to the frequencies if the scene is at ``x``."""
        return [transfer(float(c * (place - x))) for c, place in zip(self.circles, self.places, strict=True)]

    def radius(self, x: Array) -> Array:
        """Return the radius of the largest circle of any frame, px."""
        both = [
            np.abs(np.float32(c) * (x - np.float32(place))) for c, place in zip(self.circles, self.places, strict=True)
        ]
        return np.asarray(np.maximum.reduce(both) / 2)

    def beyond(self, x: Array) -> NDArray[np.bool_]:
        """Return which places no two frames enclose."""
        return np.asarray((x < self.places.min()) | (x > self.places.max()))

    def axis(self, pixels: int) -> DepthAxis:
        """Lay levels over the span, on an axis whose unit is px^2 of the blur between the first and the last frame."""
        low, high = self.span
        k = self.kappa * float(self.circles.max())
        gain = 2 * k * k * float(np.ptp(self.places))
        count = math.ceil((high - low) * float(self.circles.max()) / CIRCLE_STEP_PX)
        fits = int(MOST_BYTES / (4 * (len(self.places) - 1) * pixels))
        count = max(LEAST_LEVELS, min(count, MOST_LEVELS, fits))
        return DepthAxis(0.0, gain, gain * np.linspace(low, high, count + 1), False)


def estimate_jointly(
    frames: Sequence[NDArray[Any]],
    usable: NDArray[np.bool_],
    task: JointTask,
    engine: str,
    workers: int,
    progress: Progress,
) -> Found:
    """Return the place of best focus at every pixel from aligned (H, W, C) frames of one exposure."""
    pairs = _prepared(frames, usable)
    planes = _colours([pair.first for pair in pairs])
    axis = task.axis(usable.size)
    residuals = _residuals(planes, task, axis, workers, lambda share: progress(0.3 * share))
    power = _noise_power(task, axis)
    with Team(workers) as team:
        loops = choose_loops(engine, team)
        reference = float(np.median(power.total))
        residual = 2 * float(np.median(loops.best_fit(residuals, power.total / reference))) / reference
        given = GivenNoise(task.noise.deviations).on_scale(pairs[0].unit)
        noise = estimate_noise(planes[0], planes[-1], pairs[0].usable, residual, given)
        support = None if noise.is_arithmetic else _SharedByNeighbours(planes, task, axis, loops)
        volume = Volume(
            residuals,
            axis.between,
            power.noise(noise.sensor, noise.rounding, task.noise.relative_variance, task.noise.repeats),
            (float(axis.levels[0]), float(axis.levels[-1])),
            power.independent,
            support,
            support_finds=False,
            weight_at=lambda z: weight_inside(task.radius(axis.u(z)), pairs[0].distance),
            first_stiffness=FIRST_STIFFNESS,
            most_stiffness=MOST_STIFFNESS,
            disagreement=True,
            loops=loops,
        )
        found = solve(volume, lambda share: progress(0.3 + 0.7 * share))
    x = axis.u(found.z).astype(np.float32)
    stderr = found.stderr / np.float32(axis.gain)
    nearest = np.argmin(np.abs(x[None] - task.places[:, None, None]), axis=0)
    guide = np.take_along_axis(np.stack(planes), nearest[None, None], axis=0)[0]
    reach = math.ceil(2 * float(task.radius(x).max()) + 1)
    x, stderr = settle_edges(x, stderr, np.asarray(guide), float(task.circles.max()), reach)
    ends = _with_surroundings(axis.at_end(x), task.beyond(x))
    plain = filled(found.w, volume.axis.scale(found.z), WINDOW)
    plain = plain if support is None else rims(plain)
    # A plain area, or an end beyond which nothing was compared: the value may be any that was looked for.
    unknown = np.where(plain | ends, (task.span[1] - task.span[0]) / math.sqrt(12), 0)
    return Found(
        np.asarray(x, np.float64),
        np.hypot(stderr, unknown).astype(np.float64),
        plain,
        ends,
        noise.sensor[0] * pairs[0].unit,
    )


def _prepared(frames: Sequence[NDArray[Any]], usable: NDArray[np.bool_]) -> list[Planes]:
    some = [frame[::2, ::2][usable[::2, ::2]] for frame in (frames[0], frames[len(frames) // 2], frames[-1])]
    limits = intensity_range([np.asarray(values, np.float64) for values in some])
    return [prepare(frame, frames[0], usable, limits) for frame in frames]


def _colours(planes: list[Array]) -> list[Array]:
    """Return the frames in the colour direction that holds most of their texture: each costs a volume."""
    leading = colour_directions([(planes[0], planes[-1]), (planes[len(planes) // 2],) * 2])
    if leading is None:
        return planes
    return [np.ascontiguousarray(np.tensordot(leading[:1], plane, axes=1)) for plane in planes]


def _contrasts(
    transfers: Sequence[NDArray[Any]], soft: NDArray[Any], floor: float
) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Yield ``k`` and the filters of ``D_k`` and of ``P_k``, softened, for every frame but the first."""
    energy = np.abs(transfers[0]) ** 2
    for k in range(1, len(transfers)):
        own = np.abs(transfers[k]) ** 2
        balance = soft / np.sqrt((energy + own + floor) * (energy + floor))
        yield k, balance * energy, balance * transfers[k]
        energy = energy + own


def _residuals(
    planes: Sequence[Array], task: JointTask, axis: DepthAxis, workers: int, progress: Callable[[float], None]
) -> Array:
    """Return the residuals, (channels of N - 1 frames, levels, H, W)."""
    channels, height, width = planes[0].shape
    ends = np.array(task.span, np.float32)
    reach = math.ceil(2 * float(task.radius(ends).max())) + 4
    pad = [(0, 0)]
    for length in (height, width):
        before = min(reach, length)
        pad.append((before, fft.next_fast_len(length + 2 * before, real=True) - length - before))
    size = [n + sum(p) for n, p in zip((height, width), pad[1:], strict=True)]
    spectra = [fft.rfft2(np.pad(plane, pad, mode="symmetric"), workers=workers) for plane in planes]
    frequencies = np.fft.fftfreq(size[0]), np.fft.rfftfreq(size[1])
    transfer, soft = task.psf.transfer_on(*frequencies), softening(*frequencies).astype(np.float32)
    volume = np.empty(((len(planes) - 1) * channels, len(axis.levels), height, width), np.float32)
    inside = (slice(pad[1][0], pad[1][0] + height), slice(pad[2][0], pad[2][0] + width))

    def fill(level: int) -> None:
        blurs = task.transfers(transfer, float(axis.u(axis.levels[level])))
        blurs = [blur.astype(np.complex64 if np.iscomplexobj(blur) else np.float32) for blur in blurs]
        together = np.conj(blurs[0]) * spectra[0]
        for k, of_frame, of_others in _contrasts(blurs, soft, NOISE_FLOOR):
            residual = of_frame * spectra[k] - of_others * together
            for c in range(channels):
                volume[(k - 1) * channels + c, level] = fft.irfft2(residual[c], s=size)[inside]
            together = together + np.conj(blurs[k]) * spectra[k]
        progress((level + 1) / len(axis.levels))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, range(len(axis.levels))))
    return volume


def _noise_power(task: JointTask, axis: DepthAxis) -> NoisePower:
    """Tabulate what unit white noise in all frames makes of the residuals, mean of them."""
    side = 64
    rows, columns = np.fft.fftfreq(side), np.fft.rfftfreq(side)
    transfer, soft = task.psf.transfer_on(rows, columns), softening(rows, columns)
    weight = np.full(len(columns), 2.0)
    weight[0] = weight[-1] = 1.0
    root = np.sqrt(weight / side**2)
    count = len(task.places)
    passed = np.zeros((count - 1, count, len(axis.levels), side * len(columns)), np.complex64)
    for level, x in enumerate(axis.levels):
        blurs = task.transfers(transfer, float(axis.u(x)))
        for k, of_frame, of_others in _contrasts(blurs, soft, NOISE_FLOOR):
            passed[k - 1, k, level] = (of_frame * root).ravel()
            for i in range(k):
                passed[k - 1, i, level] = (of_others * np.conj(blurs[i]) * root).ravel()
    both = sum(filters @ filters.conj().T for residual in passed for filters in residual)
    covariance = np.asarray(both).real.astype(np.float64) / (count - 1)
    # Softened pixels repeat each other; the inflation of the evidence counts that already.
    return NoisePower(covariance / 2, covariance / 2, 1.0)


def _with_surroundings(ends: NDArray[np.bool_], beyond: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return what ran to an end, and what it drew along: pixels beside it beyond all frames."""
    near = cv2.dilate(ends.astype(np.uint8), np.ones((DRAWN_ALONG, DRAWN_ALONG), np.uint8)) > 0
    return np.asarray(ends | (near & beyond))


class _SharedByNeighbours:
    """Support of places: the texture that both frames show between whose places they lie."""

    def __init__(self, planes: Sequence[Array], task: JointTask, axis: DepthAxis, loops: Loops) -> None:
        self._task, self._axis = task, axis
        order = [int(frame) for frame in np.argsort(task.places)]
        self._pairs = list(itertools.pairwise(order))
        self._textures = [Coherence(planes[one], planes[two], loops) for one, two in self._pairs]

    def of_step(self, low: float, high: float) -> Array:
        """Return the share of the change between two levels, on cells."""
        middle = float(self._axis.u((low + high) / 2))
        number = int(np.searchsorted(np.sort(self._task.places)[1:-1], middle))
        s = sorted(float(self._blur(number, float(self._axis.u(z)))) for z in (low, high))
        return self._textures[number].of_step(*s)

    def at(self, z: Array) -> Array:
        """Return the share of the change around a map."""
        return self._chosen(z, lambda texture, s: texture.at(s))

    def located(self, z: Array) -> Array:
        """Return the share of the information that belongs to the pixel."""
        return self._chosen(z, lambda texture, s: texture.located(s))

    def _blur(self, number: int, x: Any) -> Any:
        """Return the relative blur of a pair of neighbours at places, px^2."""
        task = self._task
        one, two = (np.square(task.kappa * task.circles[n] * (x - task.places[n])) for n in self._pairs[number])
        return two - one

    def _chosen(self, z: Array, share_of: Callable[[Coherence, Array], Array]) -> Array:
        x = self._axis.u(z)
        between = np.searchsorted(np.sort(self._task.places)[1:-1], x)
        share = np.zeros(z.shape, np.float32)
        for number, texture in enumerate(self._textures):
            here = between == number
            if here.any():
                s = np.asarray(self._blur(number, x), np.float32)
                share = np.where(here, share_of(texture, s), share)
        return np.asarray(share, np.float32)
