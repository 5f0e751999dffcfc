"""Support: the fraction of the texture that both images show, in bands of frequencies.

Only common texture is evidence of blur.  In a plain area the images contain independent noise, compression errors and
slow shading.  These also change the residuals from one candidate blur to the next, and sums over a wall seem
significant.  In a band of frequencies, over a window of ``n`` independent samples, with the energies ``S11``, ``S22``
and the common energy ``S12``,

    coherence  r = S12 / sqrt(S11 S22)          share  = (r - r0) / (1 - r0), 0 to 1          r0 = 3 / sqrt(n)

``r`` is 1 for the same texture with two blurs.  For independent noise its mean is 0 and its standard deviation
``1 / sqrt(n)``.  JPEG errors in a plain area are correlated between the images, which have the same blocks.  The energy
of this common noise is added to ``S11`` and ``S22``.

The difference between the residuals at ``s`` and at ``s + ds`` comes from the detail of the sharper image.  In a band
of frequency ``w`` it is the energy times ``w^4 exp(-s w^2) / 4``.  The support is the mean of the shares with these
weights.  For a small ``s`` fine bands have most of the weight, for a large one coarse bands.
"""

from __future__ import annotations

import functools
import itertools

import cv2
import numpy as np
from numpy.typing import NDArray

from ...field import Loops, cell_means, enlarged
from .residuals import blur

__all__ = ["Coherence"]

Array = NDArray[np.float32]

#: Side of the cells of the shares, px; that of the cells of the labelling.
CELL = 2
#: Limits of the bands (variances in px^2): octaves of ``s``, from the finest detail to the largest usual blur.
_VARIANCES = (0.0, 0.35, 0.7, 1.4, 2.8, 5.6, 11.2, 25.0)
#: Standard deviation of the Gaussian window: least (px), and relative to that of the band's narrower Gaussian.
_LEAST_WINDOW, _WINDOW = 4.0, 3.0
#: Independent samples over the variance of the window: at most, and for a band of variance 1 px^2, measured on white
#: noise. They are inversely proportional to the variance.
_MOST_SAMPLES, _SAMPLES = 9.0, 4.0
#: Largest coherence of independent noise, in standard deviations.
_CHANCE = 3.0
#: Least common energy in a narrow window relative to the wide one, and the ratio of their widths. A wall beside an
#: outline has no share.
_NARROW_ENERGY, _NARROW = 0.25, 1 / 3
#: Sides (px) of the squares of an image's detail and of its maximum around, and the least energy relative to that
#: maximum.
_DETAIL, _OUTLINE, _FAINT = 5, 19, 0.02
#: Energy of the rounding of float32, on images of contrast 1.
_ARITHMETIC = np.float32(1e-13)


def _squared_frequencies() -> Array:
    """Return the squared frequency of each band, where the difference of its two Gaussians is largest.

    The finest band has no such maximum; its value is twice that of the next.
    """
    peaks = [2 * np.log(b / a) / (b - a) for a, b in itertools.pairwise(_VARIANCES[1:])]
    return np.array([2 * peaks[0], *peaks], np.float32)


