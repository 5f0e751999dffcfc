"""``method="window"`` for a request, on one image or tile: the answer with flags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray, Progress
from ...base.inputs import Pair, RawPair
from ...base.pixels import unit_float
from ...base.settings import FLAT_ABOVE
from ...filters.kernels import band_limited_kernel
from ...filters.sharpness import local_variance
from ...kernels.separable import filter_separable
from ..blur_map import Flag, mark
from ..request import Answer, Request, side_of
from ..tiles import local_tiling
from .method import LINEAR_BELOW, estimate_in_windows, signed_nodes

__all__ = ["WINDOW_TILING"]


def _answer_in_windows(pair: Pair, request: Request, progress: Progress) -> Answer:
    """Estimate s at each pixel from the window around it."""
    first, second = (_prefiltered(image, request) for image in (pair.first, pair.second))
    fit = estimate_in_windows(
        (first, second),
        signed_nodes(request.max_sigma, request.sharper),
        request.window,
        request.noise,
        pair.usable,
        request.workers,
        progress,
    )
    flags = np.zeros(fit.s.shape, dtype=np.uint8)
    mark(flags, ~(fit.stderr <= FLAT_ABOVE * np.hypot(fit.s, LINEAR_BELOW)), Flag.FLAT)
    mark(flags, _nothing_in_common(first, second, fit.s, fit.power, request), Flag.FLAT)
    mark(flags, fit.at_limit, Flag.AT_LIMIT)
    return Answer(fit.s, fit.stderr, flags, side_of(fit.s, fit.stderr), _notes(request))


_READABLE = local_tiling(_answer_in_windows)


def _estimate(raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Estimate a tile by the engine of the request."""
    if request.engine != "compiled" or (raw.finite is not None and not raw.finite.any()):
        return _READABLE.estimate(raw, request, progress)
    from .realtime import WindowEngine

    if request.prefilter:
        clipped = ~raw.part().unclipped
        first, second = (_prefiltered(unit_float(image), request) for image in (raw.first, raw.second))
        raw = RawPair(first, second, raw.finite, clipped)
    (height, width), channels = raw.shape, raw.first.shape[2]
    engine = WindowEngine(
        (height, width), channels, request.sharper, request.window, request.max_sigma, request.workers
    )
    try:
        fit = engine.run_checked(raw, request.noise)
    finally:
        engine.close()
    flags, sharper = fit.flags.astype(np.uint8), np.array(fit.sharper)
    if raw.finite is not None:
        flags[~raw.finite] = Flag.INVALID  # other flags there describe the fill value
        sharper[~raw.finite] = 0
    progress(1.0)
    return Answer(fit.s.astype(np.float64), fit.stderr.astype(np.float64), flags, sharper, _notes(request))


WINDOW_TILING = replace(_READABLE, estimate=_estimate)


def _notes(request: Request) -> dict[str, object]:
    return {"kernel": "band_limited", "max_sigma": request.max_sigma}


def _prefiltered(image: AnyArray, request: Request) -> AnyArray:
    if not request.prefilter:
        return image
    kernel = band_limited_kernel(request.prefilter**2)
    return np.stack([filter_separable(np.ascontiguousarray(plane), kernel) for plane in np.moveaxis(image, 2, 0)], 2)


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
