"""The hot loops in SciPy and float64, the definition of the results."""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, FloatArray

__all__ = ["box_mean", "filter_separable"]


def filter_separable(image: AnyArray, kernel: FloatArray, mode: str = "reflect") -> AnyArray:
    """Filter rows and columns with one odd, symmetric kernel, with sums in float64."""
    from scipy import ndimage

    if kernel.size == 1:
        return image * image.dtype.type(kernel[0])
    columns = ndimage.correlate1d(image, kernel, axis=0, mode=mode, output=np.float64)
    return np.asarray(ndimage.correlate1d(columns, kernel, axis=1, mode=mode, output=image.dtype))


def box_mean(image: FloatArray, size: int) -> FloatArray:
    """Average a ``size`` x ``size`` square, mirrored at the border; no running sums."""
    return filter_separable(image, np.full(size, 1 / size))
