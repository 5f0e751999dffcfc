"""Write the maps of all pairs of a clip into one NPZ file.

It contains arrays of shape (pairs, rows, columns): ``variance_difference`` and ``variance_stderr`` (float32, px^2) and
``flags``. For each pair it contains ``time_s``, ``first_frame`` and ``second_frame``.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import InputError
from ...images.disk import write_npz
from .measuring import MeasuredFrame

__all__ = ["MapsWriter"]

FORMAT, FORMAT_VERSION = "relblur.BlurMaps", 1
STACKS = {"variance_difference": np.float32, "variance_stderr": np.float32, "flags": np.uint16}


class MapsWriter:
    """Writer of one NPZ file: each array is written pair by pair into a temporary file and packed at the end."""

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() != ".npz":
            raise InputError(f"the maps' name ends in {path.suffix or 'nothing'!r}; use .npz")
        self._path, self._stack = path, ExitStack()
        self._files = {name: self._stack.enter_context(TemporaryFile(dir=path.parent)) for name in STACKS}  # noqa: SIM115
        self._rows: list[tuple[float, int, int]] = []
        self._shape: tuple[int, int] = (0, 0)
        self._settings: dict[str, Any] = {}

    def put(self, measured: MeasuredFrame) -> None:
        """Write the maps of a pair."""
        blur_map = measured.blur_map
        self._shape, self._settings = blur_map.shape, dict(blur_map.settings)
        for name, dtype in STACKS.items():
            self._files[name].write(np.ascontiguousarray(getattr(blur_map, name), dtype).data)
        self._rows.append((measured.first.time_s, measured.first.number, measured.second.number))

    def finish(self) -> None:
        """Write the NPZ file."""
        shape = (len(self._rows), *self._shape)
        arrays: dict[str, AnyArray] = {}
        for name, dtype in STACKS.items():
            self._files[name].flush()
            arrays[name] = np.memmap(self._files[name], dtype, "r", shape=shape)
        time_s, first, second = zip(*self._rows, strict=True)
        arrays |= {"time_s": np.array(time_s), "first_frame": np.array(first), "second_frame": np.array(second)}
        metadata = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": self._settings}
        write_npz(self._path, arrays, metadata)

    def close(self) -> None:
        """Delete the temporary files."""
        self._stack.close()
