"""The hot loops in SciPy and float64. They define the answer."""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, FloatArray

__all__ = ["box_mean", "filter_separable"]


def filter_separable(image: AnyArray, kernel: FloatArray, mode: str = "reflect") -> AnyArray:
    """Filter rows and columns with one odd, symmetric kernel; sums are made in float64."""
    from scipy import ndimage

    if kernel.size == 1:
        return image * image.dtype.type(kernel[0])
    columns = ndimage.correlate1d(image, kernel, axis=0, mode=mode, output=np.float64)
    return np.asarray(ndimage.correlate1d(columns, kernel, axis=1, mode=mode, output=image.dtype))


def box_mean(image: FloatArray, size: int) -> FloatArray:
    """Mean over a ``size`` x ``size`` square, mirrored at the border; each sum is made anew."""
    return filter_separable(image, np.full(size, 1 / size))
