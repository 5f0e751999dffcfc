"""What threads of compiled code need to work together: a counter and a barrier.

Going back to Python between two loops costs as much as a short loop: the interpreter's lock, and waking a thread.
Threads that :func:`wait_for_all` inside compiled code lose a microsecond.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["abort", "fetch_add", "is_aborted", "new_barrier", "wait_for_all"]

_ARRIVED, _ROUND, _ABANDONED = 0, 1, 2

#: Looks around, some tens of microseconds in all, before a waiting thread goes to sleep for a while.  Threads that only
#: look would keep those they wait for off the processor where there are more of them than cores.
_PATIENCE = 20_000


def new_barrier() -> NDArray[np.int64]:
    """Return a barrier for threads."""
    return np.zeros(3, np.int64)


def abort(place: NDArray[np.int64]) -> None:
    """Let nobody wait here any longer, because somebody will not come; what they do from then on is worthless."""
    place[_ABANDONED] = 1


def is_aborted(place: NDArray[np.int64]) -> bool:
    """Whether somebody did not come."""
    return bool(place[_ABANDONED])


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def fetch_add(typingctx: Any, array: Any, index: Any, amount: Any) -> Any:
    """Add to an element of an int64 array atomically and return what it was."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _address(context, builder, sig.args[0], *args[:2]), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), emit


@intrinsic
def _read(typingctx: Any, array: Any, index: Any) -> Any:
    """Read an element of an int64 array that other threads may be writing."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load_atomic(_address(context, builder, sig.args[0], *args), "seq_cst", 8, typ=ir.IntType(64))

    return types.int64(array, types.int64), emit


if sys.platform == "win32":
    import ctypes

    import llvmlite.binding

    llvmlite.binding.add_symbol("Sleep", ctypes.cast(ctypes.windll.kernel32.Sleep, ctypes.c_void_p).value)
    _sleep = types.ExternalFunction("Sleep", types.void(types.uint32))
    _NAP = np.uint32(0)  # the rest of a time slice
else:
    _sleep = types.ExternalFunction("usleep", types.int32(types.uint32))
    _NAP = np.uint32(20)  # microseconds


@numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def wait_for_all(place, workers):
    """Wait until all ``workers`` threads are here: what each wrote before, all may read afterwards."""
    if workers == 1:
        return
    this_round = _read(place, _ROUND)
    if fetch_add(place, _ARRIVED, 1) == workers - 1:
        fetch_add(place, _ARRIVED, -workers)
        fetch_add(place, _ROUND, 1)
        return
    looks = 0
    while _read(place, _ROUND) == this_round and _read(place, _ABANDONED) == 0:
        looks += 1
        if looks > _PATIENCE:
            _sleep(_NAP)
