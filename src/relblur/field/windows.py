"""Means over windows and cells of pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["box", "box_any", "cell_means", "enlarged", "row_bands", "sum_blocks", "window_sizes"]

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


def cell_means(image: Array, side: int, border: int = cv2.BORDER_REPLICATE) -> Array:
    """Return the means over cells of ``side`` x ``side`` pixels; the last cells are filled up from the border."""
    height, width = image.shape
    rows, cols = -(-height // side), -(-width // side)
    if height % side or width % side:
        image = np.asarray(cv2.copyMakeBorder(image, 0, rows * side - height, 0, cols * side - width, border, value=0))
    return np.asarray(cv2.resize(image, (cols, rows), interpolation=cv2.INTER_AREA))


def enlarged(cells: NDArray[_Float], side: int, shape: tuple[int, ...]) -> NDArray[_Float]:
    """Return the values of cells at their pixels, interpolated linearly between the centres of the cells."""
    rows, cols = cells.shape
    fine = cv2.resize(cells, (cols * side, rows * side), interpolation=cv2.INTER_LINEAR)
    return np.ascontiguousarray(fine[: shape[0], : shape[1]])


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
