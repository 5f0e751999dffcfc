"""Scores of many pairs as tables: CSV for people, Parquet for programs, and means with their intervals."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.shown import no_formula
from ..files.disk import replacing

__all__ = ["MeanRow", "Row", "loss", "mean_rows", "write_tables"]

Row = dict[str, Any]

#: Samples that an interval is found from, and the share of them within.
RESAMPLED, WITHIN = 2000, 0.95


def write_tables(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``scores.csv`` and ``scores.parquet``: a row for each pair and resolution."""
    import pyarrow
    from pyarrow import parquet

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    with replacing(folder / "scores.csv") as stream:
        stream.write(text.getvalue().encode())
    table = pyarrow.Table.from_pylist([dict(row) for row in rows])
    with replacing(folder / "scores.parquet") as stream:
        parquet.write_table(table, stream)


def _cell(value: Any) -> Any:
    """Return what stands in a CSV: nothing where there is no number; no formula for a spreadsheet to run."""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return no_formula(value)


@dataclass(frozen=True)
class MeanRow:
    """The mean over the pairs of a data set at one resolution, with the interval that it lies in."""

    data_set: str
    factor: int
    resolution: str
    pairs: int
    means: dict[str, tuple[float, float, float]]  #: mean, lower and upper end


def mean_rows(rows: Sequence[Row], columns: Sequence[str]) -> list[MeanRow]:
    """Return means over pairs, by data set and factor."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["data_set"], row["factor"]), []).append(row)
    return [
        MeanRow(
            data_set,
            factor,
            max((row["resolution"] for row in group), key=[row["resolution"] for row in group].count),
            len(group),
            {name: _mean(np.array([row[name] for row in group], float)) for name in columns},
        )
        for (data_set, factor), group in sorted(groups.items())
    ]


def _mean(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of the numbers there are and the 95 % interval of it, by drawing pairs again and again."""
    known = values[np.isfinite(values)]
    if not known.size:
        return math.nan, math.nan, math.nan
    drawn = np.random.default_rng(0).integers(0, known.size, (RESAMPLED, known.size))
    low, high = np.quantile(known[drawn].mean(axis=1), [(1 - WITHIN) / 2, (1 + WITHIN) / 2])
    return float(known.mean()), float(low), float(high)


def loss(row: Row) -> float:
    """Return how much of the difference of two images is left unexplained: by which pairs are called the worst.

    On channels that the estimate has not seen if there are colours, else of the re-made image itself.
    """
    if math.isfinite(row["explained"]):
        return float(1 - row["explained"])
    parts = [
        (row[f"{side}_sharper_fraction"], row[f"e_{other}"], row[f"unblurred_e_{other}"])
        for side, other in (("b", "f"), ("f", "b"))
    ]
    left = sum(share * error for share, error, _ in parts if math.isfinite(error))
    before = sum(share * error for share, _, error in parts if math.isfinite(error))
    return left / before if before > 0 else math.nan
