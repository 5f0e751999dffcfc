"""One run at a time in a folder, by a lock that the system takes away when its holder dies.

The open folder itself is locked (``flock``). A process number would not do: two containers may have the same, and a
dead process's is given out again.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..base.errors import FileError
from .replacing import plain_errors

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["holding", "locked"]

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
