"""The engines: who does the arithmetic.

``reference`` is written to be read and defines the answer of ``method="paper"`` and ``"window"``; ``opencv`` is faster
and must agree with it to rounding (both work in float64). Dense maps, depth by equal blur and stacks run on it alone.
``numba`` compiles :mod:`relblur.blur.window.realtime`, in float32 where that is enough. The name that a result carries
is that of the engine that ran.

``"auto"`` depends on the input and on what is installed only. What was compiled before and lies on the disk does not
count: the same pair gets the same engine, and so the same digits, every time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from ..base._typing import AnyArray, FloatArray
from ..base.errors import InputError, MissingDependencyError

__all__ = ["ENGINES", "Engine", "choose_engine", "require_numba", "resolve_engine", "tell_terminal", "why_not_numba"]

ENGINES = ("auto", "reference", "opencv", "numba")

#: Processor seconds that work must take without compiled code before ``"auto"`` asks for it. Compiled code is loaded
#: in about 1.2 s, is compiled once an installation in about twelve, and saves half to nine tenths of the work: below
#: five seconds nobody would notice, or would only notice the compiler.
WORTH_COMPILING_SECONDS = 5.0

#: Modules of this package that compiled code stands on, and that use names of numba which it does not promise to keep.
_ON_PRIVATE_NAMES = ("compile_cache", "barrier", "simd")


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


def resolve_engine(name: str, what: str, offered: Sequence[str], seconds_without: float) -> str:
    """Return the engine that will run: the one asked for, or for ``"auto"`` the one that suits the work.

    Parameters
    ----------
    name : str
        A checked name.
    what, offered
        What is to be run, in words for an error message, and the engines that have loops for it.
    seconds_without : float
        Processor time that the work takes with OpenCV, s. It may depend on the input only.
    """
    if name == "auto":
        worth = "numba" in offered and seconds_without > WORTH_COMPILING_SECONDS
        return "numba" if worth and why_not_numba() is None else "opencv"
    if name not in offered:
        there = " or ".join(repr(each) for each in ("auto", *offered))
        raise InputError(f"engine={name!r} has no loops for {what}; use {there}")
    if name == "numba":
        require_numba()
    return name


def why_not_numba() -> str | None:
    """Return why compiled code cannot run here, None if it can. This imports numba."""
    if find_spec("numba") is None:
        return "needs numba, which is not installed; run: pip install numba, or use engine='opencv'"
    try:
        for name in _ON_PRIVATE_NAMES:
            import_module(f".{name}", __name__)
    except Exception as error:  # whatever a numba that does not fit this Python or NumPy raises
        reason = str(error).partition("\n")[0]
        return f"cannot use the numba that is installed ({reason}); install another version, or use engine='opencv'"
    return None


def require_numba() -> None:
    """Raise a one-line error if compiled code cannot run."""
    problem = why_not_numba()
    if problem is not None:
        raise MissingDependencyError(f"the compiled engine {problem}")


def tell_terminal(sentence: str) -> None:
    """Say it to a person; not into a log."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"relblur: {sentence}", file=sys.stderr)
