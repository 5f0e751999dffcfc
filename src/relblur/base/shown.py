"""Results that show themselves: by a figure, and by a picture and a table in a notebook.

Both are drawn by rooms above that of the result, which know matplotlib and HTML. They are looked up by name when
somebody looks, so that a result itself stays arrays and numbers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Shown", "figure"]

_ROOT = __name__.split(".")[0]


class Shown:
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return str(import_module(f"{_ROOT}.report.notebook").to_html(self))


def figure(name: str) -> Any:
    """Return the function of :mod:`relblur.plot` that draws this figure."""
    return getattr(import_module(f"{_ROOT}.plot"), name)
