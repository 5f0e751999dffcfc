"""``estimate_depth``: two images and their camera in, a :class:`~relblur.depth_results.DepthMap` out."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from . import __version__
from ._typing import ArrayLike, BoolArray, Progress
from .bank import count_workers
from .camera import Camera
from .depth import Relation, blur_to_depth, depth_from_inverse
from .depth_results import DepthMap
from .errors import InputError
from .estimate import estimate_blur
from .inputs import Pair, as_choice, as_noise, as_odd_size, as_pair
from .psf import Psf, PsfLike, as_psf
from .results import Flag
from .settings import DEPTH_PREFILTER, MAX_SIGMA, WINDOW_WINDOW
from .working_range import inverse_range

__all__ = ["estimate_depth"]

SIDES = ("behind", "front")

#: What the matching holds at its peak for each pixel, apart from and for each level.
_BYTES_PER_PIXEL, _BYTES_PER_LEVEL = 250, 20
#: From here on people are told what they will need.
_BYTES_TO_WARN = 4e9
#: Evens out the noise over the frequencies (see :mod:`relblur.equal_blur.candidates`); 0.1 to 1 do equally well.
_NOISE_FLOOR = 0.3


def estimate_depth(
    first: ArrayLike,
    second: ArrayLike,
    camera: Camera,
    *,
    psf: PsfLike = "gaussian",
    depth_range_m: tuple[float, float] | None = None,
    side: str = "behind",
    prefilter: float = DEPTH_PREFILTER,
    noise: float | tuple[float, float] | None = None,
    window: int | None = None,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> DepthMap:
    """Estimate the distance of every pixel from two images with different focus or aperture.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        Two images of one scene from one viewpoint, in linear light and of one magnification.
    camera : Camera
        How they were taken, ``first`` and ``second`` in this order.
    psf : {"gaussian", "disc"}, array or callable
        The shape of the lens's blur. ``"disc"`` is that of a round, ideal lens; the camera's circle of confusion
        is its diameter. ``"gaussian"`` needs no exact shape, but a calibrated ``blur_constant``. An array is a picture
        of the aperture as blur behind the focal plane shows it, spanning the circle's diameter (in front it is seen
        mirrored). A callable takes the circle's signed diameter in px (positive behind the focal plane) and returns
        a kernel with odd sides.
    depth_range_m : (nearest, farthest), optional
        Distances to look at. By default all at which neither image is blurred by more than the search can follow;
        a narrower range is faster and safer.
    side : {"behind", "front"}
        For two apertures and one focus only: on which side of the focal plane the scene lies.
    prefilter : float
        ``psf="gaussian"`` only: blur both images by this many px first (:func:`relblur.estimate_blur`).
    noise, valid, clipped, channel_axis, workers, progress
        As for :func:`relblur.estimate_blur`.
    window : int, optional
        Side of the square within which a pixel's own surroundings must determine its depth, else it is flagged as
        filled; 9 by default.

    Returns
    -------
    DepthMap
        Pixels without an answer are NaN and flagged; ``AT_LIMIT`` marks the ends of the depth range.

    Notes
    -----
    With a known shape the images are brought to *equal* blur at candidate depths, each by the other's blur, and
    compared; the depth at which they agree is refined to a continuous one by the likelihood and prior of
    ``estimate_blur``. A Gaussian pair is equally blurred when the sharper is given the relative blur, so there the
    depth comes from :func:`relblur.estimate_blur` and :func:`relblur.blur_to_depth`.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import Camera, estimate_depth, synth
    >>> camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> first, second = (synth.blur_with_map(sharp, sigma) for sigma in camera.sigma_px(1.25))
    >>> bool(abs(np.median(estimate_depth(first, second, camera).depth_m) - 1.25) < 0.01)
    True
    """
    if not isinstance(camera, Camera):
        raise InputError(f"camera must be a Camera, got {type(camera).__name__}; make one or Camera.load a file")
    as_choice(side, "side", SIDES)
    shape = as_psf(psf, camera.blur_constant)
    pair = as_pair(first, second, valid=valid, clipped=clipped, channel_axis=channel_axis)
    camera.check_width(pair.shape[1])
    low, high = u_range = _inverse_range(depth_range_m, camera, side, min(pair.shape))
    if shape.name != "gaussian":
        return _match(pair, camera, shape, u_range, side, noise, window, workers, progress)
    blur_map = estimate_blur(
        first,
        second,
        sharper=_sharper(camera),
        sigmas=[_largest_sigma(camera, u_range, side, min(pair.shape))],
        window=window,
        noise=noise,
        prefilter=prefilter,
        valid=valid,
        clipped=clipped,
        channel_axis=channel_axis,
        workers=workers,
        progress=progress,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the width was checked above
        found = blur_to_depth(blur_map, camera, side=side)  # type: ignore[call-overload]
    outside = ~((found.depth_m >= 1 / high) & (found.depth_m <= (1 / low if low > 0 else math.inf))) & found.known
    depth, stderr, flags = found.depth_m.copy(), found.depth_stderr_m.copy(), found.flags.copy()
    if depth_range_m is not None:  # the nearest that may be: as the matching has it
        depth = np.where(found.known, depth.clip(1 / high, 1 / low if low > 0 else None), depth)
        flags[outside] |= np.uint8(Flag.AT_LIMIT)
    settings = {**blur_map.settings, "psf": "gaussian", "side": side}
    return DepthMap(depth, stderr, flags, camera, settings)


def _match(
    pair: Pair,
    camera: Camera,
    psf: Psf,
    u_range: tuple[float, float],
    side: str,
    noise: float | tuple[float, float] | None,
    window: int | None,
    workers: int | None,
    progress: Progress | None,
) -> DepthMap:
    from .equal_blur.candidates import depth_axis  # brings OpenCV and SciPy with it
    from .equal_blur.match import match

    window = as_odd_size(_default_window(pair) if window is None else window, "window", pair.shape)
    levels = len(depth_axis(camera, u_range, side).levels)
    needed = (_BYTES_PER_PIXEL + _BYTES_PER_LEVEL * levels) * pair.shape[0] * pair.shape[1]
    if needed > _BYTES_TO_WARN:
        warnings.warn(
            f"estimate_depth will need about {needed / 1e9:.0f} GB for {pair.shape[1]}x{pair.shape[0]} pixels and "
            f"{levels} candidate depths; decimate the pair, or narrow depth_range_m",
            stacklevel=3,
        )
    found = match(
        pair.first,
        pair.second,
        camera,
        psf,
        u_range=u_range,
        side=side,
        noise=as_noise(noise),
        valid=pair.usable,
        floor=_NOISE_FLOOR,
        window=window,
        workers=count_workers(workers),
        progress=progress or (lambda share: None),
    )
    flags = np.zeros(pair.shape, np.uint8)
    flags[found.filled | ~pair.unclipped] |= np.uint8(Flag.FILLED)
    flags[found.at_limit] |= np.uint8(Flag.AT_LIMIT)
    flags[~pair.finite] |= np.uint8(Flag.INVALID)
    flags[~pair.unclipped] |= np.uint8(Flag.CLIPPED)
    known: BoolArray = np.asarray(pair.finite, bool)
    depth, stderr, flags = depth_from_inverse(
        np.where(known, found.u, np.nan), np.where(known, found.u_stderr, np.nan), flags, known, camera
    )
    settings: dict[str, Any] = {
        "relblur": __version__,
        "method": "equal blur",
        "psf": psf.name,
        "side": side,
        "window": window,
        "noise": list(found.noise),
        "candidates": found.levels,
        "depth_range_m": [1 / u_range[1], 1 / u_range[0] if u_range[0] > 0 else "inf"],
    }
    return DepthMap(depth, stderr, flags, camera, settings)


def _inverse_range(
    depth_range_m: tuple[float, float] | None, camera: Camera, side: str, shorter_px: int
) -> tuple[float, float]:
    """Return the range of ``u`` to look at, low and high, on the chosen side."""
    limit = math.inf if camera.focal_length_mm is None else 990 / camera.focal_length_mm
    if depth_range_m is None:
        low, high = inverse_range(camera, min(MAX_SIGMA, shorter_px / 4))
    else:
        try:
            near, far = (float(z) for z in depth_range_m)
        except (TypeError, ValueError):
            raise InputError(f"depth_range_m must be (nearest, farthest) in m, got {depth_range_m!r}") from None
        if not 0 < near < far:
            raise InputError(
                f"depth_range_m must be (nearest, farthest) in m with 0 < nearest < farthest, got {depth_range_m!r}"
            )
        low, high = 1 / far, 1 / near
    high = min(high, limit)
    if camera.kind != "focus":
        vertex = Relation.of(camera).vertex
        low, high = (low, min(high, vertex)) if side == "behind" else (max(low, vertex), high)
    if not low < high:
        raise InputError(
            f'no distance is left to look at: depth_range_m={depth_range_m} with side="{side}" of the focal plane; '
            "widen the range or take the other side"
        )
    return low, high


def _sharper(camera: Camera) -> str:
    """With one focus the smaller aperture is the sharper everywhere."""
    if camera.kind != "aperture":
        return "auto"
    one, two = camera.circle_constants_px_m
    return "first" if one < two else "second"


def _largest_sigma(camera: Camera, u_range: tuple[float, float], side: str, shorter_px: int) -> float:
    """Return the largest relative blur in a range of ``u``, with a tenth to spare, within what is practical."""
    s = Relation.of(camera).s(np.array(u_range))
    return float(np.clip(1.1 * math.sqrt(float(np.abs(s).max())), 0.5, min(2 * MAX_SIGMA, shorter_px / 2)))


def _default_window(pair: Pair) -> int:
    shorter = min(pair.shape)
    return min(WINDOW_WINDOW, shorter if shorter % 2 else shorter - 1)
