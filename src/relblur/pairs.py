"""A pair of image files, read, checked against each other and, if asked, decimated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._typing import AnyArray, BoolArray
from .decimation import decimate
from .errors import InputError
from .files import PathLike, read_image

__all__ = ["FilePair", "find_pairs", "read_pair"]

#: Names by which data sets mark the two images of a pair: (near or blurry, far or sharp).
LAYOUTS = {"realmff": ("_a.png", "_b.png"), "dpdd": ("_f4.png", "_f22.png")}


@dataclass(frozen=True)
class FilePair:
    """Two images as arrays, ready for :func:`relblur.estimate_blur`."""

    first: AnyArray
    second: AnyArray
    valid: BoolArray | None = None

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
        from scipy import ndimage

        usable = _unclipped(self.first) & _unclipped(self.second)
        reduced = [decimate(image, factor, channel_axis=self.channel_axis) for image in (self.first, self.second)]
        valid = ndimage.minimum_filter(usable.astype(np.uint8), 2 * factor - 1)[::factor, ::factor] > 0
        return FilePair(reduced[0], reduced[1], None if valid.all() else valid)

    def linear(self) -> FilePair:
        """Return the pair in linear light: 8-bit images with the sRGB curve undone, as 16 bits; others as they are.

        The full scale stays the full scale, so that clipped pixels are still seen to be.
        """
        if self.first.dtype != np.uint8 or self.second.dtype != np.uint8:
            return self
        code = np.arange(256) / 255
        light = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
        table = np.rint(65535 * light).astype(np.uint16)
        return FilePair(table[self.first], table[self.second], self.valid)

    def grey(self) -> FilePair:
        """Return the pair as grey floats with the usual luma weights."""
        if self.first.ndim == 2:
            return self
        luma = np.array([0.2989, 0.5870, 0.1140])
        return FilePair(_unit(self.first) @ luma, _unit(self.second) @ luma, self.valid)


def read_pair(first: PathLike, second: PathLike) -> FilePair:
    """Read two image files with their stored values."""
    one, two = read_image(first), read_image(second)
    if one.ndim != two.ndim:
        grey_one = first if one.ndim == 2 else second
        raise InputError(f"{grey_one} is grey and the other image is colour; convert one of them")
    if one.shape != two.shape:
        raise InputError(
            f"the images differ in size: {first} is {one.shape[1]}x{one.shape[0]}, "
            f"{second} is {two.shape[1]}x{two.shape[0]}; crop or resize them to the same view"
        )
    return FilePair(one, two)


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
