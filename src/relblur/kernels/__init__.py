"""The engines: implementations of the hot loops.

``opencv`` is NumPy and OpenCV, written to be read; it defines the results. ``compiled`` is C++
(:mod:`relblur.kernels.compiled`) and uses float32 where its precision suffices. The settings of a result name the
engine. ``"auto"`` is ``compiled`` if it is built and has loops for the method, else ``opencv``.
"""

from __future__ import annotations

import warnings

from ..base.arguments import as_choice
from .compiled import kernels, why_not_compiled

__all__ = ["ENGINES", "as_engine", "resolve_engine"]

ENGINES = ("auto", "opencv", "compiled")


def as_engine(name: str) -> str:
    """Check the name of an engine; ``"numba"``, a deprecated name of ``"compiled"``, gives a warning."""
    if name == "numba":
        warnings.warn('engine="numba" is deprecated; use engine="compiled"', DeprecationWarning, stacklevel=3)
        name = "compiled"
    return as_choice(name, "engine", ENGINES)


def resolve_engine(name: str, has_compiled: bool = True) -> str:
    """Return the engine to run for a checked name; ``has_compiled`` states whether the method has compiled loops."""
    if name == "opencv" or not has_compiled or (name == "auto" and why_not_compiled() is not None):
        return "opencv"
    kernels()  # raises an error if they are not built
    return "compiled"
