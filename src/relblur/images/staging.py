"""Results appear together: made in a hidden folder beside their place, moved in when all of them are complete.

A stage is called ``.relblur-``, 8 digits of this machine, 8 of its start, and 16 random ones; it is locked (``flock``)
for as long as its owner lives. A process number would not do: two containers may have the same. In a stage are

``new``
    the results while they are made.
``old``
    a folder that is being replaced.

A folder takes its name in one step, with its manifest in it. Files that go into a folder with other contents take
theirs one after the other. What is in a dead run's stage is deleted, but for a folder in ``old`` whose name is free:
that gets it back. Nothing in a stage is followed as an instruction. A stage that another user made, or that contains a
link, is left alone.

The stage of a result that an interrupted run goes on with is called ``.relblur-unfinished-`` and the result's name.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..base.errors import FileError, OutputExistsError
from .made_from import listing, read_signature, strangers
from .replacing import HIDDEN, check_target, plain_errors, sync_folder, sync_tree

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = [
    "clear",
    "entered",
    "filling",
    "holding",
    "move_files_in",
    "move_folder_in",
    "placing",
    "resuming",
    "staging",
]

NEW, OLD = "new", "old"

_UNFINISHED = f"{HIDDEN}-unfinished-"
_STAGE = re.compile(re.escape(HIDDEN) + "-([0-9a-f]{8})([0-9a-f]{8})-[0-9a-f]{16}")

#: Moving files in takes milliseconds; a run over many pairs holds its folder for as long as it lasts.
_WAIT_S = 30.0

#: Time between two attempts to take a lock, s.
_PAUSE_S = 0.02


@contextmanager
def locked(folder: Path) -> Iterator[bool | None]:
    """Lock a folder: True if it is ours now, False if it is another run's, None if there are no locks here."""
    if fcntl is None:
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held: bool | None = True
        except OSError as error:
            held = False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
        yield held
    finally:
        os.close(descriptor)


@contextmanager
def holding(folder: Path, wait_s: float) -> Iterator[None]:
    """Be the only run in a folder; wait so long for another to end."""
    deadline = time.monotonic() + wait_s
    while True:
        with ExitStack() as stack:
            with plain_errors(folder):
                held = stack.enter_context(locked(folder))
            if held is not False:
                yield
                return
        if time.monotonic() >= deadline:
            raise FileError(f"another relblur is at work in {folder}; wait for it or choose another folder")
        time.sleep(_PAUSE_S)


@contextmanager
def entered(folder: Path, wait_s: float = _WAIT_S) -> Iterator[None]:
    """Be the only run in a folder, from which the stages of dead runs are cleared."""
    with holding(folder, wait_s):
        clear(folder)
        yield


def clear(folder: Path) -> None:
    """Delete the stages that dead runs of this user on this machine left in a folder, but not unfinished results."""
    for name in _names(folder):
        home, parts, result = folder / name, _STAGE.fullmatch(name), name.removeprefix(_UNFINISHED)
        # Locks may not reach other machines: their stages are left alone.
        dead = parts and any(here == there for here, there in zip(_machine(), parts.groups(), strict=True))
        if dead or (result != name and os.path.lexists(home / OLD / result)):
            with suppress(OSError):
                if _made_by_this_user(home):
                    with locked(home) as held:
                        if held:
                            _put_back(home)
                            if dead or os.path.lexists(home / OLD / result):
                                _drop(home)


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill, beside the results' place; what has not been moved in at the end is dropped."""
    with ExitStack() as stack:
        with plain_errors(folder):
            home = _new_stage(folder, stack)
        try:
            yield home / NEW
        finally:
            with plain_errors(folder):
                _drop(home)


@contextmanager
def resuming(folder: Path, name: str) -> Iterator[Path]:
    """Give a folder to fill that an interrupted run of the same result has filled in part.

    It stays until ``name`` has been moved out of it.
    """
    home = folder / f"{_UNFINISHED}{name}"
    with plain_errors(home):
        with suppress(FileExistsError):
            os.mkdir(home, 0o700)
        if not _made_by_this_user(home):
            raise OutputExistsError(
                f"{home} is in the way: another user made it, or it holds a link; move it elsewhere"
            )
    with holding(home, 0.0):
        with plain_errors(home):
            _put_back(home)
            os.makedirs(home / NEW, exist_ok=True)
        yield home / NEW
        with plain_errors(home):
            if not os.path.lexists(home / NEW / name):
                _drop(home)


