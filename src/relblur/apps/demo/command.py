"""``relblur demo``: run all methods on a pair with known blur. ``relblur tools bench``: measure the speed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import UsageError, print_json, print_message, print_table, progress_bar
from ..terminal.options import Force, Json, option

__all__ = ["bench", "demo"]


def demo(
    output: Annotated[Path, option("--output,-o", "Folder for the pictures.", "DIR")] = Path("relblur_demo"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run all methods on a photograph with known blur and write pictures.

        relblur demo -o relblur_demo

    The relative blur of the pair grows from -2 px (the first image is blurrier) on the left to +2 px on the right, with
    a disc of constant blur in the middle. Both images have 8 bits. The folder also gets a focus pair of a known camera
    and a pair of a flat target, which the commands in the README use.
    """
    from .program import run_demo

    with progress_bar("demo") as report:
        rows = run_demo(output, force=force, progress=report)
    if as_json:
        print_json(rows)
    else:
        cells = [[value if isinstance(value, str) else f"{value:.4f}" for value in row.values()] for row in rows]
        print_table("blur from -2 to +2 px, 8-bit colour", list(rows[0]), cells)
    print_message(f"pictures: {output / 'comparison.png'} and {output / 'refined' / 'overview.png'}")
    print_message(
        f"pairs to try commands on, in {output}: near.png far.png, target_near.png target_far.png (flat, at 1.2 m),"
    )
    print_message(f"first.png second.png; for example: cd {output} && relblur estimate near.png far.png -o result")


def bench(
    sizes: Annotated[
        list[str] | None, typer.Argument(help="Rows x columns.", metavar="[SIZE...]", show_default="480x640 1080x1920")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure the speed of the real-time engine on this machine.

        relblur tools bench 480x640

    The pairs are blurred by 1 to 2 px. Ten runs with the sharper image stated, with the defaults, and in one thread
    alternate.
    """
    from .speed import bench as run

    timings = {}
    for size in sizes or ["480x640", "1080x1920"]:
        with progress_bar(size) as report:
            timings[size] = run(_shape(size), 10, report)
    if as_json:
        print_json({size: [asdict(row) for row in rows.values()] for size, rows in timings.items()})
        return
    for size, rows in timings.items():
        cells = [
            (
                name,
                f"{row.wall_least:.1f}",
                f"{row.wall_median:.1f}",
                f"{1e3 / row.wall_median:.0f}",
                f"{row.cpu_least:.1f}",
                f"{row.error_percent:.2f} %",
            )
            for name, row in rows.items()
        ]
        print_table(f"Stream, {size}", ("", "least ms", "median ms", "frames/s", "CPU ms", "error"), cells)
    print_message("frames/s is from the median; close other programs to measure")


def _shape(text: str) -> tuple[int, int]:
    try:
        rows, columns = (int(n) for n in text.lower().split("x"))
    except ValueError:
        raise UsageError(f"size {text!r} is not rows x columns; for example 480x640") from None
    if min(rows, columns) < 16 or rows * columns > 50_000_000:
        raise UsageError(f"size {text!r} must be at least 16x16 and at most 50 megapixels")
    return rows, columns


COMMANDS = {"demo": demo, "tools bench": bench}
