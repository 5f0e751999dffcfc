"""``relblur paper reproduce``: make the figures and tables of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import print_json, print_table, progress_bar, say
from ..terminal.options import Force, Json, MethodOption

__all__ = ["reproduce"]


def reproduce(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for figures and tables.", metavar="DIR")
    ] = Path("relblur_reproduce"),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with Real-MFF and DPDD, or a list, pairs.csv.", metavar="PATH", show_default=False),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Parts to make, separated by commas: fig1 to fig7, table1.", metavar="LIST", show_default="all"
        ),
    ] = None,
    image: Annotated[
        list[Path] | None,
        typer.Option(
            help="Photograph for Fig. 1; give two for the two pairs.", metavar="FILE", show_default="scikit-image's"
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a pair to show in Figs. 5 to 7; may be repeated.", metavar="NAME", show_default="first"
        ),
    ] = None,
    method: MethodOption = "paper",
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of pairs of each set in Table I.", metavar="N", show_default="all"),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make every figure and table of the paper, beside the paper's content and numbers.

        relblur paper reproduce --only fig1 -o figures

    DIR gets the figures, two CSV files, and paper.html, one page with all of them. Figs. 5 to 7 and Table I need the
    data sets (--data) and are left out without them.
    """
    from .pairs import means, short_table
    from .ramps import ramp_table
    from .run import Study
    from .run import reproduce as run

    parts = None if only is None else [part.strip() for part in only.split(",")]
    with progress_bar("the paper's experiments") as report:
        study = Study(data, image or (), pair or (), limit, method)
        done = run(output, study, parts, force=force, progress=report)
    for line in done.made_from:
        say(line)
    if as_json:
        print_json(done.as_dict())
    else:
        if done.ramps:
            table = ramp_table(done.ramps)
            print_table("Fig. 1: sigma from 1 to 2 px", table.columns, table.rows)
        if done.table:
            table = short_table(f"Table I, method {method}", means(done.table))
            print_table(table.heading, table.columns, table.rows)
        claims = [
            (section.title.split(":")[0], each.what, each.paper, each.ours)
            for section in done.sections
            for each in section.claims
        ]
        if claims:
            print_table("the paper's numbers and ours", ("", "number", "the paper", "here"), claims)
    say(f"look at {output / 'paper.html'}")


#: Packages of apps that these commands import.
NEEDS = ("demo",)
COMMANDS = {"paper reproduce": reproduce}
