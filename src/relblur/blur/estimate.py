"""``estimate_blur``: two images in, a :class:`~relblur.blur.blur_map.BlurMap` out.

Arguments are checked here. Which method runs, with which defaults and engines, is in
:mod:`relblur.blur.methods`, which pixels it leaves open in :mod:`relblur.blur.flags`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import __version__
from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.arguments import as_choice, as_noise, as_odd_size, as_positive, as_sigmas
from ..base.errors import InputError
from ..base.inputs import RawPair, check_pair
from ..base.settings import DIRECTIONS, METHODS, SIDES, Method
from ..engines import ENGINES
from ..engines.threads import count_workers
from .blur_map import BlurMap
from .comparable_pair import ComparablePair
from .methods import METHOD_TABLE, engine_for
from .noise import NoiseModel, noise_at_light
from .request import Answer, Request
from .whole_image import smoothed_light, survey

__all__ = ["estimate_blur"]


def estimate_blur(
    first: ArrayLike | ComparablePair,
    second: ArrayLike | None = None,
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
    direction: str = "deviation",
    everywhere: bool = False,
    progress: Progress | None = None,
    steps: dict[str, FloatArray] | None = None,
) -> BlurMap:
    """Estimate, at every pixel, how much blurrier one image is than the other.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        Two images of one scene from one viewpoint, in any order. Integers are divided by
        their full scale, and their clipped pixels are left out; floats are taken as they
        are. Defocus adds light, so linear intensities give the truest answer. In place of
        both, a :class:`~relblur.blur.comparable_pair.ComparablePair` from
        :func:`relblur.prepare_pair`, which brings ``valid``, ``clipped``, ``channel_axis`` and
        ``noise`` with it.
    sharper : {"auto", "first", "second"}
        Which image is the sharper one. ``"auto"`` decides at every pixel, unless the files of a
        ComparablePair say that only their apertures differ. State it if you know it: the answer
        gets more certain, and faster.
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
        Who does the arithmetic. ``"reference"`` (not for ``"refined"``) and ``"opencv"`` agree
        to rounding, ``"numba"`` (not for ``"paper"``, which OpenCV then does) to a thousandth.
        ``"auto"`` goes by the size of the pair: ``"numba"``, if it is installed, for what would
        take more than about 5 s of processor time without, ``"opencv"`` for the rest.
        ``settings["engine"]`` says who it was.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    direction : {"deviation", "fit"}
        ``"paper"``: how the sharper image is told at each pixel: by the larger 3 x 3 standard
        deviation, as the paper does, or by which direction fits its window better, which is
        right more often and takes twice as long. The other methods always go by the fit.
    everywhere : bool
        ``"paper"`` and ``"window"``: keep what was found in flat and clipped places too, as the
        paper does. The flags still say where that is; such values mean little.
    progress : callable, optional
        Called with the share of the work done, 0 to 1.
    steps : dict, optional
        Filled with maps that ``"refined"`` makes on its way, for looking at: ``start`` (the
        labelling, px^2), ``information`` (1 / px^4), ``misfit`` (variance on the pair's scale),
        ``mu`` (stiffness of the prior). Empty for other methods and for images cut into tiles.

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
    kind: Method = as_choice(method, "method", METHODS)  # type: ignore[assignment]
    as_choice(sharper, "sharper", SIDES)
    as_choice(engine, "engine", ENGINES)
    remembered: dict[str, Any] = {}
    if isinstance(first, ComparablePair):
        if second is not None:
            raise InputError("a comparable pair holds both images; leave second out")
        pair = first
        first, second = pair.first, pair.second
        valid, clipped, channel_axis, noise = pair.inputs(valid, clipped, channel_axis, noise)
        remembered = pair.settings
        sharper = pair.sharper if sharper == "auto" else sharper
    if second is None:
        raise InputError("second is missing; pass two images, or what relblur.prepare_pair gives")
    raw = check_pair(first, second, valid=valid, clipped=clipped, channel_axis=channel_axis)
    known = METHOD_TABLE[kind]
    window = known.window if window is None else window
    if prefilter and not known.takes_prefilter:
        others = " or ".join(f'"{name}"' for name, entry in METHOD_TABLE.items() if entry.takes_prefilter)
        raise InputError(f'prefilter is not part of method="{method}"; leave it out or use {others}')
    as_choice(direction, "direction", DIRECTIONS)
    if direction != "deviation" and kind != "paper":
        raise InputError(f'direction is part of method="paper" only; method="{method}" goes by the fit: leave it out')
    if everywhere and not known.may_answer_everywhere:
        raise InputError(f'everywhere is not part of method="{method}", which fills flat places itself; leave it out')
    given, relative_variance = _check_noise(noise, raw)
    request = Request(
        method=kind,
        sharper=sharper,  # type: ignore[arg-type]
        sigmas=_check_sigmas(sigmas, raw.shape, known.sigmas),
        window=as_odd_size(window, "window", raw.shape),
        given_noise=given,
        noise_repeats=_repeats(noise),
        noise_may_differ=isinstance(noise, NoiseModel),
        relative_variance=relative_variance,
        prefilter=_check_prefilter(prefilter, raw.shape),
        engine=engine_for(engine, kind, raw, window, prefilter),
        workers=count_workers(workers),
        overall=(survey(raw.first, raw.finite), survey(raw.second, raw.finite)) if known.surveys else None,
        direction=direction,  # type: ignore[arg-type]
        everywhere=everywhere,
        steps=steps,
    )
    if steps is not None:
        steps.clear()
    return _blur_map(request, known.run(raw, request, progress or _tell_nobody), remembered)


def _tell_nobody(_share: float) -> None:
    pass


def _blur_map(request: Request, answer: Answer, remembered: Mapping[str, Any]) -> BlurMap:
    settings = {
        "relblur": __version__,
        "method": request.method,
        "sharper": request.sharper,
        "window": request.window,
        "noise": request.noise,
        "prefilter": request.prefilter,
        "engine": request.engine.name,
        **answer.notes,
        **remembered,
    }
    arrays = (answer.s, answer.stderr, answer.flags, answer.sharper)
    for array in arrays:  # they become the map's own without a copy
        array.setflags(write=False)
    return BlurMap(*arrays, settings)


def _check_sigmas(
    sigmas: ArrayLike | Sequence[float] | None, shape: tuple[int, int], usual: tuple[float, ...]
) -> FloatArray:
    if sigmas is None:
        grid = np.array(usual)
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


def _repeats(noise: float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel] | None) -> bool:
    both = noise if isinstance(noise, (tuple, list)) else (noise,)
    return any(isinstance(one, NoiseModel) and one.compressed for one in both)


def _check_prefilter(prefilter: float, shape: tuple[int, int]) -> float:
    value = 0.0 if prefilter == 0 else as_positive(prefilter, "prefilter", "px")
    if value > min(shape) / 4:
        raise InputError(f"prefilter={value:g} px is too wide for an image of {shape}; 1.5 to 2 is usual")
    return value
