"""Table I in words: the columns of a score, the same on the screen, in Markdown and on a page."""

from __future__ import annotations

import math

from ..blur.blur_map import PairScore

__all__ = ["score_cells", "score_columns"]


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
