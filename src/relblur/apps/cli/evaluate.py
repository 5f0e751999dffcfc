"""``relblur evaluate``: score how well the map re-makes each image of a pair from the other, for one pair or many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...base.options import Estimating, Preparing
from ...base.settings import MAX_SIGMA, Method
from ..terminal.console import one_line_errors, print_json, print_table, progress_bar, say
from ..terminal.options import (
    OUTPUT,
    AsStoredOption,
    First,
    Force,
    JobsOption,
    Json,
    Only,
    Second,
    given,
    option_of,
    stored_values,
    takes_records,
    whole_numbers,
)
from .many import Manner, do_many

if TYPE_CHECKING:
    from ...blur.comparable_pair import ComparablePair
    from ...blur.evaluate import PairScore

__all__ = ["evaluate"]

Protocol = Literal["estimate", "paper"]
_PROTOCOL = "estimate: score the map of 'relblur estimate'. paper: method paper, values as stored."
#: Decimation factor, size and score of a pair at one resolution.
Row = tuple[int, str, "PairScore"]


@one_line_errors
@takes_records
def evaluate(
    first: First,
    second: Second,
    estimating: Annotated[Estimating, Only("sharper", "max_sigma", "window", "noise", "prefilter")],
    preparing: Annotated[Preparing, Only("align", "exposure", "linear", "gamma")],
    method: Annotated[Method | None, option_of(Estimating, "method", show_default="by protocol")] = None,
    decimate: Annotated[
        str | None,
        option_of(
            Preparing,
            "decimate",
            help="auto, or factors such as 1,2,4 with one row each.",
            show_default="auto; for the paper 1,2,4",
        ),
    ] = None,
    protocol: Annotated[Protocol, given("--protocol", _PROTOCOL, "estimate|paper")] = "estimate",
    as_stored: AsStoredOption = False,
    output: Annotated[
        Path | None, given("--output,-o", "Folder for scores.csv and summary.json.", "DIR", OUTPUT)
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

    The map is the one that 'relblur estimate' makes with the same options. With --protocol paper the rows are those of
    the paper's Table I; 'relblur paper reproduce' prints the whole table.

    FIRST and SECOND may also be two folders or two quoted patterns, as for 'relblur estimate'. Each pair gets a folder
    in DIR and a row in summary.csv.
    """
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.batch import is_batch
    from ...report.summary import SCORE_FILES, write_scores

    paper = protocol == "paper"
    estimating = replace(estimating, method=method or ("paper" if paper else "refined"))
    chosen = decimate or ("1,2,4" if paper else "auto")
    factors: list[Any] = ["auto"] if chosen == "auto" and not paper else whole_numbers(chosen, "--decimate")
    if paper or as_stored:
        preparing = stored_values(preparing, "--protocol paper" if paper else "--as-stored")
        factors = [1 if factor == "auto" else factor for factor in factors]
    if is_batch(first, second):

        def work(one: Path, two: Path, folder: Path) -> None:
            write_scores(folder, _score(one, two, preparing, estimating, factors, paper, watched=jobs == 1)[1], factors)

        made_with = {**preparing.arguments(), **estimating.arguments(), "factors": factors, "what": "evaluate"}
        how = Manner(jobs, False, force, as_json)
        do_many((first, second), output, {**made_with, "protocol": protocol}, work, how=how)
        return
    if output is not None:
        refuse_inputs((output / name for name in SCORE_FILES), (first, second))
        refuse_to_replace(output, SCORE_FILES, force)  # before the work, not after it
    pair, rows = _score(first, second, preparing, estimating, factors, paper)
    if output is not None:
        with filling(output, force=force) as folder:
            write_scores(folder, rows, factors)
    if as_json:
        print_json([{"decimate": factor, "resolution": size, **score.as_dict()} for factor, size, score in rows])
        return
    for note in pair.notes if paper else (*pair.notes, f"resolution: {pair.because}"):
        say(note)
    _print_scores(f"{first.name} and {second.name}, method {estimating.method}", rows)


def _score(
    first: Path,
    second: Path,
    preparing: Preparing,
    estimating: Estimating,
    factors: list[Any],
    paper: bool,
    *,
    watched: bool = True,
) -> tuple[ComparablePair, list[Row]]:
    """Return the pair at the first resolution, and a row for each resolution."""
    from ...base.errors import InputError
    from ...photo.pipeline import prepare_pair

    whole = prepare_pair(first, second, **preparing.arguments()) if paper else None
    shown = whole
    rows: list[Row] = []
    with progress_bar("evaluating", watched) as report:
        for done, factor in enumerate(factors):
            if whole is None:
                largest = MAX_SIGMA if estimating.max_sigma is None else estimating.max_sigma
                options = replace(preparing, decimate=factor).arguments()
                pair = prepare_pair(first, second, **options, max_sigma=largest)
            else:
                pair = whole.decimated(factor)
            shown = shown or pair
            rows.append((pair.factor if factor == "auto" else factor, pair.size, _score_one(pair, estimating, paper)))
            report((done + 1) / len(factors))
    if not any(score.answered_fraction for _, _, score in rows):
        raise InputError(
            "no pixel of the pair could be scored: neither image is sharper anywhere, or the blur is unknown; check "
            "that the two differ, and look at 'relblur estimate'"
        )
    return shown or pair, rows


def _score_one(pair: ComparablePair, estimating: Estimating, paper: bool) -> PairScore:
    """Score the map of ``relblur estimate``, or with the paper's protocol a map of all pixels."""
    from ...blur.estimate import estimate_blur
    from ...blur.evaluate import evaluate_pair

    return evaluate_pair(
        pair.first,
        pair.second,
        None if paper else estimate_blur(pair, **estimating.arguments()),
        channel_axis=pair.channel_axis,
        valid=pair.valid,
        clipped=pair.clipped_in_either,
        **(estimating.arguments() if paper else {}),
    )


def _print_scores(title: str, scored: list[Row]) -> None:
    """Print one row per resolution; a single resolution is printed as a column."""
    from ...report.summary import score_cells, score_columns

    columns = ("resolution", *score_columns("first", "second"), "explained")
    rows = [(size, *score_cells(score), f"{score.explained:.3f}") for _, size, score in scored]
    if len(rows) == 1:
        print_table(title, ("", ""), list(zip(columns, rows[0], strict=True)))
    else:
        print_table(title, columns, rows)
