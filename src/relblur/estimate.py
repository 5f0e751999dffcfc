"""``estimate_blur``: two images in, a :class:`~relblur.results.BlurMap` out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import __version__
from ._typing import ArrayLike, BoolArray, FloatArray, Int8Array, Progress, UInt8Array
from .bank import count_workers
from .engines import ENGINES, Engine, choose_engine
from .errors import InputError
from .inputs import Pair, as_choice, as_odd_size, as_pair, as_positive, as_sigmas, grey
from .kernels import band_limited_kernel
from .noise import rounding_noise
from .paper_method import GridRoots, estimate_on_grid
from .results import BlurMap, Flag
from .settings import MAX_SIGMA, METHODS, PAPER_WINDOW, SIDES, WINDOW_WINDOW, Sharper, paper_sigmas
from .sharpness import compare_arrays, local_variance
from .window_method import LINEAR_BELOW, estimate_in_windows, signed_nodes

__all__ = ["check_noise", "estimate_blur"]

#: A pixel is flat if its window leaves the blur this uncertain (relative standard error).
FLAT_ABOVE = 0.5


#: What the refined estimator holds at its peak, and from where on people should be told.
REFINED_BYTES_PER_PIXEL = 1100
REFINED_BYTES_TO_WARN = 4e9


@dataclass(frozen=True)
class Request:
    """Everything a method needs to know, checked."""

    pair: Pair
    sharper: Sharper
    sigmas: FloatArray
    window: int
    noise: float
    given_noise: tuple[float, float] | None
    prefilter: float
    engine: Engine
    workers: int
    progress: Progress | None


@dataclass(frozen=True)
class Answer:
    """What a method found; flags that follow from the input are added later."""

    s: FloatArray
    stderr: FloatArray
    flags: UInt8Array
    sharper: Int8Array
    notes: dict[str, Any] = field(default_factory=dict)


def estimate_blur(
    first: ArrayLike,
    second: ArrayLike,
    *,
    sharper: str = "auto",
    method: str = "refined",
    sigmas: ArrayLike | Sequence[float] | None = None,
    window: int | None = None,
    noise: float | tuple[float, float] | None = None,
    prefilter: float = 0.0,
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
    engine: str = "auto",
    workers: int | None = None,
    progress: Progress | None = None,
) -> BlurMap:
    """Estimate, at every pixel, how much blurrier one image is than the other.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        Two images of one scene from one viewpoint, in any order. Integers are divided by
        their full scale, and their clipped pixels are left out; floats are taken as they
        are. Defocus adds light, so linear intensities give the truest answer.
    sharper : {"auto", "first", "second"}
        Which image is the sharper one. ``"auto"`` decides at every pixel. State it if you
        know it: the answer gets more certain, and faster.
    method : {"refined", "window", "paper"}
        ``"refined"``: dense, continuous, regularised. ``"window"``: continuous, from a
        small window alone. ``"paper"``: the paper's estimator on its 0.1 px grid, grey
        values, with the direction by the 3 x 3 standard deviation.
    sigmas : sequence of floats, optional
        ``"paper"``: the grid, px; 0.1 to 5 by default. The continuous methods search up to
        the largest of them. Choose it just above the largest blur you expect: wider costs
        time and admits wrong answers.
    window : int, optional
        Side of the square of neighbours, odd, 9 by default. Larger is steadier in noise and
        less local. For ``"refined"`` it only decides which pixels are flagged as filled:
        those whose own window does not determine their blur.
    noise : float or (first, second), optional
        Standard deviation of the noise on the images' scale, if known. ``"refined"``
        estimates it from the pair otherwise, the same for both images: state both if they
        differ. The other methods assume at least the rounding step of the data.
    prefilter : float
        Blur both images by this many px first (not for ``"paper"``). ``s`` is unchanged in
        theory, and depends less on the shape of the lens's blur: 1 to 1.5 px gives better
        depth from real, disc-like blur. 0, the default, gives the Gaussian that re-makes the
        blurrier image best, and the sharpest edges.
    valid : (H, W) bool array, optional
        True = use. NaN and infinite pixels are left out in any case.
    channel_axis : int, optional
        Axis of the colour channels, usually -1. All channels give one map together.
    engine : {"auto", "reference", "opencv"}
        Who does the arithmetic; they agree to rounding. ``"auto"`` takes the fastest.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : callable, optional
        Called with the share of the work done, 0 to 1.

    Returns
    -------
    BlurMap
        Signed: positive where ``second`` is the blurrier. Pixels without an answer are NaN
        and flagged.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import estimate_blur, synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> blurry = synth.blur_with_map(sharp, 1.5)
    >>> float(np.median(estimate_blur(sharp, blurry, method="window").sigma).round(2))
    1.5
    """
    as_choice(method, "method", METHODS)
    as_choice(sharper, "sharper", SIDES)
    as_choice(engine, "engine", ENGINES)
    pair = as_pair(first, second, valid=valid, channel_axis=channel_axis)
    window = (PAPER_WINDOW if method == "paper" else WINDOW_WINDOW) if window is None else window
    if method == "paper" and prefilter:
        raise InputError('prefilter is not part of method="paper"; leave it out or use "window" or "refined"')
    given = check_noise(noise)
    request = Request(
        pair=pair,
        sharper=sharper,  # type: ignore[arg-type]
        sigmas=_check_sigmas(sigmas, pair.shape, method),
        window=as_odd_size(window, "window", pair.shape),
        noise=max(given) if given is not None else _least_noise(pair, method),
        given_noise=given,
        prefilter=_check_prefilter(prefilter, pair.shape),
        engine=choose_engine(engine),
        workers=count_workers(workers),
        progress=progress,
    )
    return _finish(request, method, _RUN[method](request))


def _paper(request: Request) -> Answer:
    first, second = grey(request.pair.first), grey(request.pair.second)
    if request.sharper == "auto":
        sharper = compare_arrays(first[:, :, None], second[:, :, None])
    else:
        sharper = np.full(request.pair.shape, 1 if request.sharper == "first" else -1, dtype=np.int8)
    s = np.full(request.pair.shape, np.nan)
    stderr = np.full(request.pair.shape, np.nan)
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
            _part_of(request.progress, done, len(sides)),
        )
        s[here] = side * roots.sigma[here] ** 2
        stderr[here] = (2 * roots.sigma * roots.stderr)[here]
        flags[here] |= _root_flags(roots, request.sigmas)[here]
    return Answer(s, stderr, flags, sharper, {"kernel": "sampled", "sigmas": request.sigmas.tolist()})


def _root_flags(roots: GridRoots, sigmas: FloatArray) -> UInt8Array:
    flags = np.zeros(roots.sigma.shape, dtype=np.uint8)
    _mark(flags, ~(roots.window_stderr <= FLAT_ABOVE * roots.sigma), Flag.FLAT)
    _mark(flags, ~roots.has_root, Flag.NO_ROOT)
    _mark(flags, roots.sigma == sigmas[-1], Flag.AT_LIMIT)
    return flags


def _window(request: Request) -> Answer:
    first, second = (_prefilter(image, request) for image in (request.pair.first, request.pair.second))
    fit = estimate_in_windows(
        first,
        second,
        signed_nodes(float(request.sigmas[-1]), request.sharper),
        request.window,
        request.noise,
        request.engine,
        request.pair.usable,
        request.workers,
        request.progress,
    )
    flags = np.zeros(fit.s.shape, dtype=np.uint8)
    _mark(flags, ~(fit.stderr <= FLAT_ABOVE * np.hypot(fit.s, LINEAR_BELOW)), Flag.FLAT)
    _mark(flags, _nothing_in_common(first, second, fit.s, fit.power, request.window), Flag.FLAT)
    _mark(flags, fit.at_limit, Flag.AT_LIMIT)
    notes = {"kernel": "band_limited", "max_sigma": float(request.sigmas[-1])}
    return Answer(fit.s, fit.stderr, flags, _side(fit.s, fit.stderr), notes)


def _refined(request: Request) -> Answer:
    from .refined.refine import refine  # brings OpenCV with it

    pair = request.pair
    needed = REFINED_BYTES_PER_PIXEL * pair.shape[0] * pair.shape[1]
    if needed > REFINED_BYTES_TO_WARN:
        warnings.warn(
            f'method="refined" will need about {needed / 1e9:.0f} GB for {pair.shape[1]}x{pair.shape[0]} pixels; '
            'decimate the pair, or use method="window", which works in strips',
            stacklevel=4,
        )
    limit = float(request.sigmas[-1])
    found = refine(
        pair.first,
        pair.second,
        sharper=request.sharper,
        noise=request.given_noise,
        valid=pair.usable,
        prefilter=request.prefilter,
        max_sigma=limit,
        window=request.window,
        workers=request.workers,
        progress=request.progress,
    )
    flags = np.zeros(pair.shape, dtype=np.uint8)
    _mark(flags, found.filled | ~pair.unclipped, Flag.FILLED)
    _mark(flags, np.abs(found.s) >= 0.999 * limit**2, Flag.AT_LIMIT)
    s, stderr = found.s.astype(np.float64), found.s_stderr.astype(np.float64)
    kernel = "band_limited" if request.sharper == "auto" else "sampled"
    notes = {"kernel": kernel, "max_sigma": limit, "noise": list(found.noise)}
    return Answer(s, stderr, flags, _side(s, stderr), notes)


_RUN = {"paper": _paper, "window": _window, "refined": _refined}


def _finish(request: Request, method: str, answer: Answer) -> BlurMap:
    """Flag what bad pixels reach, and put NaN wherever there is no answer."""
    flags = answer.flags.copy()
    pair = request.pair
    sigma = np.sqrt(np.abs(np.nan_to_num(answer.s)))
    _mark(flags, _reached(~pair.finite, sigma, request.window), Flag.INVALID)
    _mark(flags, _reached(~pair.unclipped, sigma, request.window), Flag.CLIPPED)
    if method == "refined":  # has left out what bad pixels reach, and filled it from around
        unknown = ~pair.finite
    else:
        _mark(flags, _rounded_away(pair, request.window), Flag.FLAT)
        unknown = (flags & np.uint8(Flag.INVALID | Flag.CLIPPED | Flag.FLAT | Flag.EQUAL)) != 0
    settings = {
        "relblur": __version__,
        "method": method,
        "sharper": request.sharper,
        "window": request.window,
        "noise": request.noise,
        "prefilter": request.prefilter,
        "engine": request.engine.name,
        **answer.notes,
    }
    return BlurMap(
        np.where(unknown, np.nan, answer.s),
        np.where(unknown, np.nan, answer.stderr),
        flags,
        answer.sharper,
        settings,
    )


def _reached(bad: BoolArray, sigma: FloatArray, window: int) -> BoolArray:
    """Pixels whose window, blurred by their own sigma, touches a bad pixel."""
    if not bad.any():
        return np.zeros(bad.shape, dtype=bool)
    import cv2

    distance = cv2.distanceTransform((~bad).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(distance <= window // 2 + 2 * sigma)


def _nothing_in_common(
    first: FloatArray, second: FloatArray, s: FloatArray, power: FloatArray, window: int
) -> BoolArray:
    """Pixels around which no blur of the sharper image explains even half of the blurrier one's texture."""
    texture = np.where(s >= 0, local_variance(second, window), local_variance(first, window))
    return power > 0.5 * texture


