"""``estimate_depth``: two images and their camera in, a :class:`~relblur.depth.depth_map.DepthMap` out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from .. import __version__
from ..base._typing import ArrayLike, Progress
from ..base.arguments import as_choice, as_noise, as_odd_size
from ..base.errors import InputError
from ..base.inputs import Pair, RawPair
from ..base.options import Depth
from ..base.settings import MAX_SIGMA, WINDOW_WINDOW, SideOfFocus
from ..blur.blur_map import Flag, mark
from ..blur.comparable_pair import ComparablePair
from ..blur.estimate import estimate_blur
from ..blur.input_pair import InputPair
from ..blur.noise import NoiseModel, noise_at_light
from ..blur.whole_image import smoothed_light
from ..kernels import as_engine, resolve_engine
from ..kernels.threads import count_workers
from .camera import Camera
from .depth_map import DepthMap
from .equal_blur.task import MatchTask, TaskNoise
from .psf import PsfLike, as_psf, usual_psf
from .relation import Relation, depth_from_inverse, depth_on_side
from .working_range import inverse_range

__all__ = ["check_depth_range", "estimate_depth"]


def estimate_depth(
    first: ArrayLike | ComparablePair,
    second: ArrayLike | Camera | None = None,
    camera: Camera | None = None,
    *,
    psf: PsfLike = Depth.psf,
    depth_range_m: tuple[float, float] | None = Depth.depth_range_m,
    side: str = Depth.side,
    prefilter: float = Depth.prefilter,
    noise: float | NoiseModel | tuple[float, float] | None = None,
    window: int | None = None,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: str = "auto",
    linear: bool | None = None,
) -> DepthMap:
    """Estimate the distance of every pixel from two images with different focus or aperture.

    Parameters
    ----------
    first, second : (H, W) arrays, or colour with ``channel_axis``
        Two images of one scene from one viewpoint, in linear light and of one magnification.
        Or one :class:`~relblur.blur.comparable_pair.ComparablePair` from
        :func:`relblur.prepare_pair`: ``estimate_depth(pair, camera)``.
    camera : Camera
        The camera, with ``first`` and ``second`` in this order. For a decimated pair, give the camera at full
        resolution.
    psf : {"auto", "disc", "gaussian"} or array
        The shape of the lens's blur.

        * ``"auto"``: ``"disc"``, or ``"gaussian"`` for a camera that was calibrated with it.
        * ``"disc"``: the blur of a round, ideal lens. Its diameter is the circle of confusion.
        * ``"gaussian"``: an approximation for any lens. It needs a calibrated ``blur_constant``.
        * An array: a picture of the aperture that spans the circle's diameter, in the orientation of blur behind the
          focal plane. In front of it the blur is mirrored.
    depth_range_m : (nearest, farthest), optional
        Distances of the search. The default is all distances at which the relative blur can be measured. A narrower
        range is faster and gives fewer errors.
    side : {"behind", "front"}
        For two apertures and one focus only: the side of the focal plane on which the scene lies.
    prefilter : float
        ``psf="gaussian"`` only: blur both images by this many px first (:func:`relblur.estimate_blur`).
    noise, valid, clipped, channel_axis, workers, progress, linear
        As for :func:`relblur.estimate_blur`.
    window : int, optional
        Side of a square around each pixel, in px; 9 by default. A pixel is flagged as filled unless the images in this
        square determine its depth.
    engine : {"auto", "opencv", "compiled"}
        As for :func:`relblur.estimate_blur` with ``method="refined"``. ``settings["engine"]`` names the engine used.

    Returns
    -------
    DepthMap
        Pixels without a value are NaN and flagged; ``AT_LIMIT`` marks the ends of the depth range.

    Notes
    -----
    With a known shape, each image is blurred with the PSF of the other at candidate depths. At the true depth both
    then have *equal* blur. The likelihood and prior of ``estimate_blur`` give a continuous depth. With a Gaussian it
    suffices to blur the sharper image by the relative blur. There the depth comes from :func:`relblur.estimate_blur`
    and :func:`relblur.blur_to_depth`.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import Camera, estimate_depth, synth
    >>> camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> first, second = (synth.blur_with_map(sharp, sigma) for sigma in camera.sigma_px(1.25))
    >>> bool(abs(np.median(estimate_depth(first, second, camera, psf="gaussian").depth_m) - 1.25) < 0.01)
    True
    """
    if isinstance(first, ComparablePair):
        pair = first
        camera = _only_camera(second, camera).decimated(pair.factor)
        second = None
    if not isinstance(camera, Camera):
        raise InputError(f"camera must be a Camera, got {type(camera).__name__}; make one or Camera.load a file")
    if isinstance(second, Camera):
        raise InputError("second must be an image; pass two images and a camera, or a comparable pair and a camera")
    given = InputPair.of(InputPair(first, second, valid, clipped, channel_axis, noise, linear))
    as_choice(side, "side", get_args(SideOfFocus))
    engine = as_engine(engine)
    shape = as_psf(usual_psf(camera) if isinstance(psf, str) and psf == "auto" else psf, camera.blur_constant)
    raw = given.checked()
    camera.check_width(raw.shape[1])
    u_range = _inverse_range(depth_range_m, camera, side, min(raw.shape))
    if shape.name != "gaussian":
        window = as_odd_size(_default_window(raw.shape) if window is None else window, "window", raw.shape)
        raw, noise = given.as_light(raw, False)
        task = MatchTask(camera, shape, u_range, side, _task_noise(noise, raw), window)
        engine = resolve_engine(engine)
        depth_map = _match(raw.part(), task, engine, workers, progress)
        return replace(depth_map, settings={**depth_map.settings, **given.settings})
    blur_map = estimate_blur(
        given.first,
        given.second,
        sharper=camera.sharper,
        max_sigma=_largest_sigma(camera, u_range, min(raw.shape)),
        window=window,
        noise=given.noise,
        prefilter=prefilter,
        valid=given.valid,
        clipped=given.clipped,
        channel_axis=given.channel_axis,
        engine=engine,
        workers=workers,
        progress=progress,
        linear=bool(given.linear),
    )
    depth_map = depth_on_side(blur_map, camera, side)
    settings = {"psf": "gaussian", "depth_range_m": _range_m(u_range), **given.settings}
    depth_map = replace(depth_map, settings={**depth_map.settings, **settings})
    return depth_map if depth_range_m is None else _clipped_to(depth_map, u_range)


def _clipped_to(depth_map: DepthMap, u_range: tuple[float, float]) -> DepthMap:
    """Return a map with its depths limited to a range of 1/z, and flagged there."""
    high, low = 1 / u_range[1], 1 / u_range[0] if u_range[0] > 0 else math.inf
    flags = depth_map.flags.copy()
    with np.errstate(invalid="ignore"):
        mark(flags, (depth_map.depth_m < high) | (depth_map.depth_m > low), Flag.AT_LIMIT)
    return replace(depth_map, depth_m=depth_map.depth_m.clip(high, low), flags=flags)


def _range_m(u_range: tuple[float, float]) -> list[float | str]:
    """Return a range of 1/z as the nearest and farthest distance in m, with "inf" for JSON."""
    return [1 / u_range[1], 1 / u_range[0] if u_range[0] > 0 else "inf"]


def _only_camera(second: Any, camera: Camera | None) -> Camera:
    """Return the camera of a call with a comparable pair, given as the second argument or by name."""
    given = [one for one in (second, camera) if one is not None]
    if len(given) != 1 or not isinstance(given[0], Camera):
        raise InputError("a comparable pair is followed by its camera alone: estimate_depth(pair, camera)")
    return given[0]


def _task_noise(noise: float | NoiseModel | tuple[float, float] | None, raw: RawPair) -> TaskNoise:
    """Return the noise for the matching: its mean, and its relative variance at each pixel."""
    if not isinstance(noise, NoiseModel):
        return TaskNoise(as_noise(noise))
    deviations, relative = noise_at_light(noise, noise, smoothed_light(raw), raw.usable)
    return TaskNoise(deviations, relative, noise.compressed)


def _match(pair: Pair, task: MatchTask, engine: str, workers: int | None, progress: Progress | None) -> DepthMap:
    from .equal_blur.match import match  # imports OpenCV and SciPy

    matched = match(pair, task, engine, count_workers(workers), progress or (lambda share: None))
    flags = np.zeros(pair.shape, np.uint8)
    mark(flags, matched.filled | ~pair.unclipped, Flag.FILLED)
    mark(flags, matched.at_limit, Flag.AT_LIMIT)
    mark(flags, ~pair.finite, Flag.INVALID)
    mark(flags, ~pair.unclipped, Flag.CLIPPED)
    u, stderr = (np.where(pair.finite, each, np.nan) for each in (matched.u, matched.u_stderr))
    depth, stderr, flags = depth_from_inverse(u, stderr, flags, pair.finite, task.camera)
    settings: dict[str, Any] = {
        "relblur": __version__,
        "method": "equal blur",
        "psf": task.psf.name,
        "side": task.side,
        "window": task.window,
        "noise": list(matched.noise),
        "engine": engine,
        "candidates": matched.levels,
        "depth_range_m": _range_m(task.u_range),
    }
    return DepthMap(depth, stderr, flags, task.camera, settings)


def check_depth_range(depth_range_m: tuple[float, float], camera: Camera, side: str) -> None:
    """Refuse a depth range without a measurable distance, before anything is computed."""
    _inverse_range(depth_range_m, camera, side, shorter_px=1_000_000)


def _inverse_range(
    depth_range_m: tuple[float, float] | None, camera: Camera, side: str, shorter_px: int
) -> tuple[float, float]:
    """Return the range of ``u`` of the search, low and high, on the chosen side."""
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
            f'no distance is left to search: depth_range_m={depth_range_m} with side="{side}" of the focal plane; '
            "widen the range or take the other side"
        )
    return low, high


def _largest_sigma(camera: Camera, u_range: tuple[float, float], shorter_px: int) -> float:
    """Return 1.1 times the largest relative blur (px) in a range of ``u``, within practical limits."""
    s = Relation.of(camera).s(np.array(u_range))
    return float(np.clip(1.1 * math.sqrt(float(np.abs(s).max())), 0.5, min(2 * MAX_SIGMA, shorter_px / 2)))


def _default_window(shape: tuple[int, int]) -> int:
    shorter = min(shape)
    return min(WINDOW_WINDOW, shorter if shorter % 2 else shorter - 1)
