"""How much of their texture the two images share, band by band: only that is evidence of blur.

In a plain area the two images hold noise of their own, compression residue, slow shading.  Residuals change from one
candidate blur to the next there too, by chance or by an error in the assumed noise, and summed over a wall any small
preference becomes a certainty.  What tells texture from all this, whatever the level and the spectrum of the noise of
either image, is that both images show it.  In a band of frequencies, over a window of ``n`` independent samples, with
the energies ``S11``, ``S22`` and the common energy ``S12``,

    coherence  r = S12 / sqrt(S11 S22)          share  = (r - r0) / (1 - r0), 0 to 1          r0 = 3 / sqrt(n)

``r`` is 1 for one texture seen through two blurs and scatters by ``1 / sqrt(n)`` around 0 for independent noise.  The
share does not ask for a noise level, nor for the order or the scale of the images.

Compression is another matter: both images of a pair are cut into the same blocks, and what it makes of a plain area is
alike in both.  Its noise is known from the file; that energy is added to ``S11`` and ``S22``, so that nothing fainter
is taken for texture.

Residuals at ``s`` and at ``s + ds`` differ by the sharper image's detail, in a band of frequency ``w`` by the energy
there times ``w^4 exp(-s w^2) / 4``.  So what tells a blur from one like it counts as much as the bands are shared in
which these energies lie: fine ones for a small ``s`` if the image has fine detail, coarser ones if it is blurred.
Detail that only the sharper image has, because blur has removed it from the other, is not shared: it cannot be told
from noise.  Coarser bands speak for such places.
"""

from __future__ import annotations

import functools
import itertools

import cv2
import numpy as np
from numpy.typing import NDArray

from ...field import Loops, cell_means, enlarged
from .residuals import blur

__all__ = ["CELL", "Coherence"]

Array = NDArray[np.float32]

#: Side of the cells on which shares are kept, px: that of the cells that are labelled.
CELL = 2
#: Variances in px^2 between which the bands lie: octaves of ``s``, from the finest detail to the largest usual blur.
_VARIANCES = (0.0, 0.35, 0.7, 1.4, 2.8, 5.6, 11.2, 25.0)
#: Deviation of the Gaussian window in px: at least, and in deviations of the band's narrower Gaussian.
_LEAST_WINDOW, _WINDOW = 4.0, 3.0
#: Independent samples per squared deviation of the window: at most, and for a band from the variance 1 on
#: (counted on white noise; they fall as one over the variance).
_MOST_SAMPLES, _SAMPLES = 9.0, 4.0
#: Coherence of noise that is taken for chance, in standard deviations.
_CHANCE = 3.0
#: The window's share counts where at least this part of its mean common energy is, in a window of a third of its width:
#: beside an outline it is the texture's, not the wall's.
_ENERGY_HERE, _HERE = 0.25, 1 / 3
#: Sides in px of the squares in which an image's own detail is looked for and compared with the most around, and the
#: part of that energy below which there is none.
_DETAIL, _OUTLINE, _FAINT = 5, 19, 0.02
#: Energy that float32 arithmetic leaves of a plain area, on images of contrast 1.
_ARITHMETIC = np.float32(1e-13)
#: Squared frequency of each band: where the difference of its two Gaussians is largest; the finest has none and goes on
#: in the octaves of the others.
_PEAKS = np.array([2 * np.log(b / a) / (b - a) for a, b in itertools.pairwise(_VARIANCES[1:])], np.float32)
_SQUARED_FREQUENCIES = np.array([2 * _PEAKS[0], *_PEAKS], np.float32)


