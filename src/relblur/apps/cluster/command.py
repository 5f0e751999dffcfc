"""``relblur tools batch``: measure every pair of a data set, on several processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..terminal.console import EXIT_DATA, print_json, print_message, print_table
from ..terminal.options import Force, Json, MethodOption, ProcessesOption, ResultFolder, SchedulerOption

if TYPE_CHECKING:
    from ...report.batch import Outcome

__all__ = ["batch"]

#: Exit code after Ctrl-C, as shells report it.
EXIT_INTERRUPTED = 130

_DATA = typer.Argument(metavar="DATASET", help="Folder with Real-MFF or DPDD, or a CSV of first,second.")


def batch(
    data: Annotated[Path, _DATA],
    output: ResultFolder,
    method: MethodOption = "refined",
    processes: ProcessesOption = None,
    scheduler: SchedulerOption = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure and score every pair of a data set.

        relblur tools batch pairs.csv -o scores --processes 4

    Each pair gets a folder in DIR with its scores at the resolutions of the paper's Table I. scores.csv contains all
    scores; summary.html shows their means and the worst ten pairs. The same command continues an interrupted run.
    """
    from ..paper.pairs import means, short_table
    from .batch import run_data_set

    def report(count: int, total: int, outcome: Outcome) -> None:
        print_message(f"{count}/{total} {outcome.name}: {outcome.state}{': ' if outcome.error else ''}{outcome.error}")

    try:
        outcomes, rows = run_data_set(
            data, output, method, workers=processes, scheduler=scheduler, force=force, notify=report
        )
    except KeyboardInterrupt:
        print_message("relblur: interrupted; the same command continues with the missing pairs")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    counts = {state: sum(each.state == state for each in outcomes) for state in ("done", "was done", "failed")}
    failures = {each.name: each.error for each in outcomes if each.state == "failed"}
    if as_json:
        print_json({**counts, "failures": failures, "table": [row.as_dict() for row in means(rows)]})
    else:
        table = short_table("", means(rows))
        print_table(", ".join(f"{count} {state}" for state, count in counts.items()), table.columns, table.rows)
        if failures:
            print_table("failed", ("pair", "why"), list(failures.items()))
    if rows:
        print_message(f"look at {output / 'summary.html'}")
    if failures:
        raise typer.Exit(EXIT_DATA)


#: Packages of apps that these commands import.
NEEDS = ("paper",)
COMMANDS = {"tools batch": batch}
