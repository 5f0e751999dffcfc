"""Folders of results: complete or absent, also after ``kill -9``; only files of relblur are replaced.

Results are made in a stage, a hidden folder beside the target. A new folder with its manifest (``made_from.json``) gets
its name in one step. Files for an existing folder get their names one after the other.

The name of a stage is ``.relblur-``, 8 digits of this machine and 16 random ones. It is locked (``flock``) while its
process lives; the next run deletes the stages of dead runs. Process numbers are not used, because two containers may
have the same. The contents of a dead stage have no effect. Links and the stages of other users are not touched.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..base.errors import FileError, OutputExistsError
from .disk import HIDDEN, NO_LINKS, check_target, plain_errors, replacing

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = [
    "MADE_FROM",
    "clear",
    "entered",
    "filling",
    "is_plain",
    "listing",
    "missing",
    "move_files_in",
    "move_folder_in",
    "place_of",
    "placing",
    "read_signature",
    "refuse_file_name",
    "refuse_foreign",
    "refuse_inputs",
    "refuse_to_replace",
    "refuse_to_replace_file",
    "sign",
    "staging",
    "strangers",
]

#: Name of the manifest of a folder: its inputs and settings, and the sizes of the files that relblur wrote.
MADE_FROM = "made_from.json"
_MADE_BY = "relblur"
#: Largest manifest that is read, bytes: a usual one has 2000, and 100 for each chunk of a Zarr.
_LONGEST = 100_000_000

#: Folder with the results in a stage.
NEW = "new"

#: Longest wait for another run in the folder, and pause between two attempts (s).
_WAIT_S, _PAUSE_S = 30.0, 0.02

#: Suffixes of files; a new folder with one of them is refused as a mistake.
_FILE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".exr", ".heic", ".avif", ".bmp", ".gif", ".pdf", ".svg"),
    *(".npz", ".npy", ".ply", ".pfm", ".csv", ".json", ".html", ".zip", ".txt", ".toml"),
)


def listing(folder: Path) -> list[str]:
    """Return the names of all files and links in a folder and below; links are not followed."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                names += [f"{entry.name}/{below}" for below in listing(folder / entry.name)]
            else:
                names.append(entry.name)
    return sorted(names)


