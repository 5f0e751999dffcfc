"""The methods in a table: what runs each, its defaults, and which engines have loops for it.

Whoever adds a method writes ``run`` (a pair and a :class:`~relblur.blur.request.Request` in, an
:class:`~relblur.blur.request.Answer` out), a line here, and its name in :mod:`relblur.base.settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ..base._typing import Progress
from ..base.inputs import RawPair
from ..base.settings import MAX_SIGMA, PAPER_WINDOW, WINDOW_WINDOW, Method, paper_sigmas
from ..engines import Engine, choose_engine, resolve_engine
from .dense.run import run_dense
from .local import run_in_tiles
from .paper.answer import answer_on_grid, fill_from_neighbours
from .request import Answer, Request
from .window.answer import answer_in_windows

__all__ = ["METHOD_TABLE", "MethodEntry", "engine_for"]


@dataclass(frozen=True)
class MethodEntry:
    """What ``estimate_blur`` has to know of a method."""

    run: Callable[[RawPair, Request, Progress], Answer]
    engines: tuple[str, ...]  #: that have loops for it
    sigmas: tuple[float, ...] = (MAX_SIGMA,)  #: the default: a grid, or the largest blur looked for, px
    window: int = WINDOW_WINDOW  #: side of the square of neighbours by default, px
    least_compiled_window: int = 1  #: compiled loops begin at this side, px
    takes_prefilter: bool = True
    complete: Callable[[Answer], Answer] = lambda answer: answer  #: last step, on a whole map or a chunk of one
    surveys: bool = True  #: needs figures of the whole images; False if it looks at the pair itself


METHOD_TABLE: Mapping[Method, MethodEntry] = {
    "paper": MethodEntry(
        partial(run_in_tiles, answer_on_grid, keep_doubtful=True),
        ("reference", "opencv"),
        complete=fill_from_neighbours,
        sigmas=paper_sigmas(),
        window=PAPER_WINDOW,
        takes_prefilter=False,
    ),
    "window": MethodEntry(
        partial(run_in_tiles, answer_in_windows),
        ("reference", "opencv", "compiled"),
        least_compiled_window=3,
    ),
    "refined": MethodEntry(run_dense, ("opencv", "compiled"), surveys=False),
}


def engine_for(name: str, method: Method, window: int) -> Engine:
    """Return the engine that will do the work."""
    entry = METHOD_TABLE[method]
    offered = entry.engines
    if window < entry.least_compiled_window:
        offered = tuple(each for each in offered if each != "compiled")
    if name == "compiled" and name not in offered:  # OpenCV has loops for everything
        name = "opencv"
    return choose_engine(resolve_engine(name, f'method="{method}"', offered))
