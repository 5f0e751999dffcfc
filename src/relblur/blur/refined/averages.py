"""Means over windows and sums over blocks, as OpenCV and NumPy make them."""

from __future__ import annotations

from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["block_means", "box", "box_any", "sum_blocks"]

Array = NDArray[np.float32]
_Float = TypeVar("_Float", np.float32, np.float64)


def box(image: Array, size: int) -> Array:
    """Return the mean over a ``size`` x ``size`` window with a symmetric border."""
    return np.asarray(cv2.blur(image, (size, size), borderType=cv2.BORDER_REFLECT))


def box_any(image: Array, size: int, out: Array | None = None) -> Array:
    """Return the mean over a window of any size; windows beyond the image are limited to it."""
    h, w = image.shape
    window = (min(size, 2 * w - 1), min(size, 2 * h - 1))
    return np.asarray(cv2.blur(image, window, dst=out, borderType=cv2.BORDER_REFLECT))


def block_means(image: Array, side: int, border: int = cv2.BORDER_REPLICATE) -> Array:
    """Return the means over blocks of ``side`` x ``side``; beyond the image lies its border, or zeros if told so."""
    height, width = image.shape
    rows, cols = -(-height // side), -(-width // side)
    if height % side or width % side:
        image = np.asarray(cv2.copyMakeBorder(image, 0, rows * side - height, 0, cols * side - width, border, value=0))
    return np.asarray(cv2.resize(image, (cols, rows), interpolation=cv2.INTER_AREA))


def sum_blocks(a: NDArray[_Float]) -> NDArray[_Float]:
    """Sum over 2 x 2 blocks; the last row or column of an odd grid is a block by itself."""
    rows = a[..., 0::2, :].copy()
    rows[..., : a.shape[-2] // 2, :] += a[..., 1::2, :]
    blocks = rows[..., :, 0::2].copy()
    blocks[..., :, : a.shape[-1] // 2] += rows[..., :, 1::2]
    return blocks
