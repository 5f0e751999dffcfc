"""Results that show themselves: by a figure, by a picture and a table in a notebook, as JSON and as text.

The first two are drawn by layers above that of the result, with matplotlib and HTML. They are imported when a result is
shown, so that a result itself stays arrays and numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["Shown", "as_json", "figure", "no_formula", "percentages", "span", "visible"]

_ROOT = __name__.split(".")[0]


class Shown:
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return str(import_module(f"{_ROOT}.report.notebook").to_html(self))


def figure(name: str) -> Any:
    """Return the function of :mod:`relblur.plot` that draws this figure."""
    return getattr(import_module(f"{_ROOT}.plot"), name)


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON in ASCII, with null for numbers that are not finite."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def visible(text: str) -> str:
    """Write out characters that would steer a terminal, break a line or that no encoding has; names may hold any."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def no_formula(cell: Any) -> Any:
    """Return a cell of a CSV that no spreadsheet runs."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def span(near_m: float, far_m: float) -> str:
    """Return a range of distances in words."""
    return f"{near_m:.3g} m to infinity" if math.isinf(far_m) else f"{near_m:.3g} m to {far_m:.3g} m"


def percentages(shares: Sequence[float]) -> list[str]:
    """Write shares of one whole in tenths of a percent that add up to it; what is nearly nothing is said to be so."""
    exact = 1000 * np.asarray(shares, dtype=np.float64)
    tenths = np.floor(exact + 1e-9)
    missing = round(float(exact.sum()) - float(tenths.sum()))
    tenths[np.argsort(tenths - exact, kind="stable")[:missing]] += 1  # the largest remainders are rounded up
    return [f"{t / 10:.1f} %" if t > 0 or share == 0 else "< 0.1 %" for t, share in zip(tenths, shares, strict=True)]
