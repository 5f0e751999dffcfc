"""``match_exposure``: gain and offset between two images that differ in blur.

Blur lowers the contrast of fine detail, as a gain below 1 does. The fit is therefore made on broad averages of the pair
at equal blur (:mod:`relblur.photo.rough_blur`). It is a straight line per channel, ``first = gain * second + offset``,
by robust least squares. With a field the gain is a quadratic polynomial of the position, for a difference in
vignetting. By default a field is accepted if a fit to the black squares of a chessboard clearly reduces the difference
in the white ones. Standard errors come from a jackknife over parts of the picture, because disturbances (parallax,
highlights, misfit) are correlated between neighbouring pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.inputs import as_pair, check_pair
from ..blur.comparable_pair import ComparablePair
from ..filters.decimation import block_means
from .rough_blur import MOST_PIXELS, EqualBlur, RoughBlur, equalise, reduction_for

__all__ = ["FIELD_FOR", "Exposure", "find_exposure", "match_exposure"]

#: Argument ``field`` of :func:`find_exposure` for each setting of the exposure.
FIELD_FOR: dict[str, bool | None] = {"auto": None, "gain": False, "field": True}

#: Minimum size of a correction, in standard errors.
LEAST_SIGNIFICANCE = 3.0

#: Minimum change of an intensity by a correction (fraction of the contrast).
LEAST_EFFECT = 2e-3

#: Widths of the Gaussian averages in each round (px of the reduced copies). In the first round the blur is unknown.
_BROAD = (12.0, 6.0, 6.0)

#: Change of gain and offset below which the rounds end.
CONVERGED = 5e-4

#: Number of reweighted least-squares steps.
_REWEIGHTINGS = 8

#: Minimum number of pixels per fitted parameter.
_LEAST_PER_TERM = 16

#: Number of parts along each side of the picture for the jackknife.
_PARTS = 4

#: Residual (standard deviations) that has half the weight (Cauchy loss).
_OUTLIER = 2.0

#: A field must reduce the median difference in squares not used in its fit below this fraction, and change the gain by
#: LEAST_FIELD. Pairs with vignetting: 0.3 to 0.8 and 0.1 to 0.2; renders: 0.9 to 1 and 0.007.
FIELD_BELOW, LEAST_FIELD = 0.8, 0.01

#: Number of squares of the chessboard along each side of the picture.
_SQUARES = 8

#: Number of shapes of a field: x, y, x^2, xy, y^2.
_FIELD_TERMS = 5


@dataclass(frozen=True, eq=False)
class Exposure:
    """The correction that gives ``second`` the exposure of ``first``.

    Attributes
    ----------
    gain, offset : (C,) arrays
        ``first = gain * second + offset`` (before the field).
    gain_stderr, offset_stderr : (C,) arrays
        Standard errors of gain and offset.
    field : (C, 5) array or None
        Coefficients of x, y, x^2, xy, y^2 of the relative gain. x and y run from -1 to 1 over the picture.
    changes : bool
        False if the correction is within its error. Then ``apply`` returns the image unchanged.
    """

    gain: FloatArray
    offset: FloatArray
    gain_stderr: FloatArray
    offset_stderr: FloatArray
    field: FloatArray | None
    changes: bool

    def apply(self, image: AnyArray) -> AnyArray:
        """Return an (H, W, C) image ``second`` with the exposure of ``first``."""
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


def match_exposure(
    first: ArrayLike,
    second: ArrayLike,
    *,
    field: bool | None = None,
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> ComparablePair:
    """Give ``second`` the exposure of ``first``: gain and offset per channel, fitted in spite of the blur.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        An aligned pair in linear light; clipped pixels of integer images are left out.
    field : bool, optional
        Whether the gain may vary smoothly over the picture, for a difference in vignetting. By default a field is used
        if it fits the pair clearly better.
    valid : (H, W) bool array, optional
        True = use.
    channel_axis : int, optional
        Axis of the colour channels.

    Returns
    -------
    ComparablePair
        ``first`` unchanged, ``second`` matched (unchanged if the correction is within its error), and ``exposure``
        with the parameters. Colours are on the last axis. Both images are NaN where either is not finite.
    """
    pair = as_pair(first, second, valid=valid, channel_axis=channel_axis)
    exposure = find_exposure(pair.first, pair.second, pair.usable, field=field)
    images = [pair.first, exposure.apply(pair.second)]
    light = check_pair(first, second, channel_axis=channel_axis).finite
    for image in images:
        image[np.False_ if light is None else ~light] = np.nan
    one, two = images if channel_axis is not None else [image[:, :, 0] for image in images]
    return ComparablePair(one, two, is_light=True, notes=(f"exposure: {exposure.describe()}",), exposure=exposure)


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
        Whether the gain varies over the picture. None: use a field if it fits squares to which it is not fitted.
    blur : RoughBlur, optional
        Rough blur of the pair, shared with the other steps.
    broad : bool
        Fit broad averages only, without a measurement of the blur and without a field.
    """
    factor = reduction_for(first.shape, MOST_PIXELS)
    one, two = (block_means(np.asarray(image, np.float64), factor) for image in (first, second))
    good = block_means(usable[:, :, None].astype(np.float64), factor)[:, :, 0] > 0.999
    zero = np.zeros(one.shape[2])
    terms, errors, averages = np.column_stack([zero + 1, zero]), np.zeros((len(zero), 4)), None
    blur = RoughBlur() if blur is None else blur
    for round_, width in enumerate(_BROAD[:1] if broad else _BROAD):
        if round_ and blur.needs_measurement(again=round_ > 1):
            blur.measure(one, _corrected(two, terms), good)
        averages, before = _averages(one, two, good, width, blur if round_ else None), terms
        if averages is None:
            return Exposure(zero + 1, zero, zero, zero, None, False)
        terms, errors = _fit(*averages, 0)
        if round_ and np.abs(terms - before).max() < CONVERGED:  # a new measurement of the blur would give the same
            break
    if averages is not None and not broad and (field or (field is None and _has_field(*averages))):
        terms, errors = _fit(*averages, _FIELD_TERMS)
    varies = np.abs(terms[:, 2:]).max(axis=1, initial=0.0) > 1e-3
    changes = any(_is_relevant(one[:, :, c][good], terms[c], errors[c], bool(varies[c])) for c in range(len(zero)))
    gain, offset = terms[:, 0], terms[:, 1]
    return Exposure(gain, offset, errors[:, 0], errors[:, 1], terms[:, 2:] if terms.shape[1] > 2 else None, changes)


