"""Pictures from blur and depth: an all-in-focus picture, and pictures with another focus."""

from __future__ import annotations

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.arguments import as_positive, colour_axis
from ..base.errors import InputError
from ..base.inputs import Pair, as_pair
from ..base.pixels import without_gaps
from ..blur.blur_map import BlurMap
from ..filters.guided import enlarge
from ..filters.sharpness import detail_energy
from ..filters.variable_blur import blur_planes
from .depth_map import DepthMap

__all__ = ["all_in_focus", "log_odds_of_map", "refocus"]

#: Weights of two terms in the log odds: the logarithm of the detail energy, and s / stderr of the map. Chosen on 25
#: Real-MFF pairs; half and twice the values change the picture by 0.1 dB.
DETAIL_POWER, MAP_SHARE = 3.0, 0.1


def all_in_focus(
    first: ArrayLike, second: ArrayLike, blur_map: BlurMap, *, channel_axis: int | None = None
) -> FloatArray:
    """Return an all-in-focus picture: at every pixel the sharper of the two images.

    The images are mixed by the odds that the first is the sharper. The odds come from the local detail of the images
    and from the map with its standard error. The map decides where there is little detail. Where both are equally
    sharp, the mean of both has less noise and shows no seam. A decimated map is accepted.
    """
    channel_axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, channel_axis=channel_axis)
    odds = log_odds_of_map(blur_map.variance_difference, blur_map.variance_stderr)
    if blur_map.shape != pair.shape:
        factor = _decimation(blur_map.shape, pair)
        odds = enlarge(odds, pair.shape, factor)
    span = max(float(np.percentile(image, 99.5)) for image in (pair.first, pair.second))
    one, two = (_detail(image, span) for image in (pair.first, pair.second))
    share = (1 / (1 + np.exp(-np.clip(odds + DETAIL_POWER * (one - two), -60, 60))))[:, :, None]
    mixed = share * pair.first + (1 - share) * pair.second
    return np.asarray(mixed if channel_axis is not None else mixed[:, :, 0])


def refocus(
    first: ArrayLike,
    second: ArrayLike,
    depth_map: DepthMap,
    focus_m: float,
    *,
    aperture: float = 1.0,
    channel_axis: int | None = None,
) -> FloatArray:
    """Return the image that the camera would take with its focus at ``focus_m``.

    Each pixel is taken from the sharper image and blurred further, up to the blur that the camera makes at the new
    focus. Nothing is sharpened: no point becomes sharper than it is in the sharper image.

    Parameters
    ----------
    depth_map : DepthMap
        The depth map. Pixels without a value get the depth of the nearest known pixel.
    focus_m : float
        The distance to be in focus, ``inf`` included.
    aperture : float
        Diameter of the aperture relative to that of the first image. 0.5 gives more depth of field, 2 less.
    """
    channel_axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, channel_axis=channel_axis)
    _check_shape(depth_map.shape, pair)
    aperture = as_positive(aperture, "aperture", "(relative to the first image's)")
    u_focus = 0.0 if focus_m == np.inf else 1 / as_positive(focus_m, "focus_m", "m")
    depth = _known_everywhere(depth_map.depth_m)
    camera = depth_map.camera
    own = camera.sigma_px(depth) ** 2
    share = _soft_step(own[1] - own[0])
    present = share * own[0] + (1 - share) * own[1]
    target = (aperture * camera.blur_constants_px_m[0] * (1 / depth - u_focus)) ** 2
    # A blur as large as the picture yields its mean. More blur changes nothing.
    missing = np.minimum(np.sqrt(np.maximum(target - present, 0)), max(depth.shape))
    base = share[:, :, None] * pair.first + (1 - share[:, :, None]) * pair.second
    planes = blur_planes(np.moveaxis(base, -1, 0), missing, "band_limited")
    return np.ascontiguousarray(np.moveaxis(planes, 0, -1)) if channel_axis is not None else planes[0]


def log_odds_of_map(s: FloatArray, stderr: FloatArray) -> FloatArray:
    """Return the log odds that the first image is the sharper, from a map; 0 where the map has no value."""
    known = np.isfinite(s) & np.isfinite(stderr)
    return MAP_SHARE * np.where(known, s, 0) / np.maximum(np.where(known, stderr, 1), 1e-6)


def _detail(image: FloatArray, span: float) -> FloatArray:
    """Return the logarithm of the detail energy of an image, after a square root as display gamma."""
    light = np.maximum(image.mean(axis=2), 0) / (span if span > 0 else 1.0)
    return np.asarray(detail_energy(np.sqrt(light)), np.float64)


def _decimation(shape: tuple[int, int], pair: Pair) -> int:
    """Return the decimation factor of a map relative to the images; refuse a map of another pair."""
    factor = -(-pair.shape[0] // shape[0])
    if factor < 2 or shape != (-(-pair.shape[0] // factor), -(-pair.shape[1] // factor)):
        _check_shape(shape, pair)
    return factor


def _soft_step(s: FloatArray) -> FloatArray:
    """Return 1 where the first is the sharper and 0 where the second is, with a smooth step of width 0.05 px^2."""
    from scipy.special import ndtr

    return np.asarray(ndtr(20 * s))


def _known_everywhere(depth: FloatArray) -> FloatArray:
    known = np.isfinite(depth)
    if known.all():
        return depth
    if not known.any():
        raise InputError("depth_map has no value at any pixel; nothing can be refocused")
    return without_gaps(depth, known)


def _check_shape(shape: tuple[int, int], pair: Pair) -> None:
    if shape != pair.shape:
        raise InputError(f"the map is {shape}, the images {pair.shape}; it belongs to another pair")
