"""Many pairs in one run: one folder of results for each pair, and one table for all.

A folder gets its final name when it is complete (:mod:`relblur.images.results`). A killed run leaves complete folders
and hidden temporary ones. The next run removes the temporary ones and computes the missing pairs. A failed pair is
recorded, and the run continues. An output folder accepts only one run at a time.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..base.errors import FileError, InputError, OutputExistsError, RelblurError
from ..base.shown import csv_table
from ..images.disk import HIDDEN
from ..images.images import RAW_SUFFIXES, READ_SUFFIXES
from ..images.results import (
    entered,
    is_plain,
    missing,
    move_files_in,
    move_folder_in,
    read_signature,
    refuse_file_name,
    refuse_foreign,
    refuse_inputs,
    sign,
    staging,
)

__all__ = [
    "Job",
    "Outcome",
    "files_of",
    "find_jobs",
    "is_batch",
    "on_threads",
    "run_batch",
]

#: Reports in the output folder: outcome of each pair, table of the figures, contact sheet of the maps, page of all.
REPORTS = BATCH_FILE, TABLE_FILE, SHEET_FILE, _ = "batch.json", "summary.csv", "contact_sheet.png", "report.html"


@dataclass(frozen=True)
class Job:
    """One pair of files and the name of its results; an image is None if it is missing."""

    name: str
    first: Path | None
    second: Path | None


@dataclass(frozen=True)
class Outcome:
    """The state of a pair: ``"done"``, ``"was done"`` in an earlier run, or ``"failed"`` with the error."""

    name: str
    state: str
    error: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the pair has results."""
        return self.state != "failed"


def is_batch(first: Path, second: Path) -> bool:
    """Return whether two arguments name many pairs: two folders, or two patterns with a star."""
    return _is_pattern(first) or _is_pattern(second) or (os.path.isdir(first) and os.path.isdir(second))


def files_of(argument: Path) -> list[Path]:
    """Return the files of an argument: the images of a folder, the matches of a pattern, or the file itself."""
    if not os.path.isdir(argument) and not _is_pattern(argument):
        return [argument]
    files = list(_files_by_key(argument).values())
    if not files:
        fault = "contains no image" if os.path.isdir(argument) else "matches no file"
        raise FileError(f"{argument} {fault}; check the path")
    return files


def find_jobs(first: Path, second: Path) -> list[Job]:
    """Pair the files of two folders by their stems, or those of two patterns by the text that matches the star."""
    are_folders = os.path.isdir(first) and os.path.isdir(second)
    if are_folders and os.path.samefile(first, second):
        raise InputError(
            f"{first} is given twice; name two folders, or the files in it by two quoted patterns such as "
            f"'{first / '*_near.png'}' '{first / '*_far.png'}'"
        )
    one, two = _files_by_key(first), _files_by_key(second)
    names = sorted(one.keys() | two.keys())
    if not one.keys() & two.keys():
        what = f"the {'folders' if are_folders else 'patterns'} {first} and {second}"
        raise InputError(f"{what} have no pair of images in common ({len(names)} files); they are paired by name")
    return [Job(name, one.get(name), two.get(name)) for name in names]


def _is_pattern(path: Path) -> bool:
    return "*" in path.name and not os.path.exists(path)


def _files_by_key(argument: Path) -> dict[str, Path]:
    """Return the images of a folder by stem, or the matches of a pattern by the text that matches the star."""
    is_folder = os.path.isdir(argument)
    folder = argument if is_folder else argument.parent
    before, star, after = argument.name.partition("*")
    if not is_folder and (not star or "*" in after or "*" in str(folder)):
        raise InputError(f"{argument} must have one star, in the file's name, such as photos/*_near.png")
    if not os.path.isdir(folder):
        raise FileError(f"there is no folder {folder}; check the path")
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise FileError(f"the folder {folder} cannot be read: {error.strerror}") from None
    files: dict[str, Path] = {}
    for path in entries:
        name = path.name
        if not is_folder:
            if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
                files[name[len(before) : len(name) - len(after)]] = path
        elif path.suffix.lower() in (*READ_SUFFIXES, *RAW_SUFFIXES) and not name.startswith("."):
            if path.stem in files:
                raise InputError(f"{files[path.stem]} and {path} have the same name; leave one of them out")
            files[path.stem] = path
    return files


