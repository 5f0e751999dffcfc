"""``method="paper"`` on one image, or one tile of it: from a request to an answer with flags."""

from __future__ import annotations

import numpy as np

from ...base._typing import BoolArray, FloatArray, Int8Array, Progress, UInt8Array
from ...base.inputs import Pair
from ...base.pixels import grey
from ...base.settings import FLAT_ABOVE, SHARPNESS_SIZE
from ...filters.sharpness import compare_variances, local_variance
from ..blur_map import Flag, mark
from ..request import Answer, Request, part_of
from .method import GridRoots, Levels, estimate_on_grid, filter_bank

__all__ = ["answer_on_grid"]


def answer_on_grid(pair: Pair, request: Request, progress: Progress, levels: Levels | None = None) -> Answer:
    """Estimate by the paper, each pixel from the side of the sharper image.

    ``levels`` are filters on the request's grid unless they are given.
    """
    levels = filter_bank(request.sigmas, request.engine) if levels is None else levels
    images = grey(pair.first), grey(pair.second)
    if request.direction == "fit" and request.sharper == "auto":
        roots = {side: _roots(images, side, levels, request, progress) for side in (1, -1)}
        # Equal only where both directions leave the same: in identical images.
        sharper = np.sign(roots[-1].energy - roots[1].energy).astype(np.int8)
    else:
        sharper = _which_is_sharper(*images, request)
        sides = [side for side in (1, -1) if (sharper == side).any()]
        roots = {
            side: _roots(images, side, levels, request, part_of(progress, done, len(sides)), sharper == side)
            for done, side in enumerate(sides)
        }
    s = np.full(pair.shape, np.nan)
    stderr = np.full(pair.shape, np.nan)
    flags = np.zeros(pair.shape, dtype=np.uint8)
    mark(flags, sharper == 0, Flag.EQUAL)
    for side, found in roots.items():
        here = sharper == side
        s[here] = side * found.sigma[here] ** 2
        stderr[here] = (2 * found.sigma * found.stderr)[here]
        flags[here] |= _root_flags(found, request.sigmas)[here]
    notes = {"kernel": "sampled", "direction": request.direction, "sigmas": request.sigmas.tolist()}
    return Answer(s, stderr, flags, sharper, notes)


def _roots(
    images: tuple[FloatArray, FloatArray],
    side: int,
    levels: Levels,
    request: Request,
    progress: Progress,
    where: BoolArray | None = None,
) -> GridRoots:
    """Find the roots with one of the images as the sharper."""
    ordered = images if side == 1 else (images[1], images[0])
    return estimate_on_grid(
        ordered, levels, request.window, request.noise, request.engine, where, request.workers, progress
    )


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
