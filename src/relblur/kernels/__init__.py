"""The engines: implementations of the hot loops.

``reference`` is readable and defines the results of ``method="paper"`` and ``"window"``. ``opencv`` is faster and
agrees with it to rounding; both use float64. ``compiled`` is C++ (:mod:`relblur.kernels.compiled`) and uses float32
where its precision suffices. The settings of a result name the engine.

``"auto"`` is ``compiled`` if it is built and has loops for the method, else ``opencv``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from ..base._typing import AnyArray, FloatArray
from ..base.arguments import as_choice
from ..base.errors import InputError
from .compiled import kernels, why_not_compiled

__all__ = ["ENGINES", "Engine", "as_engine", "choose_engine", "resolve_engine"]

ENGINES = ("auto", "reference", "opencv", "compiled")


class FilterSeparable(Protocol):
    """Filter rows and columns of a plane with one odd, symmetric kernel."""

    def __call__(self, image: AnyArray, kernel: FloatArray, mode: str = "reflect") -> AnyArray: ...


class BoxMean(Protocol):
    """Average an odd square around every pixel, mirrored at the border."""

    def __call__(self, image: FloatArray, size: int) -> FloatArray: ...


@dataclass(frozen=True)
class Engine:
    """One implementation of the hot loops."""

    name: str
    filter_separable: FilterSeparable
    box_mean: BoxMean


def as_engine(name: str, allowed: Sequence[str] = ENGINES) -> str:
    """Check the name of an engine; ``"numba"``, a deprecated name of ``"compiled"``, gives a warning."""
    if name == "numba":
        warnings.warn('engine="numba" is deprecated; use engine="compiled"', DeprecationWarning, stacklevel=3)
        name = "compiled"
    return as_choice(name, "engine", allowed)


def choose_engine(name: str = "auto") -> Engine:
    """Return the engine of a checked name."""
    if name == "compiled":
        kernels()  # raises an error if they are not built
    loops = import_module(".reference" if name == "reference" else ".opencv", __name__)
    return Engine("opencv" if name == "auto" else name, loops.filter_separable, loops.box_mean)


def resolve_engine(name: str, what: str, offered: Sequence[str]) -> str:
    """Return the name of the engine to run: ``name``, or for ``"auto"`` the fastest that is built.

    Parameters
    ----------
    name : str
        A checked name.
    what, offered
        Name of the computation for error messages, and the engines that have loops for it.
    """
    if name == "auto":
        return "compiled" if "compiled" in offered and why_not_compiled() is None else "opencv"
    if name not in offered:
        there = " or ".join(repr(each) for each in ("auto", *offered))
        raise InputError(f"engine={name!r} has no loops for {what}; use {there}")
    return name
