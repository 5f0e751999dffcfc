"""``relblur paper reproduce``: make the figures and tables of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..terminal.console import print_json, print_message, print_table, progress_bar
from ..terminal.options import Force, Json, option

__all__ = ["reproduce"]


def reproduce(
    output: Annotated[Path, option("--output,-o", "Folder for figures and tables.", "DIR")] = Path("relblur_reproduce"),
    data: Annotated[Path | None, option("--data", "Folder with Real-MFF and DPDD.", "DIR")] = None,
    only: Annotated[
        str | None, option("--only", "Parts to make: fig1 to fig7, table1.", "LIST", show_default="all")
    ] = None,
    image: Annotated[
        list[Path] | None,
        option("--image", "Photograph for Fig. 1; give two for two pairs.", "FILE", show_default="scikit-image's"),
    ] = None,
    pair: Annotated[
        list[str] | None,
        option("--pair", "Name of a pair to show in Figs. 5 to 7; may be repeated.", "NAME", show_default="first"),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make every figure and table of the paper, beside the paper's content and numbers.

        relblur paper reproduce --only fig1 -o figures

    DIR gets the figures, two CSV files, and paper.html, one page with all of them. Figs. 5 to 7 and Table I need the
    data sets (--data) and are left out without them.
    """
    from .run import Inputs
    from .run import reproduce as run

    parts = None if only is None else [part.strip() for part in only.split(",")]
    with progress_bar("the paper's experiments") as report:
        sections, notes = run(output, Inputs(data, image or (), pair or ()), parts, force=force, progress=report)
    for line in notes:
        print_message(line)
    if as_json:
        print_json({"notes": notes, **{section.key: section.as_dict() for section in sections}})
    else:
        for table in (table for section in sections for table in section.tables[:1]):
            print_table(table.heading, table.columns, table.rows)
        claims = [
            (section.title.split(":")[0], each.what, each.paper, each.ours)
            for section in sections
            for each in section.claims
        ]
        print_table("the paper's numbers and ours", ("", "number", "the paper", "here"), claims)
    print_message(f"look at {output / 'paper.html'}")


#: Packages of apps that these commands import.
NEEDS = ("demo",)
COMMANDS = {"paper reproduce": reproduce}
