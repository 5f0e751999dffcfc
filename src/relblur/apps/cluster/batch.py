"""Measure every pair of a data set on several processes or machines (``relblur tools batch``).

A worker writes the results of a pair as :mod:`relblur.report.batch` does. A result folder appears complete, finished
pairs are kept, and a worker that dies loses one pair only. The table and the page are made from the folders, so an
interrupted and continued run ends with the same table as an undisturbed one. Workers on other machines need the files
and the output folder under the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ...base.shown import csv_table
from ...blur.estimate import estimate_blur
from ...images.results import filling, refuse_inputs
from ...photo.photograph import read_pair
from ...report.batch import Job, Outcome, run_batch
from ...report.panels import Panel, panels_picture
from ..paper.pairs import LEAST_SIDE, TableRow, score_rows
from .pairs import DataPair, find_pairs
from .runners import started
from .summary import read_scores, write_scores, write_summary

__all__ = ["BATCH_FILES", "run_data_set"]

#: Files in the output folder, beside the folders of the pairs.
BATCH_FILES = ("scores.csv", "summary.html")

WORKER_ENDED = (
    "its worker ended twice: the images exceed its memory (use fewer --processes), or a library failed on them"
)

#: Width of a picture on the page, px.
THUMBNAIL_PX = 160


@dataclass(frozen=True)
class Score:
    """Function that a worker calls for each pair."""

    pairs: dict[Path, DataPair]  #: by first file
    method: str

    def __call__(self, first: Path, second: Path, folder: Path) -> None:
        """Write the scores of a pair at the resolutions of Table I, and a picture of its map."""
        files = self.pairs[first]
        pair = read_pair(first, second)
        rows = score_rows(pair, (files.data_set, files.name), files.factors(pair.shape[1]), self.method)
        write_scores(folder, rows)
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
    force: bool = False,
    notify: Callable[[int, int, Outcome], None] = lambda _count, _total, _outcome: None,
) -> tuple[list[Outcome], list[TableRow]]:
    """Measure every pair of a data set; return the outcomes and the rows of the table."""
    pairs = find_pairs(data)
    reads = (data, data / "pairs.csv")
    refuse_inputs((output / name for name in BATCH_FILES), reads)
    jobs = [pair.job for pair in pairs]
    with started(workers, scheduler) as client:

        def run(function: Callable[[Job], Outcome], jobs: Sequence[Job]) -> Iterator[Outcome]:
            for count, outcome in enumerate(_on_workers(client, function, jobs), start=1):
                notify(count, len(jobs), outcome)
                yield outcome

        outcomes = run_batch(
            jobs,
            output.absolute(),
            {"method": method, "scores": "Table I"},
            Score({pair.first: pair for pair in pairs}, method),
            reads=reads,
            force=force,
            run=run,
        )
    rows = {each.name: read_scores(output / each.name) for each in outcomes if each.succeeded}
    every = [row for group in rows.values() for row in group]
    if every:
        with filling(output, force=True) as new:
            (new / "scores.csv").write_bytes(csv_table([row.as_dict() for row in every]))
            write_summary(new, output, rows, outcomes, f"{data.name}, method {method}")
    return outcomes, every


def _on_workers(client: Any, function: Callable[[Job], Outcome], jobs: Sequence[Job]) -> Iterator[Outcome]:
    """Call a function with each job on the workers, and yield the outcomes in the order of completion.

    At most one call per thread runs at a time. If a worker ends, another worker repeats its call. A call whose workers
    ended twice is repeated alone at the end, because another call may have ended them.
    """
    from distributed import KilledWorker, as_completed

    waiting, names = iter(jobs), {}
    running = as_completed(loop=client.loop)

    def submit(count: int) -> None:
        for job in islice(waiting, count):
            future = client.submit(function, job, pure=False)
            names[future.key] = job
            running.add(future)

    submit(max(1, sum(client.nthreads().values())))
    suspects = []
    for future in running:
        submit(1)
        try:
            yield future.result()
        except KilledWorker:
            suspects.append(names[future.key])
    for job in suspects:
        try:
            yield client.submit(function, job, pure=False).result()
        except KilledWorker:
            yield Outcome(job.name, "failed", WORKER_ENDED)
