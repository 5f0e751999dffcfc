"""Boxes and lines on a map: mean, spread and plane; profile with its error band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base._typing import AnyArray, FloatArray
from ...base.errors import InputError

__all__ = ["Quantity", "box", "line"]

#: The page has no more room than this for a line's points.
MOST_POINTS = 4000


@dataclass(frozen=True)
class Quantity:
    """A map with its standard error, unit, and what it is called."""

    values: AnyArray
    stderr: AnyArray
    unit: str
    title: str
    window: int = 1  #: pixels closer than this repeat each other


def box(quantities: Mapping[str, Quantity], flags: AnyArray, corners: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return mean, spread and plane of each quantity between two corners (column, row, column, row), both included."""
    left, right = sorted((corners[0], corners[2]))
    top, bottom = sorted((corners[1], corners[3]))
    height, width = flags.shape
    left, right = max(left, 0), min(right, width - 1)
    top, bottom = max(top, 0), min(bottom, height - 1)
    if left > right or top > bottom:
        raise InputError(f"the box lies outside the {width}x{height} pixels of the map")
    part = (slice(top, bottom + 1), slice(left, right + 1))
    marked = flags[part]
    return {
        "left": left,
        "top": top,
        "width": marked.shape[1],
        "height": marked.shape[0],
        "pixels": marked.size,
        "flagged": float((marked != 0).mean()),
        "quantities": {name: _summary(q, part) for name, q in quantities.items()},
    }


def _summary(quantity: Quantity, part: tuple[slice, slice]) -> dict[str, Any]:
    values = np.asarray(quantity.values[part], np.float64)
    known = np.isfinite(values)
    about: dict[str, Any] = {"title": quantity.title, "unit": quantity.unit, "answered": int(known.sum())}
    if not known.any():
        return {**about, "mean": None}
    found = values[known]
    stderr = np.asarray(quantity.stderr[part], np.float64)[known]
    stderr = stderr[np.isfinite(stderr)]
    spread = float(found.std())
    # Neighbours repeat each other: so many places in the region say something of their own.
    places = max(1.0, found.size / quantity.window**2)
    about |= {
        "mean": float(found.mean()),
        "mean_error": float(np.sqrt(np.mean(stderr**2) / places)) if stderr.size else None,
        "median": float(np.median(found)),
        "spread": spread,
        "spread_error": spread / math.sqrt(2 * places),
        "least": float(found.min()),
        "largest": float(found.max()),
        "mean_stderr": float(stderr.mean()) if stderr.size else None,
        "places": places,
    }
    return {**about, "plane": _plane(values, known)}


def _plane(values: FloatArray, known: Any) -> dict[str, float] | None:
    """Fit value = middle + across x + down y by least squares, from the middle of the box."""
    rows, columns = np.nonzero(known)
    if len(rows) < 4 or np.ptp(rows) == 0 or np.ptp(columns) == 0:
        return None
    x, y = columns - columns.mean(), rows - rows.mean()
    design = np.stack([np.ones(len(x)), x, y], axis=1)
    solution, *_ = np.linalg.lstsq(design, values[known], rcond=None)
    left_over = values[known] - design @ solution
    return {
        "middle": float(solution[0]),
        "across": float(solution[1]),
        "down": float(solution[2]),
        "residual": float(np.sqrt(np.mean(left_over**2))),
    }


def line(quantities: Mapping[str, Quantity], shape: tuple[int, int], ends: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return each quantity and its standard error along a line from (column, row) to (column, row)."""
    height, width = shape
    x0, y0, x1, y1 = (
        min(max(value, 0), side - 1) for value, side in zip(ends, (width, height, width, height), strict=True)
    )
    length = math.hypot(x1 - x0, y1 - y0)
    count = min(max(2, math.ceil(length) + 1), MOST_POINTS)
    columns = np.rint(np.linspace(x0, x1, count)).astype(int)
    rows = np.rint(np.linspace(y0, y1, count)).astype(int)
    return {
        "ends": [x0, y0, x1, y1],
        "length": length,
        "distance": np.linspace(0, length, count).round(3).tolist(),
        "quantities": {
            name: {
                "title": q.title,
                "unit": q.unit,
                "values": _with_gaps(q.values[rows, columns]),
                "stderr": _with_gaps(q.stderr[rows, columns]),
            }
            for name, q in quantities.items()
        },
    }


def _with_gaps(values: AnyArray) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
