"""``estimate_blur``: two images in, a :class:`~relblur.blur.blur_map.BlurMap` out.

Arguments are checked here. Which method runs, with which defaults and engines, is in
:mod:`relblur.blur.methods`, which pixels it leaves open in :mod:`relblur.blur.flags`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.arguments import colour_axis
from ..base.errors import InputError
from ..base.inputs import check_pair, is_chunked
from ..kernels import as_engine
from . import recompressed
from .blur_map import BlurMap, labelled
from .comparable_pair import ComparablePair
from .estimating import Estimating, GivenNoise, settings_of
from .model_warnings import find_model_warnings
from .request import part_of
from .stored_values import light_of_srgb, tell_of_tone

__all__ = ["estimate_blur"]


def estimate_blur(
    first: ArrayLike | ComparablePair,
    second: ArrayLike | None = None,
    *,
    sharper: str = "auto",
    method: str = "refined",
    sigmas: ArrayLike | Sequence[float] | None = None,
    window: int | None = None,
    noise: GivenNoise | None = None,
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
    max_sigma: float | None = None,
    linear: bool | None = None,
    tolerance: float = 0.0,
) -> BlurMap:
    """Estimate, at every pixel, how much blurrier one image is than the other.

    Parameters
    ----------
    first, second : (H, W) or (H, W, 3) arrays
        Two images of one scene from one viewpoint, in any order: of NumPy, moptions or not,
        or of another package that NumPy can read (torch tensors, xarray), or pictures of
        Pillow. Integers are divided by their full scale, and their clipped pixels are left
        out; floats are taken as they are. An alpha channel is left out with a warning.
        Defocus adds light, so linear intensities give the truest answer. In place of
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
        the largest of them.
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
        Axis of the colour channels; the last one of (H, W, 3) is found by itself, others
        have to be told. All channels give one map together.
    engine : {"auto", "reference", "opencv", "compiled"}
        Implementation of the loops. ``"reference"`` (not for ``"refined"``) and ``"opencv"`` agree
        to rounding, ``"compiled"`` (not for ``"paper"``, which OpenCV then does) to a thousandth.
        ``"auto"`` is ``"compiled"`` where there is compiled code for the method, else
        ``"opencv"``; ``settings["engine"]`` names the one that ran.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    direction : {"deviation", "fit"}
        ``"paper"``: how the sharper image is told at each pixel: by the larger 3 x 3 standard
        deviation, as the paper does, or by which direction fits its window better, which is
        right more often and takes twice as long. The other methods always go by the fit.
    everywhere : bool
        Deprecated. ``"paper"`` fills flat and clipped places from the nearest pixel with an answer, as the
        paper's similarity over neighbouring points, and flags them ``FILLED``.
    progress : callable, optional
        Called with the share of the work done, 0 to 1.
    steps : dict, optional
        Filled with maps that ``"refined"`` makes on its way, for looking at: ``start`` (the
        labelling, px^2), ``information`` (1 / px^4), ``misfit`` (variance on the pair's scale),
        ``mu`` (stiffness of the prior). Empty for other methods and for images cut into tiles.
    max_sigma : float, optional
        Largest relative blur that is looked for, px; 5 by default. Choose it just above the
        largest that you expect: wider costs time and admits wrong answers. In place of
        ``sigmas``; ``"paper"`` then takes its grid of 0.1 px up to here.
    linear : bool, optional
        True: the values are those of sRGB, as in most 8-bit pictures; undo its tone curve first.
        False: compare the values as they are. So it is by default, with a warning for uint8.
    tolerance : float
        ``"paper"``: 3 x 3 deviations that differ by this many grey levels (of 255) or less are equal, and such
        points get no answer. The paper leaves out 10 to 23 % of the points of its Real-MFF pair, which takes
        about 0.1 to 0.4 levels.

    Returns
    -------
    BlurMap
        Signed: positive where ``second`` is the blurrier. Pixels without an answer are NaN
        and flagged.

    Notes
    -----
    Large images are worked on in tiles, in bounded memory. ``"paper"`` and ``"window"`` give
    the same numbers to the bit however they are cut (with ``engine="compiled"`` to single
    precision). ``"refined"`` stays whole up to 1.4 megapixels; beyond, tiles overlap and
    are blended, and ``settings["tiles"]`` says how many.

    Dask arrays give a lazy map of Dask arrays. What all chunks must agree on is looked at when the function is called:
    ``"paper"`` and ``"window"``, which give the bits of the whole, read both images once, ``"refined"`` 49 patches.
    Flat and clipped places of ``"paper"`` are filled from within their own chunk.
    An xarray gives a map of xarrays with its labels. ``progress`` and ``steps`` are for arrays in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import estimate_blur, synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> blurry = synth.blur_with_map(sharp, 1.5)
    >>> float(np.median(estimate_blur(sharp, blurry, method="window").sigma).round(2))
    1.5
    """
    remembered: dict[str, Any] = {}
    pair: ComparablePair | None = None
    if isinstance(first, ComparablePair):
        if second is not None:
            raise InputError("a comparable pair holds both images; leave second out")
        if linear is not None:
            raise InputError("linear is a question of prepare_pair, which made this pair; leave it out here")
        pair = first
        (first, second), valid, clipped, channel_axis, noise = pair.inputs(valid, clipped, channel_axis, noise)
        remembered, linear = pair.settings, False
        sharper = pair.sharper if sharper == "auto" else sharper
    options = Estimating(
        method=method,
        sharper=sharper,
        sigmas=sigmas,
        max_sigma=max_sigma,
        window=window,
        noise=noise,
        prefilter=prefilter,
        engine=as_engine(engine),
        workers=workers,
        direction=direction,
        everywhere=everywhere,
        tolerance=tolerance,
    )
    if everywhere:
        _warn_of_everywhere(method)
    if second is None:
        raise InputError("second is missing; pass two images, or what relblur.prepare_pair gives")
    if steps is not None:
        steps.clear()
    channel_axis = colour_axis(first, channel_axis)
    if is_chunked(first, second):
        from .chunked import estimate_chunked

        if linear:
            raise InputError("linear is for arrays in memory; undo the curve of chunked ones first, chunk by chunk")
        return labelled(estimate_chunked(first, second, options, valid, clipped, channel_axis), first, channel_axis)
    raw = check_pair(first, second, valid=valid, clipped=clipped, channel_axis=channel_axis)
    if linear:
        raw, noise = light_of_srgb(raw, noise, options.entry.surveys)
        options = replace(options, noise=noise)
    elif linear is None:
        tell_of_tone(raw)
    tell = progress or _tell_nobody
    if pair is not None and method == "refined" and not prefilter and recompressed.is_worthwhile(pair):
        _, answer = options.answer(raw, part_of(tell, 0, 2))
        raw = recompressed.without_compression(raw, pair, answer.s, answer.notes["kernel"])
        tell = part_of(tell, 1, 2)
    request, answer = options.answer(raw, tell, steps)
    doubts = find_model_warnings(raw, answer.s, answer.flags, answer.notes.get("kernel", "sampled"))
    settings = settings_of(request, answer.notes, {**remembered, "doubts": doubts} if doubts else remembered)
    arrays = (answer.s, answer.stderr, answer.flags, answer.sharper)
    for array in arrays:  # they become the map's own without a copy
        array.setflags(write=False)
    return labelled(BlurMap(*arrays, settings), first, channel_axis)


def _warn_of_everywhere(method: str) -> None:
    warnings.warn(
        f'everywhere is deprecated: call estimate_blur(first, second, method="{method}"); "paper" and "refined" '
        "answer flat and clipped places themselves",
        FutureWarning,
        stacklevel=3,
    )


def _tell_nobody(_share: float) -> None:
    pass
