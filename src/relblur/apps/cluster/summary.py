"""Summarise the scores of many pairs or stacks: CSV, Parquet, means with intervals, and ``summary.html``."""

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
from ...report.batch import Outcome
from ...report.html import Html, Table, bullets, document, element, image, join, titled_table, write_document
from ..paper.claims import PAPER_TABLE

__all__ = [
    "COLUMNS",
    "MeanRow",
    "Row",
    "loss",
    "mean_rows",
    "number",
    "read_scores",
    "stack_cells",
    "write_scores",
    "write_stack_summary",
    "write_summary",
    "write_tables",
]

Row = dict[str, Any]

SCORES_FILE = "scores.json"

#: Bootstrap samples, and the probability of the interval.
RESAMPLED, WITHIN = 2000, 0.95

#: Pairs shown on the page: those with the largest loss.
WORST = 10

COLUMNS = {
    "b_sharper_fraction": "I_B sharper",
    "f_sharper_fraction": "I_F sharper",
    "e_b": "e_B",
    "unblurred_e_b": "e_B unblurred",
    "e_f": "e_F",
    "unblurred_e_f": "e_F unblurred",
    "explained": "explained",
}
SHARES = ("b_sharper_fraction", "f_sharper_fraction", "explained")

NOTE = (
    "Means over pairs, with their 95 % intervals (bootstrap). e: mean absolute error of re-making an image where it is "
    "the less sharp one; unblurred: the same error without any blur; explained: share of the difference that is "
    "explained, in colour channels that the estimate does not use."
)
#: Columns of the table of stacks, and their formats.
STACK_FIGURES = {"frames": "d", "left_out": "d", "answered_fraction": ".1%", "index_50": ".2f", "depth_m_50": ".3f"}
STACK_FIGURES |= {"median_index_stderr": ".3f", "filled_fraction": ".1%", "at_limit_fraction": ".1%", "seconds": ".1f"}


