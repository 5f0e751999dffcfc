"""Scores of many pairs as tables: CSV for people, Parquet for programs, and means with their intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import FileError
from ...base.shown import csv_table

__all__ = ["MeanRow", "Row", "loss", "mean_rows", "read_scores", "write_scores", "write_tables"]

Row = dict[str, Any]

SCORES_FILE = "scores.json"

#: Samples that an interval is found from, and the share of them within.
RESAMPLED, WITHIN = 2000, 0.95


def write_tables(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``scores.csv`` and ``scores.parquet`` into a stage: a row for each pair and resolution."""
    import pyarrow
    from pyarrow import parquet

    (folder / "scores.csv").write_bytes(csv_table(rows))
    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), folder / "scores.parquet")


def write_scores(folder: Path, rows: Sequence[Row]) -> None:
    """Write the scores of a pair or a stack into its folder."""
    (folder / SCORES_FILE).write_text(json.dumps(rows, indent=1))


def read_scores(folder: Path) -> list[Row]:
    """Return the scores of a pair or a stack from its folder, with the folder's name."""
    path = folder / SCORES_FILE
    try:
        rows = [dict(row) for row in json.loads(path.read_bytes())]
        if not all("stack" in row or {"data_set", "pair", "factor"} <= row.keys() for row in rows):
            raise ValueError
    except (OSError, ValueError, TypeError, RecursionError):
        raise FileError(f"{path} holds no scores of relblur; delete its folder and run the command again") from None
    named = {"folder": folder.name}
    return [named | {key: math.nan if value is None else value for key, value in row.items()} for row in rows]


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
