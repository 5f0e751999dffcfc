"""Means over windows and cells of pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "box",
    "box_any",
    "cell_means",
    "cell_sums",
    "enlarged",
    "of_pairs",
    "pairs",
    "row_bands",
    "sum_blocks",
    "window_sizes",
]

Array = NDArray[np.float32]
_Float = TypeVar("_Float", np.float32, np.float64)

#: Sides of the windows that may be the best, px.
WINDOWS = (5, 9, 17, 33, 65, 129, 257, 513, 1025)
#: Elements of an array that NumPy processes at a time, so that temporary arrays stay in the processor's cache.
BAND = 16_384


def box(image: Array, size: int) -> Array:
    """Return the mean over a window of ``size`` x ``size`` pixels, mirrored at the border."""
    return np.asarray(cv2.blur(image, (size, size), borderType=cv2.BORDER_REFLECT))


def box_any(image: Array, size: int) -> Array:
    """Return the mean over a window of any size, which is limited to what mirroring can fill."""
    height, width = image.shape
    window = (min(size, 2 * width - 1), min(size, 2 * height - 1))
    return np.asarray(cv2.blur(image, window, borderType=cv2.BORDER_REFLECT))


def window_sizes(shape: tuple[int, ...]) -> list[int]:
    """Return the sides of the windows that an image has room for."""
    return [size for size in WINDOWS if size == WINDOWS[0] or size <= 2 * max(shape)]


def cell_means(image: NDArray[_Float], side: int) -> NDArray[_Float]:
    """Return the means over cells of about ``side`` x ``side`` pixels, all of one size, that together fill an image.

    Cells have fractions of pixels where the image is no multiple of ``side``: so they lie symmetrically in it.
    """
    rows, cols = (-(-n // side) for n in image.shape)
    return np.asarray(cv2.resize(image, (cols, rows), interpolation=cv2.INTER_AREA))


def cell_sums(image: NDArray[_Float], side: int) -> NDArray[_Float]:
    """Return the sums over the cells of :func:`cell_means`."""
    means = cell_means(image, side)
    return np.asarray(means * means.dtype.type(image.size / means.size))


def enlarged(cells: NDArray[_Float], shape: tuple[int, ...]) -> NDArray[_Float]:
    """Return the values of cells at the pixels of an image, interpolated linearly between the cells' centres."""
    return np.asarray(cv2.resize(cells, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR))


def pairs(image: Array) -> Array:
    """Return the means over cells of 2 x 2 pixels; of an odd length the middle row or column counts twice."""
    for axis in (0, 1):
        if image.shape[axis] % 2:
            middle = image.shape[axis] // 2
            image = np.insert(image, middle, image.take(middle, axis), axis)
    return cell_means(image, 2)


def of_pairs(cells: Array, shape: tuple[int, ...]) -> Array:
    """Return the values of cells of 2 x 2 pixels at their pixels; in the middle of an odd length the mean of two."""
    for axis, length in enumerate(shape):
        p, middle = np.arange(length), length // 2 if length % 2 else length
        first, second = cells.take((p + (p > middle)) // 2, axis), cells.take((p + (p >= middle)) // 2, axis)
        cells = np.float32(0.5) * (first + second)
    return cells


def sum_blocks(a: NDArray[_Float]) -> NDArray[_Float]:
    """Sum over blocks of 2 x 2; the last row or column of an odd grid is a block by itself."""
    rows = a[..., 0::2, :].copy()
    rows[..., : a.shape[-2] // 2, :] += a[..., 1::2, :]
    blocks = rows[..., :, 0::2].copy()
    blocks[..., :, : a.shape[-1] // 2] += rows[..., :, 1::2]
    return blocks


def row_bands(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of a few rows each that together cover arrays of (H, W)."""
    rows = max(1, BAND // shape[1])
    for start in range(0, shape[0], rows):
        yield slice(start, min(start + rows, shape[0]))
