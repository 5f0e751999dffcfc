"""``method="paper"`` for a request, on one image or tile: the answer with flags.

``answer_on_grid`` estimates every pixel. ``fill_from_neighbours`` then fills flat and clipped places from the nearest
pixel with a root.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...base._typing import BoolArray, FloatArray, Int8Array, Progress, UInt8Array
from ...base.inputs import Pair
from ...base.pixels import grey
from ...base.settings import FLAT_ABOVE, SHARPNESS_SIZE
from ...filters.sharpness import compare_variances, local_variance
from ..blur_map import Flag, has_flag, mark
from ..request import Answer, Request, part_of
from ..tiles import DOUBTFUL, NO_VALUE
from .method import GridRoots, Levels, estimate_on_grid, filter_bank

__all__ = ["answer_on_grid", "fill_from_neighbours"]


def answer_on_grid(pair: Pair, request: Request, progress: Progress, levels: Levels | None = None) -> Answer:
    """Estimate by the paper's method, at each pixel in the direction of the sharper image.

    ``levels`` are by default filters on the grid of the request.
    """
    levels = filter_bank(request.sigmas) if levels is None else levels
    images = grey(pair.first), grey(pair.second)
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
    for side, estimate in roots.items():
        here = sharper == side
        s[here] = side * estimate.sigma[here] ** 2
        stderr[here] = (2 * estimate.sigma * estimate.stderr)[here]
        flags[here] |= _root_flags(estimate, request.sigmas)[here]
    return Answer(s, stderr, flags, sharper, {"kernel": "sampled", "sigmas": request.sigmas.tolist()})


def fill_from_neighbours(answer: Answer) -> Answer:
    """Fill flat and clipped pixels with the signed blur of the nearest good pixel with a root.

    Filled pixels keep their flags and get ``FILLED``. Their standard error is the larger of their own and that of the
    good pixel. Without any good pixel the values become NaN.
    """
    doubtful = has_flag(answer.flags, DOUBTFUL) & ~has_flag(answer.flags, NO_VALUE)
    if not doubtful.any():
        return answer
    s, stderr, flags = answer.s.copy(), answer.stderr.copy(), answer.flags.copy()
    known = ~has_flag(flags, DOUBTFUL | NO_VALUE | Flag.NO_ROOT)
    if not known.any():
        s[doubtful] = stderr[doubtful] = np.nan
        return replace(answer, s=s, stderr=stderr)
    from scipy.ndimage import distance_transform_edt

    rows, columns = distance_transform_edt(~known, return_distances=False, return_indices=True)
    nearest = rows[doubtful], columns[doubtful]
    with np.errstate(divide="ignore", invalid="ignore"):
        own = stderr[doubtful] * np.sqrt(np.abs(s[nearest] / s[doubtful]))
    s[doubtful] = s[nearest]
    stderr[doubtful] = np.fmax(stderr[nearest], own)
    limit = np.uint8(Flag.AT_LIMIT)
    flags[doubtful] = (flags[doubtful] & ~limit) | (flags[nearest] & limit) | np.uint8(Flag.FILLED)
    return replace(answer, s=s, stderr=stderr, flags=flags)


def _roots(
    images: tuple[FloatArray, FloatArray],
    side: int,
    levels: Levels,
    request: Request,
    progress: Progress,
    where: BoolArray,
) -> GridRoots:
    """Find the roots for one side: the first image is the sharper one for +1, the second for -1."""
    ordered = images if side == 1 else (images[1], images[0])
    return estimate_on_grid(ordered, levels, request.window, request.noise, where, request.workers, progress)


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
