"""Scores of many pairs: read and written, and summarised on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ...base.errors import FileError
from ...blur.evaluate import PairScore
from ...report.batch import Outcome
from ...report.html import Html, bullets, document, element, image, titled_table, write_document
from ..paper.pairs import TableRow, means, short_table

__all__ = ["read_scores", "write_scores", "write_summary"]

SCORES_FILE = "scores.json"

#: Pairs shown on the page: those with the largest error.
WORST = 10

NOTE = (
    "Means over pairs. Mean absolute errors of re-making an image where it is the less sharp one; in brackets the same "
    "error without any blur. Held-out: in colour channels that the estimate does not use."
)


def write_scores(folder: Path, rows: Sequence[TableRow]) -> None:
    """Write the scores of a pair into its folder."""
    (folder / SCORES_FILE).write_text(json.dumps([asdict(row) for row in rows], indent=1))


def read_scores(folder: Path) -> list[TableRow]:
    """Read the scores of a pair from its folder."""
    path = folder / SCORES_FILE
    try:
        return [TableRow(**{**row, "score": PairScore(**row["score"])}) for row in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise FileError(f"{path} has no scores of relblur; delete its folder and run the command again") from None


def write_summary(
    folder: Path, results: Path, rows: Mapping[str, list[TableRow]], outcomes: Sequence[Outcome], title: str
) -> None:
    """Write the page of a set of pairs into a folder; ``rows`` and pictures are in subfolders of ``results``."""
    failed = [f"{each.name}: {each.error}" for each in outcomes if not each.succeeded]
    full = {name: min(group, key=lambda row: row.factor) for name, group in rows.items()}
    worst = sorted(full.items(), key=lambda each: -_error(each[1]))[:WORST]
    every = [row for group in rows.values() for row in group]
    body = [
        element("p", f"{len(rows)} pairs measured, {len(failed)} failed. Stored values, not linear light."),
        titled_table(short_table("Table I over the whole set", means(every), NOTE)),
        element("h3", f"The worst {len(worst)}"),
        element("div", *(_figure(results / name, row) for name, row in worst), class_="figures pairs"),
        bullets(failed, "Failed"),
    ]
    write_document(folder / "summary.html", document(title, *body))


def _error(row: TableRow) -> float:
    return max(np.nan_to_num([row.score.e_first, row.score.e_second]))


def _figure(folder: Path, row: TableRow) -> Html:
    caption = f"{row.data_set} {row.pair}: e_B {row.score.e_first:.4f}, e_F {row.score.e_second:.4f}"
    picture = image((folder / "picture.png").read_bytes(), caption)
    return element("figure", element("figcaption", caption), element("div", picture, class_="picture"))
