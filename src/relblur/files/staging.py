"""Results appear together: made in a hidden folder beside their place, moved in when all of them are complete.

The hidden folder, ``.relblur-`` and 16 random digits, holds

``owner.json``
    our mark; locked for as long as its owner lives.
``new``
    the results while they are made.
``journal.json``
    what is to be moved. It is written when everything is on the disk. Before that moment an interrupted run has
    done nothing, and what it left is dropped; after it, the moves are finished, by the next run if need be.
``old``
    the folder that is being replaced, until the new one has its name.

So a run that is killed at any instruction leaves the old results whole or, at the latest when the next run has
entered the folder, the new ones. A hidden folder is touched only if it carries our mark, was made on this machine
and its lock can be had; in it an old folder is deleted only if it is signed and holds nothing but what relblur wrote.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..base.errors import FileError, OutputExistsError
from .locking import holding, made_here, mark, read_mark, try_lock
from .made_from import listing, read_signature, remove_empty, remove_signed, strangers
from .replacing import EXCLUSIVE, HIDDEN, NO_LINKS, check_target, hidden_name, plain_errors, replacing, sync_folder

__all__ = ["entered", "filling", "identity", "move_files_in", "move_folder_in", "placing", "staging"]

OWNER, NEW, OLD, JOURNAL = "owner.json", "new", "old", "journal.json"
WORK = "work in progress"  #: what the mark says

_STAGE = re.compile(re.escape(HIDDEN) + "-[0-9a-f]{16}")

#: Moving files in takes milliseconds; a run over many pairs holds its folder for as long as it lasts.
_WAIT_S = 30.0

#: Windows flushes only what is open for writing.
_TO_SYNC = os.O_RDWR if os.name == "nt" else os.O_RDONLY

#: What a file system without hard links says when it is asked for one.
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)


@contextmanager
def entered(folder: Path, wait_s: float = _WAIT_S) -> Iterator[None]:
    """Be the only run in a folder, where interrupted moves are finished and remains are cleared."""
    with holding(folder, wait_s) as held:
        if held:
            with plain_errors(folder), os.scandir(folder) as entries:
                stages = [entry.name for entry in entries if _STAGE.fullmatch(entry.name)]
            for name in sorted(stages):
                with plain_errors(folder / name):
                    _recover(folder / name)
        yield


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill, beside the results' place; what has not been moved in at the end is dropped."""
    with plain_errors(folder):
        home, descriptor = _open_stage(folder)
    try:
        yield home / NEW
    finally:
        try:
            with plain_errors(folder):
                _settle(home)
        finally:
            if descriptor is not None:
                os.close(descriptor)


