"""Separable filters in OpenCV, in the precision of the image.

Without running sums a tile has the same values as the whole image, to the bit. SciPy is used if OpenCV lacks the border
mode, or if the kernel is wider than the image.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, FloatArray

__all__ = ["MODES", "box_mean", "filter_separable"]

#: Boundary modes, named as in :mod:`scipy.ndimage`.
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


def filter_separable(image: AnyArray, kernel: FloatArray, mode: str = "reflect") -> AnyArray:
    """Filter rows and columns of a plane with one odd, symmetric kernel."""
    import cv2

    borders = {
        "reflect": cv2.BORDER_REFLECT,
        "mirror": cv2.BORDER_REFLECT_101,
        "nearest": cv2.BORDER_REPLICATE,
        "constant": cv2.BORDER_CONSTANT,
    }
    if mode in borders and kernel.size // 2 < min(image.shape):
        return np.asarray(cv2.sepFilter2D(image, -1, kernel, kernel, borderType=borders[mode]))
    from scipy import ndimage

    columns = ndimage.correlate1d(image, kernel, axis=0, mode=mode, output=np.float64)
    return np.asarray(ndimage.correlate1d(columns, kernel, axis=1, mode=mode, output=image.dtype))


def box_mean(image: FloatArray, size: int) -> FloatArray:
    """Average a ``size`` x ``size`` square around every pixel, mirrored at the border."""
    # Not cv2.boxFilter, whose running sums depend on the start of the image. Up to 9 x 9 this filter is as fast.
    return filter_separable(image, np.full(size, 1 / size))
