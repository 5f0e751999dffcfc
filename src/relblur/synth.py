"""Images with known relative blur: sigma fields, and the exact gather model of equation 9.

``blur_with_map`` blurs every pixel with its own Gaussian. Each pixel is the full weighted sum over its neighbourhood,
not a blend of a few blurred images,

    R(x) = sum_y g_sigma(x)(x - y) L(y),

with a kernel of :mod:`relblur.filters.kernels`: the sampled one, cut at 5 sigma and normalised, or the band-limited
one, which also blurs below 0.35 px.
"""

from __future__ import annotations

import numpy as np

from .base._typing import AnyArray, ArrayLike, FloatArray
from .base.arguments import as_choice, as_positive, as_whole, colour_axis
from .base.errors import InputError
from .base.inputs import check_image_with_gaps
from .base.pixels import as_integers, unit_float
from .filters.variable_blur import blur_planes

__all__ = ["blur_with_map", "degrade", "disc", "pair", "ramp", "sinusoid", "steps"]

KERNELS = ("sampled", "band_limited")
#: Largest distance, in standard deviations, at which a value that is not finite makes a pixel NaN.
GAP_REACH = 3.0


def ramp(shape: tuple[int, int], start: float, stop: float, axis: int = 0) -> FloatArray:
    """Return a field that grows linearly from ``start`` to ``stop`` along an axis (Fig. 1).

    Examples
    --------
    >>> ramp((3, 2), 1, 2)
    array([[1. , 1. ],
           [1.5, 1.5],
           [2. , 2. ]])
    """
    if axis not in (0, 1, -1, -2):
        raise InputError(f"axis must be 0 (rows, downwards) or 1 (columns), got {axis!r}")
    size = _shape(shape)
    return np.linspace(start, stop, size[axis])[np.indices(size)[axis]]


def steps(
    shape: tuple[int, int], values: tuple[float, ...] = (1.0, 2.0), period: int = 64, axis: int = 1
) -> FloatArray:
    """Return stripes of ``period`` pixels with the given values in turn."""
    if len(values) == 0:
        raise InputError("values is empty; stripes need at least one value")
    index = np.indices(_shape(shape))[axis % 2] // as_whole(period, "period") % len(values)
    return np.asarray(values, dtype=np.float64)[index]


def disc(shape: tuple[int, int], inside: float = 0.8, outside: float = 2.5, radius: float | None = None) -> FloatArray:
    """Return a centred disc of one value in another; its radius is 0.3 of the shorter side by default."""
    height, width = _shape(shape)
    radius = 0.3 * min(height, width) if radius is None else radius
    y, x = np.indices((height, width))
    distance = np.hypot(y - (height - 1) / 2, x - (width - 1) / 2)
    return np.where(distance < radius, float(inside), float(outside))


def sinusoid(shape: tuple[int, int], mean: float = 2.0, amplitude: float = 1.0, period: float = 256.0) -> FloatArray:
    """Return ``mean + amplitude sin(2 pi x / period) cos(2 pi y / period)``."""
    y, x = np.indices(_shape(shape))
    return mean + amplitude * np.sin(2 * np.pi * x / period) * np.cos(2 * np.pi * y / period)


