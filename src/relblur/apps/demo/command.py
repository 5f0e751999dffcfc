"""``relblur demo``: the whole chain on a photograph with known blur."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import one_line_errors, print_json, print_table, program_name, progress_bar, say
from ..terminal.options import Force, Json
from .bench_command import bench

__all__ = ["demo"]


@one_line_errors
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.", metavar="DIR")] = Path(
        "relblur_demo"
    ),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run the whole chain on a photograph with known blur and write pictures.

        relblur demo -o relblur_demo

    The blur runs from -2 px (the first image is blurrier) to +2 px (the second is), with a disc in the middle; both
    images have 8 bits. The folder also gets a focus pair of a known camera and a flat target, for the commands of the
    README.
    """
    from .program import rows_as_json, run_demo

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
    for path in ("comparison.png", "refined/overview.png"):
        say(f"  {output / path}")
    say(
        f"pairs to try the commands on, in {output}: near.png far.png, target_near.png target_far.png (flat, at 1.2 m),"
    )
    say(f"first.png second.png; such as: cd {output} && {program_name()} estimate near.png far.png -o result")


COMMANDS = {"demo": demo, "tools bench": bench}
