"""``prepare_pair``: two photographs in, a comparable pair out.

The steps before the blur estimate, in this order: read as linear light, align, match the exposure, choose the
resolution, estimate the noise. All commands and the Python API use this module.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base._typing import AnyArray, ArrayLike
from ..base.arguments import as_choice, as_positive, as_whole
from ..base.inputs import as_valid
from ..base.options import Preparing
from ..base.pixels import unit_float
from ..base.settings import ALIGN_MODELS, EXPOSURES, MAX_SIGMA
from ..blur.comparable_pair import ComparablePair
from ..blur.noise import NoiseModel, estimate_noise
from .alignment import find_motion
from .exposure import FIELD_FOR, find_exposure
from .photograph import Source, read_light_pair
from .resolution import ENOUGH_PIXELS, choose_resolution
from .rough_blur import RoughBlur

__all__ = ["match_pair", "noise_of", "prepare_pair"]

#: Largest motion (px) at which the 8 x 8 blocks of a JPEG count as unmoved.
BLOCKS_STAY_PX = 0.25


def prepare_pair(
    first: Source,
    second: Source,
    *,
    align: str = Preparing.align,
    exposure: str = Preparing.exposure,
    linear: bool = Preparing.linear,
    gamma: float | None = Preparing.gamma,
    decimate: int | str = Preparing.decimate,
    max_sigma: float = MAX_SIGMA,
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> ComparablePair:
    """Make two photographs of one scene comparable: read, align, match exposures, choose the resolution.

    Parameters
    ----------
    first, second : paths or arrays
        Image files, or (H, W) or (H, W, 3) arrays, tensors or pictures of Pillow. Arrays are
        linear light, integers relative to their full scale, as :func:`relblur.imread` returns
        them. Bytes (uint8) are sRGB as in files; pass ``gamma=1`` if they are light.
    align : {"auto", "translation", "similarity", "affine", "bent", "off"}
        Model of the registration of ``second`` on ``first`` (:func:`relblur.align`).
    exposure : {"auto", "gain", "field", "off"}
        Correction that gives ``second`` the exposure of ``first``: one gain, or a smooth field of gains if the
        vignetting differs. ``"auto"`` uses the field if it fits the pair clearly better
        (:func:`relblur.match_exposure`).
    linear : bool
        Undo the tone curve of the files. False keeps the values of files and bytes.
    gamma : float, optional
        Tone curve to undo instead of that of the files: ``light = stored ** gamma``.
    decimate : int or "auto"
        Factor by which the resolution is reduced; ``"auto"`` chooses it by size and blur.
    max_sigma : float
        Largest blur of the search, px. ``decimate="auto"`` decimates until the blur of the pair is below it.
    valid : (H, W) bool array, optional
        True = use, in both images.
    channel_axis : int, optional
        Axis of the colour channels of arrays; by default the last of (H, W, 3).

    Returns
    -------
    ComparablePair
        For :func:`relblur.estimate_blur` and :func:`relblur.estimate_depth` in place of two
        images. ``notes`` lists the steps.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import estimate_blur, prepare_pair, synth
    >>> sharp = np.random.default_rng(0).random((96, 96))
    >>> pair = prepare_pair(sharp, 0.8 * synth.blur_with_map(sharp, 1.5))
    >>> float(np.median(estimate_blur(pair).sigma).round(2))
    1.5
    """
    as_choice(align, "align", (*ALIGN_MODELS, "off"))
    as_choice(exposure, "exposure", EXPOSURES)
    limit = as_positive(max_sigma, "max_sigma", "px")
    factor = _check_factor(decimate)
    pair = read_light_pair(first, second, linear=linear, gamma=gamma, channel_axis=channel_axis)
    if valid is not None:
        usable = as_valid(valid, pair.shape)
        pair = replace(pair, valid=usable if pair.valid is None else usable & pair.valid)
    full_size = pair.size
    # Motion and exposure change the measured blur. Remove them before the largest blur is measured: from the pair
    # itself if it is small, else from small copies.
    at_full_size = factor == 1 or pair.shape[0] * pair.shape[1] <= ENOUGH_PIXELS
    blur = RoughBlur()
    if at_full_size:
        pair = match_pair(pair, align=align, exposure=exposure, blur=blur)
    because = "requested"
    if factor is None:
        factor, because = choose_resolution(pair, limit, blur, None if at_full_size else align)
    pair = pair.decimated(factor)
    if not at_full_size:
        pair = match_pair(pair, align=align, exposure=exposure, blur=blur)
        pair = replace(pair, motion=None if pair.motion is None else pair.motion.enlarged(factor))
    return replace(pair, noise=noise_of(pair), factor=factor, full_size=full_size, because=because)


def match_pair(
    pair: ComparablePair, *, align: str = "auto", exposure: str = "auto", blur: RoughBlur | None = None
) -> ComparablePair:
    """Return the pair with its second image aligned and its exposure matched; the notes list every step.

    ``blur`` is the rough blur of the pair, shared with the other steps.
    """
    blur = RoughBlur() if blur is None else blur
    if align != "off":
        pair = _aligned(pair, align, blur)
    return pair if exposure == "off" else _exposed(pair, FIELD_FOR[exposure], blur)


def noise_of(pair: ComparablePair) -> NoiseModel | None:
    """Return the read and shot noise of a pair of linear light; None for stored values, where the model fails."""
    if not pair.is_light:
        return None
    floor = None
    if pair.rounding is not None:
        floor = NoiseModel(
            *(max(getattr(one, name) for one in pair.rounding) for name in ("read", "shot", "compressed"))
        )
    usable, (first, second) = pair.usable, pair.measured
    axis = -1 if first.ndim == 3 else None
    return estimate_noise(first, second, valid=usable if usable.any() else None, channel_axis=axis, floor=floor)


def _check_factor(decimate: int | str) -> int | None:
    if isinstance(decimate, str) and decimate == "auto":
        return None
    return as_whole(decimate, "decimate", '"auto"')


def _aligned(pair: ComparablePair, model: str, blur: RoughBlur) -> ComparablePair:
    one, two = _channels_last(pair.first), _channels_last(pair.second)
    motion = find_motion(one, two, pair.usable, model=model, blur=blur)
    notes = (*pair.notes, f"alignment: {motion.describe(pair.shape)}")
    if not motion.moves:
        return replace(pair, notes=notes)
    moved = motion.resample(two).reshape(pair.second.shape)
    inside = motion.inside(pair.shape)
    if pair.valid is not None:
        inside &= pair.valid & ~motion.resample_map(~pair.valid)
    lost = 1 - float(inside.mean())
    notes = (*notes[:-1], f"{notes[-1]}, {lost:.1%} of the frame lost")
    clipped = None if pair.clipped is None else (pair.clipped[0], motion.resample_map(pair.clipped[1]))
    # After a motion only the blocks of the first image are in place. Both tables are dropped, because one alone
    # would bias the comparison.
    jpeg = pair.jpeg if motion.largest_px < BLOCKS_STAY_PX else (None, None)
    return replace(pair, second=moved, valid=inside, clipped=clipped, notes=notes, motion=motion, jpeg=jpeg)


def _exposed(pair: ComparablePair, field: bool | None, blur: RoughBlur) -> ComparablePair:
    one, two = _channels_last(pair.first), _channels_last(pair.second)
    correction = find_exposure(one, two, pair.usable, field=field, blur=blur)
    notes = (*pair.notes, f"exposure: {correction.describe()}")
    if not correction.changes:
        return replace(pair, notes=notes)
    return replace(pair, second=correction.apply(two).reshape(pair.second.shape), notes=notes, exposure=correction)


def _channels_last(image: AnyArray) -> AnyArray:
    values = image if np.issubdtype(image.dtype, np.floating) else unit_float(image)
    return values if values.ndim == 3 else values[:, :, None]
