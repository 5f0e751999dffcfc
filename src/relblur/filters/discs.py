"""Blur between two discs: the filter that turns the smaller circle of confusion of a pair into the larger one.

A disc whose standard deviation per axis is ``sigma`` (a quarter of its diameter) has the transfer function

    D(w; sigma^2) = 2 J1(x) / x        x = 2 sigma |w|

and the filter between two discs whose variances differ by ``s`` is ``D(w; c + s) / D(w; c)``, where ``c`` is the
variance of the smaller one. For a Gaussian the filter does not depend on ``c``. Blur grows linearly in inverse depth on
either side of the focus. So ``c`` follows from one number for the whole pair, the blur ``a`` of one image where the
other is in focus:

    c = ((s - a^2) / (2 a))^2

both between the focal planes (``s < a^2``) and beyond them. ``a = 0`` stands for pairs with one image in focus
everywhere: ``c = 0``. Where ``D(w; c)`` vanishes, the smaller disc has lost the frequency, and the Gaussian of variance
``s`` replaces the quotient.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base._typing import AnyArray, FloatArray

__all__ = ["DiscBlur", "apart_of", "discs_family", "frequencies", "gram_of_discs", "transfer"]

#: First word of the name of the family; the second is ``a`` in px.
_NAME = "discs"
#: Square of the smaller disc's transfer function below which the Gaussian outweighs the quotient.
_DAMPING = 0.02
#: Number of entries of a transfer function over the frequencies 0 to sqrt(2) pi: adjacent ones differ by 5e-4 at most.
_ENTRIES = 1 << 13
#: Largest argument of the tabulated Bessel function: a disc of sigma 13 px at the corner of the spectrum.
_LARGEST = 120.0
#: Number of angles in Bessel's integral: the sum is exact if it exceeds the largest argument.
_ANGLES = 160
#: Mirrored margin around an image beyond the diameter of the largest disc, px.
_MARGIN = 8
#: Side of the square of frequencies on which noise gains are summed.
_SIDE = 64


def discs_family(apart: float) -> str:
    """Return the name of the family of discs with ``a = apart`` px."""
    return f"{_NAME} {apart:.3g}"


def apart_of(family: str) -> float | None:
    """Return ``a`` of a family of discs, px; None for a family of Gaussians."""
    name, _, apart = family.partition(" ")
    return float(apart) if name == _NAME else None


def frequencies() -> FloatArray:
    """Return the frequencies at which a transfer function is given, in radians a pixel."""
    return np.linspace(0, np.sqrt(2) * np.pi, _ENTRIES)


@lru_cache(maxsize=512)
def transfer(variance: float, apart: float) -> FloatArray:
    """Return the transfer function from the smaller to the larger disc at :func:`frequencies`; do not modify it."""
    w = frequencies()
    smaller = ((variance - apart**2) / (2 * apart)) ** 2 if apart else 0.0
    one, two = _disc(smaller, w), _disc(smaller + variance, w)
    gaussian = np.exp(-variance * w**2 / 2)
    return np.asarray(np.clip((one * two + _DAMPING * gaussian) / (one**2 + _DAMPING), -1, 1))


@cache
def _bessel() -> tuple[FloatArray, FloatArray]:
    """Return x and ``2 J1(x) / x`` from Bessel's integral: loading SciPy takes longer than a small pair."""
    x = np.linspace(1e-6, _LARGEST, 12_001)
    angle = np.pi * (np.arange(_ANGLES) + 0.5) / _ANGLES
    return x, 2 * np.cos(angle - x[:, None] * np.sin(angle)).mean(axis=1) / x


def _disc(variance: float, w: FloatArray) -> FloatArray:
    return np.interp(2 * np.sqrt(variance) * w, *_bessel())


@lru_cache(maxsize=2)
def _places(rows: int, columns: int) -> NDArray[np.int32]:
    """Return the index into a transfer function for each entry of the Fourier transform of a real plane."""
    w = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)) * (2 * np.pi)
    return np.asarray(np.rint(w * ((_ENTRIES - 1) / (np.sqrt(2) * np.pi))), np.int32)


def gram_of_discs(transfers: FloatArray) -> FloatArray:
    """Return the inner products of the kernels of transfer functions (N, ``_ENTRIES``)."""
    place = _places(_SIDE, _SIDE)
    twice = np.full(place.shape, 2.0)  # the transform of a real plane stores half of the frequencies
    twice[:, [0, -1]] = 1
    sampled = transfers[:, place.ravel()]
    # einsum, not a matrix product: for small matrices the library's threads spend their time in busy waiting.
    return np.einsum("if,jf->ij", sampled * (twice.ravel() / _SIDE**2), sampled)


class DiscBlur:
    """An (H, W) plane prepared for blurs by steps between two discs; mirrored beyond its border."""

    def __init__(self, plane: AnyArray, largest_sigma: float) -> None:
        import cv2

        margin = int(np.ceil(4 * largest_sigma)) + _MARGIN
        rows, columns = (cv2.getOptimalDFTSize(n + 2 * margin) for n in plane.shape)
        sides = [(margin, full - n - margin) for n, full in zip(plane.shape, (rows, columns), strict=True)]
        self._inside = tuple(slice(margin, margin + n) for n in plane.shape)
        self._full = (rows, columns)
        self._transform = np.fft.rfft2(np.pad(np.asarray(plane, np.float32), sides, mode="symmetric"))

    def by(self, variance: float, apart: float) -> NDArray[np.float32]:
        """Blur the plane by a step of variance in px^2."""
        gains = transfer(variance, apart).astype(np.float32)[_places(*self._full)]
        return np.asarray(np.fft.irfft2(self._transform * gains, self._full)[self._inside], np.float32)