def run_batch(
    jobs: list[Job],
    output: Path,
    options: Mapping[str, Any],
    work: Callable[[Path, Path, Path], None],
    *,
    reads: Iterable[Path] = (),
    force: bool = False,
    report: Callable[[Path, Sequence[Outcome]], None] | None = None,
    run: Callable[[Callable[[Job], Outcome], Sequence[Job]], Iterable[Outcome]] = map,
) -> list[Outcome]:
    """Process all unfinished pairs, then write the table of all pairs.

    Parameters
    ----------
    options
        Everything that determines the results, except the files. A finished pair is kept only if its options are equal.
    work
        Function of both files and an empty folder. It fills the folder; ``summary.json`` in it becomes a row of the
        table. With several workers it is called from several threads.
    reads
        Files that all jobs read, such as a camera file. They are never replaced. ``options`` must describe them.
    force
        Process finished pairs again, and replace results of other options or files. Only results of relblur are
        replaced.
    report
        Called with a folder and all outcomes; writes further reports.
    run
        Function that processes every pair and returns the outcomes in any order: sequentially, on several threads
        (:func:`on_threads`), or on other machines.
    """
    refuse_file_name(output)
    kept = _input_folders(jobs, reads, output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {output}: {error.strerror}; choose another") from None
    with entered(output, wait_s=0.0):
        reports = _own_reports(output)
        do = partial(_do, output=output, options=options, work=work, force=force, kept=kept)
        by_name = {outcome.name: outcome for outcome in run(do, jobs)}
        outcomes = [by_name[job.name] for job in jobs]
        with staging(output) as new:
            (new / TABLE_FILE).write_bytes(_table(jobs, outcomes, output))
            if report is not None:
                report(new, outcomes)
            files = sorted({*reports, *(path.name for path in new.iterdir())})  # including reports of an earlier run
            pairs = [asdict(each) for each in outcomes]
            content = {"made_by": "relblur", "files": files, "options": dict(options), "pairs": pairs}
            (new / BATCH_FILE).write_text(json.dumps(content, indent=2))
            move_files_in(new, True, output)
    return outcomes


def _input_folders(jobs: Sequence[Job], reads: Iterable[Path], output: Path) -> set[Path]:
    """Return the folders of the input files and their parents; refuse equal names, and an input that is a report."""
    names = Counter(job.name for job in jobs)
    if len(names) < len(jobs):
        raise InputError(f"two pairs have the name {names.most_common(1)[0][0]!r}; rename one")
    inputs = [*reads, *(path for job in jobs for path in (job.first, job.second) if path is not None)]
    refuse_inputs((output / name for name in REPORTS), inputs)
    return {folder for path in inputs for folder in Path(os.path.realpath(path)).parents}


def on_threads(do: Callable[[Job], Outcome], jobs: Sequence[Job], threads: int) -> Iterator[Outcome]:
    """Run the jobs on several threads; after an interrupt no further job starts."""
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(do, jobs)


def _own_reports(output: Path) -> list[str]:
    """Return the reports of an earlier run; refuse to replace other files with these names."""
    try:
        content = json.loads((output / BATCH_FILE).read_bytes())
        ours = [BATCH_FILE, *content["files"]] if content["made_by"] == "relblur" else []
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        ours = []
    existing = [name for name in REPORTS if os.path.lexists(output / name)]
    for name in existing:
        if name not in ours:
            raise OutputExistsError(f"{output / name} exists and is not from relblur; choose another output folder")
    return existing


def _table(jobs: Sequence[Job], outcomes: Sequence[Outcome], output: Path) -> bytes:
    """Return the figures of all pairs as CSV: a row for each pair, a column for each figure."""
    from .summary import SUMMARY_FILE

    rows: list[dict[str, Any]] = []
    for job, each in zip(jobs, outcomes, strict=True):
        row = {"pair": each.name, "state": each.state, "error": each.error}
        row |= {name: str(path or "") for name, path in (("first", job.first), ("second", job.second))}
        with suppress(OSError, ValueError, RecursionError, AttributeError):  # no summary, or an unreadable one
            row |= _flat(json.loads((output / each.name / SUMMARY_FILE).read_bytes())) if each.succeeded else {}
        rows.append(row)
    return csv_table(rows)


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the scalar values of nested tables, under names joined by dots; lists are omitted."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        elif isinstance(value, (str, int, float)):
            flat[f"{before}{name}"] = value
    return flat


def _do(
    job: Job,
    output: Path,
    options: Mapping[str, Any],
    work: Callable[[Path, Path, Path], None],
    force: bool,
    kept: Set[Path],
) -> Outcome:
    """Process a pair, unless it is finished; never replace a folder in ``kept``, which contain input files."""
    try:
        taken = job.name.casefold() in REPORTS or job.name.casefold().startswith(HIDDEN)
        if taken or not is_plain(job.name):
            raise InputError(f"a folder of results cannot have the name {job.name!r}; rename both files of this pair")
        if job.first is None or job.second is None:
            raise InputError(f"{job.first or job.second} has no partner of the same name")
        states = [(path.name, path.stat()) for path in (job.first, job.second)]
        files = [{"name": name, "bytes": each.st_size, "modified_ns": each.st_mtime_ns} for name, each in states]
        made_from = {"options": dict(options), "files": files}
        if _is_done(output / job.name, made_from, kept, force):
            return Outcome(job.name, "was done")
        with staging(output) as new:
            results = new / job.name
            results.mkdir()
            work(job.first, job.second, results)
            sign(results, made_from)
            move_folder_in(new, job.name, force)
    except (RelblurError, OSError) as error:
        return Outcome(job.name, "failed", " ".join(str(error).split()))
    except MemoryError:
        return Outcome(job.name, "failed", "not enough memory for images of this size; decimate them more")
    except Exception as error:  # a defect of one pair does not stop the others
        return Outcome(job.name, "failed", f"unexpected {type(error).__name__}: {' '.join(str(error).split())}")
    return Outcome(job.name, "done")


def _is_done(target: Path, made_from: Mapping[str, Any], kept: Set[Path], force: bool) -> bool:
    """Return whether a pair is finished; raise an error if its folder may not be replaced."""
    if not os.path.lexists(target):
        return False
    signature = read_signature(target)
    if force or signature is None:
        if Path(os.path.realpath(target)) in kept:
            raise OutputExistsError(f"{target} contains a file that this command reads; choose another output folder")
        refuse_foreign(target)
        return False
    fault = ""
    if {name: signature.get(name) for name in made_from} != json.loads(json.dumps(made_from)):
        fault = "was made from other files or with other options"
    elif gone := missing(target, signature):
        fault = f"is incomplete: {gone[0]} is missing or changed"
    if fault:
        refuse_foreign(target)
        raise OutputExistsError(f"{target} {fault}; add --force to repeat the pair, or choose another folder")
    return True
