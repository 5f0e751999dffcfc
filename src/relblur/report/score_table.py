"""Table I in words: the columns of a score, the same on the screen, in Markdown and on a page; and in files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ..base.shown import csv_table
from ..blur.evaluate import PairScore
from ..images.disk import replacing
from .summary import write_summary

__all__ = ["SCORE_FILES", "score_cells", "score_columns", "write_scores"]

SCORE_FILES = ("scores.csv", "summary.json")


def write_scores(folder: Path, results: Sequence[tuple[int, str, PairScore]], asked: Sequence[int | str]) -> None:
    """Write the scores of a pair at several (factor, size) into a fresh folder: a table, and the same by factor.

    ``asked`` are the factors as they were requested, ``"auto"`` included: the same names for every pair of a folder.
    """
    rows = [{"decimate": factor, "resolution": size, **score.as_dict()} for factor, size, score in results]
    with replacing(folder / "scores.csv") as stream:
        stream.write(csv_table(rows))
    by_factor = {
        f"decimate_{name}": {
            "decimate": factor,
            "resolution": size,
            **{key: None if math.isnan(value) else value for key, value in score.as_dict().items()},
        }
        for name, (factor, size, score) in zip(asked, results, strict=True)
    }
    write_summary(folder, by_factor)


def score_columns(first: str, second: str) -> tuple[str, ...]:
    """Return the headings of :func:`score_cells` for images of these names."""
    return (
        f"{first} sharper",
        f"{second} sharper",
        "equal",
        "scored",
        f"e_{first} (unblurred)",
        f"e_{second} (unblurred)",
        f"held-out e_{first} (unblurred)",
        f"held-out e_{second} (unblurred)",
    )


def score_cells(score: PairScore) -> tuple[str, ...]:
    """Return a score as text: shares of all pixels, errors in grey and on unseen channels, each with its baseline."""
    return (
        *(
            f"{share:.0%}"
            for share in (
                score.first_sharper_fraction,
                score.second_sharper_fraction,
                score.equal_fraction,
                score.scored_fraction,
            )
        ),
        _beside(score.e_first, score.unblurred_e_first),
        _beside(score.e_second, score.unblurred_e_second),
        _beside(score.held_out_e_first, score.held_out_unblurred_e_first),
        _beside(score.held_out_e_second, score.held_out_unblurred_e_second),
    )


def _beside(error: float, unblurred: float) -> str:
    return "-" if math.isnan(error) else f"{error:.4f} ({unblurred:.4f})"
