"""``estimate_stack``: a :class:`~relblur.stacks.stack_map.StackMap` from images.

Few frames are estimated by their joint likelihood (:mod:`.few`), with the growth of the blur from a camera or from the
frames. Many frames are estimated by their symmetry (:mod:`.many`), which does not need the growth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import __version__
from ..base._typing import ArrayLike, PathLike, Progress
from ..base.arguments import as_positive
from ..base.errors import InputError
from ..base.options import Preparing, Stack
from ..blur.estimating import NoiseArgument
from ..blur.result import FLAG_TYPE, Flag, has_flag, mark
from ..depth.camera import Camera
from ..depth.psf import PsfLike, usual_psf
from ..kernels import as_engine, resolve_engine
from .few import estimate_jointly
from .frames import Frames, read_frames
from .fuse import fuse_by_detail, prefer_at_outlines
from .images import Images, StackImages, stack_images
from .many import estimate_by_symmetry
from .stack_map import StackMap

__all__ = ["estimate_stack"]

#: Most frames for the joint likelihood, with and without a camera. Its memory grows with their number. Without a camera
#: it needs even steps of focus, which `phone2` and `macro_pcb` (5 and 7 frames) do not have.
FEW, FEW_WITHOUT_CAMERA = 7, 4
#: Fraction of filled pixels and pixels at a limit that gives a warning.
MOSTLY_UNMEASURED = 0.5
#: Growth of the blur from the first to the last frame below which a warning is given, px of the map.
LEAST_GROWTH_PX = 1.5


def estimate_stack(
    images: Images | StackImages | Frames,
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
    noise: NoiseArgument | None = Stack.noise,
    max_sigma: float | None = Stack.max_sigma,
    step_um: float | None = Stack.step_um,
    pixel_um: float | None = Stack.pixel_um,
    prefer: str = Stack.prefer,
    motion: PathLike | None = Stack.motion,
    channel_axis: int | None = None,
    engine: str = Stack.engine,
    workers: int | None = Stack.workers,
    progress: Progress | None = None,
    steps: bool = False,
) -> StackMap:
    """Find the frame of a focal stack in focus at every pixel, its distance, and the all-in-focus image.

    Parameters
    ----------
    images : sequence of paths or arrays
        Three or more images of one scene from one viewpoint, in any order of focus. (H, W) arrays, or colour with
        ``channel_axis`` of each; their tone curve as for :func:`relblur.prepare_pair`. Files are read one at a time.
        Or one file of several planes, as :func:`relblur.open_stack` reads it, whose planes are in order of focus. Or
        the aligned frames of another map, ``StackMap.steps["frames"]``.
    focus_m : sequence of float, optional
        Distance in focus of each image, m (``inf`` included). Then ``depth_m`` is given. Taken from EXIF if all files
        have it.
    camera : Camera, optional
        Determines the growth of the blur; its own focus distances are not used. Without a camera the growth is
        measured.
    psf : {"auto", "disc", "gaussian"} or array
        Shape of the blur, with a camera; ``"auto"`` as for :func:`relblur.estimate_depth`.
    align, exposure, linear, gamma, decimate
        As for :func:`relblur.prepare_pair`. Each frame is aligned to its neighbour; frames that cannot be aligned are
        left out.
    fuse : bool
        Make the fused picture, which reads every file once more.
    valid, clipped : (H, W) or (N, H, W) bool arrays, optional
        True = use; True = at the top of the sensor's range. For all images, or for each in the order given.
    noise : float, NoiseModel or (first, last), optional
        Noise of the images as for :func:`relblur.estimate_blur`. For the joint likelihood only (3 or 4 images, up to 7
        with a camera). The noise of larger stacks is measured.
    max_sigma : float, optional
        Largest blur of the nearest frame in the search, px. For the joint likelihood only. Larger stacks are in focus
        between their first and last frame.
    step_um : float, optional
        Distance between two frames, micrometres. The frames are then in order of focus, and ``height_um`` is given.
        Taken from a file of planes that states it.
    pixel_um : float, optional
        Side of a pixel of the images, micrometres; written files state it.
    prefer : {"any", "near", "far"}
        Surface of the fused picture at outlines, where two depths are visible: that of the first or of the last
        frames in the order of focus, or that with more detail.
    motion : path, optional
        JSON file of the alignment. Order and motions are read from an existing file, and written to a new one
        otherwise.
    engine, workers, progress
        As for :func:`relblur.estimate_blur`.
    steps : bool
        Keep the aligned and matched images in ``StackMap.steps["frames"]``.

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
    preparing = Preparing(align=align, exposure=exposure, linear=linear, gamma=gamma, decimate=decimate)
    options = Stack(
        focus_m=focus_m, psf=psf, fuse=fuse, prefer=prefer, step_um=step_um, pixel_um=pixel_um,
        noise=noise, max_sigma=max_sigma, engine=as_engine(engine),
        workers=workers, motion=motion,
    )  # fmt: skip
    if camera is not None and not isinstance(camera, Camera):
        raise InputError(f"camera must be a Camera, got {type(camera).__name__}; make one or Camera.load a file")
    if max_sigma is not None:
        as_positive(max_sigma, "max_sigma", "px")
    if isinstance(psf, str) and psf == "auto":
        options = replace(options, psf="disc" if camera is None else usual_psf(camera))
    if isinstance(images, (Frames, StackImages)):
        inputs = images if isinstance(images, StackImages) else images.images
    else:
        inputs = stack_images(images, preparing, options, valid=valid, clipped=clipped, channel_axis=channel_axis)
    report = progress or (lambda share: None)
    if len(inputs) == 2:
        remedy = "use estimate_blur or estimate_depth for a pair (relblur estimate)"
        raise InputError(f"a stack needs three images, got 2; {remedy}")
    _refuse_unused(len(inputs), camera, options)
    frames = images if isinstance(images, Frames) else read_frames(inputs, lambda share: report(0.3 * share))
    stack = _measured(frames, camera, options, lambda share: report(0.3 + 0.5 * share))
    if fuse:
        if prefer != "any" and not frames.has_distances:
            note = f"prefer {prefer}: the {'first' if prefer == 'near' else 'last'} frames (unknown distances)"
            stack.settings["notes"].append(note)
        preferred = prefer_at_outlines(stack.index, prefer)
        picture = fuse_by_detail(frames, lambda share: report(0.8 + 0.2 * share), preferred=preferred)
        stack = stack.with_picture(picture, frames.form)
    settings = {**stack.settings, "model_warnings": _warnings_of(stack)}
    return replace(stack, settings=settings, steps={"frames": frames} if steps else {})


