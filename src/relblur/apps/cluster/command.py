"""``relblur tools batch``: measure every pair or stack of a data set, on several processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..terminal.console import EXIT_DATA, print_json, print_table, say
from ..terminal.options import Force, Json, MethodOption, ProcessesOption, ResultFolder, SchedulerOption

if TYPE_CHECKING:
    from ...report.batch import Outcome
    from .summary import Row

__all__ = ["batch"]

#: Exit code after Ctrl-C, as shells report it.
EXIT_INTERRUPTED = 130


def batch(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="Folder with Real-MFF or DPDD, a CSV of first,second, or a folder with one folder per focal stack.",
            show_default=False,
        ),
    ],
    output: ResultFolder,
    method: MethodOption = "refined",
    processes: ProcessesOption = None,
    scheduler: SchedulerOption = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", help="Memory limit of a process, such as 2GB.", metavar="SIZE", show_default="an equal share"
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure and score every pair, or every focal stack, of a data set.

        relblur tools batch pairs.csv -o scores --processes 4

    Each pair gets a folder in DIR with its scores at the resolutions of the paper's Table I. scores.csv and
    scores.parquet contain all scores; summary.html shows their means with intervals, their distributions and the worst
    ten pairs. If DATASET is a folder of folders with three or more images each, they are focal stacks, and each is
    measured as by 'relblur stack'. The same command continues an interrupted run.
    """
    from .batch import run_data_set

    finished = 0

    def report(count: int, total: int, outcome: Outcome) -> None:
        nonlocal finished
        finished = count
        why = f": {outcome.error}" if outcome.error else ""
        say(f"{count}/{total} {outcome.name}: {outcome.state}{why}")

    try:
        outcomes, rows = run_data_set(
            data, output, method, workers=processes, scheduler=scheduler, memory=memory, force=force, tell=report
        )
    except KeyboardInterrupt:
        say(f"relblur: interrupted; {finished} pairs are done, the same command continues with the others")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    counts = {state: sum(each.state == state for each in outcomes) for state in ("done", "was done", "failed")}
    failures = {each.name: each.error for each in outcomes if each.state == "failed"}
    what = "stacks" if rows and "stack" in rows[0] else "pairs"
    table = _stack_table(rows) if what == "stacks" else _pair_table(rows)
    if as_json:
        plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
        print_json({**counts, "failures": failures, "table": plain if what == "stacks" else _pair_means(rows)})
    else:
        title = f"{len(outcomes)} {what}: " + ", ".join(f"{count} {state}" for state, count in counts.items())
        print_table(title, *table)
        if failures:
            print_table("failed", (what[:-1], "why"), list(failures.items()))
    if rows:
        say(f"look at {output / 'summary.html'}")
    if failures:
        raise typer.Exit(EXIT_DATA)


def _plain(value: Any) -> Any:
    """Return a value for JSON: None for NaN."""
    return None if value != value else value


def _stack_table(rows: list[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the headings, and a row for each stack."""
    from .summary import stack_cells

    headings = ("stack", "frames", "left out", "answered", "median frame", "median depth, m", "standard error, frames")
    return headings, [stack_cells(row)[: len(headings)] for row in rows]


def _pair_means(rows: list[Row]) -> list[dict[str, Any]]:
    from .summary import COLUMNS, mean_rows

    return [
        {"data_set": row.data_set, "factor": row.factor, "pairs": row.pairs, "means": row.means}
        for row in mean_rows(rows, list(COLUMNS))
    ]


def _pair_table(rows: list[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the headings, and a row of means over pairs for each data set and resolution."""
    from .summary import COLUMNS, mean_rows, number

    return ("data set", "size", "pairs", *COLUMNS.values()), [
        (row.data_set, row.resolution, str(row.pairs), *(number(name, row.means[name][0]) for name in COLUMNS))
        for row in mean_rows(rows, list(COLUMNS))
    ]


#: Packages of apps that these commands import.
NEEDS = ("paper",)
COMMANDS = {"tools batch": batch}
