"""The frames of a stack: read one at a time, laid on one of them, brought to its exposure.

Small copies of all frames stay in memory; at full size there is one at a time, read again when it is needed. The
middle frame stays as it is. From there outwards each frame is laid on its neighbour, which lies on the middle one
already: breathing from frame to frame is small, from one end to the other it is not. A frame that does not fit is
left out, and the notes say so.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray, Progress
from ..base.errors import AlignmentError, InputError
from ..blur.comparable_pair import ComparablePair
from ..blur.noise import NoiseModel
from ..filters.decimation import decimate, keeps_light
from ..images.reading import Plane
from ..photo.alignment import Motion, find_motion
from ..photo.exposure import FIELD_FOR, Exposure, find_exposure
from ..photo.photograph import Photograph, Source, photograph_of, read_photograph, stored_array
from ..photo.picture_form import PictureForm
from ..photo.resolution import ENOUGH_PIXELS, LEAST_SIDE
from ..photo.rough_blur import RoughBlur
from .order import focus_order

__all__ = ["Frame", "Frames", "Masked", "Placement", "Reading", "frames_of_pair", "name_of", "read_frames"]

#: Names of files that a note lists at most.
_MOST_NAMES = 9

#: Larger light counts as missing: its square overflows in single precision.
_LARGEST = 1e18
#: Least side of the frames of a stack, px: smaller ones hold too little to be compared.
_LEAST_PX = 16


@dataclass(frozen=True, eq=False)
class Masked:
    """An image with pixels that are not to be used, and pixels known to be at the top of the sensor's range."""

    source: Source
    valid: BoolArray | None
    clipped: BoolArray | None


@dataclass(frozen=True, eq=False)
class Placement:
    """A known alignment: size of the images, place in the order and motion (px of the images) by number of image."""

    shape: tuple[int, int]
    positions: dict[int, int]
    motions: dict[int, Motion | None]


@dataclass(frozen=True)
class Reading:
    """How images are read and matched; words as for :func:`relblur.prepare_pair`."""

    align: str = "auto"
    exposure: str = "auto"
    linear: bool = True
    gamma: float | None = None
    decimate: int | str = "auto"
    channel_axis: int | None = None
    keeps_order: bool = False  #: the images are in order of focus, whatever their detail looks like
    placement: Placement | None = None  #: instead of finding order and motions

    def read(self, source: Source | Masked, name: str) -> Photograph:
        """Read one image as light, single precision, (H, W, C); NaN where it is not valid."""
        if isinstance(source, Masked):
            return _masked(self.read(source.source, name), source, name)
        if isinstance(source, (str, os.PathLike)):
            photograph = read_photograph(source, linear=self.linear, gamma=self.gamma, dtype=np.float32)
        else:
            stored, valid = stored_array(source, name, self.channel_axis)
            photograph = photograph_of(stored, linear=self.linear, gamma=self.gamma, dtype=np.float32)
            if valid is not None:
                photograph.light[~valid] = np.nan
        light = photograph.light
        return replace(photograph, light=light if light.ndim == 3 else light[:, :, None])


