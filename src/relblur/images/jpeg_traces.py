"""Was this picture a JPEG once?  The traces that compression leaves in the pixels themselves.

A picture that was compressed and then stored as PNG, or as a JPEG of higher quality, carries no table of what was done
to it, or a wrong one.  But the cosine coefficients of its blocks of 8 x 8 pixels still lie close to multiples of the
divisors ``q``: for coefficients ``c`` beyond ``q / 2`` (the others became 0)

    mean of cos(2 pi c / q)

is nearly 1 at the right ``q``, and nearly 0 at every ``q`` in a picture that was none.  Of the values at which it is
large, the right one has the most coefficients behind it: its multiples have fewer, its parts have a lower mean.  A
cropped picture has its blocks elsewhere; all 64 places are looked at.

Regular patterns repeat one coefficient in every block.  So a frequency tells only if several multiples are there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, FloatArray
from .compression import BLOCK, JpegTable, cosines, usual_divisors

__all__ = ["Traces", "find_traces"]

#: Divisors that are looked for.  From 1 nothing is left once pixels are rounded to whole levels.
_DIVISORS = np.arange(2, 41)
#: Least mean of the cosines, and coefficients behind it.  Of 113 pictures that were none, 111 had at most 0.33 in any
#: frequency, half of them less than 0.04.
_LEAST_MEAN, _LEAST_COUNT = 0.5, 40
#: Multiples that a frequency must have shown, each in so many blocks; and frequencies that must have done so.  Of the
#: same pictures one had one such frequency, the others none.
_MULTIPLES, _EACH, _FREQUENCIES = 3, 4, 6
#: Blocks looked at, spread over the picture; and while the place of the blocks is not known.
_BLOCKS, _FEW_BLOCKS = 3000, 200
#: Brightness of red, green and blue in JPEG (JFIF).
_LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Traces:
    """The table of an earlier compression, as far as it shows, and the row and column at which its blocks begin."""

    table: JpegTable
    corner: tuple[int, int]


def find_traces(values: AnyArray) -> Traces | None:
    """Return what an (H, W) or (H, W, 3) picture of bytes shows of compression, None if it shows none."""
    if values.dtype != np.uint8:
        return None
    corner: tuple[int, int] | None = (0, 0)
    found = _divisors(_coefficients(values, (0, 0), _BLOCKS))
    if found is None:
        corner = _corner(values)
        found = None if corner is None else _divisors(_coefficients(values, corner, _BLOCKS))
    if corner is None or found is None:
        return None
    # What does not show is taken from the usual table, as coarse as the rest.
    usual, known = usual_divisors(), found > 0
    scale = float(np.median(found[known] / usual[known]))
    divisors = np.where(known, found, np.maximum(np.rint(scale * usual), 1))
    return Traces(JpegTable(tuple(int(q) for q in divisors.ravel())), corner)


def _corner(values: AnyArray) -> tuple[int, int] | None:
    """Return where the blocks of a cropped picture begin: where the lowest frequencies look most like multiples."""
    places = [(row, column) for row in range(BLOCK) for column in range(BLOCK)]
    size = np.zeros((len(places), _FEW_BLOCKS, 3))
    for n, place in enumerate(places):
        coefficients = _coefficients(values, place, _FEW_BLOCKS)
        size[n, : len(coefficients)] = np.abs(coefficients[:, (0, 1, 1), (1, 0, 1)])
    told = np.zeros((len(places), 3))
    for q in _DIVISORS:
        beyond = size > q / 2
        count = beyond.sum(axis=1)
        mean = np.cos(2 * np.pi / q * size).sum(axis=1, where=beyond) / np.maximum(count, 1)
        rounded = (count >= _LEAST_COUNT) & (mean > _LEAST_MEAN)
        np.maximum(told, np.where(rounded, mean * np.sqrt(count), 0), out=told)
    best = int(np.argmax(told.sum(axis=1)))
    return places[best] if told[best].any() else None


def _coefficients(values: AnyArray, corner: tuple[int, int], most: int) -> FloatArray:
    """Return the cosine coefficients of some blocks, (blocks, 8, 8), without those that reach an end of the range."""
    inner = values[corner[0] :, corner[1] :]
    rows, columns = inner.shape[0] // BLOCK, inner.shape[1] // BLOCK
    chosen = np.unique(np.linspace(0, rows * columns - 1, min(most, rows * columns)).astype(int))
    if not rows * columns:
        return np.zeros((0, BLOCK, BLOCK))
    inner = inner[: rows * BLOCK, : columns * BLOCK]
    blocks = inner.reshape(rows, BLOCK, columns, BLOCK, -1).swapaxes(1, 2)[chosen // columns, chosen % columns]
    inside = (blocks.min(axis=(1, 2, 3)) > 0) & (blocks.max(axis=(1, 2, 3)) < 255)
    blocks = blocks[inside].astype(np.float64)
    brightness = blocks @ _LUMA if blocks.shape[3] == 3 else blocks[..., 0]
    return np.asarray(cosines() @ brightness @ cosines().T)


def _divisors(coefficients: FloatArray) -> FloatArray | None:
    """Return the divisors of all frequencies, 0 where nothing shows; None if too few tell."""
    found = np.zeros((BLOCK, BLOCK))
    telling = 0
    for place in np.ndindex(BLOCK, BLOCK):
        if place != (0, 0):  # the mean is hardly rounded
            found[place], tells = _divisor(coefficients[:, *place])
            telling += tells
    return found if telling >= _FREQUENCIES else None


def _divisor(values: FloatArray) -> tuple[float, bool]:
    """Return the divisor that values were rounded to multiples of, 0 if none, and whether they tell of rounding."""
    best, most = 0.0, 0.0
    size = np.abs(values)
    for q in _DIVISORS:
        beyond = size[size > q / 2]
        if len(beyond) < _LEAST_COUNT:
            break
        mean = float(np.cos(2 * np.pi * beyond / q).mean())
        if mean > _LEAST_MEAN and mean * np.sqrt(len(beyond)) > most:
            best, most = float(q), mean * float(np.sqrt(len(beyond)))
    if not best:
        return 0.0, False
    multiples = np.bincount(np.minimum(np.rint(size / best), _MULTIPLES + 1).astype(int))[1 : _MULTIPLES + 1]
    return best, len(multiples) == _MULTIPLES and bool((multiples >= _EACH).all())
