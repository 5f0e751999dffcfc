"""Local sharpness of images: the paper's 3 x 3 standard deviation (section 6), and the energy of detail.

The standard deviation divides a pair into BH/FL (one image sharper), FH/BL (the other) and points of equal sharpness.
``method="paper"`` and the paper's tables use it. The other methods select the direction that fits better.

The detail energy decides which of several images is in focus. It is the geometric mean of the energies in three bands:
the Laplacian, and differences of Gaussians one and two octaves below. Each band has its own window.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray, ArrayLike, FloatArray, Int8Array
from ..base.arguments import as_odd_size, colour_axis
from ..base.inputs import as_pair, check_image_with_gaps
from ..base.pixels import grey, unit_float
from ..base.settings import SHARPNESS_SIZE
from ..kernels.separable import box_mean

__all__ = ["compare_sharpness", "detail_energy", "local_sharpness"]

#: Variances that differ by less than this fraction of the squared intensity range count as equal: far above the
#: rounding of float64 and far below one 16-bit step.
EQUAL = 1e-12

#: Window of the finest band, and (inner Gaussian, window) of the others, sigma in px: chosen on half of the Real-MFF
#: pairs. For the fused picture wider windows lose 0.05 dB, the finest band alone 0.1 dB.
_FINEST = 1.5
_BANDS = ((0.7, 1.4), (1.4, 2.8))
#: Energy added to that of each band, for images on a 0..1 scale: it limits the logarithm in flat areas.
_LEAST = 1e-6
#: Rows processed together, and the reach of the filters beyond them, px.
_ROWS, _REACH = 1024, 24


def local_sharpness(image: ArrayLike, size: int = SHARPNESS_SIZE, *, channel_axis: int | None = None) -> FloatArray:
    """Return the standard deviation of the intensities in a square around each pixel.

    Parameters
    ----------
    image : (H, W) array, or colour with ``channel_axis``
        Colours are converted to grey values, the mean of the channels.
    size : int
        Side of the square, odd; 3 in the paper. A larger one is less noisy and less local.

    Returns
    -------
    (H, W) float64 array in the unit of the image (integers: of full scale); NaN where the square
    contains a value that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> float(local_sharpness(np.eye(3))[1, 1].round(3))
    0.471
    """
    channel_axis = colour_axis(image, channel_axis)
    stacked, good = check_image_with_gaps(image, channel_axis=channel_axis)
    as_odd_size(size, "size", (stacked.shape[0], stacked.shape[1]))
    deviation = np.sqrt(local_variance(grey(unit_float(stacked))[:, :, None], size))
    if good is not None:
        deviation[box_mean((~good).astype(np.float64), size) > 0] = np.nan
    return deviation


def compare_sharpness(
    first: ArrayLike,
    second: ArrayLike,
    size: int = SHARPNESS_SIZE,
    *,
    channel_axis: int | None = None,
) -> Int8Array:
    """Return +1 where ``first`` is sharper, -1 where ``second`` is, 0 where they are equal.

    If ``first`` is the paper's background-focused image, +1 is its BH (and FL), -1 its FH (and BL), and 0 its excluded
    points. Points without a finite value in both images are 0 too.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        Grey values of colours are compared, as in ``method="paper"`` and Table I.
    size : int
        Side of the square, as for :func:`local_sharpness`.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = np.eye(3), 0.99 * np.eye(3)
    >>> int(compare_sharpness(first, second)[1, 1])
    1
    """
    channel_axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, channel_axis=channel_axis)
    as_odd_size(size, "size", pair.shape)
    greys = grey(pair.first)[:, :, None], grey(pair.second)[:, :, None]
    contrast = max(float(np.ptp(image)) for image in greys)
    variances = [local_variance(image, size) for image in greys]
    return np.where(pair.finite, compare_variances(variances[0], variances[1], contrast), 0).astype(np.int8)


def compare_variances(first: FloatArray, second: FloatArray, contrast: float) -> Int8Array:
    """Compare local variances of two images whose intensities span ``contrast``."""
    difference = first - second
    equal = np.abs(difference) <= EQUAL * contrast**2
    return np.where(equal, 0, np.sign(difference)).astype(np.int8)


def local_variance(image: FloatArray, size: int, centre: FloatArray | None = None) -> FloatArray:
    """Return the variance over a square around each pixel of a checked (H, W, C) image, mean of the channels.

    ``centre`` is the mean intensity of each channel; for a tile it is that of the whole image.
    """
    # Centred to avoid cancellation, which would lose the texture of flat areas.
    centred = image - (image.mean(axis=(0, 1)) if centre is None else centre)
    planes = np.moveaxis(centred, -1, 0)
    variances = [np.maximum(box_mean(plane * plane, size) - box_mean(plane, size) ** 2, 0) for plane in planes]
    return np.asarray(np.mean(variances, axis=0))


def detail_energy(grey: AnyArray) -> AnyArray:
    """Return the logarithm of the detail energy of an (H, W) image on a scale of 0..1, float32.

    The image must have a display's tone curve, which makes noise and detail similar in dark and bright areas.
    """
    out = np.empty(grey.shape, np.float32)
    for start in range(0, grey.shape[0], _ROWS):  # in bands, because six arrays exist at a time
        above = min(start, _REACH)
        band = np.ascontiguousarray(grey[start - above : start + _ROWS + _REACH], np.float32)
        out[start : start + _ROWS] = _energy(band)[above : above + _ROWS]
    return out


def _energy(grey: AnyArray) -> AnyArray:
    import cv2

    def soft(image: AnyArray, width: float) -> AnyArray:
        return np.asarray(cv2.GaussianBlur(image, (0, 0), width, borderType=cv2.BORDER_REFLECT))

    fine = cv2.Laplacian(grey, cv2.CV_32F, borderType=cv2.BORDER_REFLECT)
    total = np.log(soft(np.square(fine), _FINEST) + np.float32(_LEAST))
    for inner, window in _BANDS:
        band = soft(grey, inner) - soft(grey, 2 * inner)
        total += np.log(soft(np.square(band), window) + np.float32(_LEAST))
    return np.asarray(total / np.float32(1 + len(_BANDS)))
