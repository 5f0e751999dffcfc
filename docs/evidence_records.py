"""The records of benchmarks/results, and how their figures are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"


def record(name: str) -> dict[str, Any]:
    """Return a benchmark's record: command, machine and rows."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def grouped(rows: Iterable[Any], *keys: str) -> dict[Any, list[Any]]:
    """Return rows by the values of one key, or of several, in the order of their first row."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]], []).append(row)
    return found


def percent(value: float, digits: int = 0) -> str:
    """Return a fraction in percent."""
    return f"{100 * value:.{digits}f}"


def short(value: float) -> str:
    """Return a number with two significant digits and no exponent."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def span(values: Iterable[float], digits: int = 0) -> str:
    """Return the least and the largest of some numbers."""
    found = sorted(values)
    low, high = (f"{each:.{digits}f}" for each in (found[0], found[-1]))
    return low if low == high else f"{low} to {high}"


def accuracy_of(rows: Any, kind: str, method: str) -> list[float]:
    """Return the errors (percent) of one kind of data."""
    return [row["error_percent"] for row in rows if row["data"] == kind and row["method"] == method]


def codec_cells(text: str) -> list[float]:
    """Return share answered, error, standard error and coverage of a codec."""
    return [float(cell.rstrip("%")) for cell in text.split()]


#: Contestants of benchmarks/speed.py that the page shows, and their titles.
CONTESTANTS = {
    "Y1": "OpenCV, 50 Gaussians and argmin",
    "Y1t, 3 sigma": "the same, tuned",
    "S": "S-transform, prefilter 1.5 px",
    "Stream, first": "`Stream`, sharper image stated",
    "Stream, auto": "`Stream`, direction found",
    "estimate_blur window, compiled": '`method="window"`',
    "estimate_blur refined, compiled": '`method="refined"`',
    "estimate_blur paper, opencv": '`method="paper"`',
}