class Coherence:
    """Support of maps of ``s`` from two (channels, H, W) images, on cells of 2 x 2 pixels.

    ``common_noise`` is the variance at each pixel, (H, W), of noise that is common to both images; None without any.
    """

    def __init__(self, first: Array, second: Array, loops: Loops, common_noise: Array | None = None) -> None:
        self._shape = (first.shape[1], first.shape[2])
        self._squared = _squared_frequencies()
        cells = [-(-n // CELL) for n in self._shape]
        #: (bands, rows, cols)
        self.shares: Array = np.empty((len(self._squared), *cells), np.float32)
        # Energy of either image, (2, bands, rows, cols).
        self._energies: Array = np.empty((2, *self.shares.shape), np.float32)
        both = first, second
        bands: list[list[Array]] = [[], []]

        def split(side: int) -> None:
            bands[side] = [np.stack(planes) for planes in zip(*map(_bands, both[side]), strict=True)]

        def compare(band: int) -> None:
            least: Array | np.float32 = _ARITHMETIC
            if common_noise is not None:
                least = cell_means(common_noise, CELL) * np.float32(len(first) * _noise_gains()[band]) + _ARITHMETIC
            images = bands[0][band], bands[1][band]
            self.shares[band], *self._energies[:, band] = _share(*images, _VARIANCES[band], least)

        loops.team.each(split, range(2))
        loops.team.each(compare, range(len(self._squared)))
        self._detail = (_detail(first), _detail(second))

    def of_step(self, low: float, high: float) -> Array:
        """Return the share of the change between two levels ``s``, on cells."""
        middle = (low + high) / 2
        return self._share_of(np.float32(abs(middle)), self._energies[0 if middle >= 0 else 1])

    def at(self, s: Array) -> Array:
        """Return the share of the change around a map ``s``, at every pixel."""
        cells = cell_means(s, CELL)
        return enlarged(self._share_of(np.abs(cells), _of_the_sharper(cells, *self._energies)), self._shape)

    def local_support(self, s: Array) -> Array:
        """Return the share of the evidence for a map ``s`` that belongs to the pixel, not to an outline nearby.

        The blur of an outline reaches beyond it. The sharper image shows the position of the outline.
        """
        return _of_the_sharper(s, *self._detail)

    def _share_of(self, size: Array | np.float32, energy: Array) -> Array:
        """Return the mean share, given ``|s|`` and the energies of the sharper image, (bands, rows, cols)."""
        squared = self._squared.reshape(-1, 1, 1)
        weight = np.square(squared) * np.exp(-squared * size) * energy
        return np.asarray((self.shares * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), np.float32(1e-30)))


def _of_the_sharper(s: Array, first: Array, second: Array) -> Array:
    """Return the values of the sharper image at a map ``s``, the mean of both where it is 0."""
    share = np.heaviside(s, np.float32(0.5))
    return np.asarray(share * first + (1 - share) * second, np.float32)


def _bands(plane: Array) -> list[Array]:
    """Return the differences of Gaussians of an image.

    Beyond its border slopes are continued, because a mirrored slope has a kink, which is common to both images.
    """
    margin = int(np.ceil(5 * np.sqrt(_VARIANCES[-1])))
    odd = min(plane.shape) > 1
    wide = np.pad(plane, margin, mode="reflect", reflect_type="odd") if odd else np.pad(plane, margin, "edge")
    inner = slice(margin, -margin), slice(margin, -margin)
    levels = [wide[inner]] + [blur(wide, variance, "band_limited")[inner] for variance in _VARIANCES[1:]]
    return [fine - coarse for fine, coarse in itertools.pairwise(levels)]


def _detail(image: Array) -> Array:
    """Return the amount of detail of a (channels, H, W) image relative to its surroundings, 0 to 1."""
    energy = np.zeros(image.shape[1:], np.float32)
    for plane in image:
        for dx, dy in ((1, 0), (0, 1)):
            energy += np.square(cv2.Sobel(plane, cv2.CV_32F, dx, dy, borderType=cv2.BORDER_REFLECT))
    here = cv2.blur(energy, (_DETAIL, _DETAIL), borderType=cv2.BORDER_REFLECT)
    around = cv2.dilate(here, np.ones((_OUTLINE, _OUTLINE), np.uint8), borderType=cv2.BORDER_REFLECT)
    return np.asarray(np.clip(here / np.maximum(np.float32(_FAINT) * around, np.float32(1e-30)), 0, 1), np.float32)


@functools.cache
def _noise_gains() -> tuple[float, ...]:
    """Return the variance of white noise of variance 1 in each band."""
    impulse = np.zeros((127, 127), np.float32)
    impulse[63, 63] = 1
    return tuple(float(np.square(band, dtype=np.float64).sum()) for band in _bands(impulse))


def _share(one: Array, two: Array, variance: float, least: Array | np.float32) -> tuple[Array, Array, Array]:
    """Return the share of two (channels, H, W) bands and their energies; ``least`` is added to the energies."""
    width = max(_LEAST_WINDOW, _WINDOW * float(np.sqrt(variance)))
    samples = width**2 * min(_MOST_SAMPLES, _SAMPLES / max(variance, 1e-6))
    chance = np.float32(_CHANCE / np.sqrt(samples))
    energies = [cell_means(np.einsum("chw,chw->hw", a, b), CELL) for a, b in ((one, one), (two, two), (one, two))]
    first, second, common = (_around(energy, width) for energy in energies)
    coherence = common / (np.sqrt(first + least) * np.sqrt(second + least))
    here = _around(energies[2], _NARROW * width) / np.maximum(np.float32(_NARROW_ENERGY) * common, _ARITHMETIC)
    share = np.clip((coherence - chance) / (1 - chance), 0, 1) * np.clip(here, 0, 1)
    return share.astype(np.float32), first, second


def _around(energy: Array, width: float) -> Array:
    return np.asarray(cv2.GaussianBlur(energy, (0, 0), width / CELL, borderType=cv2.BORDER_REFLECT))
