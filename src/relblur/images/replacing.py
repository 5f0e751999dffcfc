"""A file appears whole or not at all.

What is written goes to a fresh hidden name beside the target, is brought to the disk, and only then takes the
target's name, in one step of the file system. Whoever reads the target at any moment, also after a crash, finds the
old file or the new one. The hidden name is random and its creation exclusive, so threads, processes and machines
that write to one name do not meet, and a link that somebody has put there is not followed.

If the target is a link, the link is replaced and what it points to is left alone.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..base.errors import FileError, RelblurError

__all__ = ["EXCLUSIVE", "HIDDEN", "check_target", "plain_errors", "replacing", "sync_folder", "sync_tree"]

PathLike = str | os.PathLike[str]

#: Every name that relblur makes for its own use begins so; results may not.
HIDDEN = ".relblur"

#: Open for writing what nobody else has made; links are not followed. Windows knows neither flag.
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
EXCLUSIVE = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINKS

#: Windows flushes only what is open for writing.
_TO_SYNC = os.O_RDWR if os.name == "nt" else os.O_RDONLY


@contextmanager
def plain_errors(target: PathLike) -> Iterator[None]:
    """Turn what the system says about writing a target into one line."""
    try:
        yield
    except RelblurError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}; choose another place") from error


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when it has been written to the end."""
    target = Path(path)
    check_target(target)
    temporary = target.parent / f"{HIDDEN}-{secrets.token_hex(8)}.part"
    # In a hidden folder of ours everything is brought to the disk together, before it moves in.
    staged = any(part.startswith(f"{HIDDEN}-") for part in target.parent.parts)
    with plain_errors(target):
        try:
            # Not tempfile.mkstemp: its files are for their owner alone, those of open() as the user's umask says.
            with open(temporary, "x+b", opener=_open_exclusively) as stream:
                yield stream
                stream.flush()
                if not staged:
                    os.fsync(stream.fileno())
            os.replace(temporary, target)
            if not staged:
                sync_folder(target.parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _open_exclusively(name: str, _flags: int) -> int:
    return os.open(name, EXCLUSIVE, 0o666)


def sync_folder(folder: PathLike) -> None:
    """Bring the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Bring all that is in a folder and below to the disk; links are not followed."""
    for path, _, names in os.walk(folder):
        for name in names:
            if not os.path.islink(os.path.join(path, name)):
                descriptor = os.open(os.path.join(path, name), _TO_SYNC | NO_LINKS)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        sync_folder(path)


def check_target(target: Path) -> None:
    """Refuse what is there and not a file, and a place that cannot be written to."""
    try:
        kind = os.stat(target).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    except (OSError, ValueError) as error:  # a name that is too long or holds a zero byte, a folder that is closed
        raise FileError(f"cannot write {str(target)!r}: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(kind):
        raise FileError(f"cannot write {target}: it is a folder; name a file in it")
    if not stat.S_ISREG(kind):
        raise FileError(f"cannot write {target}: it is a pipe or a device; name a file")
    if not os.path.isdir(target.parent):
        raise FileError(f"cannot write {target}: there is no folder {target.parent}; make it first")