def _rounded_away(pair: Pair, window: int) -> BoolArray:
    """Pixels around which rounding has swallowed the texture of both images.

    Rounding errors are not independent there (a whole area may round down in one image and
    up in the other), so no number of pixels averages them away.
    """
    left = [local_variance(image, window) < 3 * rounding_noise(image) ** 2 for image in (pair.first, pair.second)]
    return left[0] & left[1]


def _mark(flags: UInt8Array, where: BoolArray, flag: Flag) -> None:
    flags[where] |= np.uint8(flag)


def _side(s: FloatArray, stderr: FloatArray) -> Int8Array:
    """+1 where first is sharper, -1 where second is, 0 where the sign is within the error."""
    return np.where(np.abs(s) > stderr, np.sign(s), 0).astype(np.int8)


def _check_sigmas(sigmas: ArrayLike | Sequence[float] | None, shape: tuple[int, int], method: str) -> FloatArray:
    if sigmas is None:
        grid = np.array(paper_sigmas()) if method == "paper" else np.array([MAX_SIGMA])
        fits = grid[grid <= min(shape) / 2]
        return fits if fits.size else np.array([min(shape) / 2])
    checked = as_sigmas(sigmas)
    if checked[-1] > min(shape) / 2:
        raise InputError(
            f"sigmas go up to {checked[-1]:g} px, more than half the image's shorter side ({min(shape)} px); "
            f"keep them below {min(shape) / 2:g}"
        )
    return checked


