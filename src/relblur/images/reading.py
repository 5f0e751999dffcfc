"""Files as bytes, bounded: opened once, looked at, and read as far as is needed.

What is not a file on disk (a pipe, a device, what /proc shows) is refused before it is waited for; a file is not read
beyond the size it had when it was opened, nor beyond what its kind may have. Whatever goes wrong becomes a one-line
:class:`~relblur.base.errors.FileError`.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from ..base.children import ChildError, run_limited
from ..base.errors import FileError
from .budget import MOST_WHOLE_BYTES, Budget
from .replacing import PathLike

__all__ = ["Source", "in_child", "opened", "read_bytes"]

#: Bytes that are looked at together.
_BLOCK = 1 << 24

#: Flags that not every system has.
_WITHOUT_WAITING = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))


#: Of the web or a store; a path of it has lost one of its slashes.
_ADDRESS = re.compile(r"(https?|ftp|s3|gs|file):/{1,3}(.+)", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """An open file of a known size, read from any place, and what reading it may cost."""

    path: PathLike
    stream: BinaryIO
    size: int
    budget: Budget

    def read(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end of the file; none from a place outside it."""
        if not 0 <= offset < self.size:
            return b""
        count = max(0, min(count, self.size - offset))
        try:
            self.stream.seek(offset)
            return self.stream.read(count)
        except OSError as error:
            raise FileError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def whole(self, most: int = MOST_WHOLE_BYTES) -> bytes:
        """Return all of it."""
        self.budget.check_file(most)
        return self.read(0, self.size)

    def check_expansion(self, unpacked: int, *, lossy: bool = False, free: int | None = None) -> None:
        """Refuse data that unpack to far more than a photograph's do; zeros do not count, which padding is made of."""
        self.budget.check_expansion(unpacked, self.size, lossy=lossy, free=free)
        if unpacked > 2 * self.size:
            zeros = sum(self.read(at, _BLOCK).count(0) for at in range(0, self.size, _BLOCK))
            self.budget.check_expansion(unpacked, self.size - zeros, lossy=lossy, free=free)


def in_child(function: str, source: Source, *arguments: Any) -> Any:
    """Return what a function ("module:name") returns of a file in a child process, within the file's budget."""
    budget, place = source.budget, os.path.abspath(source.path)
    limits = budget.child_limits
    try:
        value, texts = run_limited(f"{__name__}:_call_on", function, place, budget, arguments, limits=limits)
    except ChildError as error:
        if error.time:
            raise budget.too_slow() from None
        if error.memory:
            most = f"{limits.memory_bytes / 1e9:.1f} GB"
            raise FileError(
                f"{source.path} takes more than {most} of memory to unpack; it is damaged or hostile"
            ) from None
        raise FileError(f"{source.path} is damaged or incomplete: {error}") from None
    for text in texts:
        warnings.warn(text, stacklevel=4)
    return value


def _call_on(
    function: str, place: str, budget: Budget, arguments: tuple[Any, ...], progress: Callable[[float], None]
) -> tuple[Any, list[str]]:
    """Call a function in the child; return its value and warnings."""
    module, _, name = function.partition(":")
    with warnings.catch_warnings(record=True) as caught, opened(place) as source:
        warnings.simplefilter("always")
        budget = replace(source.budget, path=budget.path, most_pixels=budget.most_pixels)
        value = getattr(importlib.import_module(module), name)(
            replace(source, path=budget.path, budget=budget), *arguments
        )
    return value, [str(each.message) for each in caught if issubclass(each.category, UserWarning)]


@contextmanager
def opened(path: PathLike) -> Iterator[Source]:
    """Open a file on disk that has content; anything else is refused at once."""
    source = Path(path)
    try:
        # Without waiting for the other end of a pipe; the descriptor is what is looked at, so nothing can be swapped.
        descriptor = os.open(source, os.O_RDONLY | _WITHOUT_WAITING)
    except FileNotFoundError:
        if address := _ADDRESS.match(str(path)):
            raise FileError(f"{address[1]}://{address[2]} is an address; download the file first") from None
        raise FileError(f"there is no file {source}; check the path") from None
    except PermissionError:
        raise FileError(f"{source} may not be read by this user; check its permissions") from None
    except (OSError, ValueError) as error:  # a loop of links, a socket, a name that is too long or holds a zero byte
        raise FileError(f"{str(source)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    state = os.fstat(descriptor)
    try:
        _check_kind(source, state)
        with open(descriptor, "rb", closefd=False) as stream:
            yield Source(path, stream, state.st_size, Budget(path, state.st_size))
    finally:
        os.close(descriptor)


def _check_kind(source: Path, state: os.stat_result) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise FileError(f"{source} is a folder; name an image file in it")
    if not stat.S_ISREG(state.st_mode):
        raise FileError(f"{source} is a pipe or a device; name an image file")
    if state.st_size == 0:
        raise FileError(f"{source} is empty (0 bytes); it may not have been written to the end")


def read_bytes(path: PathLike, most: int = MOST_WHOLE_BYTES) -> bytes:
    """Return a file's content, or say in one line why it cannot be had."""
    with opened(path) as source:
        return source.whole(most)
