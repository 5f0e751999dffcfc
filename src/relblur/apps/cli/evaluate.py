"""``relblur evaluate``: how well each image of a pair is re-made from the other, of one pair or of many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ...base.settings import Method
from ..terminal.console import UsageError, one_line_errors, print_json, print_table, progress_bar, say
from ..terminal.options import (
    AlignOption,
    AsStoredOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    JobsOption,
    Json,
    LinearOption,
    PageOption,
    Second,
    SideOption,
    as_preparing,
    stored_values,
    whole_numbers,
)
from .many import Manner, do_many
from .report import write_score_page

if TYPE_CHECKING:
    from ...blur.comparable_pair import ComparablePair
    from ...blur.evaluate import PairScore

__all__ = ["evaluate"]

Protocol = Literal["estimate", "paper"]


@one_line_errors
def evaluate(
    first: First,
    second: Second,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="estimate: score the map that 'relblur estimate' makes. paper: method paper, values as stored."
        ),
    ] = "estimate",
    method: Annotated[
        Method | None, typer.Option("--method", "-m", help="refined, window or paper.", show_default="by protocol")
    ] = None,
    sharper: SideOption = "auto",
    decimate: Annotated[
        str | None,
        typer.Option(help="auto, or factors separated by commas: one row each.", show_default="auto; for paper 1,2,4"),
    ] = None,
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    as_stored: AsStoredOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for scores.csv and summary.json; folders need it.", show_default=False
        ),
    ] = None,
    jobs: JobsOption = 1,
    report: PageOption = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Score the map of a pair by re-making each image from the other.

    e_first is the error of re-making the first image where it is the less sharp one: the mean
    absolute error of grey values on a 0..1 scale, over all points but those of equal sharpness
    ('scored'). 'unblurred' is the same error if nothing is blurred; 'held-out' is the error in
    red and blue of a blur estimated from green alone; 'explained' is the share of their
    difference that it explains.

    The map is the one that 'relblur estimate' makes with the same options. With --protocol paper the
    rows are those of the paper's Table I; 'relblur reproduce' prints the whole table.

    FIRST and SECOND may also be two folders or two quoted patterns, as for 'relblur estimate':
    each pair gets a folder of its own, and summary.csv a row of each.
    """
    from ...images.results import filling, refuse_inputs, refuse_to_replace, refuse_to_replace_file
    from ...report.batch import is_batch
    from ...report.summary import SCORE_FILES, write_scores

    paper = protocol == "paper"
    chosen = decimate or ("1,2,4" if paper else "auto")
    asked = _Asked(
        paper,
        as_preparing(align, exposure, linear, gamma, "auto"),
        {"method": method or ("paper" if paper else "refined"), "sharper": sharper},
        ["auto"] if chosen == "auto" and not paper else whole_numbers(chosen, "--decimate"),
    )
    if paper or as_stored:
        asked = replace(asked, preparing=stored_values(asked.preparing, "--protocol paper" if paper else "--as-stored"))
        asked = replace(asked, factors=[1 if factor == "auto" else factor for factor in asked.factors])
    if is_batch(first, second):
        if report is not None:
            raise UsageError("--report is for one pair; 'relblur report FOLDER' makes a page of many")

        def work(one: Path, two: Path, folder: Path) -> None:
            _, results = _score(one, two, asked, watched=jobs == 1)
            write_scores(folder, results, asked.factors)

        made_with = {**asked.preparing, **asked.estimating, "factors": asked.factors}
        made_with |= {"what": "evaluate", "protocol": protocol}
        do_many((first, second), output, made_with, work, how=Manner(jobs, False, force, as_json))
        return
    refuse_inputs((report,), (first, second))
    refuse_to_replace_file(report, force)  # before the work, not after it
    if output is not None:
        refuse_inputs((output / name for name in SCORE_FILES), (first, second))
        refuse_to_replace(output, SCORE_FILES, force)
    pair, results = _score(first, second, asked)
    if output is not None:
        with filling(output, force=force) as folder:
            write_scores(folder, results, asked.factors)
    if report is not None:
        settings = {**asked.estimating, **asked.preparing, "protocol": protocol, "decimate": asked.factors}
        write_score_page(report, [(size, score) for _, size, score in results], (first, second), pair, settings, force)
        say(f"look at {report}")
    if as_json:
        print_json([{"decimate": factor, "resolution": size, **score.as_dict()} for factor, size, score in results])
        return
    for note in pair.notes:
        say(note)
    if not paper:
        say(f"resolution: {pair.because}")
    _print_scores(f"{first.name} and {second.name}, method {asked.estimating['method']}", results)


@dataclass(frozen=True)
class _Asked:
    """All that a score depends on beside the files."""

    paper: bool
    preparing: dict[str, Any]
    estimating: dict[str, Any]
    factors: list[Any]  #: of decimation, or "auto"


def _score(
    first: Path, second: Path, asked: _Asked, *, watched: bool = True
) -> tuple[ComparablePair, list[tuple[int, str, PairScore]]]:
    """Return the pair at the first resolution, and factor, size and score at each."""
    from ...base.errors import InputError
    from ...photo.pipeline import prepare_pair

    whole = prepare_pair(first, second, **asked.preparing) if asked.paper else None
    shown = whole
    results: list[tuple[int, str, PairScore]] = []
    with progress_bar("evaluating", watched) as report:
        for done, factor in enumerate(asked.factors):
            if whole is None:
                pair = prepare_pair(first, second, **{**asked.preparing, "decimate": factor})
            else:
                pair = whole.decimated(factor)
            shown = shown or pair
            results.append((pair.factor if factor == "auto" else factor, pair.size, _score_one(pair, asked)))
            report((done + 1) / len(asked.factors))
    if not any(score.answered_fraction for _, _, score in results):
        raise InputError(
            "no pixel of the pair could be scored: neither image is the sharper anywhere, or nothing is known of it; "
            "check that the two are not the same, and look at 'relblur estimate'"
        )
    return shown or pair, results


def _score_one(pair: ComparablePair, asked: _Asked) -> PairScore:
    """Score the map that ``relblur estimate`` makes, or, as the paper does, one without open pixels."""
    from ...blur.estimate import estimate_blur
    from ...blur.evaluate import evaluate_pair

    return evaluate_pair(
        pair.first,
        pair.second,
        None if asked.paper else estimate_blur(pair, **asked.estimating),
        channel_axis=pair.channel_axis,
        valid=pair.valid,
        clipped=pair.clipped_in_either,
        **(asked.estimating if asked.paper else {}),
    )


def _print_scores(title: str, results: list[tuple[int, str, PairScore]]) -> None:
    """Print a row for each resolution; a single one as a column."""
    from ...report.summary import score_cells, score_columns

    columns = ("resolution", *score_columns("first", "second"), "explained")
    rows = [(size, *score_cells(score), f"{score.explained:.3f}") for _, size, score in results]
    if len(rows) == 1:
        print_table(title, ("", ""), list(zip(columns, rows[0], strict=True)))
    else:
        print_table(title, columns, rows)
