"""Files that the page sends: straight to the disk, counted while they come, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

from ...base.errors import FileError, InputError
from ...images.images import RAW_SUFFIXES, READ_SUFFIXES

__all__ = ["MOST_BYTES", "SLOTS", "TooLargeError", "receive"]

#: The most that one file may have.
MOST_BYTES = 100_000_000
#: What a file may be: one of the pair, or a result that was saved before.
SLOTS = ("first", "second", "result")
_LONGEST_NAME = 255


class TooLargeError(InputError):
    """A file has more bytes than are taken."""


async def receive(chunks: AsyncIterator[bytes], announced: str | None, name: str, folder: Path) -> Path:
    """Write what comes to a new file in a folder and return its path; nothing is left of a file that is refused.

    The file's own name only gives the suffix: camera raw is told by it.
    """
    suffix = _suffix(name)
    size = int(announced) if announced is not None and announced.isascii() and announced.isdigit() else None
    if size is not None:
        _check_size(size, name)
    path = folder / f"{secrets.token_hex(8)}{suffix}"
    got = 0
    try:
        with open(path, "xb") as stream:
            async for chunk in chunks:
                got += len(chunk)
                _check_size(got, name)
                stream.write(chunk)
        if got == 0:
            raise FileError(f"{name} is empty; choose another file")
        if size is not None and got != size:
            raise FileError(f"{name} broke off after {got} of {size} bytes; send it again")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _check_size(size: int, name: str) -> None:
    if size > MOST_BYTES:
        raise TooLargeError(
            f"{name} has more than {MOST_BYTES / 1e6:.0f} MB; open large files by name: relblur view FIRST SECOND"
        )


def _suffix(name: str) -> str:
    suffix = os.path.splitext(name[:_LONGEST_NAME])[1].lower()
    known = (*READ_SUFFIXES, *RAW_SUFFIXES, ".npz")
    if suffix not in known:
        raise InputError(
            f"{name[:80]} ends in {suffix[:20] or 'nothing'!r}; images end in {', '.join(READ_SUFFIXES)}, maps in .npz"
        )
    return suffix
