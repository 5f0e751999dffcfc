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
from ..base.pixels import usual_values
from ..base.settings import ALIGN_MODELS
from ..blur.comparable_pair import ComparablePair
from ..filters.decimation import block_means
from .bending import block_weights, find_bend, fit_displacement, is_bent, linearised, moved_by
from .equal_bands import EqualBands, band, black_squares, compare, difference
from .motion import Motion, farthest
from .rough_blur import MOST_PIXELS, RoughBlur, reduction_for
from .warps import SIMPLER_WITHIN_PX, rows_first, scaled, simplest, size, warp_of

__all__ = ["Motion", "align", "find_motion"]

#: Motion smaller than this everywhere in the frame (px) is not corrected.
LEAVE_BELOW_PX = 0.05

#: Minimum correlation of two aligned images of one scene, at low resolution.
LEAST_CORRELATION = 0.5

#: A motion of CLEAR_FROM_PX or more must reduce the difference (root mean square) below this fraction of its value. For
#: smaller motions any reduction suffices.
ACCEPT_BELOW, CLEAR_FROM_PX = 0.95, 1.0

#: Size (pixels) of the coarsest copies that are registered.
COARSE_PIXELS = 20_000

#: Maximum number of ECC iterations.
_STEPS = 50

#: Values farther from the middle than this many times the range of 99 % of the values are clipped: lights (the sun,
#: lamps) would dominate a correlation, which is a sum of squares.
MOST_RANGES = 3.0

#: Degree of the displacement that is fitted at equal blur, for models other than affine.
_DEGREES = {"translation": 0}

#: Repeat the fit at equal blur if it changed the motion by more than this (px, mean over the texture), and measure the
#: blur again if it changed it by more than the second: blur measured on a badly aligned pair is wrong.
CONVERGED_PX, REMEASURE_PX = 0.005, 0.1
#: Maximum number of fits at equal blur.
_ROUNDS = 3


def align(
    first: ArrayLike,
    second: ArrayLike,
    *,
    model: str = "auto",
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> ComparablePair:
    """Align two images of one scene that differ in blur, and possibly in exposure.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        The two images, in any order. ``second`` is resampled onto ``first``.
    model : {"auto", "translation", "similarity", "affine", "bent"}
        Model of the motion. ``"auto"`` chooses the simplest of none, translation and similarity (focus breathing) that
        is accurate to a few hundredths of a pixel, or an affine motion if it differs clearly from the similarity. It
        adds a bend (a distortion that changes with focus) if this makes the images clearly more similar. A motion is
        rejected if it does not reduce the difference in parts of the picture to which it was not fitted.
    valid : (H, W) bool array, optional
        True = use, in both images.
    channel_axis : int, optional
        Axis of the colour channels.

    Returns
    -------
    ComparablePair
        ``first`` unchanged; ``second`` resampled onto it (unchanged if the pair is already aligned), with colours on
        the last axis. ``valid`` is True where both have usable pixels. ``motion.transform`` maps (row, column, 1) of
        ``first`` to ``second``.

    Raises
    ------
    AlignmentError
        If the two are not the same scene.
    """
    as_choice(model, "model", ALIGN_MODELS)
    channel_axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, valid=valid, channel_axis=channel_axis)
    motion = find_motion(pair.first, pair.second, pair.usable, model=model)
    moved = motion.resample(pair.second)
    inside = motion.inside(pair.shape) & ~motion.resample_map(~pair.usable) & pair.usable
    one, two = (pair.first, moved) if channel_axis is not None else (pair.first[:, :, 0], moved[:, :, 0])
    notes = (f"alignment: {motion.describe(pair.shape)}",)
    return ComparablePair(one, two, inside, is_light=True, notes=notes, motion=motion)


def find_motion(
    first: AnyArray, second: AnyArray, usable: BoolArray, *, model: str = "auto", blur: RoughBlur | None = None
) -> Motion:
    """Return the motion between two (H, W, C) images; ``blur`` is measured if it contains no measurement."""
    blur = RoughBlur() if blur is None else blur
    shape = (first.shape[0], first.shape[1])
    factor = reduction_for(shape, MOST_PIXELS)
    images = (*_comparable(first, second), usable.astype(np.float32))
    one, two, good = (block_means(image, factor) for image in images)
    mask = (good > 0.999).astype(np.uint8)
    warp = _coarse_to_fine(one, two, mask)
    if model == "auto" and farthest(rows_first(scaled(warp, factor)), shape) < LEAVE_BELOW_PX:
        correlation = _correlation(band(one), band(two), mask, warp)
        if correlation > LEAST_CORRELATION:
            return _motion(np.eye(2, 3), "none", factor, shape, correlation, warp)
    change_px = 0.0
    for _ in range(_ROUNDS):
        start = warp
        fit = _refined_at_equal_blur((one, two, mask), start, model, blur, again=change_px > REMEASURE_PX)
        chosen, warp = simplest(fit.warp, model, fit.information, factor)
        change_px = factor * size(warp - start, fit.information)
        if change_px < CONVERGED_PX:
            break
    if model == "auto" and farthest(rows_first(scaled(warp, factor)), shape) < SIMPLER_WITHIN_PX:
        chosen, warp = "none", np.eye(2, 3)
    if fit.correlation < LEAST_CORRELATION:
        raise AlignmentError(
            f"first and second do not show the same scene (correlation {fit.correlation:.2f} at best, "
            f"{LEAST_CORRELATION:g} needed); check the pair, or align it by other means and switch alignment off"
        )
    left = None if chosen == "none" else _remaining((one, two, mask), warp, chosen, blur)
    motion = replace(_motion(warp, chosen, factor, shape, fit.correlation, warp), left=left)
    rejected = left is not None and left >= (1 if motion.largest_px < CLEAR_FROM_PX else ACCEPT_BELOW)
    accepted = np.eye(2, 3) if rejected else warp
    if rejected:
        motion = replace(motion, transform=np.eye(3), model="none")
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


