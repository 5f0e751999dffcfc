"""One run at a time in a folder, by a lock that the system takes away when its holder dies.

Process numbers say little: two containers may have the same, and a dead one's is given out again. A lock on an open
file (``flock``) belongs to the process that opened it, in whichever container, and is gone with it.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..base.errors import FileError
from .replacing import HIDDEN, NO_LINKS, plain_errors

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["holding", "mark", "read_mark", "try_lock"]

LOCK_NAME = f"{HIDDEN}.lock"

#: How often somebody who waits looks again.
_PAUSE_S = 0.02
#: A mark is a line of text; a file of more bytes is something else.
_LONGEST_MARK = 4096


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file: True if it is ours now, False if it is somebody's, None if there are no locks here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def mark(what: str) -> bytes:
    """Return what relblur writes into its own files: what they are, and who made them."""
    owner = {"relblur": what, "host": platform.node(), "boot": _boot(), "process": os.getpid()}
    return json.dumps(owner).encode() + b"\n"


def read_mark(descriptor: int, what: str) -> dict[str, Any] | None:
    """Return the mark in an open file: None if it is not one of ours, empty if it was never written."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    os.lseek(descriptor, 0, os.SEEK_SET)
    content = os.read(descriptor, _LONGEST_MARK)
    if not content:
        return {}
    try:
        owner = json.loads(content)
    except ValueError:
        return None
    return owner if isinstance(owner, dict) and owner.get("relblur") == what else None


def made_here(owner: dict[str, Any]) -> bool:
    """Tell whether a mark was made on this machine, where a lock that can be had means a dead owner."""
    return owner.get("boot") == _boot() or owner.get("host") == platform.node()


@contextmanager
def holding(folder: Path, wait_s: float) -> Iterator[bool]:
    """Be the only run in a folder; wait so long for another to end, then say who it is.

    Gives False where the file system has no locks.
    """
    path = folder / LOCK_NAME
    deadline = time.monotonic() + wait_s
    while True:
        with plain_errors(folder):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS | getattr(os, "O_NONBLOCK", 0), 0o666)
        try:
            owner = read_mark(descriptor, "lock")
            if owner is None:
                raise FileError(f"{path} is in the way and not from relblur; move it or choose another folder")
            held = try_lock(descriptor)
            # Whoever held it before has taken the name away: then this is a lock on nothing.
            if held is not False and _is_still(path, descriptor):
                with plain_errors(folder):
                    os.ftruncate(descriptor, 0)
                    os.lseek(descriptor, 0, os.SEEK_SET)
                    os.write(descriptor, mark("lock"))
                try:
                    yield bool(held)
                finally:
                    with suppress(OSError):
                        os.unlink(path)
                return
        finally:
            os.close(descriptor)
        if time.monotonic() >= deadline:
            who = f"process {owner.get('process', '?')} on {owner.get('host', '?')}"
            raise FileError(f"another relblur ({who}) is at work in {folder}; wait for it or choose another folder")
        time.sleep(_PAUSE_S)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _boot() -> str:
    """Name this start of this machine; the same in all its containers."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{platform.node()}, start unknown"