def check_noise(noise: float | tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the noise of (first, second) as a pair, if it was given."""
    if noise is None:
        return None
    both = noise if isinstance(noise, (tuple, list)) else (noise, noise)
    if len(both) != 2:
        raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
    return (
        as_positive(both[0], "noise", "(on the images' scale)"),
        as_positive(both[1], "noise", "(on the images' scale)"),
    )


def _check_prefilter(prefilter: float, shape: tuple[int, int]) -> float:
    value = 0.0 if prefilter == 0 else as_positive(prefilter, "prefilter", "px")
    if value > min(shape) / 4:
        raise InputError(f"prefilter={value:g} px is too wide for an image of {shape}; 1 to 1.5 is usual")
    return value


def _prefilter(image: FloatArray, request: Request) -> FloatArray:
    if not request.prefilter:
        return image
    kernel = band_limited_kernel(request.prefilter**2)
    planes = [
        request.engine.filter_separable(np.ascontiguousarray(image[:, :, c]), kernel) for c in range(image.shape[2])
    ]
    return np.stack(planes, axis=2)


def _least_noise(pair: Pair, method: str) -> float:
    if method == "refined":  # estimates the noise itself
        return 0.0
    return max(rounding_noise(pair.first), rounding_noise(pair.second))


def _part_of(progress: Progress | None, index: int, parts: int) -> Progress | None:
    if progress is None:
        return None
    report = progress
    return lambda share: report((index + share) / parts)
