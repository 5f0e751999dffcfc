"""``relblur evaluate``: how well each image of a pair is re-made from the other, of one pair or of many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import UsageError, one_line_errors, print_json, print_table, progress_bar, say
from .many import Manner, do_many
from .options import (
    AlignOption,
    AsStoredOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    JobsOption,
    Json,
    LinearOption,
    MethodOption,
    PageOption,
    Second,
    SideOption,
    stored_values,
    whole_numbers,
)
from .report import write_score_page

if TYPE_CHECKING:
    from ..blur.blur_map import PairScore
    from ..blur.comparable_pair import ComparablePair
    from ..report.contact_sheet import SheetEntry

__all__ = ["evaluate"]


@one_line_errors
def evaluate(
    first: First,
    second: Second,
    method: MethodOption = "paper",
    sharper: SideOption = "auto",
    decimate: Annotated[str, typer.Option(help="Factors, separated by commas: one row each.")] = "1,2,4",
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = False,
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
    """Score a pair by re-making each image from the other (the rows of the paper's Table I).

    e_first is the error of re-making the first image where it is the less sharp one: the mean
    absolute error of grey values on a 0..1 scale, over all points but those of equal sharpness
    ('scored'). 'unblurred' is the same error if nothing is blurred; 'held-out' is the error in
    red and blue of a blur estimated from green alone; 'explained' is the share of their
    difference that it explains. --as-stored is the paper's setting; --linear scores light.

    FIRST and SECOND may also be two folders or two quoted patterns, as for 'relblur estimate':
    each pair gets a folder of its own, summary.csv a row and contact_sheet.png a picture of each.
    """
    from ..files.staging import filling
    from ..files.targets import refuse_inputs, refuse_to_replace, refuse_to_replace_file
    from ..report.batch import is_batch
    from ..report.contact_sheet import write_thumbnails
    from ..report.score_table import SCORE_FILES, score_cells, score_columns, write_scores

    preparing: dict[str, Any] = {"align": align, "exposure": exposure, "gamma": gamma, "decimate": 1}
    if as_stored and linear:
        raise UsageError("--as-stored takes the values in the files as they are; leave --linear out")
    preparing = stored_values(preparing) if as_stored else {**preparing, "linear": linear or gamma is not None}
    asked = _Asked(preparing, {"method": method, "sharper": sharper}, whole_numbers(decimate, "--decimate"))
    if is_batch(first, second):
        if report is not None:
            raise UsageError("--report is for one pair; 'relblur report FOLDER' makes a page of many")

        def work(one: Path, two: Path, folder: Path) -> None:
            pair, results = _score(one, two, asked, watched=jobs == 1)
            write_scores(folder, results)
            write_thumbnails(folder, pair)

        made_with = {**asked.preparing, **asked.estimating, "factors": asked.factors, "what": "evaluate"}
        heading = f"first and second of every pair, and how well each is re-made from the other, method {method}"
        do_many(
            (first, second),
            output,
            made_with,
            work,
            sheet=(_sheet_entry, "photo", heading),
            how=Manner(jobs, False, force, as_json),
        )
        return
    refuse_inputs((report,), (first, second))
    refuse_to_replace_file(report, force)  # before the work, not after it
    if output is not None:
        refuse_inputs((output / name for name in SCORE_FILES), (first, second))
        refuse_to_replace(output, SCORE_FILES, force)
    pair, results = _score(first, second, asked)
    if output is not None:
        with filling(output, force=force) as folder:
            write_scores(folder, results)
    if report is not None:
        settings = {**asked.estimating, **preparing, "decimate": asked.factors}
        write_score_page(report, [(size, score) for _, size, score in results], (first, second), pair, settings, force)
        say(f"look at {report}")
    if as_json:
        print_json([{"decimate": factor, "resolution": size, **score.as_dict()} for factor, size, score in results])
        return
    columns = ("resolution", *score_columns("first", "second"), "explained")
    rows = [(size, *score_cells(score), f"{score.explained:.3f}") for _, size, score in results]
    for note in pair.notes:
        say(note)
    print_table(f"{first.name} and {second.name}, method {method}", columns, rows)


@dataclass(frozen=True)
class _Asked:
    """All that a score depends on beside the files."""

    preparing: dict[str, Any]
    estimating: dict[str, Any]
    factors: list[int]


def _score(
    first: Path, second: Path, asked: _Asked, *, watched: bool = True
) -> tuple[ComparablePair, list[tuple[int, str, PairScore]]]:
    """Return the pair, and factor, size and score at each resolution."""
    from ..base.errors import InputError
    from ..blur.evaluate import evaluate_pair
    from ..photo.pipeline import prepare_pair

    pair = prepare_pair(first, second, **asked.preparing)
    results: list[tuple[int, str, PairScore]] = []
    with progress_bar("evaluating", watched) as report:
        for done, factor in enumerate(asked.factors):
            reduced = pair.decimated(factor)
            score = evaluate_pair(
                reduced.first,
                reduced.second,
                channel_axis=reduced.channel_axis,
                valid=reduced.valid,
                clipped=reduced.clipped_in_either,
                **asked.estimating,
            )
            results.append((factor, reduced.size, score))
            report((done + 1) / len(asked.factors))
    if not any(score.answered_fraction for _, _, score in results):
        raise InputError(
            "no pixel of the pair could be scored: neither image is the sharper anywhere, or nothing is known of it; "
            "check that the two are not the same, and look at 'relblur estimate'"
        )
    return pair, results


def _sheet_entry(name: str, folder: Path) -> SheetEntry:
    import json

    from ..report.contact_sheet import SheetEntry, read_thumbnail

    scores = json.loads((folder / "summary.json").read_bytes())
    first = next(value for key, value in scores.items() if key.startswith("decimate_"))
    errors = ", ".join(f"e_{side} {first[f'e_{side}']:.4f}" for side in ("first", "second") if first[f"e_{side}"])
    return SheetEntry(name, read_thumbnail(folder), errors or "not scored", read_thumbnail(folder, 1))
