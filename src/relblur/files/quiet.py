"""What decoders written in C tell standard error and standard output, kept from them.

They write to the descriptor of standard error itself, beside Python; OpenEXR also prints. Both belong to the whole
process: they are turned away for one call at a time, under a lock, and what other threads write meanwhile is passed on.
"""

from __future__ import annotations

import io
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

__all__ = ["quietly"]

_STDERR = 2

#: One at a time; also for what else these libraries keep for the whole process, such as OpenCV's log level.
_lock = threading.RLock()

#: Lines of libtiff, OpenEXR, libpng, libjpeg and LibRaw. Everything else is somebody else's and passed on.
_VOICES = re.compile(
    rb"^(tempfile\.tif|TIFF\w*|LZW\w*|Fax\w*|JPEG\w*|ZSTD\w*|PackBits\w*|libpng \w+): |\(EXR_ERR_|"
    rb"^Warning: Exception raised reading|Corrupt JPEG data|Premature end of JPEG|"
    rb"data corrupted at|unexpected end of file"
)

_MOST_KEPT = 1_000_000


@contextmanager
def quietly() -> Iterator[None]:
    """Keep what the libraries in use say to ourselves."""
    with _lock:
        printed = io.StringIO()
        try:
            with redirect_stdout(printed), _quiet_descriptor():
                yield
        finally:
            others = "".join(
                line
                for line in printed.getvalue().splitlines(True)
                if not _VOICES.search(line.encode(errors="replace"))
            )
            if others:
                print(others, end="")


@contextmanager
def _quiet_descriptor() -> Iterator[None]:
    with suppress(Exception):
        sys.stderr.flush()
    try:
        before = os.dup(_STDERR)
    except OSError:  # closed: nobody hears anything
        yield
        return
    heard = os.memfd_create("heard") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(heard, _STDERR)
        yield
    finally:
        os.dup2(before, _STDERR)
        os.close(before)
        _pass_on(heard)
        os.close(heard)


def _pass_on(heard: int) -> None:
    os.lseek(heard, 0, os.SEEK_SET)
    lines = os.read(heard, _MOST_KEPT).splitlines(keepends=True)
    others = b"".join(line for line in lines if not _VOICES.search(line))
    if others:
        with suppress(OSError):
            os.write(_STDERR, others)
