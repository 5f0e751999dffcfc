"""The same few hot loops, several times.

``reference`` is written to be read and defines the answer; ``opencv`` is faster and must
agree with it to rounding (both work in float64). ``numba`` compiles whole methods, in
float32 where that is enough: the real-time engine of :mod:`relblur.realtime` for
``method="window"``. Where it has no loop of its own OpenCV's are used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from .._typing import AnyArray, FloatArray
from ..errors import MissingDependencyError

__all__ = ["ENGINES", "Engine", "choose_engine", "compiled_pays", "require_numba", "tell_terminal"]

ENGINES = ("auto", "reference", "opencv", "numba")

#: Seconds it takes to compile a method, and to load numba with what was compiled before.
COMPILE_SECONDS = 60.0
LOAD_SECONDS = 1.2


class FilterSeparable(Protocol):
    """Filter rows and columns of a plane with one odd, symmetric kernel."""

    def __call__(self, image: AnyArray, kernel: FloatArray, mode: str = "reflect") -> AnyArray: ...


class BoxMean(Protocol):
    """Mean over an odd square around every pixel, mirrored at the border."""

    def __call__(self, image: FloatArray, size: int) -> FloatArray: ...


@dataclass(frozen=True)
class Engine:
    """One implementation of the hot loops."""

    name: str
    filter_separable: FilterSeparable
    box_mean: BoxMean


def choose_engine(name: str = "auto") -> Engine:
    """Return the engine of a checked name."""
    if name == "numba":
        require_numba()
    loops = import_module(".reference" if name == "reference" else ".opencv", __name__)
    return Engine("opencv" if name == "auto" else name, loops.filter_separable, loops.box_mean)


def require_numba() -> None:
    """Raise a one-line error if numba is not there."""
    if find_spec("numba") is None:
        raise MissingDependencyError(
            "the compiled engine needs numba, which is not installed; run: pip install numba, or use engine='opencv'"
        )


def tell_terminal(sentence: str) -> None:
    """Say it to a person; not into a log."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"relblur: {sentence}", file=sys.stderr)


def compiled_pays(seconds_without: float, is_ready: Callable[[], bool]) -> bool:
    """Whether compiled code should do work that takes ``seconds_without`` it.

    Never compile for what is done sooner without, and never import numba for a small pair,
    not even if it happens to be loaded: a small pair gets the same answer every time.
    ``is_ready`` tells whether nothing need be compiled; it is asked only if it matters.
    """
    if find_spec("numba") is None:
        return False
    return seconds_without > COMPILE_SECONDS or (seconds_without > LOAD_SECONDS and is_ready())
