"""Few frames with a known law of blur: their joint likelihood at candidate places.

At a candidate ``x`` (an inverse distance, or a place between frames) frame ``i`` has the transfer function
``H_i = h(c_i (x_i - x))``. The negative log-likelihood of ``x`` is the energy of the frames ``D_i`` without the most
likely scene,

    sum_i |D_i|^2 - |sum_i conj(H_i) D_i|^2 / sum_i |H_i|^2  =  sum_{i<j} |H_j D_i - H_i D_j|^2 / sum_i |H_i|^2,

Lagrange's identity. It is computed as ``N - 1`` residuals of white, equal noise,

    e_k = (H_k P_k - E_k D_k) / sqrt(E_k (E_k + |H_k|^2)),   P_k = sum_{i<k} conj(H_i) D_i,   E_k = sum_{i<k} |H_i|^2,

which are the channels of a volume of :mod:`relblur.field`. Memory: ``4 (N - 1 + 4) * levels`` bytes per pixel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ..base._typing import Progress
from ..base.arguments import as_noise
from ..base.errors import InputError
from ..base.options import Stack
from ..blur.dense.coherence import Coherence
from ..blur.dense.planes import Planes, colour_directions, intensity_range, prepare
from ..blur.noise import NoiseModel, noise_at_light, smooth_light
from ..blur.noise import estimate_noise as estimate_file_noise
from ..depth.camera import Camera
from ..depth.equal_blur.candidates import CIRCLE_STEP_PX, NOISE_FLOOR, DepthAxis, NoisePower, softening
from ..depth.equal_blur.edges import settle_edges
from ..depth.equal_blur.match import STIFFNESS, measured_noise, weight_inside
from ..depth.equal_blur.task import TaskNoise
from ..depth.psf import Psf, Transfer, as_psf
from ..field import Loops, Volume, choose_loops, filled, rims, solve
from ..kernels.threads import Team, count_workers
from .frames import Frames
from .law import growth_error, growth_of_blur
from .stack_map import StackEstimate

__all__ = ["camera_of", "estimate_jointly"]

Array = NDArray[np.float32]

#: Standard deviation of a disc over its diameter.
_DISC = 0.25
#: Range of the search beyond the first and the last frame: diameter of the circle of confusion (px) with a camera,
#: frames without one.
BEYOND_PX, BEYOND_FRAMES = 12.0, 1.0
#: Memory for the residuals, bytes, and limits of the number of levels.
MOST_BYTES = 800e6
LEAST_LEVELS, MOST_LEVELS = 16, 120
#: Side of the square around a pixel at an end of the search in which pixels beyond all frames are flagged, px. In the
#: corners of a phone's stack 0.5 % of the map is wrong without a flag; with 9, 1.4 %.
_FLAGGED_AROUND = 13
#: Side of the square that determines a pixel, px; otherwise the pixel is filled.
_WINDOW = 9


@dataclass(frozen=True)
class _Law:
    """Blur of the frames at each place.

    Attributes
    ----------
    places : (N,)
        Place of the focus of each frame: 1/m, or frames.
    circles : (N,)
        Diameter of the circle of confusion per unit of distance from there, px.
    psf : Psf
    kappa : float
        Standard deviation of the blur over its diameter.
    span : (float, float)
        Range of the search, low and high.
    """

    places: NDArray[np.float64]
    circles: NDArray[np.float64]
    psf: Psf
    kappa: float
    span: tuple[float, float]

    @staticmethod
    def of(frames: Frames, places: NDArray[np.float64], camera: Camera | None, options: Stack) -> _Law:
        """Return the law of a camera, or the law measured on the frames."""
        if camera is None:
            smalls = [frame.small for frame in frames.frames]
            growth = growth_of_blur(smalls, frames.usable, places, options)
            if math.isnan(growth):
                raise InputError(
                    "the growth of blur from frame to frame could not be measured (too little texture, or steps too "
                    "large); pass a camera and focus_m"
                )
            kappa, shape = _DISC, as_psf("gaussian", _DISC)
            circles = np.full(len(places), growth / kappa)
        else:
            kappa, shape = camera.blur_constant, as_psf(options.psf, camera.blur_constant)
            circles = np.array([camera_of(camera, frames, n).circle_constants_px_m[0] for n in range(len(places))])
        widest = float(circles.max())
        beyond = (BEYOND_PX if options.max_sigma is None else options.max_sigma / kappa) / widest
        low = 0.0
        if not frames.has_distances:
            beyond, low = BEYOND_FRAMES if options.max_sigma is None else beyond, -np.inf
        return _Law(places, circles, shape, kappa, (max(low, places.min() - beyond), places.max() + beyond))

    def transfers(self, transfer: Transfer, x: float) -> list[NDArray[Any]]:
        """Return the transfer function of each frame's blur at a place."""
        blurs = [transfer(float(c * (place - x))) for c, place in zip(self.circles, self.places, strict=True)]
        return [blur.astype(np.complex64 if np.iscomplexobj(blur) else np.float32) for blur in blurs]

    def radius(self, x: Array) -> Array:
        """Return the radius of the largest circle of any frame, px."""
        circles = (np.abs(np.float32(c) * (x - np.float32(p))) for c, p in zip(self.circles, self.places, strict=True))
        return np.asarray(np.maximum.reduce(list(circles)) / 2)

    def axis(self, pixels: int) -> DepthAxis:
        """Return levels over the span; their unit is px^2 of the blur between the first and the last frame."""
        low, high = self.span
        widest = float(self.circles.max())
        gain = 2 * (self.kappa * widest) ** 2 * float(np.ptp(self.places))
        fits = int(MOST_BYTES / (4 * (len(self.places) - 1) * pixels))
        count = max(LEAST_LEVELS, min(math.ceil((high - low) * widest / CIRCLE_STEP_PX), MOST_LEVELS, fits))
        return DepthAxis(0.0, gain, gain * np.linspace(low, high, count + 1), False)