def _masked(photograph: Photograph, source: Masked, name: str) -> Photograph:
    shape = photograph.light.shape[:2]
    for what, mask in (("valid", source.valid), ("clipped", source.clipped)):
        if mask is not None and mask.shape != shape:
            raise InputError(f"{what} has shape {mask.shape}; {name} has {shape}, pass one mask of it, or one for each")
    light, clipped = photograph.light, photograph.clipped
    if source.valid is not None:
        light = np.where(source.valid[:, :, None], light, np.float32(np.nan))
    return replace(photograph, light=light, clipped=clipped if source.clipped is None else clipped | source.clipped)


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame of a stack as it is used.

    Attributes
    ----------
    number : int
        Its place in the list that was given.
    small : (h, w, C) float32
        The frame at reduced size, in place and of the common exposure.
    usable : (h, w) bool
        Where that is so: inside the frame, finite, not clipped.
    motion, exposure
        What was done to it, of the small copy.
    focus_m : float or None
        Distance in focus, as given or from EXIF; all frames have one or none has.
    position : int
        Its place in the order of focus, frames that were left out counted too.
    rounding : NoiseModel or None
        Noise that its file has at least, of the small copy.
    form : PictureForm or None
        How its file stores it.
    inside : (h, w) bool or None
        Where the small copy has light, clipped or not; None: everywhere.
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
    """A stack ready to be compared.

    Attributes
    ----------
    frames : tuple of Frame
        In order of focus, those that fit.
    shape : (int, int)
        Of the images.
    factor : int
        By how much the small copies are smaller.
    dropped : tuple of (int, str)
        Which images were left out, and why.
    notes : tuple of str
    shares : (C,) array or None
        In which parts the channels of a frame in colour are mixed, another being grey.
    is_full : bool
        Whether the small copies are the sources at full size.
    """

    sources: Sequence[Source | Masked]
    reading: Reading
    frames: tuple[Frame, ...]
    shape: tuple[int, int]
    factor: int
    is_light: bool
    dropped: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = field(default=())
    shares: FloatArray | None = None
    is_full: bool = False

    @property
    def form(self) -> PictureForm | None:
        """How a picture made from the stack is written: like the frame that stays as it is."""
        still = [frame for frame in self.frames if frame.motion is None and frame.exposure is None]
        return still[(len(still) - 1) // 2].form if still else None

    @property
    def usable(self) -> BoolArray:
        """Where all small copies can be believed."""
        return np.asarray(np.logical_and.reduce([frame.usable for frame in self.frames]))

    @property
    def white(self) -> float:
        """Intensity that counts as white: 1, or the 99.5th percentile of pictures of a wider range."""
        brightest = max(float(np.percentile(frame.small[::2, ::2], 99.5)) for frame in self.frames)
        return brightest if brightest > 1 or 0 < brightest < 1e-3 else 1.0

    def full(self, frame: Frame, *, fast: bool = False) -> tuple[AnyArray, BoolArray | None]:
        """Return a frame in place at full size, (H, W, C) float32, and where it has light (None: everywhere).

        ``fast`` moves it by a window of 8 x 8 pixels, good enough to look at.
        """
        if self.is_full and fast:
            return frame.small, frame.inside
        light = self.reading.read(self.sources[frame.number], name_of(self.sources, frame.number)).light
        if self.shares is not None and light.shape[2] == len(self.shares):
            light = (light @ self.shares.astype(np.float32))[:, :, None]
        light, inside = _usable_light(light)
        if frame.motion is not None and frame.motion.moves:
            motion = frame.motion.enlarged(self.factor)
            light = motion.resample(light, fast=fast).astype(np.float32, copy=False)
            seen = motion.inside(self.shape)
            inside = seen if inside is None else seen & ~motion.resample_map(~inside)
        if frame.exposure is not None:
            light = frame.exposure.apply(light)
        return light, inside


def read_frames(
    sources: Sequence[Source | Masked], reading: Reading, focus_m: Sequence[float] | None, progress: Progress
) -> Frames:
    """Read a stack and bring its frames together, in the order of their distances in focus if these are known."""
    frames: list[Frame] = []
    shape: tuple[int, ...] = ()
    factor, notes = 1, []
    for number, source in enumerate(sources):
        photograph = reading.read(source, name_of(sources, number))
        if number == 0:
            shape = photograph.light.shape
            factor = _factor(reading.decimate, (shape[0], shape[1]))
            notes.append(f"light: {photograph.describe()}")
        _check_alike(photograph.light.shape, shape, name_of(sources, number))
        frames.append(_small(number, photograph, factor))
        progress(0.5 * (number + 1) / len(sources))
    if focus_m is not None:
        frames = [replace(frame, focus_m=float(distance)) for frame, distance in zip(frames, focus_m, strict=True)]
    if reading.placement is not None:
        placed, dropped, more = _by_placement(frames, reading, shape, factor)
        told = ["alignment: as given"]
    else:
        ordered, told = _in_order(frames, sources, reading.keeps_order)
        placed, dropped, more = _together(ordered, reading, progress)
    notes += told
    full = (shape[0], shape[1])
    notes += more + [f"left out: {name_of(sources, number)}, {why}" for number, why in dropped]
    if factor > 1:
        notes.append(f"map of every {factor}th pixel, pictures at full size")
    return Frames(
        sources, reading, tuple(placed), full, factor, reading.linear, tuple(dropped), tuple(notes), is_full=factor == 1
    )


def frames_of_pair(sources: Sequence[Source | Masked], reading: Reading, pair: ComparablePair) -> Frames:
    """Return the two frames of a comparable pair, to be used at full size as the pair was made."""
    motion = None if pair.motion is None else pair.motion.enlarged(1 / pair.factor)
    small = [np.atleast_3d(one).astype(np.float32, copy=False) for one in (pair.first, pair.second)]
    first = Frame(0, small[0], pair.usable, form=pair.form)
    second = Frame(1, small[1], pair.usable, motion, pair.exposure, position=1)
    width, height = map(int, pair.full_size.split("x"))
    return Frames(sources, reading, (first, second), (height, width), pair.factor, reading.linear, shares=pair.shares)


def name_of(sources: Sequence[Source | Masked], number: int) -> str:
    """Return what an image of a stack is called in messages: its file, or its place in the list."""
    source = sources[number]
    if isinstance(source, Masked):
        source = source.source
    if isinstance(source, Plane):
        return source.name
    return os.path.basename(os.fsdecode(source)) if isinstance(source, (str, os.PathLike)) else f"images[{number}]"


def _in_order(frames: list[Frame], sources: Sequence[Source | Masked], keep: bool) -> tuple[list[Frame], list[str]]:
    """Return frames by distance in focus, near first, if all have one; else in the order that their detail tells."""
    distances = [frame.focus_m for frame in frames]
    known = [distance for distance in distances if distance is not None]
    if len(frames) == 2 or (keep and not known):
        ordered = frames
    elif len(set(known)) == len(frames):
        ordered = sorted(frames, key=lambda frame: frame.focus_m or 0.0)
    else:
        looks = [np.sqrt(np.maximum(frame.small.mean(axis=2), 0)) for frame in frames]
        ordered = [replace(frames[number], focus_m=None) for number in focus_order(looks)]
    ordered = [replace(frame, position=place) for place, frame in enumerate(ordered)]
    numbers = [frame.number for frame in ordered]
    if numbers == sorted(numbers):
        return ordered, []
    names = [name_of(sources, number) for number in numbers]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES - 1 : -1] = ["..."]
    return ordered, [f"order of focus: {', '.join(names)}"]