def sign(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a folder whose files are complete."""
    wrote = {name: (folder / name).lstat().st_size for name in listing(folder) if name != MADE_FROM}
    with replacing(folder / MADE_FROM) as stream:
        stream.write(json.dumps({"made_by": _MADE_BY, **manifest, "wrote": wrote}, indent=2).encode())


def read_signature(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder; None without a manifest, and for a link."""
    try:
        if folder.is_symlink():
            return None
        descriptor = os.open(folder / MADE_FROM, os.O_RDONLY | NO_LINKS | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as stream:
            signature = json.loads(stream.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(signature, dict) or signature.get("made_by") != _MADE_BY:
        return None
    return signature if isinstance(signature.get("wrote"), dict) else None


def strangers(folder: Path, signature: Mapping[str, Any]) -> list[str]:
    """Return the files in a signed folder that relblur did not write."""
    return [name for name in listing(folder) if name != MADE_FROM and name not in signature["wrote"]]


def missing(folder: Path, signature: Mapping[str, Any]) -> list[str]:
    """Return the files of a manifest that are missing or have another size."""
    wrong = []
    for name, size in signature["wrote"].items():
        try:
            if (folder / name).lstat().st_size != size:
                wrong.append(name)
        except OSError:
            wrong.append(name)
    return wrong


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace a folder that relblur did not make, or that contains other files."""
    signature = read_signature(folder)
    if signature is None:
        raise OutputExistsError(f"{folder} was not made by relblur and is not replaced; choose another output folder")
    if others := strangers(folder, signature):
        raise OutputExistsError(f"{folder} holds {_first_of(others)}, not made by relblur; move that elsewhere first")


@contextmanager
def entered(folder: Path, wait_s: float = _WAIT_S) -> Iterator[None]:
    """Lock a folder against other runs, and delete the stages of dead runs in it; wait up to ``wait_s`` for others."""
    deadline = time.monotonic() + wait_s
    while True:
        with ExitStack() as stack:
            with plain_errors(folder):
                held = stack.enter_context(_locked(folder))
            if held is not False:
                clear(folder)
                yield
                return
        if time.monotonic() >= deadline:
            raise FileError(f"another relblur is at work in {folder}; wait for it or choose another folder")
        time.sleep(_PAUSE_S)


@contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Lock a folder; yield True if this run has the lock, False if another has it, None without locks."""
    if fcntl is None:
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        held: bool | None = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            held = False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
        yield held
    finally:
        os.close(descriptor)


def clear(folder: Path) -> None:
    """Delete the stages that dead runs of this user on this machine left in a folder."""
    if not os.path.isdir(folder):
        return
    stage = re.compile(re.escape(_stage_prefix()) + "[0-9a-f]{16}")  # locks may not work across machines
    for name in sorted(filter(stage.fullmatch, os.listdir(folder))):
        home = folder / name
        with suppress(OSError):
            state = os.lstat(home)
            if stat.S_ISDIR(state.st_mode) and state.st_uid == getattr(os, "geteuid", int)():
                with _locked(home) as held:
                    if held:
                        shutil.rmtree(home)  # follows no links


def _stage_prefix() -> str:
    return f"{HIDDEN}-{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-"


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; files that have not been moved out at the end are deleted."""
    with ExitStack() as stack:
        with plain_errors(folder):
            home = _new_stage(folder, stack)
        try:
            yield home / NEW
        finally:
            with plain_errors(folder):
                shutil.rmtree(home)


def _new_stage(folder: Path, stack: ExitStack) -> Path:
    """Make a stage that stays locked until the stack is closed."""
    while True:
        home = folder / f"{_stage_prefix()}{secrets.token_hex(8)}"
        os.mkdir(home, 0o700)
        with suppress(FileNotFoundError):  # another run deleted it before it was locked
            if stack.enter_context(_locked(home)) is not False:
                os.mkdir(home / NEW)
                return home


@contextmanager
def filling(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill, which becomes ``folder``; if that exists, the files move into it.

    Existing files are replaced only with ``force``. An error before the files move leaves ``folder`` unchanged.
    """
    place = folder if os.path.lexists(folder) else folder.parent
    with plain_errors(place):
        os.makedirs(place, exist_ok=True)
    clear(place)
    with staging(place) as new:
        yield new
        with plain_errors(folder):
            whole = place is not folder and _becomes(new, folder)
        if not whole:
            with entered(folder):
                move_files_in(new, force, folder)


@contextmanager
def placing(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a path to write one file to; the file then moves to ``path``."""
    check_target(path)
    clear(path.parent)
    with staging(path.parent) as new:
        yield new / path.name
        move_files_in(new, force, path.parent)


def move_files_in(new: Path, force: bool, folder: Path) -> None:
    """Move the files of a stage into a folder, one after the other in the order of their names."""
    with plain_errors(folder):
        names = listing(new)
        for name in _replaced(folder, names, force):
            if os.path.exists(folder / name) and not os.path.isfile(folder / name):
                raise OutputExistsError(f"{folder / name} is not a file and is not replaced; choose another place")
        for below in sorted({each for name in names for each in Path(name).parents} - {Path()}):
            if os.path.islink(folder / below):
                raise OutputExistsError(f"{folder / below} is a link and is not followed; choose another place")
        for name in names:
            os.makedirs((folder / name).parent, exist_ok=True)
            os.replace(new / name, folder / name)


def move_folder_in(new: Path, name: str, force: bool) -> None:
    """Move a folder with a manifest out of its stage; with ``force`` it replaces a folder that relblur made.

    After a kill between the two renames there is no folder of this name, and the next run makes it anew.
    """
    home = new.parent
    source, target, aside = new / name, home.parent / name, home / secrets.token_hex(4)
    with plain_errors(target):
        if os.path.lexists(target):
            refuse_foreign(target)
            if not force:
                raise OutputExistsError(f"{target} has appeared meanwhile; add --force or choose another folder")
            os.rename(target, aside)
            try:
                refuse_foreign(aside)  # another program may have added a file before the rename
                os.rename(source, target)
            except BaseException:
                os.rename(aside, target)
                raise
            shutil.rmtree(aside)
        elif not _becomes(source, target):
            raise OutputExistsError(f"{target} has appeared meanwhile and is not replaced; run the command again")


def refuse_file_name(folder: Path) -> None:
    """Refuse a new folder whose name has the suffix of a file."""
    if folder.suffix.lower() in _FILE_SUFFIXES and not os.path.lexists(folder):
        raise OutputExistsError(
            f"the results are several files and go into a folder, and {folder} is the name of one file; "
            f"choose another, such as {folder.with_suffix('')}"
        )


def refuse_to_replace(folder: Path, names: Iterable[str], force: bool) -> None:
    """Refuse, before the work, a folder with files of these names that may not be replaced."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise OutputExistsError(f"{folder} is a file; name a folder for the results")
    refuse_file_name(folder)
    with plain_errors(folder):
        if os.path.isdir(folder):
            _replaced(folder, names, force, "folder")


def refuse_to_replace_file(path: Path | None, force: bool) -> None:
    """Refuse, before the work, a file that may not be replaced or cannot be written."""
    if path is None:
        return
    with plain_errors(path):
        if not os.path.isdir(path):
            _replaced(path.parent, (path.name,), force, "name")
    check_target(path)


def refuse_inputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse, before the work, an output that is also an input, under any name, or another output."""
    taken = {place_of(path): "is also read by this command" for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        place = place_of(path)
        if (what := taken.get(place)) is not None:
            raise OutputExistsError(f"{path} {what} and would be replaced; choose another name for the output")
        taken[place] = "is already an output of this command"


def place_of(path: Path) -> tuple[int, int] | str:
    """Return a key that is equal for all names of one file: device and inode, or the path of a missing file."""
    real = os.path.realpath(path)
    try:
        state = os.stat(real)
    except OSError:
        return real
    return state.st_dev, state.st_ino


def is_plain(name: str) -> bool:
    """Return whether a name is a single part of a path and cannot lead to another folder."""
    return Path(name).name == name and name not in ("", os.pardir) and "\0" not in name


def _replaced(folder: Path, names: Iterable[str], force: bool, other: str = "place") -> list[str]:
    """Return the names that exist in a folder; refuse to replace them without ``force``."""
    there = [name for name in names if os.path.lexists(folder / name)]
    if there and not force:
        raise OutputExistsError(f"{folder / _first_of(there)} would be replaced; add --force or choose another {other}")
    return there


def _first_of(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _becomes(source: Path, target: Path) -> bool:
    """Rename a folder to ``target``; return False if that exists and is not an empty folder."""
    try:
        os.rename(source, target)
    except OSError:
        if not os.path.lexists(target):
            raise
        return False
    return True