def _refuse_unused(count: int, camera: Camera | None, options: Stack) -> None:
    """Raise an error for options that the estimator of many frames does not use."""
    for name in ("noise", "max_sigma"):
        if count > (FEW_WITHOUT_CAMERA if camera is None else FEW) and getattr(options, name) is not None:
            raise InputError(f"{name} is not used for {count} images, from which it is measured; leave it out")


def _measured(frames: Frames, camera: Camera | None, options: Stack, progress: Progress) -> StackMap:
    """Return the map of three frames or more, without its picture."""
    count, images = len(frames.frames), frames.images
    if count < 3:
        left_out = ", ".join(images.name(number) for number, _ in frames.dropped)
        raise InputError(
            f"only {count} of {len(images)} images fit together (left out: {left_out}); a stack needs three (two are a "
            "pair): check that they show one scene, or align them by other means and pass align='off'"
        )
    if camera is not None and not frames.has_distances:
        raise InputError("camera needs focus_m, the distance in focus of every image (EXIF does not have them all)")
    options = replace(options, engine=resolve_engine(options.engine))
    positions = frames.positions.astype(np.float64)
    places = (
        np.array([1 / frame.focus_m for frame in frames.frames if frame.focus_m]) if frames.has_distances else positions
    )
    is_few = count <= (FEW_WITHOUT_CAMERA if camera is None else FEW)
    estimator = estimate_jointly if is_few else estimate_by_symmetry
    estimate = estimator(frames, places, camera, options, progress)
    depth = depth_stderr = None
    index, index_stderr, in_range = estimate.place, estimate.stderr, np.ones(estimate.place.shape, bool)
    if frames.has_distances:  # places decrease from near to far
        ends, indices = places[::-1], positions[::-1]
        index = np.interp(estimate.place, ends, indices)
        base = np.clip(np.searchsorted(ends, estimate.place) - 1, 0, count - 2)
        index_stderr = estimate.stderr / np.diff(ends)[base]
        in_range = estimate.place > 0
        depth = np.divide(1.0, estimate.place, out=np.full(in_range.shape, np.nan), where=in_range)
        depth_stderr = estimate.stderr * np.square(depth)
    flags = np.zeros(in_range.shape, FLAG_TYPE)
    mark(flags, estimate.filled, Flag.FILLED)
    mark(flags, estimate.at_limit, Flag.AT_LIMIT)
    mark(flags, ~in_range, Flag.OUT_OF_RANGE)
    mark(flags, ~frames.usable, Flag.INVALID)
    settings = {
        "relblur": __version__,
        "method": "joint" if is_few else "symmetric",
        "noise": estimate.noise,
        "decimate": frames.factor,
        "images": list(images.names),
        "notes": [*images.notes, *frames.notes],
        "focus_m": [frame.focus_m for frame in frames.frames] if frames.has_distances else None,
    }
    order = tuple(frame.number for frame in frames.frames)
    return StackMap(
        np.clip(index, positions[0], positions[-1]), index_stderr, depth, depth_stderr, flags, None, frames.factor,
        order, frames.dropped, places, estimate.growth, estimate.place, settings, None, images.step_um,
        images.pixel_um,
    )  # fmt: skip


def _warnings_of(stack: StackMap) -> list[str]:
    """Return warnings about a map with few measured pixels, or with little growth of the blur."""
    warnings = []
    filled, at_limit = (float(has_flag(stack.flags, flag).mean()) for flag in (Flag.FILLED, Flag.AT_LIMIT))
    if float(has_flag(stack.flags, Flag.FILLED | Flag.AT_LIMIT).mean()) > MOSTLY_UNMEASURED:
        ends = f", {at_limit:.0%} are at the end of the search range" if at_limit > 0 else ""
        warnings.append(
            f"{filled:.0%} of the pixels have too little texture{ends}: most of the map is not measured. "
            "Take more frames, smaller steps, or a textured scene"
        )
    growth = stack.growth_px * float(np.ptp(stack.places))
    if growth < LEAST_GROWTH_PX:
        finer = f"--decimate {stack.factor // 2}, " if stack.factor > 1 else ""
        warnings.append(
            f"the blur hardly grows from frame to frame, by {growth:.2g} px of the map in all. "
            f"Try {finer}larger steps of focus or a wider aperture"
        )
    return warnings
