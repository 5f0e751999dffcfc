"""The table of methods: the code of each, its defaults, its engines.

A new method needs a :class:`~relblur.blur.tiles.Tiling`, an entry here, and its name in :mod:`relblur.base.settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..base.inputs import RawPair
from ..base.settings import MAX_SIGMA, PAPER_WINDOW, WINDOW_WINDOW, paper_sigmas
from ..kernels import Engine, choose_engine, resolve_engine
from .dense.run import DENSE_TILING, measure_dense
from .paper.answer import answer_on_grid, fill_from_neighbours
from .request import Answer, Request
from .tiles import Tiling, local_tiling
from .whole_image import survey
from .window.answer import answer_in_windows

__all__ = ["METHOD_TABLE", "MethodEntry", "engine_for"]


def _survey_pair(raw: RawPair, request: Request) -> Request:
    """Return a request with exact statistics of both whole images."""
    return replace(request, overall=(survey(raw.first, raw.finite), survey(raw.second, raw.finite)))


@dataclass(frozen=True)
class MethodEntry:
    """Properties of a method that ``estimate_blur`` needs."""

    tiling: Tiling[Any]
    engines: tuple[str, ...]  #: engines with loops for the method
    sigmas: tuple[float, ...] = (MAX_SIGMA,)  #: default grid, or the largest blur of the search, px
    window: int = WINDOW_WINDOW  #: default side of the square of neighbours, px
    least_compiled_window: int = 1  #: smallest side for compiled loops, px
    takes_prefilter: bool = True
    complete: Callable[[Answer], Answer] = lambda answer: answer  #: last step, on a whole map or a chunk of one
    measure: Callable[[RawPair, Request], Request] = _survey_pair  #: adds the statistics that all tiles share
    surveys: bool = True  #: whether the method needs statistics of all pixels, not of patches


METHOD_TABLE: Mapping[str, MethodEntry] = {
    "paper": MethodEntry(
        local_tiling(answer_on_grid, keep_doubtful=True),
        ("reference", "opencv"),
        complete=fill_from_neighbours,
        sigmas=paper_sigmas(),
        window=PAPER_WINDOW,
        takes_prefilter=False,
    ),
    "window": MethodEntry(
        local_tiling(answer_in_windows),
        ("reference", "opencv", "compiled"),
        least_compiled_window=3,
    ),
    "refined": MethodEntry(DENSE_TILING, ("opencv", "compiled"), measure=measure_dense, surveys=False),
}


def engine_for(name: str, method: str, window: int) -> Engine:
    """Return the engine that runs the loops."""
    entry = METHOD_TABLE[method]
    offered = entry.engines
    if window < entry.least_compiled_window:
        offered = tuple(each for each in offered if each != "compiled")
    if name == "compiled" and name not in offered:  # OpenCV has loops for everything
        name = "opencv"
    return choose_engine(resolve_engine(name, f'method="{method}"', offered))
