"""What each local method does to one image, or one tile of it: ``"paper"`` and ``"window"``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._typing import BoolArray, FloatArray, Int8Array, Progress, UInt8Array
from .engines import Engine
from .inputs import Pair, grey
from .intensities import Intensities
from .kernels import BAND_LIMITED_RADIUS, band_limited_kernel, kernel_radius
from .paper_method import GridRoots, estimate_on_grid
from .results import Flag
from .settings import FLAT_ABOVE, SHARPNESS_SIZE, Method, Sharper
from .sharpness import compare_variances, local_variance
from .window_method import LINEAR_BELOW, estimate_in_windows, signed_nodes

__all__ = ["Answer", "Request", "mark", "part_of", "run_local", "side_of"]


@dataclass(frozen=True)
class Request:
    """Everything a method needs to know beside the images, checked."""

    method: Method
    sharper: Sharper
    sigmas: FloatArray
    window: int
    given_noise: tuple[float, float] | None
    noise_may_differ: bool  #: it is that of the less noisy image (``"refined"`` looks how much the other has)
    relative_variance: FloatArray | None  #: of the noise at each pixel of the whole, if it depends on the light
    prefilter: float
    engine: Engine
    workers: int
    overall: tuple[Intensities, Intensities] | None  #: of the whole images; None for ``"refined"``

    @property
    def noise(self) -> float:
        """The least noise that is assumed; 0 where it is estimated."""
        if self.given_noise is not None:
            return max(self.given_noise)
        return max(whole.rounding for whole in self.overall) if self.overall else 0.0

    @property
    def max_sigma(self) -> float:
        """Largest blur looked for, px."""
        return float(self.sigmas[-1])

    @property
    def reach(self) -> int:
        """How far from a pixel its answer looks, px (``"paper"`` and ``"window"``)."""
        blur = max(kernel_radius(self.max_sigma), BAND_LIMITED_RADIUS) + BAND_LIMITED_RADIUS
        before = max(kernel_radius(self.prefilter), BAND_LIMITED_RADIUS) if self.prefilter else 0
        return blur + before + self.window


@dataclass(frozen=True)
class Answer:
    """What a method found; flags that follow from the input are added later."""

    s: FloatArray
    stderr: FloatArray
    flags: UInt8Array
    sharper: Int8Array
    notes: dict[str, Any] = field(default_factory=dict)


def run_local(pair: Pair, request: Request, progress: Progress) -> Answer:
    """Run ``"paper"`` or ``"window"``."""
    return _paper(pair, request, progress) if request.method == "paper" else _window(pair, request, progress)


def _paper(pair: Pair, request: Request, progress: Progress) -> Answer:
    first, second = grey(pair.first), grey(pair.second)
    sharper = _which_is_sharper(first, second, request)
    s = np.full(pair.shape, np.nan)
    stderr = np.full(pair.shape, np.nan)
    flags = np.where(sharper == 0, np.uint8(Flag.EQUAL), np.uint8(0)).astype(np.uint8)
    sides = [side for side in (1, -1) if (sharper == side).any()]
    for done, side in enumerate(sides):
        here = sharper == side
        images = (first, second) if side == 1 else (second, first)
        roots = estimate_on_grid(
            *images,
            request.sigmas,
            request.window,
            request.noise,
            request.engine,
            here,
            request.workers,
            part_of(progress, done, len(sides)),
        )
        s[here] = side * roots.sigma[here] ** 2
        stderr[here] = (2 * roots.sigma * roots.stderr)[here]
        flags[here] |= _root_flags(roots, request.sigmas)[here]
    return Answer(s, stderr, flags, sharper, {"kernel": "sampled", "sigmas": request.sigmas.tolist()})


def _which_is_sharper(first: FloatArray, second: FloatArray, request: Request) -> Int8Array:
    if request.sharper != "auto":
        return np.full(first.shape, 1 if request.sharper == "first" else -1, dtype=np.int8)
    assert request.overall is not None
    variances = [
        local_variance(image[:, :, None], SHARPNESS_SIZE, whole.centre.mean())
        for image, whole in zip((first, second), request.overall, strict=True)
    ]
    return compare_variances(variances[0], variances[1], max(whole.grey_range for whole in request.overall))


def _root_flags(roots: GridRoots, sigmas: FloatArray) -> UInt8Array:
    flags = np.zeros(roots.sigma.shape, dtype=np.uint8)
    mark(flags, ~(roots.window_stderr <= FLAT_ABOVE * roots.sigma), Flag.FLAT)
    mark(flags, ~roots.has_root, Flag.NO_ROOT)
    mark(flags, roots.sigma == sigmas[-1], Flag.AT_LIMIT)
    return flags


def _window(pair: Pair, request: Request, progress: Progress) -> Answer:
    first, second = (_prefilter(image, request) for image in (pair.first, pair.second))
    if request.engine.name == "numba":
        return _window_compiled(request, first, second, progress)
    fit = estimate_in_windows(
        first,
        second,
        signed_nodes(request.max_sigma, request.sharper),
        request.window,
        request.noise,
        request.engine,
        pair.usable,
        request.workers,
        progress,
    )
    flags = np.zeros(fit.s.shape, dtype=np.uint8)
    mark(flags, ~(fit.stderr <= FLAT_ABOVE * np.hypot(fit.s, LINEAR_BELOW)), Flag.FLAT)
    mark(flags, _nothing_in_common(first, second, fit.s, fit.power, request), Flag.FLAT)
    mark(flags, fit.at_limit, Flag.AT_LIMIT)
    notes = {"kernel": "band_limited", "max_sigma": request.max_sigma}
    return Answer(fit.s, fit.stderr, flags, side_of(fit.s, fit.stderr), notes)


def _window_compiled(request: Request, first: FloatArray, second: FloatArray, progress: Progress) -> Answer:
    from .realtime.engine import WindowEngine, prepare  # brings numba with it

    prepare("float64")
    limit = request.max_sigma
    height, width, channels = first.shape
    engine = WindowEngine((height, width), channels, request.sharper, request.window, limit, request.workers)
    try:
        frames = (np.ascontiguousarray(image).reshape(height, -1) for image in (first, second))
        fit = engine.run(*frames, noise=request.noise, blank=False)
    finally:
        engine.close()
    progress(1.0)
    s, stderr = fit.s.astype(np.float64), fit.stderr.astype(np.float64)
    return Answer(s, stderr, fit.flags, fit.sharper, {"kernel": "band_limited", "max_sigma": limit})


def _prefilter(image: FloatArray, request: Request) -> FloatArray:
    if not request.prefilter:
        return image
    kernel = band_limited_kernel(request.prefilter**2)
    planes = [
        request.engine.filter_separable(np.ascontiguousarray(image[:, :, c]), kernel) for c in range(image.shape[2])
    ]
    return np.stack(planes, axis=2)


def _nothing_in_common(
    first: FloatArray, second: FloatArray, s: FloatArray, power: FloatArray, request: Request
) -> BoolArray:
    """Pixels around which no blur of the sharper image explains even half of the blurrier one's texture."""
    assert request.overall is not None
    one, two = (
        local_variance(image, request.window, whole.centre)
        for image, whole in zip((first, second), request.overall, strict=True)
    )
    return power > 0.5 * np.where(s >= 0, two, one)


def mark(flags: UInt8Array, where: BoolArray, flag: Flag) -> None:
    """Set a flag on some pixels."""
    flags[where] |= np.uint8(flag)


def side_of(s: FloatArray, stderr: FloatArray) -> Int8Array:
    """+1 where first is sharper, -1 where second is, 0 where the sign is within the error."""
    return np.where(np.abs(s) > stderr, np.sign(s), 0).astype(np.int8)


def part_of(progress: Progress, index: int, parts: int) -> Progress:
    """Return where part ``index`` of several may report its own share done, 0 to 1."""
    return lambda share: progress((index + share) / parts)
