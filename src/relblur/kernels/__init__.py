"""The engines: implementations of the hot loops.

``opencv`` is NumPy and OpenCV, written to be read; it defines the results. ``compiled`` is C++
(:mod:`relblur.kernels.compiled`) and uses float32 where its precision suffices. The settings of a result name the
engine. ``"auto"`` is ``compiled`` if it is built and has loops for the method, else ``opencv``.
"""

from __future__ import annotations

from ..base.arguments import as_choice
from ..base.deprecated import warn_of_old_call
from .compiled import kernels, why_not_compiled

__all__ = ["ENGINES", "as_engine", "resolve_engine"]

ENGINES = ("auto", "opencv", "compiled")
#: Former names of engines, which work until 1.1.
_FORMER = {"numba": "compiled", "reference": "opencv"}


def as_engine(name: str) -> str:
    """Check the name of an engine; a former name gives a warning."""
    if name in _FORMER:
        warn_of_old_call(f'engine="{name}"', f'engine="{_FORMER[name]}"')
    return as_choice(_FORMER.get(name, name), "engine", ENGINES)


def resolve_engine(name: str, has_compiled: bool = True) -> str:
    """Return the engine to run for a checked name; ``has_compiled`` states whether the method has compiled loops."""
    if name == "opencv" or not has_compiled or (name == "auto" and why_not_compiled() is not None):
        return "opencv"
    kernels()  # raises an error if they are not built
    return "compiled"
