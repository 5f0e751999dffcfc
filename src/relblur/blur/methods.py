"""The table of methods: the code of each, and its defaults.

A new method needs a :class:`~relblur.blur.tiles.Tiling`, an entry here, and its name in :mod:`relblur.base.settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.inputs import RawPair
from ..base.settings import MAX_SIGMA, PAPER_WINDOW, WINDOW_WINDOW, paper_sigmas
from .dense.run import DENSE_TILING, measure_dense, measure_dense_patches
from .paper.answer import answer_on_grid, fill_from_neighbours
from .request import Answer, Request
from .tiles import Tiling, local_tiling
from .whole_image import survey
from .window.answer import WINDOW_TILING

__all__ = ["METHOD_TABLE", "MethodEntry"]


def _survey_pair(raw: RawPair, request: Request) -> Request:
    """Return a request with the statistics of both whole images."""
    return replace(request, overall=(survey(raw.first, raw.finite), survey(raw.second, raw.finite)))


def _survey_patches(patches: Sequence[RawPair], request: Request) -> Request:
    """Return a request with the statistics of both images, from patches."""
    goods = [slice(None) if each.finite is None else each.finite.ravel() for each in patches]
    one, two = (
        np.concatenate([image.reshape(-1, image.shape[2])[good] for image, good in zip(images, goods, strict=True)])
        for images in ([each.first for each in patches], [each.second for each in patches])
    )
    return replace(request, overall=(survey(one[:, None]), survey(two[:, None])))


@dataclass(frozen=True)
class MethodEntry:
    """Code and defaults of a method."""

    tiling: Tiling[Any]
    has_compiled: bool = True  #: whether it has compiled loops, for windows of 3 px or more
    sigmas: tuple[float, ...] = (MAX_SIGMA,)  #: default grid, or the largest blur of the search, px
    window: int = WINDOW_WINDOW  #: default side of the square of neighbours, px
    complete: Callable[[Answer], Answer] = lambda answer: answer  #: last step, on a whole map or a chunk of one
    measure: Callable[[RawPair, Request], Request] = _survey_pair  #: adds the statistics that all tiles share
    measure_patches: Callable[[Sequence[RawPair], Request], Request] = _survey_patches  #: the same, from patches
    rounding_is_floor: bool = True  #: whether the rounding of the values is the lower bound of the noise


METHOD_TABLE: Mapping[str, MethodEntry] = {
    "paper": MethodEntry(
        local_tiling(answer_on_grid, keep_doubtful=True),
        has_compiled=False,
        complete=fill_from_neighbours,
        sigmas=paper_sigmas(),
        window=PAPER_WINDOW,
    ),
    "window": MethodEntry(WINDOW_TILING),
    "refined": MethodEntry(
        DENSE_TILING, measure=measure_dense, measure_patches=measure_dense_patches, rounding_is_floor=False
    ),
}
