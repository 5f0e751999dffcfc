"""The frames of a stack: aligned to one of them, with its exposure.

Small copies of all frames are in memory; a frame at full size is read again for each use. The middle frame is the
reference. From there outwards each frame is aligned to its neighbour, because focus breathing is small between
neighbours. Frames that cannot be aligned are left out and listed in the notes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, Progress
from ..base.errors import AlignmentError, InputError
from ..base.options import Preparing
from ..blur.comparable_pair import ComparablePair
from ..blur.noise import NoiseModel
from ..filters.decimation import decimate, keeps_light
from ..photo.alignment import Motion, find_motion
from ..photo.exposure import FIELD_FOR, Exposure, find_exposure
from ..photo.photograph import Source
from ..photo.picture_form import PictureForm
from ..photo.resolution import ENOUGH_PIXELS, LEAST_SIDE
from ..photo.rough_blur import RoughBlur
from .images import StackImages
from .order import focus_order
from .saved_alignment import read_alignment, write_alignment

__all__ = ["Frame", "Frames", "frames_of_channel", "frames_of_pair", "read_frames"]

#: Most names of files in a note.
_MOST_NAMES = 9
#: Least side of the frames of a stack, px.
_LEAST_PX = 16


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame of a stack.

    Attributes
    ----------
    number : int
        Index in the input list.
    small : (h, w, C) float32
        The frame at reduced size, aligned, with the common exposure.
    usable : (h, w) bool
        Valid and unclipped pixels of the small copy.
    motion, exposure
        Registration, in px of the small copy, and exposure correction; None for the reference.
    focus_m : float or None
        Distance in focus, m; None for all frames if one is unknown.
    position : int
        Index in the order of focus, including frames that were left out.
    rounding : NoiseModel or None
        Least noise of the file, in the small copy.
    form : PictureForm or None
        Format of the file.
    inside : (h, w) bool or None
        Valid pixels of the small copy, clipped or not; None: all.
    """

    number: int
    small: AnyArray
    usable: BoolArray
    motion: Motion | None = None
    exposure: Exposure | None = None
    focus_m: float | None = None
    position: int = 0
    rounding: NoiseModel | None = None
    form: PictureForm | None = None
    inside: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class Frames:
    """An aligned stack.

    Attributes
    ----------
    images : StackImages
    frames : tuple of Frame
        Aligned frames in order of focus.
    shape : (int, int)
        Rows and columns of the images.
    factor : int
        Decimation of the small copies.
    dropped : tuple of (int, str)
        Images that were left out, and the reasons.
    notes : tuple of str
    is_full : bool
        Whether the small copies are the frames at full size.
    """

    images: StackImages
    frames: tuple[Frame, ...]
    shape: tuple[int, int]
    factor: int
    dropped: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = field(default=())
    is_full: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the frames."""
        return tuple(self.images.name(frame.number) for frame in self.frames)

    @property
    def positions(self) -> AnyArray:
        """Indices of the frames in the order of focus."""
        return np.array([frame.position for frame in self.frames])

    @property
    def is_light(self) -> bool:
        """Whether the frames contain linear light."""
        return self.images.preparing.linear

    @property
    def has_distances(self) -> bool:
        """Whether the distances in focus are known."""
        return self.frames[0].focus_m is not None

    @property
    def form(self) -> PictureForm | None:
        """Format of a picture made from the stack: that of the reference frame."""
        still = [frame for frame in self.frames if frame.motion is None and frame.exposure is None]
        return still[(len(still) - 1) // 2].form if still else None

    @property
    def usable(self) -> BoolArray:
        """Pixels that are usable in all small copies."""
        return np.asarray(np.logical_and.reduce([frame.usable for frame in self.frames]))

    @property
    def white(self) -> float:
        """Intensity of white: 1, or the 99.5th percentile of pictures of a wider range."""
        brightest = max(float(np.percentile(frame.small[::2, ::2], 99.5)) for frame in self.frames)
        return brightest if brightest > 1 or 0 < brightest < 1e-3 else 1.0

    def full(self, frame: Frame, *, fast: bool = False) -> tuple[AnyArray, BoolArray | None]:
        """Return an aligned frame at full size, (H, W, C) float32, and its valid mask (None: all).

        ``fast`` resamples it with a window of 8 x 8 pixels, sufficient for pictures.
        """
        if self.is_full and fast:
            return frame.small, frame.inside
        photograph, inside = self.images.read(frame.number)
        light = photograph.light
        if frame.motion is not None and frame.motion.moves:
            motion = frame.motion.enlarged(self.factor)
            light = motion.resample(light, fast=fast).astype(np.float32, copy=False)
            inside = _moved_mask(inside, motion, self.shape)
        if frame.exposure is not None:
            light = frame.exposure.apply(light)
        return light, inside


def _moved_mask(mask: BoolArray | None, motion: Motion, shape: tuple[int, int]) -> BoolArray:
    """Return a mask (None: all True) after a motion."""
    inside = motion.inside(shape)
    return inside if mask is None else np.asarray(inside & ~motion.resample_map(~mask))


def read_frames(images: StackImages, progress: Progress) -> Frames:
    """Read a stack, order and align its frames and match their exposures."""
    frames: list[Frame] = []
    for number in range(len(images)):
        photograph, usable = images.read(number)
        if number == 0:
            shape = photograph.light.shape
            factor = _factor(images.preparing.decimate, (shape[0], shape[1]))
            notes = [f"light: {photograph.describe()}"]
        _check_alike(photograph.light.shape, shape, images.name(number))
        good = ~photograph.clipped if usable is None else ~photograph.clipped & usable
        small, rounding, shot = photograph.light, photograph.rounding, photograph.info["shot"]
        if factor > 1:
            small, good, usable = decimate(small, factor, channel_axis=-1), keeps_light(good, factor), None
        if rounding is not None:  # white noise is averaged
            rounding = replace(rounding, read=rounding.read / factor, shot=rounding.shot / factor**2)
        focus = None if shot is None else float(shot.focus_m)
        focus = focus if images.focus_m is None else images.focus_m[number]
        small = small.astype(np.float32, copy=False)
        frames.append(Frame(number, small, good, None, None, focus, number, rounding, photograph.form, usable))
        progress(0.5 * (number + 1) / len(images))
    full, preparing, file = (shape[0], shape[1]), images.preparing, images.motion
    if file is not None and file.exists():
        order, motions = read_alignment(file, full, len(images))
        ordered, order_notes = _in_order(frames, images, order)
        fitting = [frame for frame in ordered if frame.number in motions]
        ordered = [replace(each, motion=_enlarged(motions[each.number], 1 / factor)) for each in fitting]
        preparing = replace(preparing, align="off")
        notes.append(f"alignment: from {file}")
    else:
        ordered, order_notes = _in_order(frames, images)
    placed = _aligned(ordered, preparing, lambda share: progress(0.5 + 0.5 * share))
    if file is not None and not file.exists() and len(placed) >= min(3, len(images)):
        motions = {frame.number: _enlarged(frame.motion, factor) for frame in placed}
        write_alignment(file, full, [frame.number for frame in ordered], motions)
        notes.append(f"alignment: written to {file}")
    kept = {frame.number for frame in placed}
    why = "it does not show the same scene as its neighbours"
    dropped = tuple((number, why) for number in range(len(images)) if number not in kept)
    notes += [*order_notes, *_describe(placed), *(f"left out: {images.name(number)}, {why}" for number, why in dropped)]
    if factor > 1:
        notes.append(f"map of every {factor}th pixel, pictures at full size")
    return Frames(images, tuple(placed), full, factor, dropped, tuple(notes), is_full=factor == 1)


def _enlarged(motion: Motion | None, factor: float) -> Motion | None:
    return None if motion is None else motion.enlarged(factor)


def frames_of_pair(images: Sequence[Source], preparing: Preparing, pair: ComparablePair) -> Frames:
    """Return the two frames of a comparable pair, to be used at full size as the pair was made."""
    motion = _enlarged(pair.motion, 1 / pair.factor)
    small = [np.atleast_3d(one).astype(np.float32, copy=False) for one in (pair.first, pair.second)]
    first = Frame(0, small[0], pair.usable, form=pair.form)
    second = Frame(1, small[1], pair.usable, motion, pair.exposure, position=1)
    width, height = map(int, pair.full_size.split("x"))
    return Frames(StackImages(images, preparing), (first, second), (height, width), pair.factor)


def frames_of_channel(frames: Frames, images: StackImages) -> Frames:
    """Return the frames of another channel with the same alignment and order, without exposure correction."""
    shape = images.read(frames.frames[0].number)[0].light.shape[:2]
    if shape != frames.shape:
        sizes = f"{shape[1]}x{shape[0]}, the stack {frames.shape[1]}x{frames.shape[0]}"
        raise InputError(f"the other channel is {sizes}; pass images of the same camera")
    unmatched = tuple(replace(each, exposure=None) for each in frames.frames)
    return replace(frames, images=images, frames=unmatched, is_full=False)


def _factor(decimation: int | str, shape: tuple[int, int]) -> int:
    if not isinstance(decimation, str):
        return decimation
    most = max(1, min(shape) // LEAST_SIDE)
    return min(most, math.ceil(math.sqrt(shape[0] * shape[1] / ENOUGH_PIXELS)))


def _check_alike(shape: tuple[int, ...], first: tuple[int, ...], name: str) -> None:
    if min(shape[:2]) < _LEAST_PX:
        raise InputError(f"{name} is {shape[1]}x{shape[0]}; a stack needs at least {_LEAST_PX}x{_LEAST_PX} pixels")
    if shape[:2] != first[:2]:
        raise InputError(
            f"the images differ in size: the first is {first[1]}x{first[0]}, {name} is {shape[1]}x{shape[0]}; "
            "crop or resize them to the same view"
        )
    if shape != first:
        raise InputError(f"{name} and the first image differ in colour; convert one of them")


def _in_order(
    frames: list[Frame], images: StackImages, order: list[int] | None = None
) -> tuple[list[Frame], list[str]]:
    """Return frames by distance in focus, near first, if all have one; otherwise in ``order`` or by their detail."""
    distances = {frame.focus_m for frame in frames} - {None}
    if len(frames) == 2:
        ordered = frames
    elif len(distances) == len(frames):
        ordered = sorted(frames, key=lambda frame: frame.focus_m or 0.0)
    else:
        ordered = [replace(frame, focus_m=None) for frame in frames]
        if not images.in_order:
            greys = (np.sqrt(np.maximum(frame.small.mean(axis=2), 0)) for frame in frames)
            ordered = [ordered[number] for number in order or focus_order(list(greys))]
    ordered = [replace(frame, position=position) for position, frame in enumerate(ordered)]
    numbers = [frame.number for frame in ordered]
    if numbers == sorted(numbers):
        return ordered, []
    names = [images.name(number) for number in numbers]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES - 1 : -1] = ["..."]
    return ordered, [f"order of focus: {', '.join(names)}"]


def _aligned(frames: list[Frame], preparing: Preparing, progress: Progress) -> list[Frame]:
    """Return the frames that can be aligned to the middle one or, if these are few, to one beside it."""
    references = [number for number, frame in enumerate(frames) if frame.motion is None]  # all, without given motions
    middle, best = references[(len(references) - 1) // 2], list[Frame]()  # the first of two
    for start in (middle, middle + 1, middle - 1) if len(references) > 2 else (middle,):
        placed = {start: frames[start]}
        for outwards in (range(start - 1, -1, -1), range(start + 1, len(frames))):
            neighbour = frames[start]
            for position in outwards:
                with suppress(AlignmentError):  # the next frame is aligned to the last aligned one
                    neighbour = placed[position] = _aligned_to(neighbour, frames[position], preparing)
                progress(len(placed) / len(frames))
        if len(placed) > len(best):
            best = [placed[position] for position in sorted(placed)]
        if 2 * len(best) > len(frames):
            break
    return best


def _aligned_to(neighbour: Frame, frame: Frame, preparing: Preparing) -> Frame:
    """Return a frame aligned to its neighbour, with its exposure."""
    shape, blur = (frame.small.shape[0], frame.small.shape[1]), RoughBlur()
    small, usable, inside, motion, exposure = frame.small, frame.usable, frame.inside, frame.motion, None
    if preparing.align != "off":
        both = neighbour.usable & usable
        motion = find_motion(neighbour.small, small, both, model=preparing.align, blur=blur)
    if motion is not None:
        small = motion.resample(small).astype(np.float32, copy=False)
        usable, inside = _moved_mask(usable, motion, shape), _moved_mask(inside, motion, shape)
    if preparing.exposure != "off":
        both = neighbour.usable & usable
        exposure = find_exposure(neighbour.small, small, both, field=FIELD_FOR[preparing.exposure], blur=blur)
        small = exposure.apply(small)
    return replace(frame, small=small, usable=usable, motion=motion, exposure=exposure, inside=inside)


def _describe(frames: Sequence[Frame]) -> list[str]:
    motions = [frame.motion for frame in frames if frame.motion is not None]
    gains = [float(np.mean(frame.exposure.gain)) for frame in frames if frame.exposure and frame.exposure.changes]
    moved = [motion.largest_px for motion in motions if motion.moves]
    notes = ["alignment: already aligned"] if motions and not moved else []
    if moved:
        scales = [float(np.sqrt(abs(np.linalg.det(motion.transform[:2, :2])))) for motion in motions]
        notes.append(
            f"alignment: {len(moved)} of {len(motions) + 1} frames moved, by up to {max(moved):.2f} px, scales "
            f"{min(scales):.4f} to {max(scales):.4f}"
        )
    if gains:
        notes.append(f"exposure: {len(gains)} frames multiplied by {min(gains):.4f} to {max(gains):.4f}")
    return notes
