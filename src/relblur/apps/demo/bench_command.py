"""``relblur bench``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ..terminal.console import UsageError, one_line_errors, print_json, print_table, progress_bar, say
from ..terminal.options import Json

__all__ = ["bench"]


@one_line_errors
def bench(
    sizes: Annotated[
        list[str] | None, typer.Argument(help="Rows x columns.", metavar="[SIZE...]", show_default="480x640 1080x1920")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Timed runs of each; least and median are shown.", metavar="N")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Measure the real-time engine on this machine, beside two rivals.

        relblur tools bench 480x640

    A frame pair is blurred by 1 to 2 px; every method gets the same pair in turn.
    """
    shapes = [_shape(text) for text in sizes or ["480x640", "1080x1920"]]
    from .speed import bench as run

    found = {}
    for shape in shapes:
        name = f"{shape[0]}x{shape[1]}"
        with progress_bar(name) as report:
            found[name] = run(shape, repeats, report)
    if as_json:
        print_json({name: [asdict(row) for row in rows.values()] for name, rows in found.items()})
        return
    for name, rows in found.items():
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
    say("frames/s and 'times Y1' are by medians; close other programs for a fair figure")


def _shape(text: str) -> tuple[int, int]:
    try:
        rows, columns = (int(n) for n in text.lower().split("x"))
    except ValueError:
        raise UsageError(f"size {text!r} is not rows x columns; for example 480x640") from None
    if min(rows, columns) < 16 or rows * columns > 50_000_000:
        raise UsageError(f"size {text!r} must be at least 16x16 and at most 50 megapixels")
    return rows, columns