def blur_with_map(
    image: ArrayLike,
    sigma_map: ArrayLike,
    *,
    kernel: str = "sampled",
    channel_axis: int | None = None,
) -> FloatArray:
    """Blur every pixel with the Gaussian of its own standard deviation (equation 9).

    Parameters
    ----------
    image : (H, W) array, or (H, W, C) with ``channel_axis=-1``
        The sharp image. Integers are divided by their full scale.
    sigma_map : float or (H, W) array
        Standard deviation at each pixel in px, >= 0; 0 leaves the pixel unchanged.
    kernel : {"sampled", "band_limited"}
        The paper's sampled Gaussian, which is the identity below 0.35 px, or the
        band-limited one, for blur that passes through zero. They agree above about 1 px.

    Returns
    -------
    float64 array of the image's shape (channels last). Beyond the border the image is
    mirrored (SciPy's ``"reflect"``). NaN where a value that is not finite lies within
    three standard deviations.

    Notes
    -----
    Cost: about ``(10 sigma)^2`` additions per pixel; a second for 1 MP at 2 px.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).random((32, 32))
    >>> from relblur.paper import gaussian_bank
    >>> bool(np.allclose(blur_with_map(image, 1.5), gaussian_bank(image, [1.5])[0]))
    True
    """
    channel_axis = colour_axis(image, channel_axis)
    stacked, good = check_image_with_gaps(image, channel_axis=channel_axis)
    array = unit_float(stacked)
    height, width = array.shape[:2]
    if np.shape(sigma_map) not in ((), (height, width)):
        raise InputError(f"sigma_map has shape {np.shape(sigma_map)}; pass a number or an array of {height}x{width}")
    sigma = np.broadcast_to(np.asarray(sigma_map, dtype=np.float64), (height, width))
    if not ((sigma >= 0) & (sigma <= max(height, width))).all():
        raise InputError(f"sigma_map must lie between 0 px and the size of the image ({width}x{height}) everywhere")
    as_choice(kernel, "kernel", KERNELS)
    out = blur_planes(np.moveaxis(array, -1, 0), sigma, kernel)
    if good is not None:
        from scipy import ndimage

        out[:, ndimage.distance_transform_edt(good) <= GAP_REACH * sigma] = np.nan
    return out[0] if channel_axis is None else np.ascontiguousarray(np.moveaxis(out, 0, -1))


def pair(
    image: ArrayLike,
    signed_sigma: ArrayLike,
    *,
    kernel: str = "band_limited",
    channel_axis: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return (first, second) with a known signed relative blur.

    Where ``signed_sigma > 0`` the second image is blurred by that much, where it is negative the first image. The two
    are partial blurred versions of each other (Fig. 5). The kernels are band-limited by default, which also makes blur
    below 0.35 px; ``kernel="sampled"`` uses the paper's.
    """
    field = np.asarray(signed_sigma, dtype=np.float64)
    first, second = (
        blur_with_map(image, np.maximum(side * field, 0), kernel=kernel, channel_axis=channel_axis) for side in (-1, 1)
    )
    return first, second


def degrade(
    image: ArrayLike,
    *,
    noise: float = 0.0,
    bits: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> AnyArray:
    """Add Gaussian noise and round to a bit depth, to simulate a sensor and a file.

    Parameters
    ----------
    image : float array on a 0..1 scale
    noise : float
        Standard deviation of the noise; 0 for none.
    bits : {8, 16, None}
        Clip to 0..1 and return uint8 or uint16; None keeps floats, unclipped.
    rng : Generator or seed
        Source of the noise; required if ``noise > 0``.
    """
    given = np.asarray(image)
    if np.iscomplexobj(given) or not np.issubdtype(given.dtype, np.number):
        raise InputError(f"image has dtype {given.dtype}; pass floats on a 0..1 scale")
    array = given.astype(np.float64)
    if noise != 0:
        if rng is None:
            raise InputError("rng must be given with noise, so that the result can be repeated: rng=0")
        deviation = as_positive(noise, "noise", "on the image's scale, or 0")
        array += np.random.default_rng(rng).normal(0.0, deviation, array.shape)
    if bits is None:
        return array
    if bits not in (8, 16):
        raise InputError(f"bits must be 8, 16 or None, got {bits!r}")
    if np.isnan(array).any():
        raise InputError("image has NaN, which integers cannot hold; replace them first (numpy.nan_to_num)")
    return as_integers(array, np.uint8 if bits == 8 else np.uint16)


def _shape(shape: tuple[int, int]) -> tuple[int, int]:
    try:
        height, width = (int(n) for n in shape)
    except (TypeError, ValueError):
        raise InputError(f"shape must be (rows, columns), got {shape!r}") from None
    if height < 1 or width < 1:
        raise InputError(f"shape must have at least one row and one column, got {shape!r}")
    return height, width