def write_tables(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``scores.csv`` and ``scores.parquet``, with a row for each pair and resolution."""
    import pyarrow
    from pyarrow import parquet

    (folder / "scores.csv").write_bytes(csv_table(rows))
    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), folder / "scores.parquet")


def write_scores(folder: Path, rows: Sequence[Row]) -> None:
    """Write the scores of a pair or a stack into its folder."""
    (folder / SCORES_FILE).write_text(json.dumps(rows, indent=1))


def read_scores(folder: Path) -> list[Row]:
    """Read the scores of a pair or a stack from its folder, and add the folder's name."""
    path = folder / SCORES_FILE
    try:
        rows = [dict(row) for row in json.loads(path.read_bytes())]
        if not all("stack" in row or {"data_set", "pair", "factor"} <= row.keys() for row in rows):
            raise ValueError
    except (OSError, ValueError, TypeError, RecursionError):
        raise FileError(f"{path} has no scores of relblur; delete its folder and run the command again") from None
    named = {"folder": folder.name}
    return [named | {key: math.nan if value is None else value for key, value in row.items()} for row in rows]


@dataclass(frozen=True)
class MeanRow:
    """Means over the pairs of a data set at one resolution, with their intervals."""

    data_set: str
    factor: int
    resolution: str
    pairs: int
    means: dict[str, tuple[float, float, float]]  #: mean, lower and upper end of its interval


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
    """Return the mean of the finite values and its 95 % interval from a bootstrap."""
    known = values[np.isfinite(values)]
    if not known.size:
        return math.nan, math.nan, math.nan
    drawn = np.random.default_rng(0).integers(0, known.size, (RESAMPLED, known.size))
    low, high = np.quantile(known[drawn].mean(axis=1), [(1 - WITHIN) / 2, (1 + WITHIN) / 2])
    return float(known.mean()), float(low), float(high)


def loss(row: Row) -> float:
    """Return the unexplained share of the difference of two images, which ranks the worst pairs.

    Colour pairs use the channels that the estimate does not use, grey pairs the re-made image itself.
    """
    if math.isfinite(row["explained"]):
        return float(1 - row["explained"])
    parts = [
        (row[f"{side}_sharper_fraction"], row[f"e_{other}"], row[f"unblurred_e_{other}"])
        for side, other in (("b", "f"), ("f", "b"))
    ]
    remade = sum(share * error for share, error, _ in parts if math.isfinite(error))
    unblurred = sum(share * error for share, _, error in parts if math.isfinite(error))
    return remade / unblurred if unblurred > 0 else math.nan


def write_summary(folder: Path, results: Path, rows: Sequence[Row], outcomes: Sequence[Outcome], title: str) -> None:
    """Write the page of a set of pairs into a folder, with the pictures in ``results``."""
    failed = sum(not each.succeeded for each in outcomes)
    pairs = len({(row["data_set"], row["pair"]) for row in rows})
    about = f"{pairs} pairs measured, {failed} failed. Stored values, not linear light."
    body = [
        element("p", about, class_="sub"),
        titled_table(_means(mean_rows(rows, list(COLUMNS)))),
        element("h3", f"The worst {min(WORST, pairs)}"),
        element("div", *_worst(results, rows), class_="figures pairs"),
        _failures(outcomes),
    ]
    write_document(folder / "summary.html", document(title, *body))


def write_stack_summary(
    folder: Path, results: Path, rows: Sequence[Row], outcomes: Sequence[Outcome], title: str
) -> None:
    """Write the page of a set of stacks: a table, and the overview of each stack."""
    cells = [stack_cells(row) for row in rows]
    columns = ("stack", *(name.replace("_", " ") for name in STACK_FIGURES))
    pictures = [_picture(results / row["folder"] / "overview.png", row["stack"]) for row in rows]
    body = [
        titled_table(Table(f"{len(rows)} stacks", columns, cells)),
        element("div", *pictures, class_="figures pairs"),
        _failures(outcomes),
    ]
    write_document(folder / "summary.html", document(title, *body))


def stack_cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a stack's row as text."""
    return row["stack"], *(_written(row[name], form) for name, form in STACK_FIGURES.items())


def _failures(outcomes: Sequence[Outcome]) -> Html:
    return bullets([f"{each.name}: {each.error}" for each in outcomes if not each.succeeded], "Failed")


def _picture(path: Path, caption: str) -> Html:
    try:
        picture = element("div", image(path.read_bytes(), caption), class_="picture")
    except OSError:
        picture = element("p", "no picture")
    return element("figure", element("figcaption", caption), picture)


def _means(rows: Sequence[MeanRow]) -> Table:
    """Return the table of means, each above the paper's row for the same data set and resolution."""
    cells: list[tuple[str, ...]] = []
    stated = []
    for row in rows:
        cells.append((row.data_set, row.resolution, f"{row.pairs}", *(_interval(n, row.means[n]) for n in COLUMNS)))
        for each in PAPER_TABLE:
            if (each.data_set, each.resolution) == (row.data_set, row.resolution):
                known = {"b_sharper_fraction": each.b_sharper, "f_sharper_fraction": each.f_sharper}
                known |= {"e_b": each.e_b, "e_f": each.e_f}
                stated.append(len(cells))
                cells.append(("the paper, one pair", "", "1", *(number(n, known.get(n, math.nan)) for n in COLUMNS)))
    columns = ("data set", "size", "pairs", *COLUMNS.values())
    return Table("Table I over the whole set", columns, cells, NOTE, stated)


def number(name: str, value: float) -> str:
    """Return a mean as text."""
    return _written(value, ".1%" if name in SHARES else ".4f")


def _written(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def _interval(name: str, mean: tuple[float, float, float]) -> str:
    if not math.isfinite(mean[0]):
        return "-"
    ends = element("small", f"{number(name, mean[1])} to {number(name, mean[2])}")
    return join(number(name, mean[0]), element("br"), ends)


def _worst(folder: Path, rows: Sequence[Row]) -> list[Html]:
    full: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: -row["factor"]):
        full[row["folder"]] = row  # the smallest factor overwrites the others
    known = [row for row in full.values() if math.isfinite(loss(row))]
    return [_worst_figure(folder, row) for row in sorted(known, key=loss, reverse=True)[:WORST]]


def _worst_figure(folder: Path, row: dict[str, Any]) -> Html:
    errors = f"e_B {number('e_b', row['e_b'])}, e_F {number('e_f', row['e_f'])}"
    caption = f"{row['data_set']} {row['pair']}: {loss(row):.0%} of the difference unexplained, {errors}"
    return _picture(folder / row["folder"] / "picture.png", caption)
