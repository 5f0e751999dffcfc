"""Results that show themselves: by a figure, and by a picture and a table in a notebook.

Both are drawn by rooms above that of the result, which know matplotlib and HTML. They are looked up by name when
somebody looks, so that a result itself stays arrays and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["Shown", "figure", "percentages"]

_ROOT = __name__.split(".")[0]


class Shown:
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return str(import_module(f"{_ROOT}.report.notebook").to_html(self))


def figure(name: str) -> Any:
    """Return the function of :mod:`relblur.plot` that draws this figure."""
    return getattr(import_module(f"{_ROOT}.plot"), name)


def percentages(shares: Sequence[float]) -> list[str]:
    """Write shares of one whole in tenths of a percent that add up to it; what is nearly nothing is said to be so."""
    exact = 1000 * np.asarray(shares, dtype=np.float64)
    tenths = np.floor(exact + 1e-9)
    missing = round(float(exact.sum()) - float(tenths.sum()))
    tenths[np.argsort(tenths - exact, kind="stable")[:missing]] += 1  # the largest remainders are rounded up
    return [f"{t / 10:.1f} %" if t > 0 or share == 0 else "< 0.1 %" for t, share in zip(tenths, shares, strict=True)]
