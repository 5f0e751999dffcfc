"""``match_exposure``: gain and offset between two images that differ in blur.

Blur lowers the contrast of fine detail as a gain below 1 does. The fit is a straight line per channel,
``first = gain * second + offset``, by robust least squares on broad averages of the pair at equal blur
(:mod:`relblur.photo.rough_blur`). With a field the gain is a quadratic polynomial of the position, for vignetting that
differs. By default a field is taken if, fitted to the black squares of a chessboard, it brings the white ones clearly
closer. Standard errors are a jackknife over parts of the picture, because disturbances (parallax, highlights, misfit)
are alike in neighbouring pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.inputs import as_pair, check_pair
from ..filters.decimation import block_means
from .rough_blur import MOST_PIXELS, EqualBlur, RoughBlur, equalise, reduction_for

__all__ = ["FIELD_FOR", "Exposure", "ExposureMatch", "find_exposure", "match_exposure"]

#: Argument ``field`` of :func:`find_exposure` for each setting of the exposure.
FIELD_FOR: dict[str, bool | None] = {"auto": None, "gain": False, "field": True}

#: Least distance of a correction from none, in standard errors.
LEAST_SIGNIFICANCE = 3.0

#: Least change of an intensity by a correction, as a share of the contrast.
LEAST_EFFECT = 2e-3

#: Relative correction below which the rounds end.
SETTLED = 5e-4

#: Widths of the Gaussian averages of each round, px at reduced resolution; the first is made before the blur is known.
_BROAD = (12.0, 6.0, 6.0)

_REWEIGHTINGS = 8

#: Least number of pixels for each number that is fitted.
_LEAST_PER_TERM = 16

#: Parts along either side of the picture for the jackknife.
_PARTS = 4

#: Residual that counts half (Cauchy), in standard deviations.
_OUTLIER = 2.0

#: A field must leave at most this share of the median difference on squares to which it is not fitted, and change the
#: gain by at least the second number. Pairs with vignetting have 0.3 to 0.8 and 0.1 to 0.2, renders 0.9 to 1 and 0.007.
FIELD_BELOW, LEAST_FIELD = 0.8, 0.01

#: Squares of the chessboard along either side of the picture.
_SQUARES = 8

#: Numbers of gain, offset and field.
_FIELD_TERMS = 7


@dataclass(frozen=True, eq=False)
class Exposure:
    """The correction that gives ``second`` the exposure of ``first``.

    Attributes
    ----------
    gain, offset : (C,) arrays
        ``first = gain * second + offset`` (before the field).
    gain_stderr, offset_stderr : (C,) arrays
    field : (C, 5) array or None
        Coefficients of x, y, x^2, xy, y^2 of the relative gain; x, y run from -1 to 1.
    changes : bool
        False if the difference is within its error; then ``apply`` does nothing.
    """

    gain: FloatArray
    offset: FloatArray
    gain_stderr: FloatArray
    offset_stderr: FloatArray
    field: FloatArray | None
    changes: bool

    def apply(self, image: AnyArray) -> AnyArray:
        """Return an (H, W, C) image with the exposure of the other."""
        if not self.changes:
            return image
        field = np.zeros((len(self.gain), 0)) if self.field is None else self.field
        return _corrected(image, np.column_stack([self.gain, self.offset, field]))

    def describe(self) -> str:
        """Return the correction in one line."""
        if not self.changes:
            largest = float(np.abs(self.gain - 1).max())
            return f"exposures equal (gain 1 within {max(largest, float(self.gain_stderr.max())):.2%})"
        gains = "/".join(f"{g:.4f}" for g in self.gain)
        offsets = "/".join(f"{o:+.4f}" for o in self.offset)
        text = f"second multiplied by {gains}, offset {offsets}"
        return f"{text}, with a smooth gain field" if self.field is not None else text

    def __repr__(self) -> str:
        return f"Exposure({self.describe()})"


@dataclass(frozen=True, eq=False)
class ExposureMatch:
    """A pair of equal exposure, the result of :func:`match_exposure`."""

    first: FloatArray
    second: FloatArray
    exposure: Exposure

    def describe(self) -> str:
        """Return the correction in one line."""
        return self.exposure.describe()

    def __repr__(self) -> str:
        return f"ExposureMatch({self.first.shape[0]}x{self.first.shape[1]}, {self.describe()})"


def match_exposure(
    first: ArrayLike,
    second: ArrayLike,
    *,
    field: bool | None = None,
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> ExposureMatch:
    """Give ``second`` the exposure of ``first``: gain and offset per channel, fitted in spite of the blur.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        An aligned pair in linear light; clipped pixels of integer images are left out.
    field : bool, optional
        Whether the gain varies smoothly over the picture too (vignetting that differs). By default a field is used if
        it explains the pair clearly better.
    valid : (H, W) bool array, optional
        True = use.
    channel_axis : int, optional
        Axis of the colour channels.

    Returns
    -------
    ExposureMatch
        ``first`` as it was, ``second`` matched (untouched if the difference is within its
        error), and ``exposure`` with the numbers. Both are NaN where either holds no light.
    """
    pair = as_pair(first, second, valid=valid, channel_axis=channel_axis)
    exposure = find_exposure(pair.first, pair.second, pair.usable, field=field)
    images = [pair.first, exposure.apply(pair.second)]
    light = check_pair(first, second, channel_axis=channel_axis).finite
    if light is not None:
        for image in images:
            image[~light] = np.nan
    if channel_axis is None:
        images = [image[:, :, 0] for image in images]
    else:
        images = [np.moveaxis(image, -1, channel_axis) for image in images]
    return ExposureMatch(images[0], images[1], exposure)


def find_exposure(
    first: AnyArray,
    second: AnyArray,
    usable: BoolArray,
    *,
    field: bool | None = None,
    blur: RoughBlur | None = None,
    broad: bool = False,
) -> Exposure:
    """Return gain and offset between two aligned (H, W, C) images.

    Parameters
    ----------
    field : bool, optional
        Whether the gain varies over the picture. None: it does if a field explains squares that it is not fitted to.
    blur : RoughBlur, optional
        The blur of the pair, if earlier steps need it too.
    broad : bool
        Compare broad averages only, without a measurement of the blur and without a field.
    """
    factor = reduction_for(first.shape, MOST_PIXELS)
    one, two = (block_means(np.asarray(image, np.float64), factor) for image in (first, second))
    good = block_means(usable[:, :, None].astype(np.float64), factor)[:, :, 0] > 0.999
    settled = _settle(one, two, good, _BROAD[:1] if broad else _BROAD, RoughBlur() if blur is None else blur)
    if settled is None:
        return _none(one.shape[2])
    if not broad and (field or (field is None and _has_field(settled))):
        settled = _with_field(settled)
    found, spread = settled.found, settled.spread
    bent = np.abs(found[:, 2:]).max(axis=1, initial=0.0) > 1e-3
    changes = any(_matters(one[:, :, c][good], found[c], spread[c], bool(bent[c])) for c in range(one.shape[2]))
    gain, offset = found[:, 0], found[:, 1]
    return Exposure(gain, offset, spread[:, 0], spread[:, 1], found[:, 2:] if found.shape[1] > 2 else None, changes)


@dataclass(frozen=True, eq=False)
class _Settled:
    """Per channel gain, offset (and field) before and after the last fit, its errors, and the averages fitted."""

    before: FloatArray
    found: FloatArray
    spread: FloatArray
    first: FloatArray
    second: FloatArray
    usable: BoolArray


def _settle(
    one: FloatArray, two: FloatArray, good: BoolArray, widths: tuple[float, ...], blur: RoughBlur
) -> _Settled | None:
    """Fit gain and offset, bring the pair to equal blur, and again; None if there is too little to compare."""
    settled = None
    found = np.tile([1.0, 0.0], (one.shape[2], 1))
    for round_, width in enumerate(widths):
        corrected = _corrected(two, found)
        equal = equalise(one, corrected, good, blur, again=round_ > 1) if round_ else EqualBlur(one, corrected, good)
        if equal.usable.sum() < _LEAST_PER_TERM * 2:
            return None
        images = [_averaged(image, equal.usable, width) for image in (equal.first, equal.second)]
        usable = _every(equal.usable, round(width / 3))
        more, spread = _fit(images[0], images[1], usable, 2)
        before, found = found, _compose(found, more)
        settled = _Settled(before, found, spread, images[0], images[1], usable)
        if round_ and _moves_little(more, float(np.ptp(one))):  # the blur would be measured as before
            break
    return settled


def _with_field(settled: _Settled) -> _Settled:
    """Fit a field as well, to the averages that gain and offset leave; without it if there is too little."""
    if settled.usable.sum() < _LEAST_PER_TERM * _FIELD_TERMS:
        return settled
    more, spread = _fit(settled.first, settled.second, settled.usable, _FIELD_TERMS)
    return replace(settled, found=_compose(settled.before, more), spread=spread)


def _has_field(settled: _Settled) -> bool:
    """Return whether a field that is fitted to half of the squares brings the other half clearly closer."""
    rows, columns = (np.arange(n) * _SQUARES // n for n in settled.usable.shape)
    black = (rows[:, None] + columns) % 2 == 0
    fitted, judged = settled.usable & black, settled.usable & ~black
    if min(fitted.sum(), judged.sum()) < _LEAST_PER_TERM * _FIELD_TERMS:
        return False
    where = _positions((black.shape[0], black.shape[1]))
    shares, largest = [], 0.0
    for c in range(settled.first.shape[2]):
        y, x = settled.first[:, :, c], settled.second[:, :, c]
        left = []
        for shapes in (where[:0], where):
            best, _ = _robust(_design(x[fitted], shapes[:, fitted]), y[fitted])
            left.append(float(np.median(np.abs(y[judged] - _design(x[judged], shapes[:, judged]) @ best))))
        shares.append(left[1] / max(left[0], 1e-300))
        largest = max(largest, float(np.abs(np.tensordot(best[2:] / best[0], where, axes=1)).max()))
    return float(np.mean(shares)) < FIELD_BELOW and largest > LEAST_FIELD


def _averaged(image: FloatArray, usable: BoolArray, width: float) -> FloatArray:
    """Return Gaussian averages over usable pixels."""
    import cv2

    weight = usable.astype(np.float32)
    mass = cv2.GaussianBlur(weight, (0, 0), width, borderType=cv2.BORDER_REFLECT)
    inside = image.astype(np.float32) * weight[:, :, None]
    blurred = cv2.GaussianBlur(inside, (0, 0), width, borderType=cv2.BORDER_REFLECT)
    blurred = blurred.reshape(image.shape)  # OpenCV drops a single channel
    return np.asarray(blurred / np.maximum(mass, 1e-9)[:, :, None], np.float64)


def _every(usable: BoolArray, step: int) -> BoolArray:
    """Return the usable pixels on a coarser grid: neighbouring averages are alike."""
    few = np.zeros_like(usable)
    few[::step, ::step] = usable[::step, ::step]
    return few if few.sum() > 200 else usable


def _moves_little(correction: FloatArray, contrast: float) -> bool:
    """Return whether a correction is negligible for images whose intensities span ``contrast``."""
    gain, offset, field = np.abs(correction[:, 0] - 1), np.abs(correction[:, 1]), np.abs(correction[:, 2:])
    return bool(max(gain.max(), field.max(initial=0.0)) < SETTLED and offset.max() <= SETTLED * contrast)


def _none(channels: int) -> Exposure:
    one, zero = np.ones(channels), np.zeros(channels)
    return Exposure(one, zero, zero, zero, None, False)


def _matters(first: FloatArray, found: FloatArray, spread: FloatArray, bent: bool) -> bool:
    """Return whether a correction is significant and not negligible."""
    low, high = np.percentile(first, (1, 99))
    contrast = max(float(high - low), 1e-12)
    for level in (low, high):
        effect = abs((found[0] - 1) * level + found[1])
        error = float(spread[2] + (level - low) / contrast * (spread[3] - spread[2]))
        if effect > LEAST_EFFECT * contrast and effect > LEAST_SIGNIFICANCE * error:
            return True
    return bent


def _fit(first: FloatArray, second: FloatArray, usable: BoolArray, terms: int) -> tuple[FloatArray, FloatArray]:
    """Return per channel (gain, offset, field) and the errors of gain, offset, and the value at either end."""
    where = _positions((first.shape[0], first.shape[1]))[: terms - 2, usable]
    rows, columns = np.nonzero(usable)
    part = (rows * _PARTS // first.shape[0]) * _PARTS + columns * _PARTS // first.shape[1]
    found, spread = [], []
    for c in range(first.shape[2]):
        y, x = first[:, :, c][usable], second[:, :, c][usable]
        design = _design(x, where)
        best, weight = _robust(design, y)
        ends = np.percentile(x, (1, 99))
        found.append(best)
        spread.append(_jackknife(design, y, weight, part, ends))
    return np.array(found), np.array(spread)


def _design(x: FloatArray, where: FloatArray) -> FloatArray:
    """Return the design matrix of gain, offset and field."""
    return np.stack([x, np.ones_like(x), *(x * shape for shape in where)], axis=1)


def _robust(design: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return least squares reweighted against outliers, and the weights."""
    weight = np.ones_like(y)
    best = _solve(design, y, weight)
    for _ in range(_REWEIGHTINGS):
        residual = y - design @ best
        scale = max(1.4826 * float(np.median(np.abs(residual))), 1e-9 * float(np.abs(y).max()), 1e-300)
        weight = 1 / (1 + (residual / (_OUTLIER * scale)) ** 2)
        best = _solve(design, y, weight)
    return best, weight


