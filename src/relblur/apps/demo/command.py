"""``relblur demo``: run all methods on a pair with known blur. ``relblur tools bench``: measure the speed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import UsageError, print_json, print_table, progress_bar, say
from ..terminal.options import Force, Json

__all__ = ["bench", "demo"]


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.", metavar="DIR")] = Path(
        "relblur_demo"
    ),
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
        print_json([asdict(row) for row in rows])
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
    say(f"pairs to try commands on, in {output}: near.png far.png, target_near.png target_far.png (flat, at 1.2 m),")
    say(f"first.png second.png; for example: cd {output} && relblur estimate near.png far.png -o result")


def bench(
    sizes: Annotated[
        list[str] | None, typer.Argument(help="Rows x columns.", metavar="[SIZE...]", show_default="480x640 1080x1920")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Timed runs of each method; prints the least and the median.", metavar="N")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Measure the speed of the real-time engine on this machine, beside two other methods.

        relblur tools bench 480x640

    All methods measure the same pair, blurred by 1 to 2 px. Their runs alternate.
    """
    shapes = [_shape(text) for text in sizes or ["480x640", "1080x1920"]]
    from .speed import bench as run

    timings = {}
    for shape in shapes:
        name = f"{shape[0]}x{shape[1]}"
        with progress_bar(name) as report:
            timings[name] = run(shape, repeats, report)
    if as_json:
        print_json({name: [asdict(row) for row in rows.values()] for name, rows in timings.items()})
        return
    for name, rows in timings.items():
        slowest = next(iter(rows.values()))
        print_table(
            f"{name}, {repeats} runs in turn",
            ("", "least ms", "median ms", "frames/s", "times Y1", "CPU ms", "error"),
            [
                (
                    row.name,
                    f"{row.wall_least:.1f}",
                    f"{row.wall_median:.1f}",
                    f"{1e3 / row.wall_median:.0f}",
                    f"{slowest.wall_median / row.wall_median:.1f}",
                    f"{row.cpu_least:.1f}",
                    f"{row.error_percent:.2f} %",
                )
                for row in rows.values()
            ],
        )
    say("frames/s and 'times Y1' (speed over that of Y1) are from medians; close other programs to measure")


def _shape(text: str) -> tuple[int, int]:
    try:
        rows, columns = (int(n) for n in text.lower().split("x"))
    except ValueError:
        raise UsageError(f"size {text!r} is not rows x columns; for example 480x640") from None
    if min(rows, columns) < 16 or rows * columns > 50_000_000:
        raise UsageError(f"size {text!r} must be at least 16x16 and at most 50 megapixels")
    return rows, columns


COMMANDS = {"demo": demo, "tools bench": bench}
