"""``relblur evaluate``: how well each image of a pair is re-made from the other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .console import one_line_errors, print_json, print_table, progress_bar, say
from .options import (
    AlignOption,
    ExposureOption,
    First,
    GammaOption,
    Json,
    LinearOption,
    MethodOption,
    Second,
    SideOption,
    whole_numbers,
)

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
    as_json: Json = False,
) -> None:
    """Score a pair by re-making each image from the other (the rows of the paper's Table I).

    e_first is the error of re-making the first image where it is the less sharp one, on a
    0..1 scale; 'unblurred' is the same error if nothing is blurred; 'explained' is the
    share of the difference explained on colour channels that the estimate has not seen. The
    paper scores values as they are stored; --linear scores light.
    """
    from ..base.errors import InputError
    from ..blur.evaluate import evaluate_pair
    from ..photo.pipeline import prepare_pair

    factors = whole_numbers(decimate, "--decimate")
    pair = prepare_pair(
        first, second, align=align, exposure=exposure, linear=linear or gamma is not None, gamma=gamma, decimate=1
    )
    results: list[dict[str, Any]] = []
    with progress_bar("evaluating") as report:
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
            results.append({"decimate": factor, "resolution": reduced.size, **score.as_dict()})
            report((done + 1) / len(factors))
    if not any(row["scored_fraction"] for row in results):
        raise InputError(
            "no pixel of the pair could be scored: neither image is the sharper anywhere, or nothing is known of it; "
            "check that the two are not the same, and look at 'relblur estimate'"
        )
    if as_json:
        print_json(results)
        return
    columns = ["resolution", "first sharper", "second sharper", "e_first", "e_second"]
    columns += ["unblurred e_first", "unblurred e_second", "explained"]
    rows = [
        (
            row["resolution"],
            f"{row['first_sharper_fraction']:.0%}",
            f"{row['second_sharper_fraction']:.0%}",
            *(f"{row[name]:.4f}" for name in ("e_first", "e_second", "unblurred_e_first", "unblurred_e_second")),
            f"{row['explained']:.3f}",
        )
        for row in results
    ]
    for note in pair.notes:
        say(note)
    print_table(f"{first.name} and {second.name}, method {method}", columns, rows)
