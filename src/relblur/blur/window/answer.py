"""``method="window"`` for a request, on one image or tile: the answer with flags."""

from __future__ import annotations

import numpy as np

from ...base._typing import BoolArray, FloatArray, Progress
from ...base.inputs import Pair
from ...base.settings import FLAT_ABOVE
from ...filters.kernels import band_limited_kernel
from ...filters.sharpness import local_variance
from ..blur_map import Flag, mark
from ..request import Answer, Request, side_of
from .method import LINEAR_BELOW, estimate_in_windows, signed_nodes

__all__ = ["answer_in_windows"]


def answer_in_windows(pair: Pair, request: Request, progress: Progress) -> Answer:
    """Estimate s at each pixel from the window around it."""
    first, second = (_prefilter(image, request) for image in (pair.first, pair.second))
    if request.engine.name == "compiled":
        return _window_compiled(request, first, second, progress)
    fit = estimate_in_windows(
        (first, second),
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
    from .realtime import WindowEngine, single_precision_unit

    limit = request.max_sigma
    height, width, channels = first.shape
    engine = WindowEngine((height, width), channels, request.sharper, request.window, limit, request.workers)
    try:
        unit = single_precision_unit(first, second)
        frames = (np.ascontiguousarray(image / unit).reshape(height, -1) for image in (first, second))
        fit = engine.run(*frames, noise=request.noise / unit, blank=False, checked=True)
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
    """Return the pixels at which the best fit explains less than half of the blurrier image's local variance."""
    assert request.overall is not None
    one, two = (
        local_variance(image, request.window, whole.centre)
        for image, whole in zip((first, second), request.overall, strict=True)
    )
    return power > 0.5 * np.where(s >= 0, two, one)
