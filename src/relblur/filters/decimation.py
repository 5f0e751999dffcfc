"""Reduction of the resolution: without aliasing by the Kaiser-windowed sinc of equation 25, or by means over blocks.

    g(k) = sinc(k / D) Kaiser(2 L + 1, beta),  -L <= k <= L

The paper's g is not normalised. Here its gain is 1 at zero frequency, so the mean intensity does not change. L = 8
belongs to D = 2, where it spans four zero crossings of the sinc. L is proportional to the prime factor, because eight
taps cannot suppress aliases at D = 5. A composite factor is applied prime by prime; the paper decimates twice by two.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.arguments import as_positive, as_whole, colour_axis
from ..base.errors import InputError
from ..base.inputs import check_image_with_gaps
from ..base.pixels import unit_float
from ..base.settings import DECIMATE_BETA, DECIMATE_HALF_WIDTH
from ..kernels.separable import filter_separable
from ..kernels.threads import count_workers

__all__ = [
    "block_means",
    "decimate",
    "decimation_kernel",
    "decimation_margin",
    "grey_block_means",
    "keeps_light",
    "mirrored",
    "whole_blocks",
]

#: Size of a band of rows that is filtered at a time, px.
BAND_PIXELS = 1_000_000


def decimation_kernel(factor: int, half_width: int = DECIMATE_HALF_WIDTH, beta: float = DECIMATE_BETA) -> FloatArray:
    """Return g(k) of equation 25 for one factor, length ``2 half_width + 1``, with unit sum."""
    k = np.arange(-half_width, half_width + 1)
    kernel = np.sinc(k / factor) * np.kaiser(2 * half_width + 1, beta)
    return np.asarray(kernel / kernel.sum())


def decimate(
    image: ArrayLike,
    factor: int,
    *,
    half_width: int = DECIMATE_HALF_WIDTH,
    beta: float = DECIMATE_BETA,
    channel_axis: int | None = None,
) -> FloatArray:
    """Reduce the resolution by a whole factor.

    Parameters
    ----------
    image : (H, W) array, or colour with ``channel_axis``
        Integers are divided by their full scale.
    factor : int
        Keep every ``factor``-th row and column, the first included: 625 columns become 313.
        Relative blur in px shrinks by the same factor; :func:`relblur.optics.mm_to_px` and
        ``relblur optics`` help to choose it.
    half_width : int
        L of equation 25 for a factor of two; in proportion for larger prime factors.
        More taps cut more steeply.
    beta : float
        Shape of the Kaiser window. Larger suppresses aliases more and blurs more.

    Returns
    -------
    float64 array, ceil(H / factor) x ceil(W / factor), channels last. NaN where the block of a pixel contains a value
    that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> decimate(np.ones((433, 625)), 2).shape
    (217, 313)
    """
    channel_axis = colour_axis(image, channel_axis)
    array, good = check_image_with_gaps(image, channel_axis=channel_axis)
    factor, half_width = as_whole(factor, "factor"), as_whole(half_width, "half_width")
    as_positive(beta, "beta")
    if factor > min(array.shape[:2]):
        raise InputError(
            f"factor={factor} exceeds the image's shorter side, {min(array.shape[:2])} px; use a smaller one"
        )
    steps = _steps(factor, half_width)
    reduced = _decimate_in_bands(array, factor, steps, beta)
    if good is not None:
        reduced[~keeps_light(good, factor)] = np.nan
    return reduced if channel_axis is not None else reduced[:, :, 0]


def keeps_light(good: BoolArray, factor: int) -> BoolArray:
    """Return the pixels of the reduced image whose surroundings contain good pixels only."""
    import cv2

    around = np.ones((2 * factor - 1, 2 * factor - 1), np.uint8)
    return np.asarray(cv2.erode(good.astype(np.uint8), around)[::factor, ::factor] > 0)


def decimation_margin(factor: int) -> int:
    """Return the halo (px of the result) with which a decimated part equals that of the whole image."""
    return -(-_reach(_steps(factor, DECIMATE_HALF_WIDTH)) // factor)


def _steps(factor: int, half_width: int) -> list[tuple[int, int]]:
    """Return the prime factors, and the half-width of the kernel of each."""
    return [(prime, round(half_width * prime / 2)) for prime in _prime_factors(factor)]


def _reach(steps: list[tuple[int, int]]) -> int:
    reach, scale = 0, 1
    for prime, half_width in steps:
        reach, scale = reach + half_width * scale, scale * prime
    return reach


def _decimate_in_bands(array: AnyArray, factor: int, steps: list[tuple[int, int]], beta: float) -> FloatArray:
    """Decimate bands of rows in threads, each with a halo, so that the result does not depend on the bands."""
    height, width = (-(-length // factor) for length in array.shape[:2])
    out = np.empty((height, width, array.shape[2]))
    margin = -(-_reach(steps) // factor)  # rows of the result
    rows = max(16, BAND_PIXELS // (factor * array.shape[1]))

    def reduce(top: int) -> None:
        start, stop = max(top - margin, 0), min(top + rows + margin, height)
        # Only the last band may end within a block; there the image is mirrored.
        band = array[start * factor : stop * factor] if steps else unit_float(array[start:stop])
        for prime, half_width in steps:
            band = _decimate_once(band, prime, half_width, beta)
        bottom = min(top + rows, height)
        out[top:bottom] = band[top - start : bottom - start]

    with ThreadPoolExecutor(count_workers(None)) as pool:
        list(pool.map(reduce, range(0, height, rows)))
    return out


def _decimate_once(array: AnyArray, factor: int, half_width: int, beta: float) -> FloatArray:
    kernel = decimation_kernel(factor, half_width, beta)
    planes = (np.ascontiguousarray(plane) for plane in np.moveaxis(unit_float(array), 2, 0))
    return np.stack([filter_separable(plane, kernel)[::factor, ::factor] for plane in planes], axis=2)


def _prime_factors(n: int) -> list[int]:
    primes, divisor = [], 2
    while n > 1:
        while n % divisor == 0:
            primes.append(divisor)
            n //= divisor
        divisor += 1
    return primes


def mirrored(index: AnyArray, length: int) -> AnyArray:
    """Map any index to a pixel of a line, mirrored at its edges: d c b a | a b c d."""
    place = index % (2 * length)
    return np.minimum(place, 2 * length - 1 - place)


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

    The image is converted to floats in parts, to save memory.
    """
    height, width = image.shape[0] // side, image.shape[1] // side
    inside = image[: height * side, : width * side]
    if inside.dtype == np.float32 and side > 1:  # light from files: four times as fast
        import cv2

        means = cv2.resize(inside, (width, height), interpolation=cv2.INTER_AREA)
        return np.asarray(means, np.float64).reshape(height, width, -1).mean(axis=2)
    small = np.zeros((height, width))
    for row in range(side):
        small += unit_float(inside[row::side]).reshape(height, width, -1).mean(axis=2)
    return small / side
