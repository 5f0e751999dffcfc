"""``align``: registration of one photograph on the other, in spite of their different blur.

OpenCV's ECC registration (Evangelidis and Psarakis), coarse to fine, finds an affine motion. It is invariant to gain
and offset. Uniform blur is symmetric and causes no shift. Blur that varies over the picture biases the motion by some
hundredths of a pixel. The last step therefore works on the pair at equal blur
(:mod:`relblur.photo.rough_blur`). The residual motion may be smooth but not affine, as with a phone. Then a bend is
added (:mod:`relblur.photo.bending`).

The second image is resampled by :mod:`relblur.filters.resampling`, which is nearly ideal. Common interpolators blur: s
grows by 0.05 to 0.13 px^2 at half a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.arguments import as_choice, colour_axis
from ..base.errors import AlignmentError
from ..base.inputs import as_pair
from ..base.pixels import Usual, usual_values, without_gaps
from ..base.settings import ALIGN_MODELS
from ..filters.decimation import block_means
from .bending import find_bend, is_bent
from .equal_bands import EqualBands, band, black_squares, compare, difference
from .motion import Motion
from .rough_blur import RoughBlur, reduction_for
from .static_mask import static_mask
from .warps import largest, rows_first, scaled, simplest, size

__all__ = ["Alignment", "Motion", "align", "find_motion"]

#: Motion smaller than this everywhere in the frame (px) is not corrected.
LEAVE_BELOW_PX = 0.05

#: Minimum correlation of two aligned images of one scene, at low resolution.
LEAST_CORRELATION = 0.5

#: Minimum common fraction of the frame, and largest factor of scale, of an accepted motion.
LEAST_OVERLAP = 0.5
MOST_SCALE = 1.25

#: Size (pixels) of the copies that are registered, and of the coarsest level of their pyramid.
WORKING_PIXELS = 1_000_000
COARSE_PIXELS = 20_000

#: Maximum number of ECC iterations.
_STEPS = 50

#: Values farther from the middle than this many times the range of 99 % of the values are lights (the sun, lamps).
#: Pixels within the second number (px) of a light are glare.
MOST_RANGES, GLARE_PX = 10.0, 8

#: Repeat the fit at equal blur if it changed the motion by more than this (px, mean over the texture): blur measured on
#: a badly aligned pair is wrong.
CONVERGED_PX = 0.1
#: Maximum number of fits at equal blur, and of exclusions of moving objects in each.
_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Alignment:
    """An aligned pair, the result of :func:`align`.

    Attributes
    ----------
    first, second : arrays of the inputs' shape, float
        ``first`` unchanged; ``second`` resampled onto it (unchanged if the pair is already aligned).
    valid : (H, W) bool
        True where both images have usable pixels: inside the frame, not clipped, finite.
    motion : Motion
        ``motion.transform`` maps (row, column, 1) of ``first`` to ``second``.
    """

    first: FloatArray
    second: FloatArray
    valid: BoolArray
    motion: Motion

    def describe(self) -> str:
        """Return the change of ``second`` in one line."""
        return self.motion.describe((self.valid.shape[0], self.valid.shape[1]))

    def __repr__(self) -> str:
        height, width = self.valid.shape
        return f"Alignment({height}x{width}, {self.describe()}, {self.valid.mean():.1%} of the pixels in both)"


def align(
    first: ArrayLike,
    second: ArrayLike,
    *,
    model: str = "auto",
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> Alignment:
    """Align two images of one scene that differ in blur, and possibly in exposure.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        The two images, in any order. ``second`` is resampled onto ``first``.
    model : {"auto", "translation", "similarity", "affine", "bent"}
        Model of the motion. ``"auto"`` chooses the simplest sufficient one: none, translation, or similarity (focus
        breathing), if it is right to a few hundredths of a pixel. An affine motion must differ clearly from the
        similarity. ``"auto"`` adds a bend (a distortion that changes with focus) if this makes the
        images clearly more similar. A motion is rejected if it does not reduce the difference in parts of the
        picture that it was not fitted to.
    valid : (H, W) bool array, optional
        True = use, in both images.
    channel_axis : int, optional
        Axis of the colour channels.

    Raises
    ------
    AlignmentError
        If the two are not the same scene, or overlap by less than half.
    """
    as_choice(model, "model", ALIGN_MODELS)
    channel_axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, valid=valid, channel_axis=channel_axis)
    motion = find_motion(pair.first, pair.second, pair.usable, model=model)
    moved = motion.resample(pair.second)
    inside = motion.inside(pair.shape) & ~motion.resample_map(~pair.usable) & pair.usable
    images = [pair.first, moved] if channel_axis is not None else [pair.first[:, :, 0], moved[:, :, 0]]
    if channel_axis is not None:
        images = [np.moveaxis(image, -1, channel_axis) for image in images]
    return Alignment(images[0], images[1], inside, motion)


def find_motion(
    first: AnyArray, second: AnyArray, usable: BoolArray, *, model: str = "auto", blur: RoughBlur | None = None
) -> Motion:
    """Return the motion between two (H, W, C) images; ``blur`` is measured if it contains no measurement."""
    blur = RoughBlur() if blur is None else blur
    shape = (first.shape[0], first.shape[1])
    factor = reduction_for(shape, WORKING_PIXELS)
    *grey, usable = _without_lights(_grey(first), _grey(second), usable)
    one, two, good = (block_means(image, factor) for image in (*grey, usable.astype(np.float32)))
    mask = (good > 0.999).astype(np.uint8)
    warp = _coarse_to_fine(one, two, mask)
    _refuse_implausible(warp, one.shape)
    if model == "auto" and factor * largest(warp, one.shape) < LEAVE_BELOW_PX:
        correlation = _correlation(band(one), band(two), mask, warp)
        if correlation > LEAST_CORRELATION:
            return _motion(np.eye(2, 3), "none", factor, shape, correlation, warp)
    for turn in range(_ROUNDS):
        start = warp
        fit = _without_blur((one, two, mask), start, model == "translation", blur, again=turn > 0)
        chosen, warp = simplest(fit.warp, model, fit.information, factor)
        if factor * size(warp - start, fit.information) < CONVERGED_PX:
            break
    if fit.correlation < LEAST_CORRELATION:
        raise AlignmentError(
            f"first and second do not show the same scene (correlation {fit.correlation:.2f} at best, "
            f"{LEAST_CORRELATION:g} needed); check the pair, or align it by other means and switch alignment off"
        )
    left = None if chosen == "none" else _remaining((one, two, mask), warp, chosen, blur)
    rejected = left is not None and left >= 1
    accepted = np.eye(2, 3) if rejected else warp
    motion = _motion(accepted, "none" if rejected else chosen, factor, shape, fit.correlation, warp)
    motion = replace(motion, left=left)
    if rejected and model != "bent":
        return motion
    if model == "bent" or (model == "auto" and fit.equal is not None and is_bent(fit.equal)):
        bend = find_bend(one, two, mask, accepted, blur)
        return motion if bend is None else motion.bent(bend.enlarged_from_means(factor), shape)
    return motion


def _coarse_to_fine(first: AnyArray, second: AnyArray, mask: AnyArray) -> AnyArray:
    """Return the affine warp from a pyramid; it maps x, y of first to x, y of second, as in OpenCV."""
    import cv2

    steps = max(0, round(np.log2(np.sqrt(first.size / COARSE_PIXELS))))
    warp = np.eye(2, 3, dtype=np.float32)
    for level in range(steps, -1, -1):
        factor = 2**level
        one, two, here = (block_means(image, factor) for image in (first, second, mask.astype(np.float32)))
        good = (here > 0.999).astype(np.uint8)
        bands = band(one), band(two)
        if level == steps:
            warp = _start(bands[0], bands[1], good)
            warp = _ecc(bands[0], bands[1], warp, good, cv2.MOTION_TRANSLATION)
        warp = _ecc(bands[0], bands[1], warp, good, cv2.MOTION_AFFINE)
        if level:
            warp = scaled(warp, 2)
    return warp


def _start(first: AnyArray, second: AnyArray, mask: AnyArray) -> AnyArray:
    """Return the better start: no motion, or the shift from phase correlation."""
    import cv2

    window = cv2.createHanningWindow(first.shape[::-1], cv2.CV_32F)
    (x, y), _ = cv2.phaseCorrelate(first, second, window)
    still = np.eye(2, 3, dtype=np.float32)
    shifted = np.array([[1, 0, x], [0, 1, y]], dtype=np.float32)
    return max((still, shifted), key=lambda warp: _correlation(first, second, mask, warp))


@dataclass(frozen=True, eq=False)
class _Fit:
    """A warp, its correlation, the information matrix of its parameters, and the bands after the warp."""

    warp: AnyArray
    correlation: float
    information: FloatArray
    equal: EqualBands | None = None


def _without_blur(
    images: tuple[AnyArray, AnyArray, AnyArray], warp: AnyArray, translation: bool, blur: RoughBlur, again: bool
) -> _Fit:
    """Refine a warp on the pair that is aligned by it and brought to equal blur."""
    import cv2

    failed = _Fit(warp, 0.0, np.eye(6))
    equal = compare(*images, warp, blur=blur, again=again)
    if equal is None:
        return failed
    here = equal.mask
    kind = cv2.MOTION_TRANSLATION if translation else cv2.MOTION_AFFINE
    rest = _ecc(equal.first, equal.second, np.eye(2, 3, dtype=np.float32), here, kind)
    for _ in range(_ROUNDS):
        steady = static_mask(equal.first, *_moved(equal.second, rest, here))
        if (steady == here).all():
            break
        here = steady
        rest = _ecc(equal.first, equal.second, np.eye(2, 3, dtype=np.float32), here, kind)
    information = _information(equal.first, here, equal.factor)
    if np.linalg.matrix_rank(information) < len(information):  # too few pixels, or pixels on one line
        return failed
    correlation = _correlation(equal.first, equal.second, here, rest)
    both = np.vstack([scaled(warp, 1 / equal.factor), [0, 0, 1]]) @ np.vstack([rest, [0, 0, 1]])
    moved, seen = _moved(equal.second, rest, equal.mask)
    left = EqualBands(equal.first, moved, seen, equal.factor)
    return _Fit(scaled(both[:2], equal.factor), correlation, information, left)


def _remaining(
    images: tuple[AnyArray, AnyArray, AnyArray], warp: AnyArray, model: str, blur: RoughBlur
) -> float | None:
    """Return the fraction of the difference at equal blur (root mean square) that remains after a motion.

    The fraction is measured on the white squares of a chessboard, for two warps: this one, and one that is fitted
    again to the black squares alone. The larger fraction is returned. None if the frame is too small for squares.
    """
    import cv2

    still, moved = (compare(*images, motion, blur=blur) for motion in (np.eye(2, 3), warp))
    black = None if still is None else black_squares(still.mask.shape)
    if still is None or moved is None or black is None:
        return None
    kind = cv2.MOTION_TRANSLATION if model == "translation" else cv2.MOTION_AFFINE
    use = np.asarray(still.mask * moved.mask, np.uint8)
    rest = _ecc(moved.first, moved.second, np.eye(2, 3), np.asarray(use * black, np.uint8), kind)
    fitted, seen = _moved(moved.second, rest, use)
    white = (static_mask(moved.first, moved.second, seen) > 0) & ~black
    before = difference(still.first, still.second, white)
    after = max(difference(moved.first, image, white) for image in (moved.second, fitted))
    return float(np.sqrt(after / before)) if before > 0 else None


def _moved(band: AnyArray, warp: AnyArray, mask: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return a band resampled by a warp, and the mask of the pixels that come from inside the frame."""
    import cv2

    size = (band.shape[1], band.shape[0])
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    moved = cv2.warpAffine(band, warp, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    seen = cv2.warpAffine(np.ones_like(band), warp, size, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP) > 0.999
    return moved, np.asarray(mask * seen, np.uint8)


def _information(band: AnyArray, mask: AnyArray, factor: int) -> FloatArray:
    """Return the information matrix of a warp: ``change^T information change`` is the mean square motion in px^2.

    ``change`` has the parameters (a, b, x, c, d, y) of a warp of images ``factor`` times as large. Only
    the motion along the gradient counts. The mean is weighted by the texture, because a wrong motion in flat areas is
    harmless. A shift of 1 px has the value 1 if edges have all directions.
    """
    import cv2

    slopes = [cv2.Sobel(band, cv2.CV_64F, *order)[mask > 0] for order in ((1, 0), (0, 1))]
    y, x = ((factor * place + (factor - 1) / 2).astype(np.float64) for place in np.nonzero(mask))
    where = np.stack([x, y, np.ones_like(x)])
    change = np.concatenate([slopes[0] * where, slopes[1] * where])
    power = float((slopes[0] ** 2 + slopes[1] ** 2).sum()) / 2
    flat = where @ where.T / max(where.shape[1], 1)
    # A small uniform term: edges of one direction alone do not determine the motion along them.
    return change @ change.T / max(power, 1e-300) + 1e-3 * np.kron(np.eye(2), flat)


def _ecc(first: AnyArray, second: AnyArray, warp: AnyArray, mask: AnyArray, kind: int) -> AnyArray:
    import cv2

    try:
        criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, _STEPS, 1e-6)
        _, refined = cv2.findTransformECC(first, second, np.asarray(warp, np.float32), kind, criteria, mask, 1)
    except cv2.error:  # no convergence: the correlation shows whether the start is right
        return warp
    return refined


