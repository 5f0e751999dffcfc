"""Squares of pixels that become one: means over blocks. What is left over at the ends is cut off."""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.pixels import unit_float

__all__ = ["block_means", "grey_block_means", "whole_blocks"]


def whole_blocks(image: AnyArray, side: int) -> AnyArray:
    """Return an (H, W, ...) array as (rows, side, columns, side, ...), from its upper left corner."""
    rows, columns = image.shape[0] // side, image.shape[1] // side
    inside = image[: rows * side, : columns * side]
    return inside.reshape(rows, side, columns, side, *image.shape[2:])


def block_means(image: AnyArray, side: int) -> AnyArray:
    """Return the means over blocks of ``side`` x ``side`` pixels of an (H, W, ...) image, in its own precision."""
    return image if side == 1 else np.ascontiguousarray(whole_blocks(image, side).mean(axis=(1, 3)))


def grey_block_means(image: AnyArray, side: int) -> FloatArray:
    """Return the means over blocks and channels of an image of any type, on a scale of 0..1 for integers.

    A row of blocks at a time: the image is never there as floats.
    """
    height, width = image.shape[0] // side, image.shape[1] // side
    inside = image[: height * side, : width * side]
    if inside.dtype == np.float32 and side > 1:  # light as it is read: four times as fast
        import cv2

        means = cv2.resize(inside, (width, height), interpolation=cv2.INTER_AREA)
        return np.asarray(means, np.float64).reshape(height, width, -1).mean(axis=2)
    small = np.zeros((height, width))
    for row in range(side):
        small += unit_float(inside[row::side]).reshape(height, width, -1).mean(axis=2)
    return small / side
