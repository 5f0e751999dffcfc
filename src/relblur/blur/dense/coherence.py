"""Fraction of the texture that both images show, band by band: only that is evidence of blur.

In a plain area the two images hold noise of their own, compression residue, slow shading.  Residuals change from one
candidate blur to the next there too, and summed over a wall any small preference becomes a certainty.  Texture differs
from all this, whatever the noise, because both images show it.  In a band of frequencies, over a window of ``n``
independent samples, with the energies ``S11``, ``S22`` and the common energy ``S12``,

    coherence  r = S12 / sqrt(S11 S22)          share  = (r - r0) / (1 - r0), 0 to 1          r0 = 3 / sqrt(n)

``r`` is 1 for one texture seen through two blurs and scatters by ``1 / sqrt(n)`` around 0 for independent noise.
Compression cuts both images into the same blocks, so its errors in a plain area are alike in both: the energy of this
noise is added to ``S11`` and ``S22``.

Residuals at ``s`` and at ``s + ds`` differ by the sharper image's detail, in a band of frequency ``w`` by its energy
times ``w^4 exp(-s w^2) / 4``.  The support of a blur is the mean of the shares with these weights: fine bands for a
small ``s`` if the image has fine detail, coarser ones if it is blurred.
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

#: Side of the cells on which shares are kept, px: that of the cells that are labelled.
CELL = 2
#: Variances in px^2 between which the bands lie: octaves of ``s``, from the finest detail to the largest usual blur.
_VARIANCES = (0.0, 0.35, 0.7, 1.4, 2.8, 5.6, 11.2, 25.0)
#: Deviation of the Gaussian window: at least (px), and in deviations of the band's narrower Gaussian.
_LEAST_WINDOW, _WINDOW = 4.0, 3.0
#: Independent samples per squared deviation of the window: at most, and for a band from the variance 1 on (counted on
#: white noise; they fall as one over the variance).
_MOST_SAMPLES, _SAMPLES = 9.0, 4.0
#: Largest coherence that chance explains, in standard deviations.
_CHANCE = 3.0
#: Part of the window's mean common energy that must be present in a window of a third of its width: beside an outline
#: the share is the texture's, not the wall's.
_ENERGY_HERE, _HERE = 0.25, 1 / 3
#: Sides (px) of the squares of an image's own detail and of its maximum around, and the fraction of that energy below
#: which there is no detail.
_DETAIL, _OUTLINE, _FAINT = 5, 19, 0.02
#: Energy that float32 arithmetic leaves of a plain area, on images of contrast 1.
_ARITHMETIC = np.float32(1e-13)


def _squared_frequencies() -> Array:
    """Return the squared frequency of each band, where the difference of its two Gaussians is largest.

    The finest has no such maximum and continues in the octaves of the others.
    """
    peaks = [2 * np.log(b / a) / (b - a) for a, b in itertools.pairwise(_VARIANCES[1:])]
    return np.array([2 * peaks[0], *peaks], np.float32)


class Coherence:
    """Support of maps of ``s``: the texture of two (channels, H, W) images that both show, on cells of 2 x 2 pixels.

    ``alike`` is the variance at each pixel, (H, W), of noise that may be alike in both; None if there is none.
    """

    def __init__(self, first: Array, second: Array, loops: Loops, alike: Array | None = None) -> None:
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
            if alike is not None:
                least = cell_means(alike, CELL) * np.float32(len(first) * _noise_gains()[band]) + _ARITHMETIC
            images = bands[0][band], bands[1][band]
            self.shares[band], *self._energies[:, band] = _share(*images, _VARIANCES[band], least)

        loops.team.each(split, range(2))
        loops.team.each(compare, range(len(self._squared)))
        self._detail = (_detail(first), _detail(second))

    def of_step(self, low: float, high: float) -> Array:
        """Return on the cells the share of the change from a level ``s`` to the next."""
        middle = (low + high) / 2
        return self._share_of(np.float32(abs(middle)), self._energies[0 if middle >= 0 else 1])

    def at(self, s: Array) -> Array:
        """Return at every pixel the share of the change around a map ``s``."""
        cells = cell_means(s, CELL)
        return enlarged(self._share_of(np.abs(cells), _of_the_sharper(cells, *self._energies)), self._shape)

    def local_support(self, s: Array) -> Array:
        """Return, 0 to 1, whether the evidence for a map ``s`` belongs to the pixel, not to an outline nearby.

        The blur of an outline reaches beyond it, and with it the evidence: the sharper image shows its place.
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

    It is continued beyond its border as a slope goes on: a mirrored slope would have a kink there, in both images.
    """
    margin = int(np.ceil(5 * np.sqrt(_VARIANCES[-1])))
    odd = min(plane.shape) > 1
    wide = np.pad(plane, margin, mode="reflect", reflect_type="odd") if odd else np.pad(plane, margin, "edge")
    inner = slice(margin, -margin), slice(margin, -margin)
    levels = [wide[inner]] + [blur(wide, variance, "band_limited")[inner] for variance in _VARIANCES[1:]]
    return [fine - coarse for fine, coarse in itertools.pairwise(levels)]


def _detail(image: Array) -> Array:
    """Return where a (channels, H, W) image has detail of its own, 0 to 1, relative to its surroundings."""
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
    """Return the share of (channels, H, W) bands, from a variance on, above the ``least`` energy; and both energies."""
    width = max(_LEAST_WINDOW, _WINDOW * float(np.sqrt(variance)))
    samples = width**2 * min(_MOST_SAMPLES, _SAMPLES / max(variance, 1e-6))
    chance = np.float32(_CHANCE / np.sqrt(samples))
    energies = [cell_means(np.einsum("chw,chw->hw", a, b), CELL) for a, b in ((one, one), (two, two), (one, two))]
    first, second, common = (_around(energy, width) for energy in energies)
    coherence = common / (np.sqrt(first + least) * np.sqrt(second + least))
    here = _around(energies[2], _HERE * width) / np.maximum(np.float32(_ENERGY_HERE) * common, _ARITHMETIC)
    share = np.clip((coherence - chance) / (1 - chance), 0, 1) * np.clip(here, 0, 1)
    return share.astype(np.float32), first, second


def _around(energy: Array, width: float) -> Array:
    return np.asarray(cv2.GaussianBlur(energy, (0, 0), width / CELL, borderType=cv2.BORDER_REFLECT))