def _correlation(first: AnyArray, second: AnyArray, mask: AnyArray, warp: AnyArray) -> float:
    import cv2

    size = (first.shape[1], first.shape[0])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    moved = cv2.warpAffine(second, warp, size, flags=flags)
    seen = cv2.warpAffine(np.ones_like(second), warp, size, flags=flags) > 0.999
    here = seen & (mask > 0)
    if here.sum() < 16:
        return 0.0
    one, two = (image[here].astype(np.float64) for image in (first, moved))
    one, two = one - one.mean(), two - two.mean()
    power = float(np.sqrt((one * one).sum() * (two * two).sum()))
    return float((one * two).sum()) / power if power > 0 else 0.0


def _refuse_implausible(warp: AnyArray, shape: tuple[int, int]) -> None:
    scale = float(np.sqrt(abs(np.linalg.det(warp[:, :2]))))
    overlap = float(Motion(rows_first(warp), "affine", 0.0, 0.0).inside(shape).mean())
    if overlap < LEAST_OVERLAP or not 1 / MOST_SCALE < scale < MOST_SCALE:
        raise AlignmentError(
            f"first and second could not be registered (best motion: overlap {overlap:.0%}, scale {scale:.2f}); "
            "they may not show the same scene; check the pair, or align it by other means and switch alignment off"
        )


