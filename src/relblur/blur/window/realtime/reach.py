"""What pixels without a value reach: they are rare, so this is a pass of its own.

The rule is that of ``relblur.blur.flags``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....engines.barrier import fetch_add
from .solve import FLAT

__all__ = ["run_reach"]

INVALID = 1  #: bit of relblur.blur.blur_map.Flag
BAD_CLIPPED = 2  #: bit of relblur.blur.blur_map.Flag

#: Rows that a thread takes at a time.
REACH_BLOCK = 16


@njit(nogil=True)
def run_reach(invalid: Any, clipped: Any, bits: int, work: Any, lay: Any, counter: Any) -> None:
    """Flag what invalid and clipped pixels reach, and put NaN wherever there is no answer.

    ``invalid`` and ``clipped`` are distances to the nearest such pixel, looked at if ``bits`` says so.
    """
    half = np.float32(lay.half)
    least = np.float32(half * np.sqrt(np.float32(2)))
    unknown = np.float32(np.nan)
    while True:
        begin = fetch_add(counter, 0, 1) * REACH_BLOCK
        if begin >= lay.height:
            return
        for y in range(begin, min(begin + REACH_BLOCK, lay.height)):
            for x in range(lay.width):
                at = y * lay.out_stride + x
                reach = max(least, half + np.float32(2) * np.sqrt(abs(work.s[at])))
                flags = work.flags[at]
                if bits & INVALID and invalid[y, x] <= reach:
                    flags |= INVALID
                if bits & BAD_CLIPPED and clipped[y, x] <= reach:
                    flags |= BAD_CLIPPED
                work.flags[at] = flags
                if flags & (INVALID | BAD_CLIPPED | FLAT):
                    work.s[at] = unknown
                    work.stderr[at] = unknown
