"""Results as figures, as HTML in a notebook, as JSON, CSV and text.

The modules for figures and HTML are in higher layers, so they are imported when a result is shown.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["as_json", "csv_table", "figure", "html_view", "percentages", "span", "visible"]

_ROOT = __name__.split(".")[0]


def html_view(result: Any) -> str:
    """Return a map as HTML for a notebook."""
    return str(import_module(f"{_ROOT}.report.notebook").to_html(result))


def figure(name: str) -> Any:
    """Return the function of :mod:`relblur.plot` that draws this figure."""
    return getattr(import_module(f"{_ROOT}.plot"), name)


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON in ASCII, with null for numbers that are not finite."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def visible(text: str) -> str:
    """Escape characters that control a terminal, break a line or have no encoding; file names may contain them."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def csv_table(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV, with a column for every name. NaN gives an empty cell; formulas are escaped."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode("utf-8", "surrogateescape")


def _cell(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def span(near_m: float, far_m: float) -> str:
    """Return a range of distances as text."""
    return f"{near_m:.3g} m to infinity" if math.isinf(far_m) else f"{near_m:.3g} m to {far_m:.3g} m"


def percentages(shares: Sequence[float]) -> list[str]:
    """Return shares as percentages with one decimal, rounded so that they keep their sum; "< 0.1 %" for small ones."""
    exact = 1000 * np.asarray(shares, dtype=np.float64)
    tenths = np.floor(exact + 1e-9)
    missing = round(float(exact.sum()) - float(tenths.sum()))
    tenths[np.argsort(tenths - exact, kind="stable")[:missing]] += 1  # the largest remainders are rounded up
    return [f"{t / 10:.1f} %" if t > 0 or share == 0 else "< 0.1 %" for t, share in zip(tenths, shares, strict=True)]
