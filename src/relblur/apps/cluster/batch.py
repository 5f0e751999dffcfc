"""Measure every pair or stack of a data set on several processes or machines (``relblur tools batch``).

A worker writes the results of a pair as :mod:`relblur.report.batch` does. A result folder appears complete, finished
pairs are kept, and a worker that dies loses one pair only. The tables and the page are made from the folders, so an
interrupted and continued run ends with the same tables as an undisturbed one. Workers on other machines need the files
and the output folder under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...base.errors import InputError, RelblurError
from ...blur.estimate import estimate_blur
from ...images.results import filling, refuse_inputs
from ...photo.photograph import read_pair
from ...report.batch import Job, Outcome, run_batch
from ...report.panels import Panel, panels_picture
from ..paper.pairs import LEAST_SIDE, score_rows
from .pairs import DataPair, find_pairs
from .runners import OnCluster, require, started
from .stacks import MeasureStack, find_stacks
from .summary import Row, read_scores, write_scores, write_stack_summary, write_summary, write_tables

__all__ = ["BATCH_FILES", "run_data_set"]

#: Files in the output folder, beside the folders of the pairs.
BATCH_FILES = ("scores.csv", "scores.parquet", "summary.html")

LOST = "its worker ended twice: it is too large for the memory of a worker (--memory), or a library failed on it"

#: Width of a picture on the page, px.
THUMBNAIL_PX = 160


@dataclass(frozen=True)
class Score:
    """Work on one pair, called by a worker."""

    pairs: dict[Path, DataPair]  #: by first file
    method: str

    def __call__(self, first: Path, second: Path, folder: Path) -> None:
        """Write the scores of a pair at the resolutions of Table I, and a picture of it."""
        files = self.pairs[first]
        pair = read_pair(first, second)
        rows = score_rows(pair, (files.data_set, files.name), files.factors(pair.shape[1]), self.method)
        write_scores(folder, [row.as_dict() for row in rows])
        small = pair.decimated(max(1, min(pair.shape[1] // THUMBNAIL_PX, min(pair.shape) // LEAST_SIDE)))
        blur_map = estimate_blur(small, method="window", workers=1)
        pictures = [Panel(name, getattr(small, name)) for name in ("first", "second")]
        panels = [*pictures, Panel("relative blur (px of this size)", blur_map.sigma, "sigma")]
        panels_picture(folder / "picture.png", panels, panel_width=THUMBNAIL_PX / 100)


def run_data_set(
    data: Path,
    output: Path,
    method: str,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    memory: str | None = None,
    force: bool = False,
    tell: Callable[[int, int, Outcome], None] | None = None,
) -> tuple[list[Outcome], list[Row]]:
    """Measure every pair or stack of a data set; return the outcomes and the rows of the table."""
    require("distributed", "pyarrow")
    jobs, options, work = _jobs(data, method)
    reads = (data, data / "pairs.csv")
    refuse_inputs((output / name for name in BATCH_FILES), reads)
    jobs = [replace(job, also_read=reads) for job in jobs]

    def report(count: int, outcome: Outcome) -> None:
        if tell is not None:
            tell(count, len(jobs), outcome)

    with started(workers, scheduler, memory) as runner:
        outcomes = run_batch(
            jobs,
            output.absolute(),
            options,
            work,
            force=force,
            tell=report,
            run=partial(_on_workers, runner, output.absolute()),
        )
    order = {job.name: number for number, job in enumerate(jobs)}
    outcomes.sort(key=lambda outcome: order[outcome.name])
    rows = [row for each in outcomes if each.succeeded for row in read_scores(output / each.name)]
    if rows:
        with filling(output, force=True) as new:
            write_tables(new, rows)
            if isinstance(work, Score):
                write_summary(new, output, rows, outcomes, f"{data.name}, method {method}")
            else:
                write_stack_summary(new, output, rows, outcomes, data.name)
    return outcomes, rows


def _jobs(data: Path, method: str) -> tuple[list[Job], dict[str, str], Score | MeasureStack]:
    """Return the jobs, the options that determine the results, and the work, for pairs or else for stacks."""
    try:
        pairs = find_pairs(data)
    except RelblurError:
        if not (stacks := find_stacks(data)):
            raise
        by_file = {_absolute(stack.images[0]): stack for stack in stacks}
        return [stack.job for stack in stacks], {"scores": "stacks"}, MeasureStack(by_file)
    jobs = [replace(pair.job, first=_absolute(pair.first), second=_absolute(pair.second)) for pair in pairs]
    work = Score({_absolute(pair.first): pair for pair in pairs}, method)
    return jobs, {"method": method, "scores": "Table I"}, work


def _absolute(path: Path | None) -> Path:
    if path is None:
        raise InputError("a pair of a data set has two files")
    return path.absolute()


def _on_workers(
    runner: OnCluster, output: Path, function: Callable[[Job], Outcome], jobs: Sequence[Job]
) -> Iterator[Outcome]:
    finished_before = {job.name for job in jobs if (output / job.name).exists()}
    for outcome in runner.stream(function, jobs, lambda job: Outcome(job.name, "failed", LOST)):
        # A worker may die after it has written a pair and before it has returned. The repeated job is then skipped.
        is_new = outcome.state == "was done" and outcome.name not in finished_before
        yield replace(outcome, state="done") if is_new else outcome
