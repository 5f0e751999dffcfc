"""Pictures from blur and depth: one that is sharp everywhere, and ones focused elsewhere."""

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

#: Power of the detail energy of an image, and factor of s / stderr of the map, in the log odds. Chosen on 25 Real-MFF
#: pairs; half and twice the values change the picture by 0.1 dB.
DETAIL_POWER, MAP_SHARE = 3.0, 0.1


def all_in_focus(
    first: ArrayLike, second: ArrayLike, blur_map: BlurMap, *, channel_axis: int | None = None
) -> FloatArray:
    """Return at every pixel the sharper of the two images.

    The images are mixed by the odds that each is the sharper: those of their local detail, and those of the map with
    its standard error, which decides where there is little detail. Where the two are equally sharp this averages
    their noise, and there is no seam. A map of every n-th pixel of the images will do.
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
    """Return the image the camera would have taken focused at ``focus_m``.

    Each pixel starts from the sharper of the two images, whose blur follows from the camera, and gets the missing
    blur. Nothing is sharpened: between the focal planes a point can become no sharper than it was in the
    better of the two.

    Parameters
    ----------
    depth_map : DepthMap
        Pixels without depth are given the nearest known one.
    focus_m : float
        The distance to be in focus, ``inf`` included.
    aperture : float
        Diameter of the aperture relative to that of the first image: 0.5 gives more depth of field, 2 less.
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
    there = share * own[0] + (1 - share) * own[1]
    wanted = (aperture * camera.blur_constants_px_m[0] * (1 / depth - u_focus)) ** 2
    # Blurred by its own size a picture is its mean, and cannot become flatter.
    missing = np.minimum(np.sqrt(np.maximum(wanted - there, 0)), max(depth.shape))
    base = share[:, :, None] * pair.first + (1 - share[:, :, None]) * pair.second
    planes = blur_planes(np.moveaxis(base, -1, 0), missing, "band_limited")
    return np.ascontiguousarray(np.moveaxis(planes, 0, -1)) if channel_axis is not None else planes[0]


def log_odds_of_map(s: FloatArray, stderr: FloatArray) -> FloatArray:
    """Return the logarithm of the odds that a map gives to its first image, 0 where it has no answer."""
    known = np.isfinite(s) & np.isfinite(stderr)
    return MAP_SHARE * np.where(known, s, 0) / np.maximum(np.where(known, stderr, 1), 1e-6)


def _detail(image: FloatArray, span: float) -> FloatArray:
    """Return the logarithm of the detail energy of light, on the scale of a screen."""
    light = np.maximum(image.mean(axis=2), 0) / (span if span > 0 else 1.0)
    return np.asarray(detail_energy(np.sqrt(light)), np.float64)


def _decimation(shape: tuple[int, int], pair: Pair) -> int:
    """Return the factor by which a map is smaller than the images; refuse a map of another pair."""
    factor = -(-pair.shape[0] // shape[0])
    if factor < 2 or shape != (-(-pair.shape[0] // factor), -(-pair.shape[1] // factor)):
        _check_shape(shape, pair)
    return factor


def _soft_step(s: FloatArray) -> FloatArray:
    """1 where the first is the sharper, 0 where the second is, smooth over a twentieth of a px^2 of difference."""
    from scipy.special import ndtr

    return np.asarray(ndtr(20 * s))


def _known_everywhere(depth: FloatArray) -> FloatArray:
    known = np.isfinite(depth)
    if known.all():
        return depth
    if not known.any():
        raise InputError("depth_map has no answer at any pixel; nothing can be refocused")
    return without_gaps(depth, known)


def _check_shape(shape: tuple[int, int], pair: Pair) -> None:
    if shape != pair.shape:
        raise InputError(f"the map is {shape}, the images {pair.shape}; it belongs to another pair")