def _solve(design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    weighted = (design * weight[:, None]).T
    return _solve_normal(weighted @ design, weighted @ (y - design[:, 0]))


def _solve_normal(normal: FloatArray, score: FloatArray) -> FloatArray:
    """Return the solution of normal equations, ``score`` being what is left by a gain of 1."""
    size = np.sqrt(np.maximum(np.diag(normal), 1e-300))
    # The ridge avoids a division by zero in images without contrast, whose gain becomes 1.
    scaled = normal / np.outer(size, size) + 1e-9 * np.eye(len(size))
    solution = np.linalg.solve(scaled, score / size) / size
    solution[0] += 1.0
    return np.asarray(solution)


def _jackknife(design: FloatArray, y: FloatArray, weight: FloatArray, part: AnyArray, ends: FloatArray) -> FloatArray:
    """Return standard errors of gain, offset and of the corrected value at two intensities."""
    count = _PARTS * _PARTS
    terms = design.shape[1]
    pixels = np.bincount(part, minlength=count)
    # The sums of each part, subtracted from those of the whole below.
    normal, score = np.empty((count, terms, terms)), np.empty((count, terms))
    for i in range(terms):
        column = weight * design[:, i]
        score[:, i] = np.bincount(part, column * (y - design[:, 0]), count)
        for j in range(i, terms):
            normal[:, i, j] = normal[:, j, i] = np.bincount(part, column * design[:, j], count)
    all_normal, all_score = normal.sum(axis=0), score.sum(axis=0)
    without = []
    for index in np.flatnonzero(pixels):
        if pixels.sum() - pixels[index] > 4 * terms:
            gain, offset = _solve_normal(all_normal - normal[index], all_score - score[index])[:2]
            without.append([gain, offset, gain * ends[0] + offset, gain * ends[1] + offset])
    if len(without) < 3:
        return np.full(4, np.inf)
    values = np.array(without)
    left = len(values)
    return np.asarray(np.sqrt((left - 1) / left * ((values - values.mean(axis=0)) ** 2).sum(axis=0)))


def _corrected(image: AnyArray, found: FloatArray) -> AnyArray:
    """Return an (H, W, C) image after gain, offset and field of each channel, in its own precision."""
    found = found.astype(image.dtype)
    result = image * found[:, 0]
    if found.shape[1] > 2:
        shape = _positions((image.shape[0], image.shape[1]))
        result *= (1 + np.tensordot(found[:, 2:], shape, axes=1)).transpose(1, 2, 0).astype(image.dtype)
    result += found[:, 1]
    return np.asarray(result)


def _compose(before: FloatArray, more: FloatArray) -> FloatArray:
    """Return the composition of two corrections, to first order in the field."""
    gain = more[:, 0] * before[:, 0]
    offset = more[:, 0] * before[:, 1] + more[:, 1]
    field = more[:, 2:] / more[:, :1] + (before[:, 2:] if before.shape[1] > 2 else 0.0)
    return np.column_stack([gain, offset, field])


def _positions(shape: tuple[int, int]) -> FloatArray:
    """Return x, y, x^2, xy, y^2 over the picture, x and y from -1 to 1."""
    y = np.linspace(-1, 1, shape[0])[:, None] + np.zeros((1, shape[1]))
    x = np.linspace(-1, 1, shape[1])[None, :] + np.zeros((shape[0], 1))
    return np.stack([x, y, x * x, x * y, y * y])
