"""``method="paper"`` for a request, on one image or tile: the answer with flags.

``answer_on_grid`` estimates every pixel. ``fill_from_neighbours`` then fills flat and clipped pixels from the nearest
good pixel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...base._typing import FloatArray, Int8Array, Progress
from ...base.inputs import Pair
from ...base.pixels import grey
from ...base.settings import FLAT_ABOVE, SHARPNESS_SIZE
from ...filters.sharpness import compare_variances, local_variance
from ..blur_map import Flag, has_flag, mark
from ..request import Answer, Request, part_of
from ..tiles import DOUBTFUL, NO_VALUE
from .method import estimate_on_grid

__all__ = ["answer_on_grid", "fill_from_neighbours"]


def answer_on_grid(pair: Pair, request: Request, progress: Progress) -> Answer:
    """Estimate by the paper's method, at each pixel in the direction of the sharper image."""
    first, second = grey(pair.first), grey(pair.second)
    sharper = _which_is_sharper(first, second, request)
    s = np.full(pair.shape, np.nan)
    stderr = np.full(pair.shape, np.nan)
    flags = np.zeros(pair.shape, dtype=np.uint8)
    mark(flags, sharper == 0, Flag.EQUAL)
    for number, (side, images) in enumerate(((1, (first, second)), (-1, (second, first)))):
        here = sharper == side
        if here.any():
            roots = estimate_on_grid(images, request, here, part_of(progress, number, 2))
            s[here] = side * roots.sigma[here] ** 2
            stderr[here] = (2 * roots.sigma * roots.stderr)[here]
            mark(flags, here & ~(roots.window_stderr <= FLAT_ABOVE * roots.sigma), Flag.FLAT)
            mark(flags, here & ~roots.has_root, Flag.NO_ROOT)
            mark(flags, here & (roots.sigma == request.max_sigma), Flag.AT_LIMIT)
    notes = {"kernel": "sampled", "sigmas": request.sigmas.tolist()}
    return Answer(s, stderr, flags, sharper, notes)


def fill_from_neighbours(answer: Answer) -> Answer:
    """Fill flat and clipped pixels with the signed blur of the nearest good pixel with a root.

    Filled pixels keep their flags and get ``FILLED``. Their standard error is the larger of their own and that of the
    good pixel. Without any good pixel the values become NaN.
    """
    doubtful = has_flag(answer.flags, DOUBTFUL) & ~has_flag(answer.flags, NO_VALUE)
    if not doubtful.any():
        return answer
    s, stderr, flags = answer.s.copy(), answer.stderr.copy(), answer.flags.copy()
    good = ~has_flag(flags, DOUBTFUL | NO_VALUE | Flag.NO_ROOT)
    if not good.any():
        s[doubtful] = stderr[doubtful] = np.nan
        return replace(answer, s=s, stderr=stderr)
    from scipy.ndimage import distance_transform_edt

    rows, columns = distance_transform_edt(~good, return_distances=False, return_indices=True)
    nearest = rows[doubtful], columns[doubtful]
    with np.errstate(divide="ignore", invalid="ignore"):
        own = stderr[doubtful] * np.sqrt(np.abs(s[nearest] / s[doubtful]))
    s[doubtful] = s[nearest]
    stderr[doubtful] = np.fmax(stderr[nearest], own)
    limit = np.uint8(Flag.AT_LIMIT)
    flags[doubtful] = (flags[doubtful] & ~limit) | (flags[nearest] & limit) | np.uint8(Flag.FILLED)
    return replace(answer, s=s, stderr=stderr, flags=flags)


def _which_is_sharper(first: FloatArray, second: FloatArray, request: Request) -> Int8Array:
    if request.sharper != "auto":
        return np.full(first.shape, 1 if request.sharper == "first" else -1, dtype=np.int8)
    assert request.overall is not None
    one, two = (
        local_variance(image[:, :, None], SHARPNESS_SIZE, whole.centre.mean())
        for image, whole in zip((first, second), request.overall, strict=True)
    )
    return compare_variances(one, two, max(whole.grey_range for whole in request.overall))
