"""The same few hot loops, several times.

``reference`` is written to be read and defines the answer; ``opencv`` is faster and must
agree with it to rounding (both work in float64). ``"auto"`` takes the faster one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from .._typing import AnyArray, FloatArray

__all__ = ["ENGINES", "Engine", "choose_engine"]

ENGINES = ("auto", "reference", "opencv")


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
    name = "opencv" if name == "auto" else name
    loops = import_module(f".{name}", __name__)
    return Engine(name, loops.filter_separable, loops.box_mean)