def camera_of(camera: Camera, frames: Frames, number: int) -> Camera:
    """Return the camera with the focus of one frame, at the resolution of the map."""
    distance, other = (float(frames.frames[n].focus_m or np.nan) for n in (number, number - 1 if number else 1))
    return replace(camera, focus_first_m=distance, focus_second_m=other).decimated(frames.factor)


def estimate_jointly(
    frames: Frames, places: NDArray[np.float64], camera: Camera | None, options: Stack, progress: Progress
) -> StackEstimate:
    """Return the place of best focus at every pixel, and the growth of the blur."""
    law = _Law.of(frames, places, camera, options)
    workers = count_workers(options.workers)
    pairs = _prepared(frames)
    planes = _colours([pair.first for pair in pairs])
    axis = law.axis(frames.usable.size)
    residuals = _residuals(planes, law, axis, workers, lambda share: progress(0.3 * share))
    power, file_noise = _noise_power(law, axis), _file_noise(frames, options)
    with Team(workers) as team:
        loops = choose_loops(options.engine, team)
        ends = replace(pairs[0], first=planes[0], second=planes[-1])
        noise = measured_noise(residuals, power, ends, file_noise, loops)
        support = None if noise.is_arithmetic else _SharedByNeighbours(planes, law, axis, loops)
        volume = Volume(
            residuals,
            axis.between,
            power.noise(noise.sensor, noise.rounding, file_noise),
            (float(axis.levels[0]), float(axis.levels[-1])),
            power.independent,
            support,
            support_in_search=False,
            weight_at=lambda z: weight_inside(law.radius(axis.u(z)), pairs[0].distance),
            stiffness=STIFFNESS,
            disagreement=True,
            loops=loops,
        )
        field = solve(volume, lambda share: progress(0.3 + 0.7 * share))
    x, stderr = axis.u(field.z).astype(np.float32), field.stderr / np.float32(axis.gain)
    nearest = np.argmin(np.abs(x[None] - places[:, None, None]), axis=0)
    guide = np.take_along_axis(np.stack(planes), nearest[None, None], axis=0)[0]
    reach = math.ceil(2 * float(law.radius(x).max()) + 1)
    x, stderr = settle_edges(x, stderr, np.asarray(guide), float(law.circles.max()), reach)
    at_limit = axis.at_end(x)
    near = cv2.dilate(at_limit.astype(np.uint8), np.ones((_FLAGGED_AROUND, _FLAGGED_AROUND), np.uint8)) > 0
    at_limit |= near & ((x < places.min()) | (x > places.max()))
    plain = filled(field.w, volume.axis.scale(field.z), _WINDOW)
    plain = plain if support is None else rims(plain)
    # In plain areas and at the ends every value of the search is possible.
    unknown = np.where(plain | at_limit, (law.span[1] - law.span[0]) / math.sqrt(12), 0)
    growth = float(law.circles[len(places) // 2]) * law.kappa
    by_law = growth_error(x, places, growth) if camera is None else 0.0
    error = np.sqrt(np.square(stderr) + np.square(unknown) + np.square(by_law))
    return StackEstimate(
        x.astype(np.float64), error.astype(np.float64), plain, at_limit, noise.sensor[0] * pairs[0].unit, growth
    )


def _file_noise(frames: Frames, options: Stack) -> TaskNoise:
    """Return the noise of the first and the last frame, measured as for pairs."""
    if not frames.is_light and options.noise is None:
        return TaskNoise()
    ends, usable = (frames.frames[0], frames.frames[-1]), frames.usable
    first, second = (frame.small for frame in ends)
    if options.noise is None:
        files = [frame.rounding for frame in ends if frame.rounding is not None]
        names = ("read", "shot", "compressed")
        floor = NoiseModel(*(max(getattr(each, name) for each in files) for name in names)) if files else None
        good = usable if usable.any() else None
        one = two = estimate_file_noise(first, second, valid=good, channel_axis=-1, floor=floor)
    else:
        values = options.noise if isinstance(options.noise, (tuple, list)) else (options.noise, options.noise)
        as_noise([1.0 if isinstance(each, NoiseModel) else each for each in values])
        models = [each if isinstance(each, NoiseModel) else NoiseModel(float(each)) for each in values]
        factor = frames.factor  # white noise is averaged
        one, two = (replace(each, read=each.read / factor, shot=each.shot / factor**2) for each in models)
    deviations, relative = noise_at_light(one, two, smooth_light(first, second), usable)
    return TaskNoise(deviations, relative, one.compressed or two.compressed)


def _prepared(frames: Frames) -> list[Planes]:
    smalls, usable = [frame.small for frame in frames.frames], frames.usable
    samples = [small[::2, ::2][usable[::2, ::2]] for small in (smalls[0], smalls[len(smalls) // 2], smalls[-1])]
    limits = intensity_range([np.asarray(values, np.float64) for values in samples])
    return [prepare(small, smalls[0], usable, limits) for small in smalls]


def _colours(planes: list[Array]) -> list[Array]:
    """Return the frames in the colour direction that contains most of their texture."""
    leading = colour_directions([(planes[0], planes[-1]), (planes[len(planes) // 2],) * 2])
    if leading is None:
        return planes
    return [np.ascontiguousarray(np.tensordot(leading[:1], plane, axes=1)) for plane in planes]


def _contrasts(
    transfers: Sequence[NDArray[Any]], soft: NDArray[Any]
) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Yield ``k`` and the filters of ``D_k`` and of ``P_k``, softened, for every frame but the first."""
    energy = np.abs(transfers[0]) ** 2
    for k in range(1, len(transfers)):
        own = np.abs(transfers[k]) ** 2
        balance = soft / np.sqrt((energy + own + NOISE_FLOOR) * (energy + NOISE_FLOOR))
        yield k, balance * energy, balance * transfers[k]
        energy = energy + own


def _residuals(
    planes: Sequence[Array], law: _Law, axis: DepthAxis, workers: int, progress: Callable[[float], None]
) -> Array:
    """Return the residuals, (channels of N - 1 frames, levels, H, W)."""
    channels, height, width = planes[0].shape
    reach = math.ceil(2 * float(law.radius(np.array(law.span, np.float32)).max())) + 4
    before = [min(reach, length) for length in (height, width)]
    size = [fft.next_fast_len(n + 2 * b, real=True) for n, b in zip((height, width), before, strict=True)]
    pad = [(0, 0), *((b, s - n - b) for n, b, s in zip((height, width), before, size, strict=True))]
    spectra = [fft.rfft2(np.pad(plane, pad, mode="symmetric"), workers=workers) for plane in planes]
    frequencies = np.fft.fftfreq(size[0]), np.fft.rfftfreq(size[1])
    transfer, soft = law.psf.transfer_on(*frequencies), softening(*frequencies).astype(np.float32)
    volume = np.empty(((len(planes) - 1) * channels, len(axis.levels), height, width), np.float32)
    inside = slice(before[0], before[0] + height), slice(before[1], before[1] + width)

    def fill(level: int) -> None:
        blurs = law.transfers(transfer, float(axis.u(axis.levels[level])))
        together = np.conj(blurs[0]) * spectra[0]
        for k, of_frame, of_others in _contrasts(blurs, soft):
            residual = of_frame * spectra[k] - of_others * together
            for c in range(channels):
                volume[(k - 1) * channels + c, level] = fft.irfft2(residual[c], s=size)[inside]
            together = together + np.conj(blurs[k]) * spectra[k]
        progress((level + 1) / len(axis.levels))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, range(len(axis.levels))))
    return volume


def _noise_power(law: _Law, axis: DepthAxis) -> NoisePower:
    """Tabulate the mean covariance of the residuals for unit white noise in all frames."""
    side, count = 64, len(law.places)
    rows, columns = np.fft.fftfreq(side), np.fft.rfftfreq(side)
    transfer, soft = law.psf.transfer_on(rows, columns), softening(rows, columns)
    weight = np.full(len(columns), 2.0)
    weight[0] = weight[-1] = 1.0
    root = np.sqrt(weight / side**2)
    passed = np.zeros((count - 1, count, len(axis.levels), side * len(columns)), np.complex64)
    for level, x in enumerate(axis.levels):
        blurs = law.transfers(transfer, float(axis.u(x)))
        for k, of_frame, of_others in _contrasts(blurs, soft):
            passed[k - 1, k, level] = (of_frame * root).ravel()
            for i in range(k):
                passed[k - 1, i, level] = (of_others * np.conj(blurs[i]) * root).ravel()
    both = sum(filters @ filters.conj().T for residual in passed for filters in residual)
    covariance = np.asarray(both).real.astype(np.float64) / (count - 1)
    # 1 independent measurement: the correlation of softened pixels is in the correlation ratio of the solver.
    return NoisePower(covariance / 2, covariance / 2, 1.0)


class _SharedByNeighbours:
    """Support of places: the texture common to the two frames around a place."""

    def __init__(self, planes: Sequence[Array], law: _Law, axis: DepthAxis, loops: Loops) -> None:
        self._law, self._axis = law, axis
        self._pairs = list(pairwise(int(frame) for frame in np.argsort(law.places)))
        self._inner = np.sort(law.places)[1:-1]
        self._textures = [Coherence(planes[one], planes[two], loops) for one, two in self._pairs]

    def of_step(self, low: float, high: float) -> Array:
        """Return the share of the change between two levels, on cells."""
        number = int(np.searchsorted(self._inner, float(self._axis.u((low + high) / 2))))
        s = sorted(float(self._blur(number, float(self._axis.u(z)))) for z in (low, high))
        return self._textures[number].of_step(*s)

    def at(self, z: Array) -> Array:
        """Return the share of the change around a map."""
        return self._chosen(z, lambda texture, s: texture.at(s))

    def local_support(self, z: Array) -> Array:
        """Return the share of the information that belongs to the pixel."""
        return self._chosen(z, lambda texture, s: texture.local_support(s))

    def _blur(self, number: int, x: Any) -> Any:
        """Return the relative blur of a pair of neighbours at places, px^2."""
        law = self._law
        one, two = (np.square(law.kappa * law.circles[n] * (x - law.places[n])) for n in self._pairs[number])
        return two - one

    def _chosen(self, z: Array, share_of: Callable[[Coherence, Array], Array]) -> Array:
        x = self._axis.u(z)
        between, share = np.searchsorted(self._inner, x), np.zeros(z.shape, np.float32)
        for number, texture in enumerate(self._textures):
            here = between == number
            if here.any():
                share[here] = share_of(texture, np.asarray(self._blur(number, x), np.float32))[here]
        return share