def _motion(
    warp: AnyArray, model: str, factor: int, shape: tuple[int, int], correlation: float, measured: AnyArray
) -> Motion:
    farthest = factor * largest(measured, (shape[0] // factor, shape[1] // factor))
    return Motion(rows_first(scaled(warp, factor)), model, farthest, correlation)


def _grey(image: AnyArray) -> AnyArray:
    return np.ascontiguousarray(image.mean(axis=2) if image.shape[2] > 1 else image[:, :, 0])


def _without_lights(first: AnyArray, second: AnyArray, usable: BoolArray) -> tuple[AnyArray, AnyArray, BoolArray]:
    """Return two images scaled to about 1 by a power of two (which is exact), without lights and their glare.

    A correlation is a sum of squares. A single extreme pixel would dominate it.
    """
    images = [first, second]
    usual = [usual_values(image[:, :, None]) for image in images]
    lights = [_lights(image, of) for image, of in zip(images, usual, strict=True)]
    if lights[0] is not None or lights[1] is not None:
        import cv2

        both = np.logical_or.reduce([each for each in lights if each is not None])
        glare = cv2.dilate(both.astype(np.uint8), np.ones((2 * GLARE_PX + 1, 2 * GLARE_PX + 1), np.uint8)) > 0
        if not glare.all():
            usable = usable & ~glare
            images = [without_gaps(image, ~glare) for image in images]
    largest = max(of.span for of in usual)
    power = -round(float(np.log2(largest))) if largest > 0 else 0
    one, two = (np.ldexp(image, power).astype(np.float32) for image in images)
    return one, two, usable


def _lights(image: AnyArray, usual: Usual) -> BoolArray | None:
    """Return a mask of the values far outside the range of 99 % of them; None if there are none."""
    low, high = usual.middle - MOST_RANGES * usual.span, usual.middle + MOST_RANGES * usual.span
    if usual.span == 0 or (low <= image.min() and image.max() <= high):
        return None
    return np.asarray((image < low) | (image > high))
