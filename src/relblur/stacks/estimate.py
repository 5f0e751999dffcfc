"""``estimate_stack``: a stack of images in, a :class:`~relblur.stacks.stack_map.StackMap` out.

Two images go to :func:`relblur.estimate_blur` and :func:`relblur.estimate_depth`; up to :data:`FEW` to the joint
likelihood of :mod:`relblur.stacks.few`, whose law of blur comes from a camera or from the frames; more to the
symmetry of :mod:`relblur.stacks.symmetric`, which needs no law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import __version__
from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray, PathLike, Progress, UInt8Array
from ..base.arguments import as_choice, as_whole
from ..base.deprecated import warn_of_old_call
from ..base.errors import InputError
from ..base.options import Preparing, Stack
from ..base.settings import ALIGN_MODELS, EXPOSURES, PREFERENCES
from ..blur.estimating import GivenNoise
from ..blur.noise import NoiseModel, estimate_noise, noise_at_light, smooth_light
from ..blur.result import Flag, mark
from ..depth.camera import Camera
from ..depth.equal_blur.task import TaskNoise
from ..depth.psf import PsfLike, as_psf, usual_psf
from ..field import choose_loops
from ..images.planes import PlaneStack
from ..kernels import ENGINES, as_engine, resolve_engine
from ..kernels.threads import Team, count_workers
from ..photo.photograph import Source, check_gamma
from .aligned import read_alignment
from .doubts import doubts_of
from .found import Found
from .frames import Frames, Reading, name_of, read_frames
from .fuse import fuse_by_detail, prefer_at_outlines
from .stack_map import StackMap
from .task import (
    Measuring,
    Scale,
    distances_of,
    largest_blur,
    noise_models,
    planes_of,
    sources_of,
    with_masks,
)
from .two import stack_of_two

__all__ = ["FEW", "estimate_stack"]

#: Most frames for the joint likelihood, with a camera and without one. It holds a volume for each frame; without a
#: camera it needs even steps of focus, which `phone2` and `macro_pcb` (5 and 7 frames) do not have.
FEW, FEW_WITHOUT_CAMERA = 7, 4
#: Circle beyond the first and last frame in which the scene is still looked for, px; without a law, frames.
BEYOND_PX, BEYOND_FRAMES = 12.0, 1.0
#: A disc's standard deviation over its diameter.
_DISC = 0.25


def estimate_stack(
    images: Sequence[Source] | PlaneStack | ArrayLike | PathLike,
    *,
    focus_m: Sequence[float] | None = Stack.focus_m,
    camera: Camera | None = None,
    psf: PsfLike = Stack.psf,
    align: str = Preparing.align,
    exposure: str = Preparing.exposure,
    linear: bool = Preparing.linear,
    gamma: float | None = Preparing.gamma,
    decimate: int | str = Preparing.decimate,
    fuse: bool = Stack.fuse,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    noise: GivenNoise | None = Stack.noise,
    max_sigma: float | None = Stack.max_sigma,
    step_um: float | None = Stack.step_um,
    pixel_um: float | None = Stack.pixel_um,
    prefer: str = Stack.prefer,
    motion: PathLike | None = Stack.motion,
    channel_axis: int | None = None,
    engine: str = Stack.engine,
    workers: int | None = Stack.workers,
    progress: Progress | None = None,
    steps: bool | dict[str, Frames] = False,
) -> StackMap:
    """Find, at every pixel, which frame of a focal stack is in focus, the distance, and the picture sharp everywhere.

    Parameters
    ----------
    images : sequence of paths or arrays
        Two or more images of one scene from one viewpoint, in any order of focus. (H, W) arrays, or colour with
        ``channel_axis`` of each; their tone curve as for :func:`relblur.prepare_pair`. Files are read one at a time.
        Or one file of several planes, as :func:`relblur.open_stack` reads it, whose planes are in order of focus.
    focus_m : sequence of float, optional
        Distance in focus of each image, m (``inf`` included). Then ``depth_m`` is given. Taken from EXIF if all files
        have it.
    camera : Camera, optional
        Tells how fast blur grows; its own focus distances count for two images only. Without one that is measured.
    psf : {"auto", "disc", "gaussian"}, array or callable
        Shape of the blur, with a camera; ``"auto"`` as for :func:`relblur.estimate_depth`.
    align, exposure, linear, gamma, decimate
        As for :func:`relblur.prepare_pair`. Each frame is laid on its neighbour; one that fits nowhere is left out.
    fuse : bool
        Make the fused picture, which reads every file once more.
    valid, clipped : (H, W) or (N, H, W) bool arrays, optional
        True = use; True = at the top of the sensor's range. For all images, or for each in the order given.
    noise : float, NoiseModel or (first, last), optional
        Noise of the images as for :func:`relblur.estimate_blur`. For two images and for the joint likelihood only
        (3 or 4 images, up to 7 with a camera): larger stacks show their noise themselves.
    max_sigma : float, optional
        Largest blur that is looked for, px: of two images their relative blur, 5 px by default; of the joint
        likelihood that of the nearest frame. Larger stacks are in focus between their first and last frame.
    step_um : float, optional
        Distance between two frames, micrometres. The frames are then in order of focus, and ``height_um`` is given.
        Taken from a file of planes that states it.
    pixel_um : float, optional
        Side of a pixel of the images, micrometres; written files state it.
    prefer : {"any", "near", "far"}
        Which surface the fused picture has at outlines, where two depths are visible: that of the frames first or last
        in the order of focus, or what has more detail. For three images or more.
    motion : path, optional
        Alignment to use, as ``relblur stack --motion`` writes it, instead of finding one. For three images or more.
    engine, workers, progress
        As for :func:`relblur.estimate_blur`.
    steps : bool
        Keep the images as they were aligned and matched, ``StackMap.steps["frames"]``.

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
    planes = planes_of(images)
    sources = sources_of(images if planes is None else planes.planes)
    scale = Scale.of(planes, step_um, pixel_um)
    distances = distances_of(focus_m, len(sources))
    as_choice(align, "align", (*ALIGN_MODELS, "off"))
    as_choice(exposure, "exposure", EXPOSURES)
    engine = as_engine(engine, [name for name in ENGINES if name != "reference"])
    if camera is not None and not isinstance(camera, Camera):
        raise InputError(f"camera must be a Camera, got {type(camera).__name__}; make one or Camera.load a file")
    if not isinstance(decimate, str):
        decimate = as_whole(decimate, "decimate", '"auto"')
    else:
        as_choice(decimate, "decimate", ("auto",))
    as_choice(prefer, "prefer", PREFERENCES)
    if len(sources) == 2 and (motion is not None or prefer != "any"):
        raise InputError("motion and prefer are for three images or more; leave them out")
    in_order = planes is not None or step_um is not None
    placement = None if motion is None else read_alignment(motion, len(sources))
    reading = Reading(align, exposure, linear, check_gamma(gamma, linear), decimate, channel_axis, in_order, placement)
    if not isinstance(steps, bool):
        warn_of_old_call("steps={}", "estimate_stack(images, steps=True).steps", 2)
    kept: dict[str, Frames] = {} if isinstance(steps, bool) else steps
    tell = progress or (lambda share: None)
    if isinstance(psf, str) and psf == "auto":
        psf = "disc" if camera is None else usual_psf(camera)
    asked = Measuring(camera, psf, engine, workers, noise, largest_blur(max_sigma))
    masked = with_masks(sources, valid, clipped)
    if len(sources) == 2:
        return _finished(
            stack_of_two(masked, reading, distances, asked, fuse, tell, kept), scale, kept if steps is True else {}
        )
    _refuse_unused(asked, len(sources))
    kept["frames"] = frames = read_frames(masked, reading, distances, lambda share: tell(0.3 * share))
    if len(frames.frames) < 3:
        left_out = ", ".join(name_of(sources, number) for number, _ in frames.dropped)
        raise InputError(
            f"only {len(frames.frames)} of {len(sources)} images fit together (left out: {left_out}); a stack needs "
            "three (two are a pair): check that they show one scene, or align them by other means and pass align='off'"
        )
    places = _places(frames)
    if camera is not None and frames.frames[0].focus_m is None:
        raise InputError("camera needs focus_m, the distance in focus of every image (EXIF does not have them all)")
    asked = asked._replace(engine=resolve_engine(engine, "stacks", ("opencv", "compiled")))
    found, growth = _measure(frames, places, asked, lambda share: tell(0.3 + 0.5 * share))
    stack = _map_of(frames, places, found, growth, "joint" if _is_joint(frames, camera) else "symmetric")
    if fuse:
        if prefer != "any" and frames.frames[0].focus_m is None:
            note = f"prefer {prefer}: the {'first' if prefer == 'near' else 'last'} frames, as no distance is known"
            stack.settings["notes"].append(note)
        preferred = prefer_at_outlines(stack.index, prefer)
        picture = fuse_by_detail(frames, lambda share: tell(0.8 + 0.2 * share), preferred=preferred)
        stack = stack.with_picture(picture, frames.form)
    return _finished(stack, scale, kept if steps is True else {})