@contextmanager
def filling(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Give an empty folder to fill; its files then move into ``folder``, which may hold others.

    Files of the same names are replaced only with ``force``. If anything goes wrong, nothing has changed.
    """
    made = _make_folders(folder)
    try:
        with staging(folder) as new:
            yield new
            with entered(folder):
                move_files_in(new, force)
    except BaseException:
        with suppress(OSError):
            for each in made:
                os.rmdir(each)
        raise


@contextmanager
def placing(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a path to write one file to, which then appears as ``path``."""
    check_target(path)
    with staging(path.parent) as new:
        yield new / path.name
        move_files_in(new, force)


def move_files_in(new: Path, force: bool) -> None:
    """Move the files in a stage to their place, all of them."""
    folder = new.parent.parent
    with plain_errors(folder):
        before = {name: identity(folder / name) for name in listing(new)}
        there = [name for name, what in before.items() if what is not None]
        if there and not force:
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            raise OutputExistsError(f"{folder / there[0]}{more} would be replaced; add --force or choose another place")
        for name in there:
            if os.path.exists(folder / name) and not os.path.isfile(folder / name):
                raise OutputExistsError(f"{folder / name} is not a file and is not replaced; choose another place")
        _write_journal(new, {"files": before})
        _settle(new.parent)


def move_folder_in(new: Path, name: str, force: bool) -> None:
    """Move a signed folder in a stage to its place; one that is there is replaced with ``force``, if it is ours."""
    folder = new.parent.parent
    with plain_errors(folder / name):
        before = identity(folder / name)
        if before is not None:
            refuse_foreign(folder / name)
            if not force:
                raise OutputExistsError(f"{folder / name} has appeared meanwhile; add --force or choose another folder")
        _write_journal(new, {"folder": name, "before": before})
        _settle(new.parent)


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace a folder that relblur did not make, or that holds something else too."""
    signature = read_signature(folder)
    if signature is None:
        raise OutputExistsError(f"{folder} was not made by relblur and is not replaced; choose another output folder")
    others = strangers(folder, signature)
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise OutputExistsError(f"{folder} holds {others[0]}{more}, not made by relblur; move that elsewhere first")


def is_plain(name: str) -> bool:
    """Tell whether a name is one plain part of a path, which leads nowhere else."""
    separators = {os.sep, os.altsep or os.sep, "\0"}
    return name not in ("", os.curdir, os.pardir) and not any(each in name for each in separators)


def identity(path: Path) -> list[int] | None:
    """Return what tells a file or folder from a later one of the same name; None if there is nothing."""
    try:
        state = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if os.path.isdir(path):
        return [state.st_ino]
    return [state.st_ino, state.st_size, state.st_mtime_ns]


def _open_stage(folder: Path) -> tuple[Path, int | None]:
    """Make a hidden folder with our mark in it, and return the open file that locks it, where there are locks."""
    while True:
        home = folder / hidden_name()
        try:
            os.mkdir(home)
        except FileExistsError:
            continue
        try:
            descriptor = os.open(home / OWNER, EXCLUSIVE, 0o666)
        except FileNotFoundError:  # taken for the remains of a run killed before it could sign: try another
            continue
        locked = try_lock(descriptor)
        if locked is not False:
            os.write(descriptor, mark(WORK))
            with suppress(FileNotFoundError):
                os.mkdir(home / NEW)
                if locked:
                    return home, descriptor
        os.close(descriptor)
        if locked is None:
            return home, None


def _recover(home: Path) -> None:
    """Finish or drop what a dead run left; leave alone whatever is not surely that."""
    if home.is_symlink() or not home.is_dir():
        return
    try:
        descriptor = os.open(home / OWNER, os.O_RDWR | NO_LINKS | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        with suppress(OSError):
            os.rmdir(home)  # only if it is empty
        return
    except OSError:
        return
    try:
        if try_lock(descriptor) is not True:
            return
        owner = read_mark(descriptor, WORK)
        if owner:
            if made_here(owner):
                _settle(home)
        elif owner is not None:  # killed before it could sign: nothing else can be there
            with suppress(FileNotFoundError):
                if os.listdir(home) == [OWNER]:
                    os.unlink(home / OWNER)
                    os.rmdir(home)
    finally:
        os.close(descriptor)


def _write_journal(new: Path, plan: Mapping[str, Any]) -> None:
    for name in listing(new):
        if not os.path.islink(new / name):
            descriptor = os.open(new / name, _TO_SYNC | NO_LINKS)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    for path, _, _ in os.walk(new):
        sync_folder(path)
    with replacing(new.parent / JOURNAL) as stream:
        stream.write(json.dumps(plan).encode())
        stream.flush()
        os.fsync(stream.fileno())
    sync_folder(new.parent)


def _settle(home: Path) -> None:
    """Finish the moves that the journal asks for, put back or delete what was replaced, and remove the stage.

    It may be interrupted anywhere and called again.
    """
    if not os.path.lexists(home):
        return
    refusal: FileError | None = None
    plan = _read_journal(home)
    try:
        if "files" in plan:
            _move_files(home, plan["files"])
        elif "folder" in plan:
            _move_folder(home, plan["folder"], plan.get("before"))
    except FileError as error:
        refusal = error
    except OSError as error:
        refusal = FileError(f"cannot write into {home.parent}: {error.strerror or error}; choose another place")
    sync_folder(home.parent)
    _drop_old(home)
    for name in sorted(os.listdir(home), key=lambda name: (name == OWNER, name != NEW)):  # our mark is the last to go
        shutil.rmtree(home / name) if name == NEW else os.unlink(home / name)
    os.rmdir(home)
    if refusal is not None:
        raise refusal


def _read_journal(home: Path) -> dict[str, Any]:
    """Return the plan, empty if there is none; one that would lead out of the folder is none."""
    try:
        plan = json.loads((home / JOURNAL).read_bytes())
        names = [plan["folder"]] if "folder" in plan else list(plan["files"].keys())
        safe = all(is_plain(part) for name in names for part in name.split("/"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return plan if safe else {}


def _move_files(home: Path, before: Mapping[str, list[int] | None]) -> None:
    changed = []
    for name, was in before.items():
        source, target = home / NEW / name, home.parent / name
        if not os.path.lexists(source):
            continue  # moved already
        now = identity(target)
        if now is None:
            os.makedirs(target.parent, exist_ok=True)
            if not _move_if_vacant(source, target):
                changed.append(target)
        elif now == identity(source):  # killed between its new name and the end of the old
            os.unlink(source)
        elif now == was:
            os.replace(source, target)
        else:
            changed.append(target)
    if changed:
        raise OutputExistsError(f"{changed[0]} has changed meanwhile and is not replaced; run the command again")


def _move_if_vacant(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)  # fails if there is something; os.rename would replace it
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.rename(source, target)
        return True
    os.unlink(source)
    return True


def _move_folder(home: Path, name: str, before: list[int] | None) -> None:
    source, target, old = home / NEW / name, home.parent / name, home / OLD / name
    if not os.path.lexists(source):
        return  # moved already
    if os.path.lexists(target):
        if os.path.lexists(old) or identity(target) != before:
            raise OutputExistsError(f"{target} has changed meanwhile and is not replaced; run the command again")
        os.makedirs(old.parent, exist_ok=True)
        os.rename(target, old)
    if os.path.lexists(old):
        refuse_foreign(old)  # looked at here, where nobody expects it any more
    os.rename(source, target)


def _drop_old(home: Path) -> None:
    """Put the old folder back if the new one could not take its place, else delete it if it is ours."""
    if not os.path.isdir(home / OLD):
        return
    for name in os.listdir(home / OLD):
        old, target = home / OLD / name, home.parent / name
        signature = read_signature(old)
        if os.path.lexists(home / NEW / name) and not os.path.lexists(target):
            os.rename(old, target)
        elif signature is not None and not strangers(old, signature):
            remove_signed(old, signature)
        elif not listing(old):
            remove_empty(old)
        else:
            raise FileError(f"{old} was to be replaced and is not wholly from relblur; move it to another place")
    os.rmdir(home / OLD)


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; return those made, the last first."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}; choose another") from None
    return missing
