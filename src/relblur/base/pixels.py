"""What the numbers in an image mean: their full scale, which are clipped, what stands where one is missing.

Integers are parts of the full scale of their type (255 for 8 bits); one at the top of it is clipped, since the
light was at least this much. Floats are taken as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._typing import AnyArray, BoolArray, FloatArray

__all__ = ["as_integers", "clipped_pixels", "full_scale", "grey", "unit_float", "without_gaps"]


def full_scale(dtype: np.dtype[Any]) -> int | None:
    """Return the largest number of an integer type; None for floats, which have no top."""
    return int(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else None


def unit_float(array: AnyArray, dtype: type[np.floating[Any]] = np.float64) -> AnyArray:
    """Return floats, float64 unless told otherwise; integers are divided by the full scale of their type."""
    result = array.astype(dtype)
    top = full_scale(array.dtype)
    if top is not None:
        result /= top
    return result


def as_integers(values: AnyArray, dtype: np.dtype[Any] | type[np.integer[Any]]) -> AnyArray:
    """Return values of a scale of 0..1 as integers of full scale, rounded; what lies beyond is clipped."""
    return np.rint(values.clip(0, 1) * np.iinfo(dtype).max).astype(dtype)


def clipped_pixels(image: AnyArray) -> BoolArray | None:
    """Return where a channel of an (H, W) or (H, W, C) image is at the top of its integers; None for floats."""
    top = full_scale(image.dtype)
    if top is None:
        return None
    at_top = image == top
    return np.asarray(at_top.any(axis=2) if at_top.ndim == 3 else at_top)


def grey(image: FloatArray) -> FloatArray:
    """Return the mean over the channels of an (H, W, C) image: light adds."""
    return image[:, :, 0] if image.shape[2] == 1 else image.mean(axis=2)


def without_gaps(image: AnyArray, good: BoolArray) -> AnyArray:
    """Give unusable pixels the value of the nearest usable one, so that filters stay finite."""
    from scipy import ndimage

    nearest = ndimage.distance_transform_edt(~good, return_distances=False, return_indices=True)
    return np.asarray(np.ma.getdata(image)[tuple(nearest)])
