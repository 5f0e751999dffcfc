"""Run a command on all pairs of two folders or two patterns; write a table, a contact sheet and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..terminal.console import EXIT_DATA, UsageError, print_json, print_message, print_table

if TYPE_CHECKING:
    from ...blur.result import MapResult
    from ...report.batch import Job, Outcome

__all__ = ["RunOptions", "run_on_pairs"]


@dataclass(frozen=True)
class RunOptions:
    """Options of a run over many pairs."""

    jobs: int = 1  #: pairs in parallel
    report: bool = False
    force: bool = False
    as_json: bool = False


def run_on_pairs(
    files: tuple[Path, Path],
    output: Path | None,
    options: Mapping[str, Any],
    work: Callable[[Path, Path, Path], None],
    *,
    sheet: tuple[Callable[[Path], MapResult], str] | None = None,
    run_options: RunOptions,
    reads: Sequence[Path] = (),
) -> None:
    """Run ``work`` on all pairs and print their outcomes; exit with code 3 if some failed.

    ``work`` writes the results of two files into a folder; it may also read the files in ``reads``. ``sheet`` is a
    tuple: a function that reads the map of a pair from its folder, and the heading of the contact sheet.
    """
    from ...report.batch import SHEET_FILE, TABLE_FILE, find_jobs, on_threads, run_batch
    from ...report.page import PAGE_FILE, write_page
    from ...report.panels import contact_sheet
    from ...report.saved import read_entries

    if run_options.jobs < 1:
        raise UsageError(f"--jobs must be a whole number >= 1, got {run_options.jobs}")
    if output is None:
        raise UsageError("folders and patterns need --output, a folder for the results of all pairs")

    def run(do: Callable[[Job], Outcome], jobs: Sequence[Job]) -> Iterator[Outcome]:
        outcomes = map(do, jobs) if run_options.jobs == 1 else on_threads(do, jobs, run_options.jobs)
        for count, each in enumerate(outcomes, start=1):
            print_message(f"{count}/{len(jobs)} {each.name}: {each.state}{': ' if each.error else ''}{each.error}")
            yield each

    def report(folder: Path, outcomes: Sequence[Outcome]) -> None:
        names = [each.name for each in outcomes if each.succeeded]
        if sheet is not None and names:
            read, heading = sheet
            contact_sheet(folder / SHEET_FILE, ((name, read(output / name)) for name in names), heading)
        if run_options.report:
            entries = [entry for name in names for entry in read_entries(output / name)[0]]
            failures = [(each.name, each.error) for each in outcomes if not each.succeeded]
            title = f"{output.resolve().name}: {len(names)} of {len(outcomes)} pairs"
            write_page(folder / PAGE_FILE, entries, title, failures)

    outcomes = run_batch(
        find_jobs(*files), output, options, work, reads=reads, force=run_options.force, report=report, run=run
    )
    failed = [each for each in outcomes if not each.succeeded]
    counts = {state: sum(each.state == state for each in outcomes) for state in ("done", "was done", "failed")}
    if run_options.as_json:
        print_json({**counts, "failures": {each.name: each.error for each in failed}})
    else:
        rows = [(state, str(count)) for state, count in counts.items()]
        print_table(f"{len(outcomes)} pairs, results in {output}", ("", "pairs"), rows)
        if failed:
            print_table("failed", ("pair", "why"), [(each.name, each.error) for each in failed])
    print_message(f"table of all pairs: {output / TABLE_FILE}")
    if len(failed) < len(outcomes) and (run_options.report or sheet is not None):
        print_message(f"look at {output / (PAGE_FILE if run_options.report else SHEET_FILE)}")
    if failed:
        raise typer.Exit(EXIT_DATA)