_Averages = tuple[FloatArray, FloatArray, BoolArray]


def _averages(
    one: FloatArray, two: FloatArray, good: BoolArray, width: float, blur: RoughBlur | None
) -> _Averages | None:
    """Return broad averages of two images, at equal blur if it is known, and their pixels; None if those are few."""
    equal = EqualBlur(one, two, good) if blur is None else equalise(one, two, good, blur)
    usable = _thinned(equal.usable, round(width / 3))
    if usable.sum() < _LEAST_PER_TERM * 2:
        return None
    return _averaged(equal.first, equal.usable, width), _averaged(equal.second, equal.usable, width), usable


def _has_field(first: FloatArray, second: FloatArray, usable: BoolArray) -> bool:
    """Return whether a field fitted to the black squares clearly reduces the difference in the white ones."""
    rows, columns = (np.arange(n) * _SQUARES // n for n in usable.shape)
    black = (rows[:, None] + columns) % 2 == 0
    fitted, tested = usable & black, usable & ~black
    if min(fitted.sum(), tested.sum()) < _LEAST_PER_TERM * (_FIELD_TERMS + 2):
        return False
    where, shares, largest = _positions((black.shape[0], black.shape[1])), [], 0.0
    for c in range(first.shape[2]):
        y, x = first[:, :, c], second[:, :, c]
        residuals = []
        for shapes in (where[:0], where):
            best, _ = _robust(_design(x[fitted], shapes[:, fitted]), y[fitted])
            residuals.append(float(np.median(np.abs(y[tested] - _design(x[tested], shapes[:, tested]) @ best))))
        shares.append(residuals[1] / max(residuals[0], 1e-300))
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


def _thinned(usable: BoolArray, step: int) -> BoolArray:
    """Return the usable pixels on a coarser grid, because neighbouring averages are correlated."""
    few = np.zeros_like(usable)
    few[::step, ::step] = usable[::step, ::step]
    return few if few.sum() > 200 else usable


def _is_relevant(first: FloatArray, terms: FloatArray, errors: FloatArray, has_field: bool) -> bool:
    """Return whether a correction is significant and not negligible."""
    low, high = np.percentile(first, (1, 99))
    contrast = max(float(high - low), 1e-12)
    for level in (low, high):
        effect = abs((terms[0] - 1) * level + terms[1])
        error = float(errors[2] + (level - low) / contrast * (errors[3] - errors[2]))
        if effect > LEAST_EFFECT * contrast and effect > LEAST_SIGNIFICANCE * error:
            return True
    return has_field


def _fit(first: FloatArray, second: FloatArray, usable: BoolArray, shapes: int) -> tuple[FloatArray, FloatArray]:
    """Return (gain, offset, field) per channel, and the standard errors of gain, offset and the corrected extremes."""
    if usable.sum() < _LEAST_PER_TERM * (shapes + 2):
        shapes = 0
    where = _positions((first.shape[0], first.shape[1]))[:shapes, usable]
    rows, columns = np.nonzero(usable)
    part = (rows * _PARTS // first.shape[0]) * _PARTS + columns * _PARTS // first.shape[1]
    solutions, errors = [], []
    for c in range(first.shape[2]):
        y, x = first[:, :, c][usable], second[:, :, c][usable]
        design = _design(x, where)
        best, weight = _robust(design, y)
        solutions.append([*best[:2], *(best[2:] / best[0])])
        errors.append(_jackknife(design, y, weight, part, np.percentile(x, (1, 99))))
    return np.array(solutions), np.array(errors)


def _design(x: FloatArray, where: FloatArray) -> FloatArray:
    """Return the design matrix of gain, offset and field."""
    return np.stack([x, np.ones_like(x), *(x * shape for shape in where)], axis=1)


def _robust(design: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the solution of least squares reweighted against outliers, and the weights."""
    weight = np.ones_like(y)
    best = _solve(*_normal(design, y, weight))
    for _ in range(_REWEIGHTINGS):
        residual = y - design @ best
        scale = max(1.4826 * float(np.median(np.abs(residual))), 1e-9 * float(np.abs(y).max()), 1e-300)
        weight = 1 / (1 + (residual / (_OUTLIER * scale)) ** 2)
        best = _solve(*_normal(design, y, weight))
    return best, weight


def _normal(design: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the normal equations of weighted least squares for the residual at a gain of 1."""
    weighted = (design * weight[:, None]).T
    return weighted @ design, weighted @ (y - design[:, 0])


def _solve(normal: FloatArray, score: FloatArray) -> FloatArray:
    """Return the solution; the gain, its first term, is 1 in images without contrast."""
    size = np.sqrt(np.maximum(np.diag(normal), 1e-300))
    solution = np.linalg.solve(normal / np.outer(size, size) + 1e-9 * np.eye(len(size)), score / size) / size
    solution[0] += 1.0
    return np.asarray(solution)


def _jackknife(design: FloatArray, y: FloatArray, weight: FloatArray, part: AnyArray, ends: FloatArray) -> FloatArray:
    """Return the standard errors of gain, of offset and of the corrected values at two intensities."""
    parts = [part == index for index in np.unique(part)]
    sums = [_normal(design[here], y[here], weight[here]) for here in parts]
    normal, score = (np.sum(each, axis=0) for each in zip(*sums, strict=True))
    values = []
    for here, (of_normal, of_score) in zip(parts, sums, strict=True):
        if len(y) - here.sum() > 4 * design.shape[1]:
            gain, offset = _solve(normal - of_normal, score - of_score)[:2]
            values.append([gain, offset, *(gain * ends + offset)])
    if len(values) < 3:
        return np.full(4, np.inf)
    return np.asarray(np.std(values, axis=0) * np.sqrt(len(values) - 1))


def _corrected(image: AnyArray, terms: FloatArray) -> AnyArray:
    """Return an (H, W, C) image with gain, offset and field applied to each channel, in its own dtype."""
    terms = terms.astype(image.dtype)
    result = image * terms[:, 0]
    if terms.shape[1] > 2:
        shape = _positions((image.shape[0], image.shape[1]))
        result *= (1 + np.tensordot(terms[:, 2:], shape, axes=1)).transpose(1, 2, 0).astype(image.dtype)
    result += terms[:, 1]
    return np.asarray(result)


def _positions(shape: tuple[int, int]) -> FloatArray:
    """Return x, y, x^2, xy, y^2 over the picture, x and y from -1 to 1."""
    y = np.linspace(-1, 1, shape[0])[:, None] + np.zeros((1, shape[1]))
    x = np.linspace(-1, 1, shape[1])[None, :] + np.zeros((shape[0], 1))
    return np.stack([x, y, x * x, x * y, y * y])
