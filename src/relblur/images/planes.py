"""Files of several planes: multi-page TIFF, ImageJ hyperstacks, OME-TIFF, OME-Zarr, animated pictures.

A plane stack is the sequence of planes along the focus axis. This is Z where a file names it, otherwise the only
remaining axis of several planes. Files are read within the limits of :mod:`relblur.images.reading`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import PathLike
from ..base.errors import FileError, InputError
from .images import READ_SUFFIXES, format_name
from .reading import Plane, Source, first_line, in_child, opened
from .tiff import open_tiff
from .zarr_arrays import OmeImage, axes_of, is_zarr, ome_images, read_zarr_node

__all__ = ["PlaneStack", "is_stack_file", "open_stack", "page_of"]

#: Largest number of planes in a file: microscopes write some hundreds.
MOST_PLANES = 20_000

#: Axes on which an option selects a position.
_NAMES = {"C": "channel", "T": "time"}

#: Units of length in files of microscopes, micrometres.
_UNITS_UM = {
    "nm": 1e-3,
    "nanometer": 1e-3,
    "mm": 1e3,
    "millimeter": 1e3,
    "cm": 1e4,
    "centimeter": 1e4,
    "inch": 25_400.0,
    **dict.fromkeys(("µm", "μm", "um", "micron", "microns", "micrometer", "\\u00b5m"), 1.0),
}


@dataclass(frozen=True)
class PlaneStack(Sequence[Plane]):
    """The planes of a stack in one file, in the order of their positions.

    Attributes
    ----------
    planes : tuple of Plane
        Each plane is accepted in place of the path of an image.
    step_um, pixel_um : float or None
        Distance between two planes and the side of a pixel, micrometres; None if the file does not state them.
    notes : tuple of str
        The default choices among channels, times and series.
    """

    planes: tuple[Plane, ...]
    step_um: float | None = None
    pixel_um: float | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.planes)

    def __getitem__(self, number: Any) -> Any:
        return self.planes[number]


@dataclass(frozen=True)
class _Series:
    """The pictures of a file as an array: its axes other than rows and columns, and the position of each picture."""

    path: str
    axes: str
    shape: tuple[int, ...]
    numbers: tuple[int, ...]  #: pages in the order of the array; one page if the pixels of all pictures follow it
    picture_bytes: int = 0
    step_um: float | None = None
    pixel_um: float | None = None


def open_stack(
    path: PathLike, *, channel: int | None = None, time: int | None = None, series: int | None = None
) -> PlaneStack:
    """Return the planes of a stack in one file, for :func:`relblur.estimate_stack`.

    Multi-page TIFF, ImageJ hyperstacks, OME-TIFF, OME-Zarr (the folder), and animated GIF, WebP, AVIF and MPO.

    Parameters
    ----------
    channel, time, series : int, optional
        Number of the channel, time point or series, counted from 0; the first by default, with a note.

    Returns
    -------
    PlaneStack
        A sequence of planes, with ``step_um`` and ``pixel_um`` from the file. A plane, ``open_stack(path)[3]``, is
        accepted in place of a path by :func:`relblur.prepare_pair`.
    """
    options = {"channel": channel, "time": time, "series": series}
    for name, number in options.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise InputError(f"{name} must be a whole number from 0, got {number!r}")
    every = _zarr_series(path) if Path(path).is_dir() else _file_series(path)
    chosen = series or 0
    if chosen >= len(every):
        raise InputError(f"series is {chosen}; {os.fspath(path)} has {len(every)}, counted from 0")
    note = () if len(every) == 1 or series is not None else (f"series 0 of {len(every)} (--series)",)
    return _stack_of(every[chosen], {"C": channel, "T": time}, note)


def page_of(path: PathLike, number: int) -> Plane:
    """Return a page or frame of a file, counted from 1."""
    planes = [plane for each in _file_series(path) for plane in _planes(each)]
    if not 1 <= number <= len(planes):
        raise InputError(f"page is {number}; {os.fspath(path)} has {len(planes)}, counted from 1")
    return planes[number - 1]


def _planes(series: _Series) -> list[Plane]:
    """Return all planes of a series of pages."""
    count = math.prod(series.shape)
    if len(series.numbers) == count:
        return [Plane(series.path, number) for number in series.numbers]
    first, size = series.numbers[0], series.picture_bytes
    return [Plane(series.path, first, n * size, label=str(n + 1)) for n in range(count)]


def _stack_of(series: _Series, chosen: Mapping[str, int | None], notes: tuple[str, ...]) -> PlaneStack:
    sizes = dict(zip(series.axes, series.shape, strict=True))
    along = _focus_axis(series.path, sizes)
    for axis, name in _NAMES.items():
        number, size = chosen[axis], sizes.get(axis, 1)
        if number is not None and axis == along:
            raise InputError(f"{name} is the axis of the stack in {series.path}, which has no Z; leave it out")
        if (number or 0) >= size:
            raise InputError(f"{name} is {number}; {series.path} has {size}, counted from 0")
        if axis == along:
            notes += (f"no Z: the stack is along {name}",)
        elif size > 1 and number is None:
            notes += (f"{name} 0 of {size} (--{name})",)
    if any(size > 1 and axis not in _NAMES and axis != along for axis, size in sizes.items()):
        raise FileError(f"{series.path} has the axes {series.axes}; relblur takes Z, channel and time")
    start = {axis: chosen.get(axis) or 0 for axis in sizes}
    places = [tuple({**start, along: n}[axis] for axis in series.axes) for n in range(sizes[along])]
    if not series.numbers:  # Zarr
        planes = tuple(Plane(series.path, n, place=place) for n, place in enumerate(places))
    else:
        every = _planes(series)
        planes = tuple(every[int(np.ravel_multi_index(place, series.shape))] for place in places)
    return PlaneStack(planes, series.step_um, series.pixel_um, notes)


def _focus_axis(path: str, sizes: Mapping[str, int]) -> str:
    """Return the axis along which the planes of a stack lie."""
    if sizes.get("Z", 1) > 1:
        return "Z"
    others = [axis for axis, size in sizes.items() if size > 1 and axis not in "ZC"]
    others = others or [axis for axis, size in sizes.items() if size > 1]
    if not others:
        raise FileError(f"{path} holds one picture; a stack needs two planes or more, or give several files")
    if len(others) > 1:
        raise FileError(f"{path} has the axes {''.join(others)} and no Z; save the planes of one stack in a file")
    return others[0]


def _file_series(path: PathLike) -> list[_Series]:
    with opened(path) as source:
        kind = format_name(source)
        if kind == "TIFF":
            source.check_file()
            every: list[_Series] = in_child(f"{__name__}:tiff_series", source)
        else:
            count = int(in_child("relblur.images.decoders:count_frames", source, kind))
            every = [_Series(os.fspath(path), "I", (count,), tuple(range(count)))]
    for each in every:
        if math.prod(each.shape) > MOST_PLANES:
            raise FileError(f"{path} declares {math.prod(each.shape)} planes; relblur reads up to {MOST_PLANES}")
    return every


def tiff_series(source: Source) -> list[_Series]:
    """Return the series of a TIFF; runs in the child process."""
    try:
        with open_tiff(source) as file:
            scale = _scale_of(file)
            return [_series_of(source, file, each, scale) for each in file.series]
    except FileError:
        raise
    except Exception as error:  # of any type; all mean an unusable file
        raise FileError(f"{source.path} is not a readable TIFF: {first_line(error)}") from None


def _series_of(source: Source, file: Any, series: Any, scale: tuple[float | None, float | None]) -> _Series:
    leading = [(axis, size) for axis, size in zip(series.axes, series.shape, strict=True) if axis not in "SYX"]
    count = math.prod(size for _, size in leading)
    if count > MOST_PLANES:
        raise FileError(f"{source.path} declares {count} planes; relblur reads up to {MOST_PLANES}")
    pages = list(series.pages[:count])
    size = math.prod(series.keyframe.shape) * series.keyframe.dtype.itemsize
    if len(pages) < count or any(page is None for page in pages[1:]):
        if series.dataoffset is None or series.keyframe.compression != 1:
            raise FileError(f"{source.path} lacks some of its {count} planes; save it again")
        numbers: tuple[int, ...] = (series.keyframe.index,)
    else:
        numbers = tuple(page.index for page in pages)
    axes, shape = "".join(axis for axis, _ in leading), tuple(size for _, size in leading)
    return _Series(os.fspath(source.path), axes, shape, numbers, size, *scale)


def _scale_of(file: Any) -> tuple[float | None, float | None]:
    """Return the step of Z and the side of a pixel, micrometres; None where the file does not state them."""
    if file.is_ome:
        import tifffile

        pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]
        pixels = (pixels[0] if isinstance(pixels, list) else pixels)["Pixels"]
        step, side = (_in_um(pixels.get(f"PhysicalSize{a}"), pixels.get(f"PhysicalSize{a}Unit", "µm")) for a in "ZX")
        return step, side
    about = file.imagej_metadata or {}
    if file.is_imagej and about:
        unit = about.get("unit", "")
        per_unit = file.pages[0].resolution[0]
        return _in_um(about.get("spacing"), unit), _in_um(1 / per_unit if per_unit else None, unit)
    page = file.pages[0]
    if str(page.software).startswith("relblur ") and page.resolutionunit == 3 and page.resolution[0]:
        return None, 1e4 / page.resolution[0]
    return None, None


def _in_um(value: Any, unit: str) -> float | None:
    """Convert a length to micrometres; None without a value, or if the unit is not one of length."""
    factor = _UNITS_UM.get(str(unit).strip().lower())
    if value is None or factor is None:
        return None
    length = abs(float(value)) * factor
    return length if 0 < length < math.inf else None


def _zarr_series(path: PathLike) -> list[_Series]:
    node = read_zarr_node(path)
    if node is None:
        raise FileError(f"the folder {path} is no Zarr; name the images in it, or one file ({READ_SUFFIXES[0]} ...)")
    images = [OmeImage(node.array, axes_of(node.array))] if node.array else ome_images(path, node)
    if not images:
        raise FileError(f"{path} holds no image of OME-Zarr; name one of the arrays in it")
    every = []
    for image in images:
        array, axes = image.array, image.axes
        if len(axes) != array.ndim or axes[-2:] != "YX" or len(set(axes)) < len(axes):
            raise FileError(
                f"{path} has the axes {axes} of shape {array.shape}; relblur takes T, C, Z, Y, X, the last two last"
            )
        lengths = {axis: _in_um(*length) for axis, length in zip(axes, image.lengths, strict=False)}
        every.append(_Series(array.path, axes[:-2], array.shape[:-2], (), 0, lengths.get("Z"), lengths.get("X")))
    return every


def is_stack_file(path: PathLike) -> bool:
    """Return whether a path is a Zarr, or a file of more than one picture."""
    if Path(path).is_dir():
        return is_zarr(path)
    try:
        return any(math.prod(each.shape) > 1 for each in _file_series(path))
    except FileError:
        return False
