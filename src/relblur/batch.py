"""Many pairs in one run: found in two folders or by two patterns, one result folder each.

A pair's folder appears under its name when everything in it is written: it is made under a
hidden name and renamed. A run that was killed, at any moment, leaves finished pairs and hidden
remains, which the next run clears away; it does the pairs that are missing. A pair that cannot
be done is noted, and the run goes on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .decoding import RAW_SUFFIXES, READ_SUFFIXES
from .errors import FileError, InputError, OutputExistsError, RelblurError
from .files import replacing

__all__ = ["Job", "Outcome", "find_jobs", "is_batch", "run_batch"]

#: In each result folder: from what and with which options it was made.
MADE_FROM = "made_from.json"
#: In the output folder: what became of every pair.
BATCH_FILE = "batch.json"

_REMAINS = re.compile(r"\..+\.(\d+)\.part")


@dataclass(frozen=True)
class Job:
    """One pair of files and the name of its results; ``second`` is None if there is no partner."""

    name: str
    first: Path | None
    second: Path | None


@dataclass(frozen=True)
class Outcome:
    """What became of a pair: ``"done"``, ``"was done"`` in an earlier run, or ``"failed"`` and why."""

    name: str
    state: str
    error: str = ""


def is_batch(first: Path, second: Path) -> bool:
    """Tell whether two arguments mean many pairs: two folders, or two patterns with a star."""
    return any("*" in path.name and not path.exists() for path in (first, second)) or (
        first.is_dir() and second.is_dir()
    )


def find_jobs(first: Path, second: Path) -> list[Job]:
    """Pair up files: those of one stem in two folders, or those with the same text for the star of two patterns."""
    if first.is_dir() and second.is_dir():
        sides = [_images_in(first), _images_in(second)]
        what = f"the folders {first} and {second}"
    else:
        sides = [_matching(first), _matching(second)]
        what = f"the patterns {first} and {second}"
    names = sorted(sides[0].keys() | sides[1].keys())
    if not sides[0].keys() & sides[1].keys():
        raise InputError(f"{what} have no pair of images in common ({len(names)} files); they are paired by name")
    return [Job(name, sides[0].get(name), sides[1].get(name)) for name in names]


def run_batch(
    jobs: list[Job],
    output: Path,
    options: Mapping[str, Any],
    work: Callable[[Path, Path, Path], None],
    *,
    force: bool = False,
    tell: Callable[[int, Outcome], None] | None = None,
) -> list[Outcome]:
    """Do every pair that is not done yet.

    Parameters
    ----------
    options
        All that the results depend on beside the files: a finished pair is kept only if it
        was made with the same.
    work
        Called with both files and an empty folder to fill.
    force
        Do finished pairs again.
    tell
        Called with the number of pairs behind, and the outcome of the last.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {output}: {error.strerror}; choose another") from None
    _clear_remains(output)
    outcomes = []
    for behind, job in enumerate(jobs, start=1):
        outcomes.append(_do(job, output, options, work, force))
        if tell is not None:
            tell(behind, outcomes[-1])
    with replacing(output / BATCH_FILE) as stream:
        report = [{"name": each.name, "state": each.state, "error": each.error} for each in outcomes]
        stream.write(json.dumps({"options": dict(options), "pairs": report}, indent=2).encode())
    return outcomes


def _do(
    job: Job, output: Path, options: Mapping[str, Any], work: Callable[[Path, Path, Path], None], force: bool
) -> Outcome:
    target, remains = output / job.name, output / f".{job.name}.{os.getpid()}.part"
    try:
        if job.first is None or job.second is None:
            alone = job.first or job.second
            raise InputError(f"{alone} has no partner of the same name")
        made_from = {"options": dict(options), "files": [_identity(job.first), _identity(job.second)]}
        if not force and _is_done(target, made_from):
            return Outcome(job.name, "was done")
        remains.mkdir()
        work(job.first, job.second, remains)
        (remains / MADE_FROM).write_text(json.dumps(made_from, indent=2))
        if target.exists():  # only with force
            shutil.rmtree(target)
        remains.rename(target)
    except RelblurError as error:
        return Outcome(job.name, "failed", " ".join(str(error).split()))
    except MemoryError:
        return Outcome(job.name, "failed", "not enough memory for images of this size; decimate them more")
    except Exception as error:  # whatever is wrong with one pair, the others can be done
        return Outcome(job.name, "failed", f"unexpected {type(error).__name__}: {' '.join(str(error).split())}")
    finally:
        shutil.rmtree(remains, ignore_errors=True)
    return Outcome(job.name, "done")


def _is_done(target: Path, made_from: dict[str, Any]) -> bool:
    if not target.exists():
        return False
    try:
        before = json.loads((target / MADE_FROM).read_text())
    except (OSError, ValueError):
        raise OutputExistsError(
            f"{target} is there and not from such a run; add --force or choose another folder"
        ) from None
    if before != json.loads(json.dumps(made_from)):
        raise OutputExistsError(
            f"{target} was made from other files or with other options; add --force or choose another folder"
        )
    return True


def _identity(path: Path) -> dict[str, Any]:
    """What tells a file from a later one of the same name."""
    try:
        state = path.stat()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    return {"name": path.name, "bytes": state.st_size, "modified_ns": state.st_mtime_ns}


def _clear_remains(output: Path) -> None:
    """Remove what killed runs left, but nothing that a living one is working on."""
    for path in output.iterdir():
        match = _REMAINS.fullmatch(path.name)
        if match and not _lives(int(match[1])):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    if process == os.getpid():
        return False  # the number is ours now
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # somebody else's
    return True


def _images_in(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise FileError(f"the folder {folder} cannot be read: {error.strerror}") from None
    for path in paths:
        if path.suffix.lower() in (*READ_SUFFIXES, *RAW_SUFFIXES) and not path.name.startswith("."):
            if path.stem in found:
                raise InputError(f"{found[path.stem]} and {path} have one name; leave one of them out")
            found[path.stem] = path
    return found


def _matching(pattern: Path) -> dict[str, Path]:
    """Files that match a pattern with one star in its last part, by the text that the star stands for."""
    before, star, after = pattern.name.partition("*")
    if not star or "*" in after or "*" in str(pattern.parent):
        raise InputError(f"{pattern} must have one star, in the file's name, such as photos/*_near.png")
    if not pattern.parent.is_dir():
        raise FileError(f"there is no folder {pattern.parent}; check the path")
    found = {}
    for path in sorted(pattern.parent.iterdir()):
        name = path.name
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
            found[name[len(before) : len(name) - len(after)]] = path
    return found
