"""The compiled kernels, ``relblur._kernels``, loaded on first use.

They are C++ (``src/kernels``), compiled once for every level of x86-64: ``v4`` with AVX-512, ``v3`` with AVX2, ``v1``
with the basic instructions. Builds for other processors have ``v1`` only. The levels differ in speed and rounding.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base.errors import MissingDependencyError

__all__ = ["kernels", "levels", "why_not_compiled"]

#: The level to use; by default the fastest that the processor supports.
level: str | None = None


def why_not_compiled() -> str | None:
    """Return the reason why compiled code cannot run here; None if it can."""
    try:
        import_module("relblur._kernels")
    except ImportError as error:
        reason = str(error).partition("\n")[0]
        return f"is not built here ({reason}); run `make kernels` in a checkout, or use engine='opencv'"
    return None


def levels() -> list[str]:
    """Return the levels that this processor supports, the fastest first."""
    return list(_module().levels())


def kernels() -> Any:
    """Return the compiled functions."""
    module = _module()
    return getattr(module, level or module.levels()[0])


def _module() -> Any:
    problem = why_not_compiled()
    if problem is not None:
        raise MissingDependencyError(f"the compiled engine {problem}")
    return import_module("relblur._kernels")
