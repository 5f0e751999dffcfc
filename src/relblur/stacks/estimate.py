"""``estimate_stack``: a stack of images in, a :class:`~relblur.stacks.stack_map.StackMap` out.

Two images go to :func:`relblur.estimate_blur` and :func:`relblur.estimate_depth`; up to :data:`FEW` to the joint
likelihood of :mod:`relblur.stacks.few`, whose law of blur comes from a camera or from the frames; more to the
symmetry of :mod:`relblur.stacks.symmetric`, which needs no law.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray, Progress, UInt8Array
from ..base.arguments import as_choice, as_positive, as_whole
from ..base.errors import InputError
from ..base.settings import ALIGN_MODELS, EXPOSURES
from ..blur.blur_map import Flag, mark
from ..blur.estimate import estimate_blur
from ..blur.noise import NoiseModel, estimate_noise, noise_at_light, smooth_light
from ..depth.camera import Camera
from ..depth.equal_blur.task import TaskNoise
from ..depth.estimate import estimate_depth
from ..depth.psf import PsfLike, as_psf
from ..engines import ENGINES, as_engine, resolve_engine
from ..engines.threads import Team, count_workers
from ..field import choose_loops
from ..photo.pair import Source
from ..photo.photograph import check_gamma
from ..photo.pipeline import prepare_pair
from .found import Found
from .frames import Frames, Reading, frames_of_pair, name_of, read_frames
from .fuse import fuse_frames, prior_of_index, prior_of_pair
from .stack_map import StackMap

__all__ = ["FEW", "estimate_stack"]

#: Most frames for the joint likelihood, with a camera and without one. It holds a volume for each frame; without a
#: camera it needs even steps of focus, which `phone2` and `macro_pcb` (5 and 7 frames) do not have.
FEW, FEW_WITHOUT_CAMERA = 7, 4
#: Circle beyond the first and last frame in which the scene is still looked for, px; without a law, frames.
BEYOND_PX, BEYOND_FRAMES = 12.0, 1.0
#: A disc's standard deviation over its diameter.
_DISC = 0.25


def estimate_stack(
    images: Sequence[Source] | ArrayLike,
    *,
    focus_m: Sequence[float] | None = None,
    camera: Camera | None = None,
    psf: PsfLike = "disc",
    align: str = "auto",
    exposure: str = "auto",
    linear: bool = True,
    gamma: float | None = None,
    decimate: int | str = "auto",
    fuse: bool = True,
    channel_axis: int | None = None,
    engine: str = "auto",
    workers: int | None = None,
    progress: Progress | None = None,
) -> StackMap:
    """Find, at every pixel, which frame of a focal stack is in focus, the distance, and the picture sharp everywhere.

    Parameters
    ----------
    images : sequence of paths or arrays
        Two or more images of one scene from one viewpoint, in any order of focus. (H, W) arrays, or colour with
        ``channel_axis`` of each; their tone curve as for :func:`relblur.prepare_pair`. Files are read one at a time.
    focus_m : sequence of float, optional
        Distance in focus of each image, m (``inf`` included). Then ``depth_m`` is given. Taken from EXIF if all files
        have it.
    camera : Camera, optional
        Tells how fast blur grows; its own focus distances count for two images only. Without one that is measured.
    psf : {"disc", "gaussian"}, array or callable
        Shape of the blur, with a camera (:func:`relblur.estimate_depth`).
    align, exposure, linear, gamma, decimate
        As for :func:`relblur.prepare_pair`. Each frame is laid on its neighbour; one that fits nowhere is left out.
    fuse : bool
        Make the fused picture, which reads every file once more.
    engine, workers, progress
        As for :func:`relblur.estimate_blur`.

    Returns
    -------
    StackMap

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import estimate_stack, synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> frames = [synth.blur_with_map(sharp, 0.6 * abs(i - 3.0)) for i in range(9)]
    >>> float(np.median(estimate_stack(frames, align="off").index).round(1))
    3.0
    """
    sources = _checked(images)
    distances = _distances(focus_m, len(sources))
    as_choice(align, "align", (*ALIGN_MODELS, "off"))
    as_choice(exposure, "exposure", EXPOSURES)
    engine = as_engine(engine, [name for name in ENGINES if name != "reference"])
    if camera is not None and not isinstance(camera, Camera):
        raise InputError(f"camera must be a Camera, got {type(camera).__name__}; make one or Camera.load a file")
    if not isinstance(decimate, str):
        decimate = as_whole(decimate, "decimate", '"auto"')
    else:
        as_choice(decimate, "decimate", ("auto",))
    reading = Reading(align, exposure, linear, check_gamma(gamma, linear), decimate, channel_axis)
    tell = progress or (lambda share: None)
    if len(sources) == 2:
        return _two(sources, reading, distances, camera, psf, fuse, {"engine": engine, "workers": workers}, tell)
    frames = read_frames(sources, reading, distances, lambda share: tell(0.3 * share))
    if len(frames.frames) < 3:
        left_out = ", ".join(name_of(sources, number) for number, _ in frames.dropped)
        raise InputError(
            f"only {len(frames.frames)} of {len(sources)} images fit together (left out: {left_out}); a stack needs "
            "three (two are a pair): check that they show one scene, or align them by other means and pass align='off'"
        )
    places = _places(frames)
    if camera is not None and frames.frames[0].focus_m is None:
        raise InputError("camera needs focus_m, the distance in focus of every image (EXIF does not have them all)")
    asked = _Asked(camera, psf, resolve_engine(engine, "stacks", ("opencv", "compiled")), workers)
    found, growth = _measure(frames, places, asked, lambda share: tell(0.3 + 0.5 * share))
    stack = _map_of(frames, places, found, growth, "joint" if _is_joint(frames, camera) else "symmetric")
    if not fuse:
        return stack
    prior = prior_of_index(stack.index, stack.index_stderr)
    return _with_picture(stack, frames, fuse_frames(frames, prior, lambda share: tell(0.8 + 0.2 * share)))


class _Asked(NamedTuple):
    """How three frames or more are to be measured."""

    camera: Camera | None
    psf: PsfLike
    engine: str
    workers: int | None


def _checked(images: Any) -> list[Source]:
    if isinstance(images, (str, Path)):
        raise InputError(f"images must be a list of images, got the path {images}; pass [first, second, ...]")
    if not isinstance(images, Iterable):
        raise InputError(f"images must be a list of images, got {type(images).__name__}")
    sources = list(images)
    if len(sources) < 2:
        raise InputError(f"a stack needs two images or more, got {len(sources)}")
    return sources


def _distances(focus_m: Sequence[float] | None, count: int) -> list[float] | None:
    if focus_m is None:
        return None
    values = [float("inf") if value == np.inf else as_positive(value, "focus_m", "m") for value in focus_m]
    if len(values) != count:
        raise InputError(f"focus_m has {len(values)} distances for {count} images; give one for each")
    if len(set(values)) < count:
        raise InputError("focus_m holds a distance twice; images in focus at one distance are no stack, leave one out")
    return values


def _places(frames: Frames) -> FloatArray:
    """Return where each frame is in focus, increasing: 1/m from the far end, or its place in the order."""
    if frames.frames[0].focus_m is None:
        return np.array([frame.position for frame in frames.frames], np.float64)
    return np.array([1 / frame.focus_m for frame in frames.frames if frame.focus_m], np.float64)


def _measure(frames: Frames, places: FloatArray, asked: _Asked, progress: Progress) -> tuple[Found, float]:
    """Return the places of best focus and the growth of blur, px of the map per unit of the places."""
    smalls = [frame.small for frame in frames.frames]
    if _is_joint(frames, asked.camera):
        return _few(smalls, frames, places, asked, progress)
    from .law import growth_of_pair
    from .symmetric import estimate_by_symmetry

    forward = 1 if places[-1] > places[0] else -1
    greys = [np.sqrt(np.maximum(small.mean(axis=2), 0)) for small in smalls[::forward]]
    with Team(count_workers(asked.workers)) as team:
        loops = choose_loops(asked.engine, team)
        along = places[::forward]
        found = estimate_by_symmetry(greys, frames.usable, along, loops, lambda share: progress(0.9 * share))
    if asked.camera is not None:
        return found, _growth_of(asked.camera, frames)
    one, two = len(smalls) // 2 - max(1, len(smalls) // 10), len(smalls) // 2 + max(1, len(smalls) // 10)
    pair, where = [smalls[one], smalls[two]], places[[one, two]]
    return found, growth_of_pair(pair, frames.usable, where, found.place, asked.workers, asked.engine)


def _is_joint(frames: Frames, camera: Camera | None) -> bool:
    """Return whether the law of blur is known well enough, and the frames are few enough, for the joint likelihood."""
    return len(frames.frames) <= (FEW_WITHOUT_CAMERA if camera is None else FEW)


def _few(
    smalls: list[AnyArray], frames: Frames, places: FloatArray, asked: _Asked, progress: Progress
) -> tuple[Found, float]:
    from .few import JointTask, estimate_jointly
    from .law import growth_error, growth_of_triples

    camera = asked.camera
    if camera is None:
        growth = growth_of_triples(smalls, frames.usable, places, asked.workers, asked.engine)
        shape, kappa = as_psf("gaussian", _DISC), _DISC
        circles = np.full(len(places), growth / kappa)
    else:
        kappa = camera.blur_constant
        shape = as_psf(asked.psf, kappa)
        circles = np.array([_camera_at(camera, frames, n).circle_constants_px_m[0] for n in range(len(places))])
        growth = _growth_of(camera, frames)
    beyond = BEYOND_PX / float(circles.max())
    if frames.frames[0].focus_m is None:
        span = (float(places.min()) - BEYOND_FRAMES, float(places.max()) + BEYOND_FRAMES)
    else:
        span = (max(0.0, float(places.min()) - beyond), float(places.max()) + beyond)
    task = JointTask(places, circles, shape, span, kappa, _noise(frames))
    found = estimate_jointly(smalls, frames.usable, task, asked.engine, count_workers(asked.workers), progress)
    if camera is None:
        found = replace(found, stderr=np.hypot(found.stderr, growth_error(found.place, places)))
    return found, growth


def _noise(frames: Frames) -> TaskNoise:
    """Return the noise of the first and the last frame, as it is measured for pairs."""
    if not frames.is_light:
        return TaskNoise()
    ends = frames.frames[0], frames.frames[-1]
    files = [frame.rounding for frame in ends if frame.rounding is not None]
    names = ("read", "shot", "compressed")
    floor = NoiseModel(*(max(getattr(each, name) for each in files) for name in names)) if files else None
    usable = frames.usable
    first, second = (frame.small for frame in ends)
    model = estimate_noise(first, second, valid=usable if usable.any() else None, channel_axis=-1, floor=floor)
    deviations, relative = noise_at_light(model, model, smooth_light(first, second), usable)
    return TaskNoise(deviations, relative, model.compressed)


def _camera_at(camera: Camera, frames: Frames, number: int) -> Camera:
    """Return the camera focused as for one frame, at the resolution of the map."""
    distance, other = (float(frames.frames[n].focus_m or np.nan) for n in (number, number - 1 if number else 1))
    return replace(camera, focus_first_m=distance, focus_second_m=other).decimated(frames.factor)


def _growth_of(camera: Camera, frames: Frames) -> float:
    middle = _camera_at(camera, frames, len(frames.frames) // 2)
    return float(middle.blur_constants_px_m[0])


def _map_of(frames: Frames, places: FloatArray, found: Found, growth: float, method: str) -> StackMap:
    positions = np.array([frame.position for frame in frames.frames], np.float64)
    forward = 1 if places[-1] > places[0] else -1
    known = np.ones(found.place.shape, bool)
    if frames.frames[0].focus_m is None:
        index, index_stderr, depth, depth_stderr = found.place, found.stderr, None, None
    else:
        index = np.interp(found.place, places[::forward], positions[::forward])
        base = np.clip(np.searchsorted(places[::forward], found.place) - 1, 0, len(places) - 2)
        index_stderr = found.stderr / np.abs(np.diff(places[::forward]))[base]
        known = found.place > 0
        depth = np.divide(1.0, found.place, out=np.full(known.shape, np.nan), where=known)
        depth_stderr = found.stderr * np.square(depth)
    flags = _flags(frames, found, known)
    index = np.clip(index, positions[0], positions[-1])
    settings = {
        "relblur": __version__,
        "method": method,
        "noise": found.noise,
        "decimate": frames.factor,
        "images": [name_of(frames.sources, number) for number in range(len(frames.sources))],
        "notes": list(frames.notes),
        "focus_m": [frame.focus_m for frame in frames.frames] if frames.frames[0].focus_m is not None else None,
    }
    order = tuple(frame.number for frame in frames.frames)
    return StackMap(
        index, index_stderr, depth, depth_stderr, flags, None, frames.factor, order, frames.dropped, places, growth,
        found.place, None, settings,
    )  # fmt: skip


def _flags(frames: Frames, found: Found, known: BoolArray) -> UInt8Array:
    flags = np.zeros(found.place.shape, np.uint8)
    mark(flags, found.filled, Flag.FILLED)
    mark(flags, found.at_limit, Flag.AT_LIMIT)
    mark(flags, ~known, Flag.OUT_OF_RANGE)
    mark(flags, ~frames.usable, Flag.INVALID)
    return flags


def _with_picture(stack: StackMap, frames: Frames, picture: AnyArray) -> StackMap:
    return replace(stack, fused=picture if picture.shape[2] > 1 else picture[:, :, 0], form=frames.form)


def _two(
    sources: list[Source],
    reading: Reading,
    distances: list[float] | None,
    camera: Camera | None,
    psf: PsfLike,
    fuse: bool,
    running: dict[str, Any],
    progress: Progress,
) -> StackMap:
    """Return what the estimators of pairs say, as a stack of two; ``running`` is engine and workers of both."""
    pair = prepare_pair(
        sources[0],
        sources[1],
        align=reading.align,
        exposure=reading.exposure,
        linear=reading.linear,
        gamma=reading.gamma,
        decimate=reading.decimate,
        channel_axis=reading.channel_axis,
    )
    blur_map = estimate_blur(pair, progress=lambda share: progress(0.7 * share), **running)
    nothing = np.full(blur_map.shape, np.nan)
    names = [name_of(sources, number) for number in (0, 1)]
    settings: dict[str, Any] = {**blur_map.settings, "images": names, "notes": list(pair.notes)}
    stack = StackMap(
        nothing, nothing.copy(), None, None, blur_map.flags, None, pair.factor, (0, 1), (), np.array([0.0, 1.0]),
        float("nan"), nothing.copy(), blur_map, settings,
    )  # fmt: skip
    if camera is not None:
        if distances is not None:
            camera = replace(camera, focus_first_m=distances[0], focus_second_m=distances[1])
        depth = estimate_depth(pair, camera, psf=psf, **running)
        u_first, u_second = places = np.array(camera.focus_per_m)
        place, span = 1 / depth.depth_m, u_second - u_first
        error = depth.depth_stderr_m * np.square(place)
        stack = replace(
            stack,
            index=np.clip((place - u_first) / span, 0, 1),
            index_stderr=error / abs(span),
            depth_m=depth.depth_m.copy(),
            depth_stderr_m=depth.depth_stderr_m.copy(),
            flags=depth.flags,
            places=places,
            place=place,
            growth_px=float(depth.camera.blur_constants_px_m[0]),
        )
    if not fuse:
        return stack
    frames = frames_of_pair(sources, replace(reading, decimate=pair.factor), pair)
    # The map lies on the first image: so must the picture.
    picture = fuse_frames(frames, prior_of_pair(blur_map), lambda share: progress(0.7 + 0.3 * share))
    return _with_picture(stack, frames, picture)
