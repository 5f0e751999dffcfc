"""``estimate_blur``: a :class:`~relblur.blur.blur_map.BlurMap` from two images.

Defaults are those of :class:`relblur.base.options.Estimating`. Methods are listed in :mod:`relblur.blur.methods`, pixel
flags in :mod:`relblur.blur.result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.arguments import as_sigmas, colour_axis
from ..base.deprecated import warn_of_old_call
from ..base.errors import InputError
from ..base.inputs import check_pair, is_chunked
from ..kernels import as_engine
from . import recompressed
from .blur_map import BlurMap, labelled
from .comparable_pair import ComparablePair
from .estimating import Estimating, GivenNoise, answer_of, check_estimating, settings_of
from .model_warnings import find_model_warnings
from .request import part_of
from .stored_values import light_of_srgb, tell_of_tone

__all__ = ["estimate_blur"]


def estimate_blur(
    first: ArrayLike | ComparablePair,
    second: ArrayLike | None = None,
    *,
    method: str = Estimating.method,
    sharper: str = Estimating.sharper,
    max_sigma: float | None = Estimating.max_sigma,
    window: int | None = Estimating.window,
    noise: GivenNoise | None = Estimating.noise,
    prefilter: float = Estimating.prefilter,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
    linear: bool | None = None,
    sigmas: ArrayLike | Sequence[float] | None = Estimating.sigmas,
    direction: str = Estimating.direction,
    tolerance: float = Estimating.tolerance,
    engine: str = Estimating.engine,
    workers: int | None = Estimating.workers,
    progress: Progress | None = None,
    steps: bool | dict[str, FloatArray] = False,
    everywhere: bool = Estimating.everywhere,
) -> BlurMap:
    """Estimate, at every pixel, how much blurrier one image is than the other.

    Parameters
    ----------
    first, second : (H, W) or (H, W, 3) arrays
        Two images of one scene from one viewpoint, in any order: arrays of NumPy, masked or not, of another package
        that NumPy can read (torch tensors, xarray), or pictures of Pillow. Integers are divided by their full scale,
        and their clipped pixels are left out; floats are used as they are. An alpha channel is left out with a
        warning. Defocus adds light, so linear intensities give the most accurate map. In place of both images, a
        :class:`~relblur.blur.comparable_pair.ComparablePair` from :func:`relblur.prepare_pair`, which contains
        ``valid``, ``clipped``, ``channel_axis`` and ``noise``.
    method : {"refined", "window", "paper"}
        ``"refined"``: dense, continuous, regularised. ``"window"``: continuous, from a small window alone.
        ``"paper"``: the paper's estimator on its 0.1 px grid, grey values, with the direction by the 3 x 3 standard
        deviation.
    sharper : {"auto", "first", "second"}
        The sharper image. ``"auto"`` decides at every pixel, unless only the apertures of the files of a
        ComparablePair differ. A known side makes the estimate more accurate and faster.
    max_sigma : float, optional
        Largest relative blur of the search, px; 5 by default. Choose it just above the largest that you expect: a
        wider search takes longer and admits wrong answers. The grid of ``"paper"`` ends here.
    window : int, optional
        Side of the square of neighbours, odd, 9 by default. A larger one is less noisy and less local. With
        ``"refined"`` it only decides which pixels are flagged as filled: those whose own window does not determine
        their blur.
    noise : float, NoiseModel or (first, second), optional
        Standard deviation of the noise on the images' scale, or a :class:`relblur.NoiseModel` for noise that grows
        with the light (from :func:`relblur.estimate_noise`). By default ``"refined"`` estimates the noise from the
        pair. With one value or model it also measures whether one image has much more noise; two values are used
        unchanged. The other methods use the mean of a model, and at least the rounding step of the data.
    prefilter : float
        Blur both images by this many px first (not for ``"paper"``). In theory ``s`` does not change, but it depends
        less on the shape of the blur: 1.5 to 2 px gives better depth from real, disc-like blur. ``"refined"`` then
        takes twice as long, to keep jumps sharp. The default 0 gives the Gaussian that best reproduces the blurrier
        image.
    valid : (H, W) bool array, optional
        True = use. NaN and infinite pixels are left out in any case.
    clipped : (H, W) bool array, optional
        True where either image is at the top of the range of its sensor or file; by default the pixels of integer
        images at full scale.
    channel_axis : int, optional
        Axis of the colour channels; by default the last one of (H, W, 3). All channels are used for one map.
    linear : bool, optional
        True: the values are sRGB, as in most 8-bit pictures; undo the tone curve first. False: compare the values
        unchanged. This is the default, with a warning for uint8.
    sigmas : sequence of floats, optional
        ``"paper"`` only: the grid, px; 0.1 to 5 by default.
    direction : {"deviation", "fit"}
        ``"paper"`` only: selection of the sharper image at each pixel, by the larger 3 x 3 standard deviation, as in
        the paper, or by the better fit of the window. The fit is right more often and takes twice as long. The other
        methods always use the fit.
    tolerance : float
        ``"paper"`` only: 3 x 3 deviations that differ by this many grey levels (of 255) or less are equal, and such
        points get no answer. The paper leaves out 10 to 23 % of the points of its Real-MFF pair, which corresponds to
        about 0.1 to 0.4 levels.
    engine : {"auto", "reference", "opencv", "compiled"}
        Implementation of the loops. ``"reference"`` (not for ``"refined"``) and ``"opencv"`` agree to rounding,
        ``"compiled"`` to a thousandth; for ``"paper"`` it falls back to OpenCV. ``"auto"`` is ``"compiled"`` where
        there is compiled code for the method, else ``"opencv"``. ``settings["engine"]`` names the engine that ran.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : callable, optional
        Called with the share of the work done, 0 to 1.
    steps : bool
        Keep the intermediate maps of ``"refined"`` in ``BlurMap.steps``: ``start`` (the labelling, px^2),
        ``information`` (1 / px^4), ``misfit`` (variance on the pair's scale), ``mu`` (stiffness of the prior). Empty
        for other methods and for images cut into tiles.
    everywhere : bool
        Deprecated: ``"window"`` keeps the values of flat and clipped places.

    Returns
    -------
    BlurMap
        Signed: positive where ``second`` is the blurrier. Pixels without an answer are NaN and flagged.

    Notes
    -----
    Large images are processed in tiles, in bounded memory. For ``"paper"`` and ``"window"`` the result does not depend
    on the tiles, to the bit (with ``engine="compiled"`` to single precision). ``"refined"`` uses one tile up to 1.4
    megapixels. Tiles of larger images overlap and are blended; ``settings["tiles"]`` is their number.

    Dask arrays give a lazy map of Dask arrays. Statistics that all chunks share are measured during the call:
    ``"paper"`` and ``"window"`` read both images once, ``"refined"`` 49 patches. Flat and clipped places of ``"paper"``
    are filled from their own chunk. An xarray gives a map of xarrays with its labels. ``progress`` and ``steps`` are
    for arrays in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import estimate_blur, synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> blurry = synth.blur_with_map(sharp, 1.5)
    >>> float(np.median(estimate_blur(sharp, blurry, method="window").sigma).round(2))
    1.5
    """
    pair_settings: dict[str, Any] = {}
    pair: ComparablePair | None = None
    if isinstance(first, ComparablePair):
        if second is not None:
            raise InputError("a comparable pair holds both images; leave second out")
        if linear is not None:
            raise InputError("linear belongs to prepare_pair, which made this pair; leave it out here")
        pair = first
        (first, second), valid, clipped, channel_axis, noise = pair.inputs(valid, clipped, channel_axis, noise)
        pair_settings, linear = pair.settings, False
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
        tolerance=tolerance,
        everywhere=everywhere,
    )
    entry = check_estimating(options)
    if second is None:
        raise InputError("second is missing; pass two images, or the pair that relblur.prepare_pair returns")
    _warn_of_old_arguments(method, sigmas, steps, everywhere)
    kept: dict[str, FloatArray] = {} if isinstance(steps, bool) else steps
    kept.clear()
    channel_axis = colour_axis(first, channel_axis)
    if is_chunked(first, second):
        from .chunked import estimate_chunked

        if linear:
            raise InputError("linear is for arrays in memory; undo the curve of chunked ones first, chunk by chunk")
        return labelled(estimate_chunked(first, second, options, valid, clipped, channel_axis), first, channel_axis)
    raw = check_pair(first, second, valid=valid, clipped=clipped, channel_axis=channel_axis)
    if linear:
        raw, noise = light_of_srgb(raw, noise, entry.surveys)
        options = replace(options, noise=noise)
    elif linear is None:
        tell_of_tone(raw)
    report = progress or _no_progress
    if pair is not None and method == "refined" and not prefilter and recompressed.is_worthwhile(pair):
        _, answer = answer_of(options, raw, part_of(report, 0, 2))
        raw = recompressed.without_compression(raw, pair, answer.s, answer.notes["kernel"])
        report = part_of(report, 1, 2)
    request, answer = answer_of(options, raw, report, None if steps is False else kept)
    model_warnings = find_model_warnings(raw, answer.s, answer.flags, answer.notes.get("kernel", "sampled"))
    further = {**pair_settings, "doubts": model_warnings} if model_warnings else pair_settings
    settings = settings_of(request, answer.notes, further)
    arrays = (answer.s, answer.stderr, answer.flags, answer.sharper)
    for array in arrays:  # read-only, so that the map need not copy them
        array.setflags(write=False)
    return labelled(BlurMap(*arrays, settings, kept if steps is True else {}), first, channel_axis)


def _warn_of_old_arguments(method: str, sigmas: Any, steps: Any, everywhere: bool) -> None:
    """Warn of deprecated arguments."""
    if everywhere:
        warn_of_old_call("everywhere=True", f'estimate_blur(first, second, method="{method}")', 4)
    if sigmas is not None and method != "paper":
        largest = as_sigmas(sigmas)[-1]
        warn_of_old_call(f'sigmas with method="{method}"', f"estimate_blur(first, second, max_sigma={largest:g})", 4)
    if not isinstance(steps, bool):
        warn_of_old_call("steps={}", "estimate_blur(first, second, steps=True).steps", 4)


def _no_progress(_share: float) -> None:
    pass