def _finished(stack: StackMap, scale: Scale, steps: dict[str, Frames]) -> StackMap:
    """Return a stack with its scale and what makes one doubt it."""
    stack = replace(stack, step_um=scale.step_um, pixel_um=scale.pixel_um, steps=steps)
    settings = {**stack.settings, "notes": [*scale.notes, *stack.settings["notes"]]}
    return replace(stack, settings={**settings, "doubts": [*settings.get("doubts", ()), *doubts_of(stack)]})


def _refuse_unused(asked: Measuring, count: int) -> None:
    """Refuse what the estimator of a large stack makes no use of."""
    if count <= (FEW_WITHOUT_CAMERA if asked.camera is None else FEW):
        return
    for name in ("noise", "max_sigma"):
        if getattr(asked, name) is not None:
            raise InputError(f"{name} is not used for {count} images, which show it themselves; leave it out")


def _places(frames: Frames) -> FloatArray:
    """Return where each frame is in focus, increasing: 1/m from the far end, or its place in the order."""
    if frames.frames[0].focus_m is None:
        return np.array([frame.position for frame in frames.frames], np.float64)
    return np.array([1 / frame.focus_m for frame in frames.frames if frame.focus_m], np.float64)


def _measure(frames: Frames, places: FloatArray, asked: Measuring, progress: Progress) -> tuple[Found, float]:
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
    smalls: list[AnyArray], frames: Frames, places: FloatArray, asked: Measuring, progress: Progress
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
    beyond = (BEYOND_PX if asked.max_sigma is None else asked.max_sigma / kappa) / float(circles.max())
    if frames.frames[0].focus_m is None:
        reach = BEYOND_FRAMES if asked.max_sigma is None else beyond
        span = (float(places.min()) - reach, float(places.max()) + reach)
    else:
        span = (max(0.0, float(places.min()) - beyond), float(places.max()) + beyond)
    task = JointTask(places, circles, shape, span, kappa, _noise(frames, asked.noise))
    found = estimate_jointly(smalls, frames.usable, task, asked.engine, count_workers(asked.workers), progress)
    if camera is None:
        found = replace(found, stderr=np.hypot(found.stderr, growth_error(found.place, places)))
    return found, growth


def _noise(frames: Frames, given: GivenNoise | None) -> TaskNoise:
    """Return the noise of the first and the last frame, as it is measured for pairs."""
    if not frames.is_light and given is None:
        return TaskNoise()
    ends = frames.frames[0], frames.frames[-1]
    files = [frame.rounding for frame in ends if frame.rounding is not None]
    names = ("read", "shot", "compressed")
    floor = NoiseModel(*(max(getattr(each, name) for each in files) for name in names)) if files else None
    usable = frames.usable
    first, second = (frame.small for frame in ends)
    if given is None:
        good = usable if usable.any() else None
        one = two = estimate_noise(first, second, valid=good, channel_axis=-1, floor=floor)
    else:
        one, two = noise_models(given, frames.factor)
    deviations, relative = noise_at_light(one, two, smooth_light(first, second), usable)
    return TaskNoise(deviations, relative, one.compressed or two.compressed)


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