def _refined_at_equal_blur(
    images: tuple[AnyArray, AnyArray, AnyArray], warp: AnyArray, model: str, blur: RoughBlur, again: bool
) -> _Fit:
    """Refine a warp on the pair that is aligned by it and brought to equal blur."""
    equal = compare(*images, warp, blur=blur, again=again)
    information = None if equal is None else _information(equal.first, equal.mask)
    if equal is None or information is None or np.linalg.matrix_rank(information) < len(information):
        return _Fit(warp, 0.0, np.eye(6))  # too few pixels, or pixels on one line
    bend = fit_displacement(equal, equal.mask > 0, _DEGREES.get(model, 1))
    rest, moved = warp_of(bend), moved_by(equal.second, bend)
    both = np.vstack([warp, [0, 0, 1]]) @ np.vstack([rest, [0, 0, 1]])
    correlation = _correlation(equal.first, moved, equal.mask)
    return _Fit(both[:2], correlation, information, replace(equal, second=moved))


def _remaining(
    images: tuple[AnyArray, AnyArray, AnyArray], warp: AnyArray, model: str, blur: RoughBlur
) -> float | None:
    """Return the fraction of the difference at equal blur (root mean square) that remains after a motion.

    The fraction is measured on the white squares of a chessboard, for two warps: this one, and one that is fitted
    again to the black squares alone. The larger fraction is returned. None if the frame is too small for squares.
    """
    still, moved = (compare(*images, motion, blur=blur) for motion in (np.eye(2, 3), warp))
    black = None if still is None else black_squares(still.mask.shape)
    if still is None or moved is None or black is None:
        return None
    use = np.asarray(still.mask * moved.mask > 0)
    fitted = moved_by(moved.second, fit_displacement(moved, use & black, _DEGREES.get(model, 1)))
    weight = (use & ~black) * block_weights(*linearised(moved, moved.second), use)
    before = difference(still.first, still.second, weight)
    after = max(difference(moved.first, image, weight) for image in (moved.second, fitted))
    return float(np.sqrt(after / before)) if before > 0 else None


def _information(band: AnyArray, mask: AnyArray) -> FloatArray:
    """Return the information matrix of a warp: ``change^T information change`` is the mean square motion in px^2.

    ``change`` has the parameters (a, b, x, c, d, y) of a warp. Only the motion along the gradient counts. The mean is
    weighted by the texture, because a wrong motion in flat areas is harmless. A shift of 1 px has the value 1 if edges
    have all directions.
    """
    import cv2

    slopes = [cv2.Sobel(band, cv2.CV_64F, *order)[mask > 0] for order in ((1, 0), (0, 1))]
    y, x = (place.astype(np.float64) for place in np.nonzero(mask))
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


def _correlation(first: AnyArray, second: AnyArray, mask: AnyArray, warp: AnyArray | None = None) -> float:
    """Return the correlation of two bands over a mask, after the second is moved by a warp."""
    import cv2

    if warp is not None:
        size, flags = (first.shape[1], first.shape[0]), cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        seen = cv2.warpAffine(np.ones_like(second), warp, size, flags=flags) > 0.999
        second, mask = cv2.warpAffine(second, warp, size, flags=flags), mask * seen
    here = mask > 0
    if here.sum() < 16:
        return 0.0
    one, two = (image[here].astype(np.float64) for image in (first, second))
    one, two = one - one.mean(), two - two.mean()
    power = float(np.sqrt((one * one).sum() * (two * two).sum()))
    return float((one * two).sum()) / power if power > 0 else 0.0


def _motion(
    warp: AnyArray, model: str, factor: int, shape: tuple[int, int], correlation: float, measured: AnyArray
) -> Motion:
    largest_px = farthest(rows_first(scaled(measured, factor)), shape)
    return Motion(rows_first(scaled(warp, factor)), model, largest_px, correlation)


def _comparable(first: AnyArray, second: AnyArray) -> list[AnyArray]:
    """Return two (H, W, C) images as grey values around 0 on a scale of about 1, with lights clipped."""
    grey = [image.mean(axis=2) for image in (first, second)]
    usual = usual_values(grey[0][:, :, None])
    span = usual.span if usual.span > 0 else 1.0
    return [((image - usual.middle) / span).clip(-MOST_RANGES, MOST_RANGES).astype(np.float32) for image in grey]
