"""``relblur batch``: every pair of a data set, on several processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import EXIT_DATA, one_line_errors, print_json, print_table, say
from .options import Force, Json, MethodOption, ResultFolder, SchedulerOption, WorkersOption

if TYPE_CHECKING:
    from ..report.batch import Outcome

__all__ = ["batch"]

HEADINGS = ("I_B sharper", "I_F sharper", "e_B", "unblurred", "e_F", "unblurred", "explained")

#: What shells report for Ctrl-C.
EXIT_INTERRUPTED = 130


@one_line_errors
def batch(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="Folder with Real-MFF or DPDD as 'relblur reproduce' knows them, or a CSV of first,second.",
            show_default=False,
        ),
    ],
    output: ResultFolder,
    method: MethodOption = "refined",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="What a process may use, such as 2GB.", show_default="its share of all"),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure and score every pair of a data set.

    Each pair gets a folder in the output with its scores at the resolutions of the paper's Table I; scores.csv and
    scores.parquet have them all, summary.html their means with intervals, distributions and the worst ten.
    Run the same command again and it does what is missing.
    """
    from ..cluster.batch import run_data_set
    from ..cluster.scores import mean_rows

    behind_now = 0

    def tell(behind: int, total: int, outcome: Outcome) -> None:
        nonlocal behind_now
        behind_now = behind
        why = f": {outcome.error}" if outcome.error else ""
        say(f"{behind}/{total} {outcome.name}: {outcome.state}{why}")

    try:
        outcomes, rows = run_data_set(
            data, output, method, workers=workers, scheduler=scheduler, memory=memory, force=force, tell=tell
        )
    except KeyboardInterrupt:
        say(f"relblur: interrupted; {behind_now} pairs are done, the same command goes on with the others")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    failed = [each for each in outcomes if each.state == "failed"]
    counts = {state: sum(each.state == state for each in outcomes) for state in ("done", "was done", "failed")}
    names = ("b_sharper_fraction", "f_sharper_fraction", "e_b", "unblurred_e_b", "e_f", "unblurred_e_f", "explained")
    means = mean_rows(rows, names)
    if as_json:
        table = [
            {"data_set": row.data_set, "factor": row.factor, "pairs": row.pairs, "means": row.means} for row in means
        ]
        print_json({**counts, "failures": {each.name: each.error for each in failed}, "table": table})
    else:
        print_table(
            f"{len(outcomes)} pairs: " + ", ".join(f"{count} {state}" for state, count in counts.items()),
            ("data set", "size", "pairs", *HEADINGS),
            [
                (row.data_set, row.resolution, str(row.pairs), *(_cell(name, row.means[name][0]) for name in names))
                for row in means
            ],
        )
        if failed:
            print_table("failed", ("pair", "why"), [(each.name, each.error) for each in failed])
    if rows:
        say(f"look at {output / 'summary.html'}")
    if failed:
        raise typer.Exit(EXIT_DATA)


def _cell(name: str, value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.1%}" if name.endswith("fraction") or name == "explained" else f"{value:.4f}"
