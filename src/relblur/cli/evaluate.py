"""``relblur evaluate``: how well each image of a pair is re-made from the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import UsageError, one_line_errors, print_json, print_table, progress_bar, say
from .options import (
    AlignOption,
    AsStoredOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    Json,
    LinearOption,
    MethodOption,
    Second,
    SideOption,
    stored_values,
    whole_numbers,
)
from .report import write_score_page

if TYPE_CHECKING:
    from ..blur.blur_map import PairScore

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
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML file to write: one page with everything.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Score a pair by re-making each image from the other (the rows of the paper's Table I).

    e_first is the error of re-making the first image where it is the less sharp one: the mean
    absolute error of grey values on a 0..1 scale, over all points but those of equal sharpness
    ('scored'). 'unblurred' is the same error if nothing is blurred; 'held-out' is the error in
    red and blue of a blur estimated from green alone; 'explained' is the share of their
    difference that it explains. --as-stored is the paper's setting; --linear scores light.
    """
    from ..base.errors import InputError
    from ..blur.evaluate import evaluate_pair
    from ..files.targets import refuse_inputs, refuse_to_replace_file
    from ..photo.pipeline import prepare_pair
    from ..report.score_table import score_cells, score_columns

    factors = whole_numbers(decimate, "--decimate")
    refuse_inputs((report,), (first, second))
    refuse_to_replace_file(report, force)  # before the work, not after it
    preparing: dict[str, Any] = {"align": align, "exposure": exposure, "gamma": gamma, "decimate": 1}
    if as_stored and linear:
        raise UsageError("--as-stored takes the values in the files as they are; leave --linear out")
    preparing = stored_values(preparing) if as_stored else {**preparing, "linear": linear or gamma is not None}
    pair = prepare_pair(first, second, **preparing)
    results: list[tuple[int, str, PairScore]] = []
    with progress_bar("evaluating") as tell:
        for done, factor in enumerate(factors):
            reduced = pair.decimated(factor)
            score = evaluate_pair(
                reduced.first,
                reduced.second,
                channel_axis=reduced.channel_axis,
                method=method,
                sharper=sharper,
                valid=reduced.valid,
                clipped=reduced.clipped_in_either,
            )
            results.append((factor, reduced.size, score))
            tell((done + 1) / len(factors))
    if not any(score.answered_fraction for _, _, score in results):
        raise InputError(
            "no pixel of the pair could be scored: neither image is the sharper anywhere, or nothing is known of it; "
            "check that the two are not the same, and look at 'relblur estimate'"
        )
    if report is not None:
        settings = {"method": method, "sharper": sharper, **preparing, "decimate": factors}
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
