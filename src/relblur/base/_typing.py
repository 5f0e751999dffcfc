"""Names for the array types used in annotations."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AnyArray",
    "ArrayLike",
    "BoolArray",
    "FlagArray",
    "FloatArray",
    "Int8Array",
    "PathLike",
    "Progress",
    "UInt8Array",
]

AnyArray: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Int8Array: TypeAlias = NDArray[np.int8]
UInt8Array: TypeAlias = NDArray[np.uint8]
#: Flags of pixels: 16 bits in results, 8 in intermediate maps.
FlagArray: TypeAlias = NDArray[Any]

#: The name of a file or a folder.
PathLike: TypeAlias = str | os.PathLike[str]

#: Called with the share of the work that is done, 0 to 1.
Progress: TypeAlias = Callable[[float], None]