class Coherence:
    """Shares of the texture of two (channels, H, W) images that both show, on cells of 2 x 2 pixels.

    ``alike`` is the variance at each pixel, (H, W), of noise that may be alike in both; None if there is none.
    """

    def __init__(self, first: Array, second: Array, loops: Loops, alike: Array | None = None) -> None:
        self._shape = (first.shape[1], first.shape[2])
        bands: list[list[Array]] = [[], []]

        def split(side: int) -> None:
            bands[side] = [
                np.stack(planes)
                for planes in zip(*(_bands(plane, loops) for plane in (first, second)[side]), strict=True)
            ]

        loops.team.each(split, range(2))
        #: (bands, rows, cols)
        self.shares: Array = np.empty((len(_SQUARED_FREQUENCIES), *(-(-n // CELL) for n in self._shape)), np.float32)
        #: Energy of either image, (2, bands, rows, cols)
        self._energies: Array = np.empty((2, *self.shares.shape), np.float32)

        faint = _ARITHMETIC if alike is None else cell_means(alike, CELL) * np.float32(len(first)) + _ARITHMETIC

        def compare(band: int) -> None:
            least = faint if alike is None else faint * np.float32(_noise_gains()[band])
            self.shares[band], *self._energies[:, band] = _share(
                bands[0][band], bands[1][band], _VARIANCES[band], least
            )

        loops.team.each(compare, range(len(_SQUARED_FREQUENCIES)))
        self._detail = (_detail(first), _detail(second))

    def of_step(self, low: float, high: float) -> Array:
        """Return on the cells the share of what changes from a level ``s`` to the next."""
        middle = (low + high) / 2
        changes = _changes(np.float32(abs(middle))).reshape(-1, 1, 1)
        return self._share_of(changes * self._energies[0 if middle >= 0 else 1])

    def at(self, s: Array) -> Array:
        """Return at every pixel the share of what tells a map ``s`` from maps like it."""
        cells = cell_means(s, CELL)
        changes = _changes(np.abs(cells))
        return enlarged(self._share_of(changes * _of_the_sharper(cells, *self._energies)), self._shape)

    def _share_of(self, energy: Array) -> Array:
        """Return the share of energies of (bands, rows, cols) that is shared."""
        return np.asarray((self.shares * energy).sum(axis=0) / np.maximum(energy.sum(axis=0), np.float32(1e-30)))

    def located(self, s: Array) -> Array:
        """Return, 0 to 1, whether what is known of a map ``s`` is known of the pixel, not of an outline nearby.

        The blur of an outline reaches beyond it, and with it the evidence: the sharper image tells where it belongs.
        """
        return _of_the_sharper(s, *self._detail)


def _of_the_sharper(s: Array, first: Array, second: Array) -> Array:
    """Return what belongs to the sharper image at a map ``s``, the mean of both where it is 0."""
    share = np.heaviside(s, np.float32(0.5))
    return np.asarray(share * first + (1 - share) * second, np.float32)


def _changes(s: Array | np.float32) -> Array:
    """Return how much of the energy of each band a small change of ``|s|`` moves: ``4 (d/ds exp(-s w^2 / 2))^2``."""
    squared = _SQUARED_FREQUENCIES.reshape(-1, *(1,) * np.ndim(s))
    return np.asarray(np.square(squared) * np.exp(-squared * s), np.float32)


def _bands(plane: Array, loops: Loops) -> list[Array]:
    """Return the differences of Gaussians of an image.

    It is continued beyond its border as a slope goes on: a mirrored slope would have a kink there, in both images.
    """
    margin = int(np.ceil(5 * np.sqrt(_VARIANCES[-1])))
    wide = (
        np.pad(plane, margin, mode="reflect", reflect_type="odd")
        if min(plane.shape) > 1
        else np.pad(plane, margin, "edge")
    )
    inner = slice(margin, -margin), slice(margin, -margin)
    levels = [wide[inner]] + [blur(wide, variance, "band_limited")[inner] for variance in _VARIANCES[1:]]
    return [fine - coarse for fine, coarse in itertools.pairwise(levels)]


def _detail(image: Array) -> Array:
    """Return where a (channels, H, W) image has detail of its own, 0 to 1, next to that of what is around."""
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
    return tuple(float(np.square(band, dtype=np.float64).sum()) for band in _bands(impulse, Loops()))


def _share(one: Array, two: Array, variance: float, least: Array | np.float32) -> tuple[Array, Array, Array]:
    """Return the share of (channels, H, W) bands from a variance on that both show beyond the ``least`` energy.

    And the energy of either.
    """
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
