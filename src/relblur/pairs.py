"""A pair of image files, read, checked against each other and, if asked, decimated."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ._typing import AnyArray, BoolArray
from .bank import count_workers
from .decimation import decimate
from .decoding import read_image
from .errors import InputError
from .files import PathLike
from .noise import NoiseModel
from .photographs import Photograph, read_photograph

__all__ = ["FilePair", "find_pairs", "read_light_pair", "read_pair"]

#: Names by which data sets mark the two images of a pair: (near or blurry, far or sharp).
LAYOUTS = {"realmff": ("_a.png", "_b.png"), "dpdd": ("_f4.png", "_f22.png")}


@dataclass(frozen=True)
class FilePair:
    """Two images as arrays, ready for :func:`relblur.estimate_blur`."""

    first: AnyArray
    second: AnyArray
    valid: BoolArray | None = None
    clipped: tuple[BoolArray, BoolArray] | None = None  #: of first and second; None: integers tell
    rounding: tuple[NoiseModel, NoiseModel] | None = None  #: noise that the files' integers left
    is_light: bool = False  #: linear light rather than stored values
    notes: tuple[str, ...] = ()  #: what was done to the pair, a line each

    @property
    def clipped_in_either(self) -> BoolArray | None:
        """Where one of the two is at the top of its range."""
        return None if self.clipped is None else self.clipped[0] | self.clipped[1]

    @property
    def channel_axis(self) -> int | None:
        """-1 for colour, None for grey."""
        return -1 if self.first.ndim == 3 else None

    @property
    def size(self) -> str:
        """Width x height, as photographers write it."""
        return f"{self.first.shape[1]}x{self.first.shape[0]}"

    def decimated(self, factor: int) -> FilePair:
        """Return the pair at a lower resolution; blocks with a clipped pixel are marked unusable."""
        if factor == 1:
            return self
        import cv2

        usable = _unclipped(self.first) & _unclipped(self.second)
        if self.clipped_in_either is not None:
            usable &= ~self.clipped_in_either
        if self.valid is not None:
            usable &= self.valid
        reduced = [decimate(image, factor, channel_axis=self.channel_axis) for image in (self.first, self.second)]
        around = np.ones((2 * factor - 1, 2 * factor - 1), np.uint8)
        valid = cv2.erode(usable.astype(np.uint8), around)[::factor, ::factor] > 0
        return replace(
            self, first=reduced[0], second=reduced[1], valid=None if valid.all() else valid, clipped=None, rounding=None
        )

    def grey(self) -> FilePair:
        """Return the pair as grey floats with the usual luma weights."""
        if self.first.ndim == 2:
            return self
        luma = np.array([0.2989, 0.5870, 0.1140])
        return FilePair(_unit(self.first) @ luma, _unit(self.second) @ luma, self.valid)


def read_pair(first: PathLike, second: PathLike) -> FilePair:
    """Read two image files with their stored values."""
    one, two = read_image(first), read_image(second)
    _check_alike(one, two, first, second)
    return FilePair(one, two)


def read_light_pair(first: PathLike, second: PathLike, *, linear: bool = True, gamma: float | None = None) -> FilePair:
    """Read two image files as linear light, with their clipped pixels and what was done."""
    with ThreadPoolExecutor(min(2, count_workers(None))) as pool:
        photographs = list(pool.map(lambda path: read_photograph(path, linear=linear, gamma=gamma), (first, second)))
    one, two = (photograph.light for photograph in photographs)
    _check_alike(one, two, first, second)
    roundings = [photograph.rounding for photograph in photographs]
    return FilePair(
        one,
        two,
        clipped=(photographs[0].clipped, photographs[1].clipped),
        rounding=None if roundings[0] is None or roundings[1] is None else (roundings[0], roundings[1]),
        is_light=linear,
        notes=_reading_notes(photographs[0], photographs[1]),
    )


def _reading_notes(first: Photograph, second: Photograph) -> tuple[str, ...]:
    one, two = first.describe(), second.describe()
    return (f"light: {one}",) if one == two else (f"light, first: {one}", f"light, second: {two}")


def _check_alike(one: AnyArray, two: AnyArray, first: PathLike, second: PathLike) -> None:
    if one.ndim != two.ndim:
        grey_one = first if one.ndim == 2 else second
        raise InputError(f"{grey_one} is grey and the other image is colour; convert one of them")
    if one.shape != two.shape:
        raise InputError(
            f"the images differ in size: {first} is {one.shape[1]}x{one.shape[0]}, "
            f"{second} is {two.shape[1]}x{two.shape[0]}; crop or resize them to the same view"
        )


def find_pairs(folder: Path, layout: str) -> Iterator[tuple[str, Path, Path]]:
    """Yield (name, near, far) for the pairs of a data set found in a folder."""
    near_suffix, far_suffix = LAYOUTS[layout]
    for near in sorted(folder.glob(f"*{near_suffix}")):
        name = near.name.removesuffix(near_suffix)
        far = near.with_name(name + far_suffix)
        if far.exists():
            yield name, near, far


def _unclipped(image: AnyArray) -> BoolArray:
    if not np.issubdtype(image.dtype, np.integer):
        return np.ones(image.shape[:2], dtype=bool)
    below = image < np.iinfo(image.dtype).max
    return np.asarray(below.all(axis=2)) if below.ndim == 3 else below


def _unit(image: AnyArray) -> AnyArray:
    scale = np.iinfo(image.dtype).max if np.issubdtype(image.dtype, np.integer) else 1
    return image / scale
