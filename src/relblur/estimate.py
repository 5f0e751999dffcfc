"""``estimate_blur``: two images in, a :class:`~relblur.results.BlurMap` out.

Arguments are checked here, and large images cut into tiles. What is done to a tile is in
:mod:`relblur.methods` and :mod:`relblur.refined_tiles`, which pixels it leaves open in
:mod:`relblur.flagging`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import __version__
from ._typing import ArrayLike, FloatArray, Progress
from .bank import count_workers
from .engines import ENGINES, Engine, choose_engine, compiled_pays, require_numba
from .errors import InputError
from .flagging import flag_pixels, unknown_pixels
from .inputs import RawPair, as_choice, as_noise, as_odd_size, as_positive, as_sigmas, check_pair
from .intensities import smoothed_light, survey
from .methods import Answer, Request, part_of, run_local
from .noise import NoiseModel, noise_at_light
from .refined_tiles import run_refined
from .results import BlurMap
from .settings import MAX_SIGMA, METHODS, PAPER_WINDOW, SIDES, WINDOW_WINDOW, paper_sigmas
from .tiles import cut_into_tiles

__all__ = ["estimate_blur"]

#: Side of the tiles of ``"paper"`` and ``"window"``, px.
LOCAL_SIDE = 2016

#: What ``method="window"`` takes with OpenCV, a sample being one channel of a pixel.
WINDOW_SECONDS_PER_SAMPLE = 2e-6

#: What compiled loops save ``method="refined"``.
REFINED_SECONDS_SAVED_PER_PIXEL = 3.3e-6


def estimate_blur(
    first: ArrayLike,
    second: ArrayLike,
    *,
    sharper: str = "auto",
    method: str = "refined",
    sigmas: ArrayLike | Sequence[float] | None = None,
    window: int | None = None,
    noise: float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel] | None = None,
    prefilter: float = 0.0,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
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
    noise : float, NoiseModel or (first, second), optional
        Standard deviation of the noise on the images' scale, if known, or a
        :class:`relblur.NoiseModel` for noise that grows with the light
        (:func:`relblur.estimate_noise` finds one). Otherwise ``"refined"`` estimates it from
        the pair. It then sees for itself whether one image has much more noise than the
        other, and so it does with a single model, which is that of a camera at one setting:
        give two to state both. The other methods assume at least the rounding step of the
        data, and of a model its mean.
    prefilter : float
        Blur both images by this many px first (not for ``"paper"``). ``s`` is unchanged in
        theory, and depends less on the shape of the lens's blur: 1.5 to 2 px gives better
        depth from real, disc-like blur (and ``"refined"`` takes twice as long, to keep jumps
        sharp). 0, the default, gives the Gaussian that re-makes the blurrier image best.
    valid : (H, W) bool array, optional
        True = use. NaN and infinite pixels are left out in any case.
    clipped : (H, W) bool array, optional
        True where either image is at the top of what its sensor or file can hold; found by
        itself in integer images.
    channel_axis : int, optional
        Axis of the colour channels, usually -1. All channels give one map together.
    engine : {"auto", "reference", "opencv", "numba"}
        Who does the arithmetic. ``"reference"`` and ``"opencv"`` agree to rounding, ``"numba"``
        to a thousandth. ``"auto"`` takes the fastest, but does not spend a minute on
        compiling what takes less without. ``settings["engine"]`` says who it was.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : callable, optional
        Called with the share of the work done, 0 to 1.

    Returns
    -------
    BlurMap
        Signed: positive where ``second`` is the blurrier. Pixels without an answer are NaN
        and flagged.

    Notes
    -----
    Large images are worked on in tiles, in bounded memory. ``"paper"`` and ``"window"`` give
    the same numbers to the bit however they are cut (with ``engine="numba"`` to single
    precision). ``"refined"`` stays whole up to 1.4 megapixels; beyond, tiles overlap and
    are blended, and ``settings["tiles"]`` says how many.

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
    raw = check_pair(first, second, valid=valid, clipped=clipped, channel_axis=channel_axis)
    window = (PAPER_WINDOW if method == "paper" else WINDOW_WINDOW) if window is None else window
    if method == "paper" and prefilter:
        raise InputError('prefilter is not part of method="paper"; leave it out or use "window" or "refined"')
    given, relative_variance = _check_noise(noise, raw)
    request = Request(
        method=method,  # type: ignore[arg-type]
        sharper=sharper,  # type: ignore[arg-type]
        sigmas=_check_sigmas(sigmas, raw.shape, method),
        window=as_odd_size(window, "window", raw.shape),
        given_noise=given,
        noise_may_differ=isinstance(noise, NoiseModel),
        relative_variance=relative_variance,
        prefilter=_check_prefilter(prefilter, raw.shape),
        engine=_choose_engine(engine, method, raw, window),
        workers=count_workers(workers),
        # "refined" looks at the pair itself, and estimates its noise.
        overall=None if method == "refined" else (survey(raw.first), survey(raw.second)),
    )
    run = run_refined if method == "refined" else _run_in_tiles
    return _blur_map(request, run(raw, request, progress or _tell_nobody))


def _choose_engine(name: str, method: str, raw: RawPair, window: int) -> Engine:
    """Return the engine that will do the work: the one asked for, or the one that is done first."""
    if method == "window" and window >= 3:
        if name == "auto" and compiled_pays(WINDOW_SECONDS_PER_SAMPLE * raw.first.size, _window_is_ready):
            name = "numba"
    elif method == "refined":
        saved = REFINED_SECONDS_SAVED_PER_PIXEL * raw.shape[0] * raw.shape[1]
        if name == "auto" and compiled_pays(saved, _refined_is_ready):
            name = "numba"
    elif name == "numba":  # has no loops for it
        require_numba()
        name = "opencv"
    return choose_engine(name)


def _window_is_ready() -> bool:
    from .realtime.engine import is_ready

    return is_ready("float64")


def _refined_is_ready() -> bool:
    from .refined.compiled import is_ready

    return is_ready()


def _tell_nobody(_share: float) -> None:
    pass


def _run_in_tiles(raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Run a local method tile by tile; the result equals that of the whole."""
    tiles = cut_into_tiles(raw.shape, LOCAL_SIDE, request.reach)
    s, stderr = np.empty(raw.shape), np.empty(raw.shape)
    flags, sharper = np.empty(raw.shape, np.uint8), np.empty(raw.shape, np.int8)
    notes: dict[str, Any] = {}
    for done, tile in enumerate(tiles):
        pair = raw.part(*tile.outer)
        found = run_local(pair, request, part_of(progress, done, len(tiles)))
        marked = flag_pixels(pair, request, found.s, found.flags)
        unknown = unknown_pixels(pair, request, marked)
        here = tile.inside
        s[tile.core] = np.where(unknown, np.nan, found.s)[here]
        stderr[tile.core] = np.where(unknown, np.nan, found.stderr)[here]
        flags[tile.core], sharper[tile.core] = marked[here], found.sharper[here]
        notes = found.notes
    if len(tiles) > 1:
        notes = {**notes, "tiles": len(tiles)}
    return Answer(s, stderr, flags, sharper, notes)


