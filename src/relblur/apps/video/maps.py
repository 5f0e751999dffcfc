"""Write the maps of all pairs of a clip into one NPZ file or one Zarr, which appears complete or not at all.

Both contain arrays of shape (pairs, rows, columns): ``variance_difference`` and ``variance_stderr`` (float32, px^2) and
``flags``. For each pair they contain ``time_s``, ``first_frame`` and ``second_frame``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import InputError, MissingDependencyError, OutputExistsError
from ...images.disk import write_npz
from ...images.results import clear, move_folder_in, placing, refuse_foreign, refuse_to_replace_file, sign, staging
from .measuring import MeasuredFrame

__all__ = ["MapsWriter", "NpzMaps", "ZarrMaps", "check_maps", "placing_maps"]

FORMAT, FORMAT_VERSION = "relblur.BlurMaps", 1
STACKS: tuple[tuple[str, Any], ...] = (
    ("variance_difference", np.float32),
    ("variance_stderr", np.float32),
    ("flags", np.uint16),
)
#: Pairs by which a Zarr is extended at a time, because each extension writes its metadata again.
_MORE = 64


def check_maps(path: Path, force: bool) -> None:
    """Refuse a name with a wrong suffix or of an existing file, before the work."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        refuse_to_replace_file(path, force)
        return
    if suffix != ".zarr":
        raise InputError(f"the maps' name ends in {path.suffix or 'nothing'!r}; use .npz or .zarr")
    if find_spec("zarr") is None:
        raise MissingDependencyError("maps in a Zarr need zarr: pip install 'relblur[cluster]', or name them .npz")
    clear(path.parent)
    if path.is_symlink() or path.exists():
        refuse_foreign(path)
        if not force:
            raise OutputExistsError(f"{path} would be replaced; add --force or choose another place")


@contextmanager
def placing_maps(path: Path, force: bool) -> Iterator[MapsWriter]:
    """Yield a writer; its maps appear as ``path`` at the end of the block."""
    if path.suffix.lower() == ".npz":
        with placing(path, force=force) as place:
            yield NpzMaps(place)
        return
    clear(path.parent)
    with staging(path.parent) as new:
        yield ZarrMaps(new / path.name)
        sign(new / path.name, {"format": FORMAT})
        move_folder_in(new, path.name, force)


class NpzMaps:
    """Writer of one NPZ file: each array is written pair by pair into a raw file and packed at the end."""

    def __init__(self, path: Path) -> None:
        """Open the raw files beside ``path``, which lies in a stage."""
        self._path = path
        self._files: dict[str, IO[bytes]] = {name: self._beside(name).open("w+b") for name, _ in STACKS}
        self._rows: list[tuple[float, int, int]] = []
        self._shape: tuple[int, int] = (0, 0)
        self._settings: dict[str, Any] = {}

    def _beside(self, name: str) -> Path:
        return self._path.with_name(f"{name}.raw")

    def put(self, measured: MeasuredFrame) -> None:
        """Write the maps of a pair."""
        blur_map = measured.blur_map
        self._shape, self._settings = blur_map.shape, dict(blur_map.settings)
        for name, dtype in STACKS:
            self._files[name].write(np.ascontiguousarray(getattr(blur_map, name), dtype).data)
        self._rows.append((measured.first.time_s, measured.first.number, measured.second.number))

    def finish(self) -> None:
        """Write the NPZ file and remove the raw files."""
        shape = (len(self._rows), *self._shape)
        arrays: dict[str, AnyArray] = {}
        for name, dtype in STACKS:
            self._files[name].flush()
            arrays[name] = np.memmap(self._files[name], dtype, "r", shape=shape)
        time_s, first, second = zip(*self._rows, strict=True)
        arrays |= {"time_s": np.array(time_s), "first_frame": np.array(first), "second_frame": np.array(second)}
        metadata = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": self._settings}
        write_npz(self._path, arrays, metadata)
        arrays.clear()
        self.abandon()

    def abandon(self) -> None:
        """Remove the raw files."""
        for name, file in self._files.items():
            file.close()
            self._beside(name).unlink(missing_ok=True)


class ZarrMaps:
    """Writer of a Zarr (version 3) with one chunk per pair and the axes time, y and x."""

    def __init__(self, folder: Path) -> None:
        """Create the Zarr ``folder``, which lies in a stage."""
        import zarr

        self._group = zarr.create_group(store=str(folder), zarr_format=3)
        self._arrays: dict[str, Any] = {}
        self._rows: list[tuple[float, int, int]] = []
        self._settings: dict[str, Any] = {}

    def put(self, measured: MeasuredFrame) -> None:
        """Write the maps of a pair."""
        blur_map, number = measured.blur_map, len(self._rows)
        self._settings = dict(blur_map.settings)
        for name, dtype in STACKS:
            if name not in self._arrays:
                fill = 1 if name == "flags" else np.nan
                self._arrays[name] = self._create(name, (_MORE, *blur_map.shape), dtype, fill)
            array = self._arrays[name]
            if number >= array.shape[0]:
                array.resize((number + _MORE, *blur_map.shape))
            array[number] = np.asarray(getattr(blur_map, name), dtype)
        self._rows.append((measured.first.time_s, measured.first.number, measured.second.number))

    def _create(self, name: str, shape: tuple[int, ...], dtype: Any, fill: Any) -> Any:
        chunks = (1, *shape[1:]) if len(shape) > 1 else shape
        axes = ("time", "y", "x")[: len(shape)]
        return self._group.create_array(
            name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, dimension_names=axes
        )

    def finish(self) -> None:
        """Cut the arrays to their length; write the times, frame numbers and metadata."""
        for array in self._arrays.values():
            array.resize((len(self._rows), *array.shape[1:]))
        columns = zip(*self._rows, strict=True)
        for name, values in zip(("time_s", "first_frame", "second_frame"), columns, strict=True):
            stored = np.array(values)
            self._create(name, stored.shape, stored.dtype, 0)[:] = stored
        settings = json.loads(json.dumps(self._settings))
        self._group.attrs["relblur"] = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": settings}

    def abandon(self) -> None:
        """Do nothing: the stage is removed with its content."""


MapsWriter = NpzMaps | ZarrMaps
