"""Reading of files as bytes within a budget of memory and time.

The declared size of an image is checked before memory is allocated, with the same limits for all formats. Decoders that
cannot be stopped run in a child process (:mod:`relblur.base.children`), where the system enforces the limits. Pipes,
devices and files of /proc are refused at once. No file is read beyond its size at the time of opening. Every failure is
a one-line :class:`~relblur.base.errors.FileError`.
"""

from __future__ import annotations

import importlib
import os
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ..base._typing import PathLike
from ..base.children import ChildError, Limits, run_limited
from ..base.errors import FileError

__all__ = ["Plane", "Source", "check_pixels", "first_line", "in_child", "limited", "opened", "read_bytes"]

#: Largest number of pixels of a picture: the largest cameras have 150 megapixels.
MOST_PIXELS = 250_000_000

#: Largest file, bytes: the largest picture with three colours in double precision, and metadata.
MOST_FILE_BYTES = 24 * MOST_PIXELS + 100_000_000

#: Largest file that a decoder reads as a whole, bytes: a raw file of 150 megapixels has 300 MB.
MOST_WHOLE_BYTES = 1_600_000_000

#: Unpacked size that is always allowed, bytes; converted to light it takes five times as much.
FREE_BYTES = 50_000_000

#: Largest ratio of unpacked to packed size above that size, without and with loss: photographs stay below 10, JPEG of a
#: blank wall reaches 170, deflate 1000 and LZMA 7000 for empty pictures.
MOST_EXPANSION, MOST_LOSSY_EXPANSION = 50, 200

#: Processor time for any file (s), and least speed beyond it (bytes/s): the slowest decoders (LZW, PNG) reach 20 MB/s.
FREE_SECONDS, SLOWEST_BYTES = 5.0, 2_000_000

#: Memory limit of a child: for the program and its libraries, and for each byte of the file (bytes).
CHILD_BYTES, CHILD_BYTES_PER_BYTE = 1_000_000_000, 3

#: Bytes that are searched for zeros together.
_BLOCK = 1 << 24

#: Flags to open a file without waiting; not every system has them.
_WITHOUT_WAITING = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))


@dataclass(frozen=True)
class Plane(os.PathLike[str]):
    """One of several pictures in a file or a Zarr; functions accept it in place of the path of an image.

    Attributes
    ----------
    path : str
        The file, or the folder of a Zarr array.
    number : int
        Page or frame, counted from 0.
    shift : int
        Bytes between the pixels of the page and those of the plane, in a TIFF that describes its first plane only.
    place : tuple of int
        Indices of a Zarr array in all dimensions but the last two.
    label : str
        Name of the plane in messages.
    """

    path: str
    number: int = 0
    shift: int = 0
    place: tuple[int, ...] = ()
    label: str = ""

    @property
    def name(self) -> str:
        """The file with the number of the plane, counted from 1."""
        return f"{os.path.basename(self.path)}[{self.label or self.number + 1}]"

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.name


def check_pixels(path: PathLike, height: int, width: int, most: int = MOST_PIXELS) -> None:
    """Refuse more pixels than any camera has."""
    if height * width > most:
        raise FileError(
            f"{path} declares {width} x {height} pixels; relblur reads up to "
            f"{most // 10**6} megapixels, decimate or crop it first"
        )


