"""``relblur evaluate``: score a map by re-making each image of a pair from the other, for one pair or many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...base.errors import InputError
from ...base.options import Estimating, Preparing
from ...base.settings import MAX_SIGMA
from ..terminal.console import print_json, print_message, print_table, progress_bar
from ..terminal.options import (
    OUTPUT,
    AsStoredOption,
    First,
    Force,
    JobsOption,
    Json,
    Only,
    Second,
    numbers,
    option,
    option_of,
    stored_values,
)
from .many import RunOptions, run_on_pairs

if TYPE_CHECKING:
    from ...blur.comparable_pair import ComparablePair
    from ...blur.evaluate import PairScore

__all__ = ["evaluate"]


def evaluate(
    first: First,
    second: Second,
    estimating: Estimating,
    preparing: Annotated[Preparing, Only("align", "exposure", "linear", "gamma")],
    decimate: Annotated[
        str, option_of(Preparing, "decimate", help="auto, or factors such as 1,2,4 with one row each.")
    ] = "auto",
    as_stored: AsStoredOption = False,
    output: Annotated[
        Path | None, option("--output,-o", "Folder for scores.csv and summary.json.", "DIR", OUTPUT)
    ] = None,
    force: Force = False,
    as_json: Json = False,
    jobs: JobsOption = 1,
) -> None:
    """Score the map of a pair by re-making each image from the other.

        relblur evaluate near.jpg far.jpg

    Where the first image is the blurrier one, it is re-made from the second by the estimated blur. e_first is the mean
    absolute error there, in grey values on a 0..1 scale. 'scored' is the share of points of unequal sharpness.
    'unblurred' is the same error without any blur. 'held-out' is the error in red and blue of a blur estimated from
    green alone. 'explained' is the share of the difference in red and blue that this blur explains.

    The map is the one that 'relblur estimate' makes with the same options. --as-stored --method paper --decimate 1,2,4
    gives the rows of the paper's Table I; 'relblur paper reproduce' prints the whole table.

    FIRST and SECOND may also be two folders or two quoted patterns, as for 'relblur estimate'. Each pair gets a folder
    in DIR and a row in summary.csv.
    """
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.batch import is_batch
    from ...report.summary import SCORE_FILES, score_cells, score_columns, write_scores

    factors: list[Any] = ["auto"] if decimate == "auto" else numbers(decimate, "--decimate", kind=int)
    preparing = stored_values(preparing) if as_stored else preparing
    if is_batch(first, second):

        def work(one: Path, two: Path, folder: Path) -> None:
            write_scores(folder, _score((one, two), preparing, estimating, factors, jobs == 1)[1], factors)

        made_with = {**preparing.arguments(), **estimating.arguments(), "factors": factors, "what": "evaluate"}
        run_on_pairs((first, second), output, made_with, work, run_options=RunOptions(jobs, False, force, as_json))
        return
    if output is not None:
        refuse_inputs((output / name for name in SCORE_FILES), (first, second))
        refuse_to_replace(output, SCORE_FILES, force)
    pair, rows = _score((first, second), preparing, estimating, factors)
    if output is not None:
        with filling(output, force=force) as folder:
            write_scores(folder, rows, factors)
    if as_json:
        print_json([{"decimate": factor, "resolution": size, **score.as_dict()} for factor, size, score in rows])
        return
    for note in (*pair.notes, f"resolution: {pair.because}"):
        print_message(note)
    columns = ("resolution", *score_columns("first", "second"), "explained")
    table = [(size, *score_cells(score), f"{score.explained:.3f}") for _, size, score in rows]
    title = f"{first.name} and {second.name}, method {estimating.method}"
    if len(table) == 1:  # print a single resolution as a column
        print_table(title, ("", ""), list(zip(columns, table[0], strict=True)))
    else:
        print_table(title, columns, table)


def _score(
    files: tuple[Path, Path],
    preparing: Preparing,
    estimating: Estimating,
    factors: list[Any],
    show_progress: bool = True,
) -> tuple[ComparablePair, list[tuple[int, str, PairScore]]]:
    """Return the pair at the first resolution; and the factor, size and score of each resolution."""
    from ...blur.estimate import estimate_blur
    from ...blur.evaluate import evaluate_pair
    from ...photo.pipeline import prepare_pair

    pairs, rows = [], []
    with progress_bar("evaluating", show_progress) as report:
        for done, factor in enumerate(factors, start=1):
            options = replace(preparing, decimate=factor).arguments()
            pair = prepare_pair(*files, **options, max_sigma=estimating.max_sigma or MAX_SIGMA)
            score = evaluate_pair(
                pair.first,
                pair.second,
                estimate_blur(pair, **estimating.arguments()),
                channel_axis=pair.channel_axis,
                valid=pair.valid,
                clipped=pair.clipped_in_either,
            )
            pairs.append(pair)
            rows.append((pair.factor, pair.size, score))
            report(done / len(factors))
    if not any(score.answered_fraction for _, _, score in rows):
        raise InputError(
            "no pixel of the pair could be scored: neither image is sharper anywhere, or the blur is unknown; check "
            "that the two differ, and look at 'relblur estimate'"
        )
    return pairs[0], rows
