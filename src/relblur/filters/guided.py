"""Enlargement of a small map to the size of a picture, with its edges at the edges of the picture.

The guided filter (He, Sun and Tang) fits ``map = a grey + b`` in a window around each pixel, at the resolution of the
map. Pixels are weighted by the inverse of their variance. The coefficients are averaged over the windows that contain a
pixel, enlarged, and applied to the large picture. In flat areas ``a`` vanishes and the map is smooth. Jumps of the map
follow nearby outlines of the picture. All steps are box filters, so the cost does not depend on the window.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray

__all__ = ["enlarge", "guided_enlarge"]

#: Radius of the windows, px of the map: two more than the blur of an outline at usual decimations.
RADIUS = 4
#: Damping of the slope (squared fraction of the contrast): a smaller variance of grey has little effect on the map.
LEAST_CONTRAST = 0.03**2
#: Number of rows of the large picture that are processed together.
_ROWS = 512


def enlarge(values: AnyArray, shape: tuple[int, int], factor: int, *, nearest: bool = False) -> AnyArray:
    """Enlarge a map of every ``factor``-th pixel to full size, by linear or nearest interpolation."""
    import cv2

    rows, columns = (
        np.minimum(np.arange(n, dtype=np.float32) / factor, m - 1) for n, m in zip(shape, values.shape, strict=True)
    )
    if nearest:
        return np.asarray(values[np.ix_(np.rint(rows).astype(np.intp), np.rint(columns).astype(np.intp))])
    out = np.empty(shape, np.float32)
    source = np.ascontiguousarray(values, np.float32)
    for start in range(0, shape[0], _ROWS):
        here = rows[start : start + _ROWS]
        x, y = np.meshgrid(columns, here)
        out[start : start + _ROWS] = cv2.remap(source, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return out


def guided_enlarge(
    values: FloatArray, stderr: FloatArray, picture: AnyArray, factor: int
) -> tuple[FloatArray, FloatArray]:
    """Enlarge a map and its standard error to the size of a grey picture, along its edges.

    Parameters
    ----------
    values, stderr : (h, w)
        The map at every ``factor``-th pixel of the picture; pixels without a value (NaN) stay NaN.
    picture : (H, W)
        Grey, of any scale.

    Returns
    -------
    values, stderr : (H, W) float32
        The standard error combines that of the map with the change by the picture, because the true jump may not
        follow the outline.
    """
    shape = (picture.shape[0], picture.shape[1])
    known = np.isfinite(values)
    if not known.any():
        empty: AnyArray = np.full(shape, np.nan, np.float32)
        return empty, empty.copy()
    # The fit uses means around every factor-th pixel of the picture; the pixels themselves would alias.
    small = _reduced(picture, values.shape, factor)
    a, b = _lines(np.where(known, values, 0).astype(np.float32), _weights(stderr, known), small)
    contrast = _contrast(small)
    large = enlarge(a, shape, factor)
    large *= picture.astype(np.float32) / np.float32(contrast)
    large += enlarge(b, shape, factor)
    linear = enlarge(_filled(values, known), shape, factor)
    error = enlarge(_filled(stderr, np.isfinite(stderr)), shape, factor)
    np.hypot(error, large - linear, out=error)
    unknown = ~enlarge(known, shape, factor, nearest=True)
    large[unknown] = error[unknown] = np.nan
    return np.asarray(large), np.asarray(error)


def _reduced(picture: AnyArray, shape: tuple[int, ...], factor: int) -> AnyArray:
    import cv2

    if factor == 1:
        return np.asarray(picture, np.float32)
    soft = cv2.blur(np.asarray(picture, np.float32), (factor, factor), borderType=cv2.BORDER_REFLECT)
    return np.ascontiguousarray(soft[::factor, ::factor][: shape[0], : shape[1]])


def _contrast(picture: AnyArray) -> float:
    low, high = np.percentile(picture, (1, 99))
    return max(float(high - low), 1e-12)


def _weights(stderr: FloatArray, known: BoolArray) -> AnyArray:
    """Return the inverse variance, relative to its median and limited to 0.01 to 100."""
    good = known & np.isfinite(stderr) & (stderr > 0)
    if not good.any():
        return np.asarray(known, np.float32)
    weight = np.zeros(stderr.shape, np.float32)
    weight[good] = 1 / np.square(stderr[good])
    middle = float(np.median(weight[good]))
    return np.where(known, np.clip(weight / middle, 0.01, 100), 0).astype(np.float32)


def _lines(values: AnyArray, weight: AnyArray, picture: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Fit the map as a line of the picture's grey around each pixel; return slope (per contrast) and intercept."""
    import cv2

    size = (2 * RADIUS + 1, 2 * RADIUS + 1)

    def mean(image: AnyArray) -> AnyArray:
        return np.asarray(cv2.boxFilter(image, cv2.CV_32F, size, borderType=cv2.BORDER_REFLECT))

    grey = picture / np.float32(_contrast(picture))
    mass = np.maximum(mean(weight), np.float32(1e-6))
    middle, level = mean(weight * grey) / mass, mean(weight * values) / mass
    variance = np.maximum(mean(weight * grey * grey) / mass - middle**2, 0)
    covariance = mean(weight * grey * values) / mass - middle * level
    slope = covariance / (variance + np.float32(LEAST_CONTRAST))
    intercept = level - slope * middle
    # Windows are weighted by their information, because a flat window contains none about an outline.
    share = mean(mass)
    return mean(mass * slope) / share, mean(mass * intercept) / share


def _filled(values: FloatArray, known: BoolArray) -> AnyArray:
    if known.all():
        return values
    if not known.any():
        return np.zeros_like(values)
    from ..base.pixels import without_gaps

    return without_gaps(values, known)
