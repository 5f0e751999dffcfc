"""``estimate_blur``: a :class:`~relblur.blur.blur_map.BlurMap` from two images.

Defaults are those of :class:`relblur.base.options.Estimating`. Methods are listed in :mod:`relblur.blur.methods`, pixel
flags in :mod:`relblur.blur.result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.deprecated import warn_of_old_call
from ..base.errors import InputError
from ..base.inputs import is_chunked
from ..kernels import as_engine
from .blur_map import BlurMap, labelled
from .comparable_pair import ComparablePair
from .estimating import Estimating, NoiseArgument, answer_of, check_estimating, settings_of
from .input_pair import InputPair
from .model_warnings import find_model_warnings
from .recompressed import is_strongly_compressed, without_compression
from .request import no_progress, part_of

__all__ = ["estimate_blur"]


def estimate_blur(
    first: ArrayLike | ComparablePair,
    second: ArrayLike | None = None,
    *,
    method: str = Estimating.method,
    sharper: str = Estimating.sharper,
    max_sigma: float | None = Estimating.max_sigma,
    window: int | None = Estimating.window,
    noise: NoiseArgument | None = Estimating.noise,
    prefilter: float = Estimating.prefilter,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
    linear: bool | None = None,
    sigmas: ArrayLike | Sequence[float] | None = Estimating.sigmas,
    engine: str = Estimating.engine,
    workers: int | None = Estimating.workers,
    progress: Progress | None = None,
    steps: bool | dict[str, FloatArray] = False,
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
    engine : {"auto", "opencv", "compiled"}
        Implementation of the loops, which agree to a thousandth. ``"paper"`` has OpenCV only. ``"auto"`` is
        ``"compiled"`` where there is compiled code for the method. ``settings["engine"]`` names the engine that ran.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : callable, optional
        Called with the share of the work done, 0 to 1.
    steps : bool
        Keep the intermediate maps of ``"refined"`` in ``BlurMap.steps``: ``start`` (the labelling, px^2),
        ``information`` (1 / px^4), ``misfit`` (variance on the pair's scale), ``mu`` (stiffness of the prior). Empty
        for other methods and for images cut into tiles.

    Returns
    -------
    BlurMap
        Signed: positive where ``second`` is the blurrier. Pixels without an answer are NaN and flagged.

    Notes
    -----
    Large images are processed in tiles, in bounded memory. For ``"paper"`` and ``"window"`` the result does not depend
    on the tiles, to the bit (with ``engine="compiled"`` to single precision). ``"refined"`` uses one tile up to 1.4
    megapixels. Tiles of larger images overlap and are blended; ``settings["tiles"]`` is their number.

    Dask arrays give a lazy map of Dask arrays. Statistics that all chunks share are measured on 49 patches during the
    call. Bad pixels, and flat and clipped places of ``"paper"``, are filled from their own chunk. An xarray gives a
    map of xarrays with its labels. ``progress`` and ``steps`` are for arrays in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import estimate_blur, synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> blurry = synth.blur_with_map(sharp, 1.5)
    >>> float(np.median(estimate_blur(sharp, blurry, method="window").sigma).round(2))
    1.5
    """
    given = InputPair.of(InputPair(first, second, valid, clipped, channel_axis, noise, linear))
    if sigmas is not None and method != "paper":
        max_sigma, sigmas = float(np.max(np.asarray(sigmas))), None
        warn_of_old_call(f'sigmas with method="{method}"', f"max_sigma={max_sigma:g}", 2)
    kept: dict[str, FloatArray] = {}
    if not isinstance(steps, bool):
        warn_of_old_call("steps={}", "estimate_blur(first, second, steps=True).steps", 2)
        kept, steps = steps, True
    if given.pair is not None and sharper == "auto":
        sharper = given.pair.sharper
    options = Estimating(
        method=method,
        sharper=sharper,
        sigmas=sigmas,
        max_sigma=max_sigma,
        window=window,
        noise=given.noise,
        prefilter=prefilter,
        engine=as_engine(engine),
        workers=workers,
    )
    entry = check_estimating(options)
    if is_chunked(given.first, given.second):
        from .chunked import estimate_chunked

        if linear:
            raise InputError("linear is for arrays in memory; undo the curve of chunked ones first, chunk by chunk")
        lazy = estimate_chunked(given.first, given.second, options, valid, clipped, given.channel_axis)
        return labelled(lazy, given.first, given.channel_axis)
    raw, assumed = given.as_light(given.checked(), entry.rounding_is_floor)
    options = replace(options, noise=assumed)
    report = progress or no_progress
    if method == "refined" and not prefilter and is_strongly_compressed(given.pair):
        _, answer = answer_of(options, raw, part_of(report, 0, 2))
        raw = without_compression(raw, given.pair, answer.s, answer.notes["kernel"])
        report = part_of(report, 1, 2)
    request, answer = answer_of(options, raw, report, kept if steps else None)
    model_warnings = find_model_warnings(raw, answer.s, answer.flags, answer.notes.get("kernel", "sampled"))
    further = {**given.settings, "model_warnings": model_warnings} if model_warnings else given.settings
    arrays = (answer.s, answer.stderr, answer.flags, answer.sharper)
    for array in arrays:  # read-only, so that the map need not copy them
        array.setflags(write=False)
    blur_map = BlurMap(*arrays, settings_of(request, answer.notes, further), kept)
    return labelled(blur_map, given.first, given.channel_axis)
