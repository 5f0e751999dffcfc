"""Windows, cells and edges of the pixel grid: axis 0 runs along rows (downwards), axis 1 along columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CUT",
    "ENDS",
    "Edges",
    "between",
    "box",
    "box_any",
    "cell_means",
    "cell_sums",
    "enlarged",
    "fill",
    "of_pairs",
    "pairs",
    "spread_difference",
    "spread_sum",
    "unexplained",
    "window_sizes",
]

Array = NDArray[np.float32]
_Float = TypeVar("_Float", np.float32, np.float64)

#: Sides of the windows of which the best is chosen, px.
WINDOWS = (5, 9, 17, 33, 65, 129, 257, 513, 1025)
#: Weight of an edge across a jump; it keeps the linear system regular.
CUT = np.float32(1e-6)

#: Both ends of the edges along rows (0: downwards) and columns (1: to the right).
ENDS = (
    ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
)


def box(image: Array, size: int) -> Array:
    """Return the mean over a window of ``size`` x ``size`` pixels, mirrored at the border."""
    return np.asarray(cv2.blur(image, (size, size), borderType=cv2.BORDER_REFLECT))


def box_any(image: Array, size: int) -> Array:
    """Return the mean over a window of any size; its sides are limited to twice those of the image."""
    height, width = image.shape
    window = (min(size, 2 * width - 1), min(size, 2 * height - 1))
    return np.asarray(cv2.blur(image, window, borderType=cv2.BORDER_REFLECT))


def window_sizes(shape: tuple[int, ...]) -> list[int]:
    """Return the sides of the windows that fit an image."""
    return [size for size in WINDOWS if size == WINDOWS[0] or size <= 2 * max(shape)]


def cell_means(image: NDArray[_Float], side: int) -> NDArray[_Float]:
    """Return the means over equal cells of about ``side`` x ``side`` pixels that fill an image.

    If the image is no multiple of ``side``, cells contain fractions of pixels and lie symmetrically in it.
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
    """Return the means over cells of 2 x 2 pixels; the middle row or column of an odd length is used twice."""
    for axis in (0, 1):
        if image.shape[axis] % 2:
            middle = image.shape[axis] // 2
            image = np.insert(image, middle, image.take(middle, axis), axis)
    return cell_means(image, 2)


def of_pairs(cells: Array, shape: tuple[int, ...]) -> Array:
    """Return the cells of 2 x 2 pixels at full size; the middle of an odd length is the mean of two cells."""
    for axis, length in enumerate(shape):
        p, middle = np.arange(length), length // 2 if length % 2 else length
        first, second = cells.take((p + (p > middle)) // 2, axis), cells.take((p + (p >= middle)) // 2, axis)
        cells = np.float32(0.5) * (first + second)
    return cells


def fill(value: Array, weight: Array) -> Array:
    """Return the mean of the values around each pixel, over the smallest cells that have weight.

    ``value`` must be multiplied by ``weight``.
    """
    if max(weight.shape) == 1:
        return np.asarray(value / np.maximum(weight, np.float32(1e-12)))
    far = enlarged(fill(cell_means(value, 2), cell_means(weight, 2)), weight.shape)
    value, weight = box(value, 3), box(weight, 3)
    near = np.minimum(weight * np.float32(4), 1)
    return np.asarray(near * value / np.maximum(weight, np.float32(1e-12)) + (1 - near) * far)


@dataclass(frozen=True)
class Edges:
    """Unexplained steps ``d`` and weights ``h`` of the edges along rows and columns."""

    d: tuple[Array, Array]
    h: tuple[Array, Array]


def unexplained(z: Array, slope: Array, axis: int) -> Array:
    """Return the steps of a map along an axis that the slopes do not explain."""
    return np.asarray(np.diff(z, axis=axis) - between(slope[axis], axis))


def between(a: Array, axis: int) -> Array:
    """Return the mean of the two ends of each edge along an axis."""
    near, far = ENDS[axis]
    return np.asarray(np.float32(0.5) * (a[near] + a[far]))


def spread_sum(edge: Array, axis: int, out: Array) -> None:
    """Add the value of each edge to both its ends."""
    near, far = ENDS[axis]
    out[near] += edge
    out[far] += edge


def spread_difference(edge: Array, axis: int, out: Array) -> None:
    """Add the value of each edge to its far end, subtract it from the near one."""
    near, far = ENDS[axis]
    out[far] += edge
    out[near] -= edge
