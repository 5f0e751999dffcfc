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
from .local import run_in_tiles
from .paper.answer import answer_on_grid, fill_from_neighbours
from .refined.loops import ENGINES as REFINED_ENGINES
from .refined.tiled import run_refined
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
    seconds_per_sample: float = 0.0  #: processor time with OpenCV, a sample being one channel of a pixel
    seconds_per_pixel: float = 0.0  #: the same whatever the channels, for each estimate: a prefilter means two

    def seconds(self, raw: RawPair, prefilter: float) -> float:
        """Return the processor time that a pair takes with OpenCV, s."""
        pixels = raw.shape[0] * raw.shape[1] * (2 if prefilter else 1)
        return self.seconds_per_sample * raw.first.size + self.seconds_per_pixel * pixels


# Processor times were measured at 640 x 480 on a Xeon: "window" 0.82 s grey and 2.35 s in colour, compiled 0.05 and
# 0.15; "refined", which works on the leading colours, 2.2 s, compiled 1.1. So "auto" asks for compiled code from 1.9
# megapixels on (grey, 0.65 in colour) and from 0.7 (0.36 with a prefilter).
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
        ("reference", "opencv", "numba"),
        least_compiled_window=3,
        seconds_per_sample=2.6e-6,
    ),
    "refined": MethodEntry(run_refined, tuple(REFINED_ENGINES), surveys=False, seconds_per_pixel=7e-6),
}


def engine_for(name: str, method: Method, raw: RawPair, window: int, prefilter: float) -> Engine:
    """Return the engine that will do the work."""
    entry = METHOD_TABLE[method]
    offered = entry.engines
    if window < entry.least_compiled_window:
        offered = tuple(each for each in offered if each != "numba")
    if name == "numba" and name not in offered:  # OpenCV has loops for everything
        name = "opencv"
    return choose_engine(resolve_engine(name, f'method="{method}"', offered, entry.seconds(raw, prefilter)))
