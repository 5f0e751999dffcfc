"""Measure the blur of pairs of frames: alignment, noise, :class:`relblur.Stream`, smoothing, in this order.

Alignment and exposure are measured on the first pair as for photographs (:mod:`relblur.photo`), and optionally again
after every ``track`` pairs. They are undone in the second frame of every pair.

:meth:`VideoMeter.measure` is a generator of maps, which are written to files or shown by the viewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray
from ...base.arguments import as_choice, as_positive, times
from ...base.errors import AlignmentError, InputError
from ...base.settings import ALIGN_MODELS, EXPOSURES, FLAT_ABOVE, MAX_SIGMA, SIDES, WINDOW_WINDOW
from ...blur.blur_map import BlurMap, Flag, mark
from ...blur.request import side_of
from ...blur.window.method import LINEAR_BELOW
from ...blur.window.stream import Stream
from ...photo.alignment import Motion, find_motion
from ...photo.exposure import FIELD_FOR, Exposure, find_exposure
from .clip import Frame
from .light import TOP, WIDENING
from .smoothing import TemporalFilter

__all__ = ["MeasuredFrame", "Registration", "Settings", "VideoMeter", "find_registration"]

#: With ``align="auto"``, motion below this everywhere is not undone, px: it changes s by less than 0.01 px^2, and
#: resampling would take longer than the measurement.
LEAVE_BELOW_PX = 0.1


@dataclass(frozen=True, eq=False)
class Registration:
    """Motion and exposure of the second frames relative to the first, to be undone."""

    motion: Motion | None = None
    exposure: Exposure | None = None

    @property
    def changes(self) -> bool:
        """Whether second frames are changed."""
        return self._moves or self._exposes

    @property
    def _moves(self) -> bool:
        return self.motion is not None and self.motion.moves

    @property
    def _exposes(self) -> bool:
        return self.exposure is not None and self.exposure.changes

    def valid(self, shape: tuple[int, int]) -> BoolArray | None:
        """Return the mask of pixels inside both frames; None if all are."""
        return self.motion.inside(shape) if self.motion is not None and self.motion.moves else None

    def apply(self, light: AnyArray) -> AnyArray:
        """Return a second frame with its motion and exposure undone."""
        if not self.changes:
            return light
        clipped = light == TOP
        values = light.astype(np.float32)[:, :, None] / np.float32(TOP)
        if self.motion is not None and self.motion.moves:
            values = self.motion.resample(values)
            clipped = self.motion.resample_map(clipped)
        if self.exposure is not None and self.exposure.changes:
            values = self.exposure.apply(values)
        result = np.rint(values[:, :, 0] * np.float32(TOP)).clip(0, TOP).astype(np.uint16)
        result[clipped] = TOP
        return result

    def describe(self, shape: tuple[int, int]) -> list[str]:
        """Return one line each for motion and exposure."""
        lines = []
        if self.motion is not None:
            lines.append(f"alignment: {self.motion.describe(shape)}")
        if self.exposure is not None:
            lines.append(f"exposure: {self.exposure.describe()}")
        return lines


def find_registration(first: AnyArray, second: AnyArray, *, align: str, exposure: str) -> Registration:
    """Measure motion and exposure of the second of two frames of light relative to the first.

    Raises
    ------
    AlignmentError
        If they do not show the same scene.
    """
    usable = (first != TOP) & (second != TOP)
    if not usable.any():
        raise AlignmentError("the frames are white all over; begin at a time with a picture, with --start")
    one, two = (_unit(frame) for frame in (first, second))
    motion = change = None
    if align != "off":
        motion = find_motion(one, two, usable, model=align)
        if align == "auto" and motion.largest_px < LEAVE_BELOW_PX:
            motion = Motion(np.eye(3), "none", motion.largest_px, motion.correlation)
        if motion.moves:
            usable = usable & motion.inside(usable.shape) & ~motion.resample_map(second == TOP)
            two = motion.resample(two)
    if exposure != "off":
        change = find_exposure(one, two, usable, field=FIELD_FOR[exposure])
    return Registration(motion, change)


def _unit(frame: AnyArray) -> FloatArray:
    return frame[:, :, None] / np.float64(TOP)


#: Change of the noise (factor) at which a new stream is made, which takes about 10 ms.
NOISE_FACTOR = 1.25


@dataclass(frozen=True)
class Settings:
    """Options of the measurement of a clip.

    Attributes
    ----------
    sharper, window, max_sigma
        As in :class:`relblur.Stream`.
    align, exposure : str
        As in :func:`relblur.prepare_pair`.
    track : int
        Number of pairs after which alignment and exposure are measured again; 0: on the first pair only.
    smooth_s : float
        Memory of the temporal filter, s; 0: no filter.
    noise : float, optional
        Standard deviation of the noise of the frames on a scale of 0..1; by default that of rounding and codec.
    """

    sharper: str = "auto"
    window: int = WINDOW_WINDOW
    max_sigma: float = MAX_SIGMA
    align: str = "auto"
    exposure: str = "auto"
    track: int = 0
    smooth_s: float = 0.0
    noise: float | None = None

    def __post_init__(self) -> None:
        as_choice(self.sharper, "sharper", SIDES)
        as_choice(self.align, "align", (*ALIGN_MODELS, "off"))
        as_choice(self.exposure, "exposure", EXPOSURES)
        if self.noise is not None:
            as_positive(self.noise, "noise", "(on a scale of 0..1)")
        if self.track < 0:
            raise InputError(f"track must be 0 (once) or a number of frames, got {self.track}")
        if not 0 <= self.smooth_s < 1e6:
            raise InputError(f"smooth must be 0 or a number of seconds, got {self.smooth_s:g}")


@dataclass(frozen=True, eq=False)
class MeasuredFrame:
    """A pair of frames and its blur map.

    Attributes
    ----------
    index : int
        Number of the pair, from 0.
    first, second : Frame
        The frames of the two sources.
    second_light : (H, W) uint16
        The second frame with its motion and exposure undone.
    blur_map : BlurMap
        Overwritten by the next pair: use :meth:`relblur.BlurMap.copy` to keep it.
    """

    index: int
    first: Frame
    second: Frame
    second_light: AnyArray
    blur_map: BlurMap


class VideoMeter:
    """Measure pairs of frames of one size.

    Parameters
    ----------
    settings : Settings
    tell : callable, optional
        Called with each note, such as the measured motion or a warning.
    """

    def __init__(self, settings: Settings | None = None, tell: Callable[[str], None] | None = None) -> None:
        self.settings = Settings() if settings is None else settings
        self._tell = tell or (lambda _text: None)
        self._filter = TemporalFilter(self.settings.smooth_s) if self.settings.smooth_s else None
        self._registration: Registration | None = None
        self._stream: Stream | None = None
        self._noise = 0.0
        self.lost_track = 0

    def measure(self, pairs: Iterable[tuple[Frame, Frame]]) -> Iterator[MeasuredFrame]:
        """Measure pairs in their order and yield the results."""
        try:
            for index, (first, second) in enumerate(pairs):
                _check_sizes(first, second)
                self._register(index, first, second)
                assert self._registration is not None
                moved = self._registration.apply(second.light)
                stream = self._stream_for(first, second)
                blur_map = stream.process(first.light, moved)
                if first.lossy or second.lossy:
                    blur_map = widened(blur_map, WIDENING)
                if self._filter is not None:
                    blur_map = self._filter.update(blur_map, first.time_s)
                yield MeasuredFrame(index, first, second, moved, blur_map)
        finally:
            self.close()

    def _register(self, index: int, first: Frame, second: Frame) -> None:
        previous = self._registration
        if previous is not None and not (self.settings.track and index % self.settings.track == 0):
            return
        align, exposure = self.settings.align, self.settings.exposure
        try:
            current = find_registration(first.light, second.light, align=align, exposure=exposure)
        except AlignmentError as error:
            if previous is None:
                raise AlignmentError(
                    f"at frames {first.number} and {second.number}: {error}, or begin elsewhere with --start"
                ) from None
            self.lost_track += 1
            return
        self._registration = current
        shape = (first.light.shape[0], first.light.shape[1])
        if previous is None:
            for line in current.describe(shape):
                self._tell(line)
        if previous is None or previous.changes or current.changes:
            self._drop_stream()

    def _stream_for(self, first: Frame, second: Frame) -> Stream:
        """Return a stream whose noise is that of these frames, within ``NOISE_FACTOR``."""
        noise = self.settings.noise or max(first.noise, second.noise, 1e-6)
        if self._stream is not None and 1 / NOISE_FACTOR < noise / self._noise < NOISE_FACTOR:
            return self._stream
        self._drop_stream()
        assert self._registration is not None
        shape = (first.light.shape[0], first.light.shape[1])
        chosen = self.settings
        self._stream = Stream(
            shape,
            sharper=chosen.sharper,
            window=chosen.window,
            max_sigma=chosen.max_sigma,
            noise=noise,
            valid=self._registration.valid(shape),
            tell=self._tell,
        )
        self._noise = noise
        return self._stream

    def _drop_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def close(self) -> None:
        """End the threads of the stream."""
        self._drop_stream()


def widened(blur_map: BlurMap, factor: float) -> BlurMap:
    """Multiply the standard errors of a map by a factor; pixels that become too uncertain are flagged flat."""
    s, stderr = blur_map.variance_difference.copy(), blur_map.variance_stderr * np.float32(factor)
    flags = blur_map.flags.copy()
    flat = stderr > FLAT_ABOVE * np.hypot(s, np.float32(LINEAR_BELOW))
    mark(flags, flat, Flag.FLAT)
    s[flat], stderr[flat] = np.nan, np.nan
    settings = {**blur_map.settings, "stderr_widened_by": factor}
    return BlurMap.of_views(s, stderr, flags, side_of(s, stderr), settings)


def _check_sizes(first: Frame, second: Frame) -> None:
    one, two = (times(frame.light.shape[::-1]) for frame in (first, second))
    if one != two:
        raise InputError(
            f"the frames differ in size: the first source has {one}, the second {two}; crop or scale one of them"
        )
