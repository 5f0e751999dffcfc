"""``relblur reproduce``: the paper's experiments."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .console import one_line_errors, print_json, print_table, progress_bar, say
from .options import Force, Json, MethodOption

__all__ = ["reproduce"]


@one_line_errors
def reproduce(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for figures and tables.")] = Path(
        "relblur_reproduce"
    ),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with realmff/NNN_a.png + _b.png, dpdd*/NN_f4.png + _f22.png.", show_default=False),
    ] = None,
    method: MethodOption = "paper",
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this many pairs of each set.", show_default="all")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run the paper's experiments: Fig. 1, and with --data Figs. 6 and 7 and Table I.

    The paper's own figures stand beside ours in table.md.
    """
    from ..studies.reproduce import means
    from ..studies.reproduce import reproduce as run

    with progress_bar("the paper's experiments") as report:
        ramps, table = run(output, data, method=method, limit=limit, force=force, progress=report)
    if as_json:
        print_json({"fig1": [asdict(row) for row in ramps], "table1": [asdict(row) for row in table]})
    else:
        print_table(
            "Fig. 1: sigma from 1 to 2 px",
            ("image", "direction", "method", "mean relative error", "re-made error", "no answer"),
            [
                (
                    row.image,
                    row.direction,
                    row.method,
                    f"{row.mean_relative_error:.3%}",
                    f"{row.remade_error:.6f}",
                    f"{row.flat_fraction:.2%}",
                )
                for row in ramps
            ],
        )
        if table:
            print_table(
                f"Table I, method {method}",
                ("data set", "pairs", "resolution", "e_B", "e_F", "unblurred e_B", "unblurred e_F"),
                [
                    (
                        row.data_set,
                        row.pair,
                        row.resolution,
                        *(f"{x:.4f}" for x in (row.e_b, row.e_f, row.unblurred_e_b, row.unblurred_e_f)),
                    )
                    for row in means(table)
                ],
            )
    if data is None:
        say("Table I needs photographs: add --data DIR")
    say(f"figures and tables: {output}/")
