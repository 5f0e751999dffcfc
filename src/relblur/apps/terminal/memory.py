"""Memory that stays with the program between arrays."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_freed_memory"]

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
#: Bytes of an array from which on it is given back all the same: of large pictures the peak counts, not the time.
_LARGE = 32 * 2**20
_NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Do not hand freed arrays back to the system, which would clear their pages for the next one.

    An estimate makes and drops thousands of arrays of the picture's size, and a seventh of its time went into fresh
    pages.  This changes the whole process, so it is for the program to ask for, not for the library.  Nothing happens
    where the C library is not glibc.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for parameter, value in ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _NEVER), (_M_TOP_PAD, _LARGE)):
        adjust(parameter, value)