@contextmanager
def filling(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Give an empty folder to fill, which then becomes ``folder``, or whose files move into it if it is there.

    Files of the same names are replaced only with ``force``. If anything goes wrong before the files move, nothing has
    changed.
    """
    place = folder if os.path.lexists(folder) else folder.parent
    made = _make_folders(place)
    try:
        clear(place)
        with staging(place) as new:
            yield new
            with plain_errors(folder):
                whole = place is not folder and _becomes(new, folder)
            if not whole:
                with entered(folder):
                    move_files_in(new, force, folder)
    except BaseException:
        with suppress(OSError):
            for each in made:
                os.rmdir(each)
        raise


@contextmanager
def placing(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a path to write one file to, which then appears as ``path``."""
    check_target(path)
    clear(path.parent)
    with staging(path.parent) as new:
        yield new / path.name
        move_files_in(new, force, path.parent)


def move_files_in(new: Path, force: bool, folder: Path) -> None:
    """Move the files in a stage to their places, one after the other in the order of their names."""
    with plain_errors(folder):
        names = listing(new)
        there = [name for name in names if os.path.lexists(folder / name)]
        if there and not force:
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            raise OutputExistsError(f"{folder / there[0]}{more} would be replaced; add --force or choose another place")
        for name in there:
            if os.path.exists(folder / name) and not os.path.isfile(folder / name):
                raise OutputExistsError(f"{folder / name} is not a file and is not replaced; choose another place")
        for below in sorted({each for name in names for each in Path(name).parents} - {Path()}):
            if os.path.islink(folder / below):
                raise OutputExistsError(f"{folder / below} is a link and is not followed; choose another place")
        sync_tree(new)
        for name in names:
            source, target = new / name, folder / name
            os.makedirs(target.parent, exist_ok=True)
            os.replace(source, target)
        sync_folder(folder)


def move_folder_in(new: Path, name: str, force: bool) -> None:
    """Move a signed folder in a stage to its place; one that is there is replaced with ``force``, if it is ours."""
    home = new.parent
    source, target, aside = new / name, home.parent / name, home / OLD / name
    with plain_errors(target):
        sync_tree(source)
        if os.path.lexists(target):
            refuse_foreign(target)
            if not force:
                raise OutputExistsError(f"{target} has appeared meanwhile; add --force or choose another folder")
            os.makedirs(aside.parent, exist_ok=True)
            os.rename(target, aside)
            try:
                refuse_foreign(aside)  # looked at here, where nobody expects it any more
                os.rename(source, target)
            except BaseException:
                os.rename(aside, target)
                raise
            sync_folder(target.parent)
            shutil.rmtree(aside)
        elif not _becomes(source, target):
            raise OutputExistsError(f"{target} has appeared meanwhile and is not replaced; run the command again")
        sync_folder(target.parent)


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


@cache
def _machine() -> tuple[str, str]:
    """Return digits of this machine's name, and of its start: all its containers have the same."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        start = platform.node()
    one, two = (hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8] for text in (platform.node(), start))
    return one, two


def _new_stage(folder: Path, stack: ExitStack) -> Path:
    """Make a stage that is locked until the stack is closed."""
    while True:
        home = folder / f"{HIDDEN}-{''.join(_machine())}-{secrets.token_hex(8)}"
        os.mkdir(home, 0o700)
        with suppress(FileNotFoundError):  # it was taken for a dead run's before it was locked
            if stack.enter_context(locked(home)) is not False:
                os.mkdir(home / NEW)
                return home


def _made_by_this_user(home: Path) -> bool:
    """Tell whether this is a folder of this user that contains no link."""
    state = os.lstat(home)
    ours = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
    return stat.S_ISDIR(state.st_mode) and ours and not any(os.path.islink(home / name) for name in listing(home))


def _drop(home: Path) -> None:
    """Delete a stage; one with a folder of results that holds something else too stays."""
    _put_back(home)
    for folder in (home / OLD, home / NEW):
        for name in _names(folder):
            signature = read_signature(folder / name)
            if signature is not None and strangers(folder / name, signature):
                return
    shutil.rmtree(home)


def _put_back(home: Path) -> None:
    """Give a folder that was to be replaced its name back, if the new one has not got it."""
    for name in _names(home / OLD):
        if not os.path.lexists(home.parent / name):
            os.rename(home / OLD / name, home.parent / name)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _becomes(source: Path, target: Path) -> bool:
    """Give a folder its name, unless there is something of that name that is not an empty folder."""
    try:
        sync_tree(source)
        os.rename(source, target)
    except OSError:
        if not os.path.lexists(target):
            raise
        return False
    sync_folder(target.parent)
    return True


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; return those made, the last first."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}; choose another") from None
    return missing
