"""Work on a few rows at a time: what NumPy needs in between stays in the processor's cache.

The pieces are not shared out: on arrays so short threads wait for the interpreter's lock more than they work.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["in_bands", "in_lines"]

#: Elements that NumPy works on at a time where it can.
BAND = 16_384


def in_bands(work: Callable[[slice], None], shape: tuple[int, ...]) -> None:
    """Run ``work`` on every few rows of arrays of (H, W)."""
    _in_pieces(work, shape[0], shape[1])


def in_lines(work: Callable[[slice], None], size: int) -> None:
    """Run ``work`` on pieces of flat arrays of ``size`` elements."""
    if size <= BAND:
        work(slice(0, size))
    else:
        _in_pieces(work, size, 1)


def _in_pieces(work: Callable[[slice], None], length: int, width: int) -> None:
    rows = max(1, BAND // width)
    for start in range(0, length, rows):
        work(slice(start, min(start + rows, length)))