@dataclass(frozen=True)
class Source:
    """An open file of known size, with random access, and limits on the time and memory of its decoding.

    Every ``check`` may raise a one-line :class:`~relblur.base.errors.FileError`.
    """

    path: PathLike
    stream: BinaryIO
    size: int
    started: float = field(default_factory=time.thread_time)
    most_pixels: int = field(default_factory=lambda: MOST_PIXELS)

    @property
    def seconds(self) -> float:
        """Largest processor time of this thread for an undamaged file, s."""
        return FREE_SECONDS + self.size / SLOWEST_BYTES

    def check_time(self) -> None:
        """Stop after more time than an undamaged file takes."""
        if time.thread_time() - self.started > self.seconds:
            raise FileError(f"{self.path} takes more than {self.seconds:.0f} s to unpack; it is damaged or hostile")

    def check_file(self, most: int = MOST_FILE_BYTES) -> None:
        """Refuse a file that is larger than an image can be."""
        if self.size > most:
            size = f"{self.size / 1e6:.0f} MB"
            raise FileError(f"{self.path} has {size}; relblur reads files of this kind up to {most / 1e6:.0f} MB")

    def check_pixels(self, height: int, width: int) -> None:
        """Refuse more pixels than any camera has."""
        check_pixels(self.path, height, width, self.most_pixels)

    def read(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes from an offset: fewer at the end of the file, none outside it."""
        if not 0 <= offset < self.size:
            return b""
        count = max(0, min(count, self.size - offset))
        try:
            self.stream.seek(offset)
            return self.stream.read(count)
        except OSError as error:
            raise FileError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def whole(self, most: int = MOST_WHOLE_BYTES) -> bytes:
        """Return all bytes."""
        self.check_file(most)
        return self.read(0, self.size)

    def check_expansion(self, unpacked: int, *, lossy: bool = False) -> None:
        """Refuse data with a larger packing ratio than photographs have; zeros (padding) do not count."""
        most = MOST_LOSSY_EXPANSION if lossy else MOST_EXPANSION
        if unpacked <= max(FREE_BYTES, 2 * self.size):
            return
        zeros = sum(self.read(at, _BLOCK).count(0) for at in range(0, self.size, _BLOCK))
        if unpacked > most * (self.size - zeros):
            raise FileError(
                f"{self.path} unpacks to {unpacked / 1e6:.0f} MB from {self.size - zeros} bytes, more than {most} "
                f"times as much: it is blank, damaged or hostile; if it is sound, store it uncompressed"
            )


def limited(function: str, path: PathLike, *arguments: Any, limits: Limits) -> Any:
    """Call the function "module:name" in a child process within limits; name the file in errors."""
    try:
        return run_limited(function, *arguments, limits=limits)
    except ChildError as error:
        why = f"is damaged or incomplete: {error}"
        if error.time:
            why = f"takes more than {limits.seconds:.0f} s to unpack; it is damaged or hostile"
        if error.memory:
            why = f"takes more than {limits.memory_bytes / 1e9:.1f} GB of memory to unpack; it is damaged or hostile"
        raise FileError(f"{path} {why}") from None


def in_child(function: str, source: Source, *arguments: Any) -> Any:
    """Call the function "module:name" with a file in a child process, within its limits; return its value."""
    pixels = min(MOST_LOSSY_EXPANSION * source.size, 24 * source.most_pixels)
    limits = Limits(CHILD_BYTES + pixels + CHILD_BYTES_PER_BYTE * source.size, source.seconds)
    call, place, names = f"{__name__}:_call_on", os.path.abspath(source.path), (source.path, source.most_pixels)
    value, texts = limited(call, source.path, function, place, *names, arguments, limits=limits)
    for text in texts:
        warnings.warn(text, stacklevel=4)
    return value


def _call_on(
    function: str,
    place: str,
    path: PathLike,
    most_pixels: int,
    arguments: tuple[Any, ...],
    progress: Callable[[float], None],
) -> tuple[Any, list[str]]:
    """Call a function in the child; return its value and warnings."""
    module, _, name = function.partition(":")
    with warnings.catch_warnings(record=True) as caught, opened(place) as source:
        warnings.simplefilter("always")
        call = getattr(importlib.import_module(module), name)
        value = call(replace(source, path=path, most_pixels=most_pixels), *arguments)
    return value, [str(each.message) for each in caught if issubclass(each.category, UserWarning)]


@contextmanager
def opened(path: PathLike) -> Iterator[Source]:
    """Open a file on disk that is not empty; refuse anything else at once."""
    source = Path(path)
    try:
        # Opening a pipe must not wait. The open descriptor is checked, so the file cannot be swapped.
        descriptor = os.open(source, os.O_RDONLY | _WITHOUT_WAITING)
    except FileNotFoundError:
        scheme, _, rest = str(path).partition(":/")  # ``Path`` removes a slash
        if scheme in ("http", "https", "s3", "gs"):
            raise FileError(f"{scheme}://{rest.lstrip('/')} is an address; download the file first") from None
        raise FileError(f"there is no file {source}; check the path") from None
    except (OSError, ValueError) as error:  # a loop of links, a socket, a name that is too long or contains a zero byte
        raise FileError(f"{str(source)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    state = os.fstat(descriptor)
    try:
        if stat.S_ISDIR(state.st_mode):
            raise FileError(f"{source} is a folder; name an image file in it")
        if not stat.S_ISREG(state.st_mode):
            raise FileError(f"{source} is a pipe or a device; name an image file")
        if state.st_size == 0:
            raise FileError(f"{source} is empty (0 bytes); it may not have been written to the end")
        with open(descriptor, "rb", closefd=False) as stream:
            yield Source(path, stream, state.st_size)
    finally:
        os.close(descriptor)


def read_bytes(path: PathLike, most: int = MOST_WHOLE_BYTES) -> bytes:
    """Return the content of a file."""
    with opened(path) as source:
        return source.whole(most)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its type if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