def _blur_map(request: Request, answer: Answer) -> BlurMap:
    settings = {
        "relblur": __version__,
        "method": request.method,
        "sharper": request.sharper,
        "window": request.window,
        "noise": request.noise,
        "prefilter": request.prefilter,
        "engine": request.engine.name,
        **answer.notes,
    }
    arrays = (answer.s, answer.stderr, answer.flags, answer.sharper)
    for array in arrays:  # they become the map's own without a copy
        array.setflags(write=False)
    return BlurMap(*arrays, settings)


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


def _check_noise(
    noise: float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel] | None, raw: RawPair
) -> tuple[tuple[float, float] | None, FloatArray | None]:
    """Return the noise of each image, and the map of its variance relative to that if it depends on the light."""
    if noise is None:
        return None, None
    both = noise if isinstance(noise, (tuple, list)) else (noise, noise)
    if not any(isinstance(one, NoiseModel) for one in both):
        return as_noise(noise), None  # type: ignore[arg-type]
    if len(both) != 2:
        raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
    models = [one if isinstance(one, NoiseModel) else NoiseModel(as_positive(one, "noise")) for one in both]
    return noise_at_light(models[0], models[1], smoothed_light(raw), raw.usable)


def _check_prefilter(prefilter: float, shape: tuple[int, int]) -> float:
    value = 0.0 if prefilter == 0 else as_positive(prefilter, "prefilter", "px")
    if value > min(shape) / 4:
        raise InputError(f"prefilter={value:g} px is too wide for an image of {shape}; 1.5 to 2 is usual")
    return value