def _factor(wanted: int | str, shape: tuple[int, int]) -> int:
    if not isinstance(wanted, str):
        return wanted
    most = max(1, min(shape) // LEAST_SIDE)
    return min(most, math.ceil(math.sqrt(shape[0] * shape[1] / ENOUGH_PIXELS)))


def _check_alike(shape: tuple[int, ...], first: tuple[int, ...], name: str) -> None:
    if min(shape[:2]) < _LEAST_PX:
        raise InputError(f"{name} is {shape[1]}x{shape[0]}; a stack needs at least {_LEAST_PX}x{_LEAST_PX} pixels")
    if shape == first:
        return
    if shape[:2] != first[:2]:
        raise InputError(
            f"the images differ in size: the first is {first[1]}x{first[0]}, {name} is {shape[1]}x{shape[0]}; "
            "crop or resize them to the same view"
        )
    raise InputError(f"{name} and the first image differ in colour; convert one of them")


def _usable_light(light: AnyArray) -> tuple[AnyArray, BoolArray | None]:
    """Return light with zeros where it is not finite or too large, and where it is usable (None: everywhere)."""
    if light.min() > -_LARGEST and light.max() < _LARGEST:
        return light, None
    usable = np.asarray((np.abs(light) < _LARGEST).all(axis=2))
    return np.where(usable[:, :, None], light, 0), usable


def _small(number: int, photograph: Photograph, factor: int) -> Frame:
    light, usable = _usable_light(photograph.light)
    good = ~photograph.clipped if usable is None else ~photograph.clipped & usable
    shot = photograph.info["shot"]
    focus = None if shot is None else float(shot.focus_m)
    rounding, form = photograph.rounding, photograph.form
    if factor == 1:
        return Frame(number, light, good, focus_m=focus, rounding=rounding, form=form, inside=usable)
    if rounding is not None:  # white noise is averaged
        rounding = replace(rounding, read=rounding.read / factor, shot=rounding.shot / factor**2)
    small = decimate(light, factor, channel_axis=-1).astype(np.float32)
    return Frame(number, small, keeps_light(good, factor), focus_m=focus, rounding=rounding, form=form)


def _together(
    frames: list[Frame], reading: Reading, progress: Progress
) -> tuple[list[Frame], list[tuple[int, str]], list[str]]:
    """Lay frames on the middle one, or one beside it; return them, those that do not fit, and what was done."""
    middle = (len(frames) - 1) // 2  # of two, the first, on which their map lies
    best: list[Frame] = []
    for other in (0, 1, -1) if len(frames) > 2 else (0,):  # the middle one itself may be the one that does not fit
        placed = _around(frames, middle + other, reading, progress)
        best = placed if len(placed) > len(best) else best
        if 2 * len(best) > len(frames):
            break
    kept = {frame.number for frame in best}
    why = "it does not show the same scene as its neighbours"
    dropped = sorted((frame.number, why) for frame in frames if frame.number not in kept)
    return best, dropped, _describe(best)


def _by_placement(
    frames: list[Frame], reading: Reading, shape: tuple[int, ...], factor: int
) -> tuple[list[Frame], list[tuple[int, str]], list[str]]:
    """Lay frames where a known alignment has them; exposures are matched outwards from the frame that stays."""
    known = reading.placement
    assert known is not None
    if known.shape != shape[:2]:
        sizes = f"{known.shape[1]}x{known.shape[0]} px, and these have {shape[1]}x{shape[0]}"
        raise InputError(f"the alignment is that of images of {sizes}; give the same images")
    ordered = sorted(
        (frame for frame in frames if frame.number in known.positions), key=lambda f: known.positions[f.number]
    )
    ordered = [replace(frame, position=known.positions[frame.number]) for frame in ordered]
    still = [place for place, frame in enumerate(ordered) if known.motions[frame.number] is None]
    middle = still[(len(still) - 1) // 2] if still else (len(ordered) - 1) // 2
    placed = {middle: ordered[middle]}
    for way in (range(middle - 1, -1, -1), range(middle + 1, len(ordered))):
        neighbour = ordered[middle]
        for place in way:
            motion = known.motions[ordered[place].number]
            small = None if motion is None else motion.enlarged(1 / factor)
            neighbour = placed[place] = _moved(neighbour, ordered[place], reading, small)
    dropped = [(f.number, "the alignment leaves it out") for f in frames if f.number not in known.positions]
    return [placed[place] for place in sorted(placed)], dropped, _describe(list(placed.values()))


def _around(frames: list[Frame], middle: int, reading: Reading, progress: Progress) -> list[Frame]:
    """Return the frames that fit to one of them, laid on it from neighbour to neighbour."""
    placed: dict[int, Frame] = {middle: frames[middle]}
    done = 0
    for way in (range(middle - 1, -1, -1), range(middle + 1, len(frames))):
        neighbour = frames[middle]
        for place in way:
            done += 1
            with suppress(AlignmentError):  # the next one is laid on the last that did fit
                neighbour = placed[place] = _laid_on(neighbour, frames[place], reading)
            progress(0.5 + 0.5 * done / max(1, len(frames) - 1))
    return [placed[place] for place in sorted(placed)]


def _laid_on(neighbour: Frame, frame: Frame, reading: Reading) -> Frame:
    motion, blur = None, RoughBlur()
    if reading.align != "off":
        both = neighbour.usable & frame.usable
        motion = find_motion(neighbour.small, frame.small, both, model=reading.align, blur=blur)
    return _moved(neighbour, frame, reading, motion, blur)


def _moved(
    neighbour: Frame, frame: Frame, reading: Reading, motion: Motion | None, blur: RoughBlur | None = None
) -> Frame:
    """Return a frame moved, with the exposure of its neighbour."""
    shape = (frame.small.shape[0], frame.small.shape[1])
    small, usable, inside = frame.small, frame.usable, frame.inside
    if motion is not None:
        small = motion.resample(small).astype(np.float32, copy=False)
        seen = motion.inside(shape)
        usable = seen & ~motion.resample_map(~usable)
        inside = seen if inside is None else seen & ~motion.resample_map(~inside)
    exposure = None
    if reading.exposure != "off":
        both = neighbour.usable & usable
        exposure = find_exposure(neighbour.small, small, both, field=FIELD_FOR[reading.exposure], blur=blur)
        small = exposure.apply(small)
    return replace(frame, small=small, usable=usable, motion=motion, exposure=exposure, inside=inside)


def _describe(frames: Sequence[Frame]) -> list[str]:
    motions = [frame.motion for frame in frames if frame.motion is not None]
    gains = [float(np.mean(frame.exposure.gain)) for frame in frames if frame.exposure and frame.exposure.changes]
    notes = []
    if motions:
        moved = [motion.largest_px for motion in motions if motion.moves]
        scales = [float(np.sqrt(abs(np.linalg.det(motion.transform[:2, :2])))) for motion in motions]
        notes.append(
            f"alignment: {len(moved)} of {len(motions) + 1} frames moved, by up to {max(moved):.2f} px, scales "
            f"{min(scales):.4f} to {max(scales):.4f}"
            if moved
            else "alignment: already aligned"
        )
    if gains:
        notes.append(f"exposure: {len(gains)} frames multiplied by {min(gains):.4f} to {max(gains):.4f}")
    return notes
