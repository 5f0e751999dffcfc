"""``relblur demo`` and ``relblur reproduce``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import Force, Json, MethodName, MethodOption
from .talk import one_line_errors, print_json, print_table, progress_bar, say

__all__ = ["demo", "reproduce"]


@one_line_errors
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.")] = Path("relblur_demo"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run the whole chain on a photograph with known blur and write pictures.

    The blur runs from -2 px (the first image is blurrier) to +2 px (the second is), with a
    disc in the middle; both images are stored with 8 bits.
    """
    from ..demo import DEMO_FILES, rows_as_json, run_demo

    with progress_bar("demo") as report:
        rows = run_demo(output, force=force, progress=report)
    if as_json:
        print_json(rows_as_json(rows))
    else:
        print_table(
            "blur from -2 to +2 px, 8-bit colour",
            ("method", "mean error (px)", "median error (px)", "answered", "re-made error", "time (s)"),
            [
                (
                    row.method,
                    f"{row.mean_error_px:.4f}",
                    f"{row.median_error_px:.4f}",
                    f"{row.answered_fraction:.1%}",
                    f"{row.remade_error:.5f}",
                    f"{row.seconds:.2f}",
                )
                for row in rows
            ],
        )
    say("pictures:")
    for path in (*DEMO_FILES, "refined/overview.png", "steps/"):
        say(f"  {output / path}")


@one_line_errors
def reproduce(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for figures and tables.")] = Path(
        "relblur_reproduce"
    ),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with realmff/NNN_a.png + _b.png, dpdd*/NN_f4.png + _f22.png.", show_default=False),
    ] = None,
    method: MethodOption = MethodName.paper,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this many pairs of each set.", show_default="all")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run the paper's experiments: Fig. 1, and with --data Figs. 6 and 7 and Table I.

    The paper's own figures stand beside ours in table.md.
    """
    from ..reproduce import means
    from ..reproduce import reproduce as run

    with progress_bar("the paper's experiments") as report:
        ramps, table = run(output, data, method=method.value, limit=limit, force=force, progress=report)
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
                f"Table I, method {method.value}",
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
