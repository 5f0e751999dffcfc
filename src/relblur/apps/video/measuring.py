"""Measure the blur of pairs of frames: alignment, exposure, :class:`relblur.Stream`, smoothing, in this order.

Alignment and exposure are measured on the first pair as for photographs (:mod:`relblur.photo`), and undone in the
second frame of every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...base._typing import AnyArray
from ...base.arguments import as_choice, times
from ...base.errors import AlignmentError, InputError
from ...base.settings import ALIGN_MODELS, EXPOSURES, FLAT_ABOVE, MAX_SIGMA, WINDOW_WINDOW
from ...base.tone import TOP
from ...blur.blur_map import BlurMap, Flag, mark
from ...blur.request import side_of
from ...blur.window.method import LINEAR_BELOW
from ...blur.window.stream import Stream
from ...photo.alignment import Motion, find_motion
from ...photo.exposure import FIELD_FOR, Exposure, find_exposure
from .clip import Frame
from .light import WIDENING
from .smoothing import TemporalFilter

__all__ = ["MeasuredFrame", "Settings", "VideoMeter"]

#: Change of the noise (factor) that requires a new stream, which takes about 10 ms.
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
    smooth_s: float = 0.0
    noise: float | None = None

    def __post_init__(self) -> None:
        as_choice(self.align, "align", (*ALIGN_MODELS, "off"))
        as_choice(self.exposure, "exposure", EXPOSURES)


@dataclass(frozen=True, eq=False)
class MeasuredFrame:
    """A pair of frames and its blur map.

    Attributes
    ----------
    index : int
        Number of the pair, from 0.
    first, second : Frame
        The frames of the two sources.
    blur_map : BlurMap
        Overwritten by the next pair: use :meth:`relblur.BlurMap.copy` to keep it.
    """

    index: int
    first: Frame
    second: Frame
    blur_map: BlurMap


class VideoMeter:
    """Measure pairs of frames of one size.

    Parameters
    ----------
    settings : Settings
    notify : callable, optional
        Called with a message on the motion and one on the exposure of the first pair.
    """

    def __init__(self, settings: Settings | None = None, notify: Callable[[str], None] | None = None) -> None:
        self.settings = Settings() if settings is None else settings
        self._notify = notify or (lambda _text: None)

    def measure(self, pairs: Iterable[tuple[Frame, Frame]]) -> Iterator[MeasuredFrame]:
        """Measure pairs in their order and yield the results."""
        settings, stream, stream_noise = self.settings, None, 0.0
        smooth = TemporalFilter(settings.smooth_s) if settings.smooth_s else None
        change: _Change | None = None
        try:
            for index, (first, second) in enumerate(pairs):
                one, two = (times(frame.light.shape[::-1]) for frame in (first, second))
                if one != two:
                    raise InputError(f"the frames differ in size: {one} and {two}; crop or scale one of the sources")
                change = change or self._measure_change(first, second)
                noise = settings.noise or max(first.noise, second.noise, 1e-6)
                if stream is None or not 1 / NOISE_FACTOR < noise / stream_noise < NOISE_FACTOR:
                    if stream is not None:
                        stream.close()
                    stream_noise, stream = (
                        noise,
                        Stream(
                            first.light.shape,
                            sharper=settings.sharper,
                            window=settings.window,
                            max_sigma=settings.max_sigma,
                            noise=noise,
                            valid=None if change.motion is None else change.motion.inside(first.light.shape[:2]),
                        ),
                    )
                blur_map = stream.process(first.light, change.undo(second.light))
                if first.lossy or second.lossy:
                    blur_map = widened(blur_map, WIDENING)
                if smooth is not None:
                    blur_map = smooth.update(blur_map, first.time_s)
                yield MeasuredFrame(index, first, second, blur_map)
        finally:
            if stream is not None:
                stream.close()

    def _measure_change(self, first: Frame, second: Frame) -> _Change:
        """Measure motion and exposure of the second frame."""
        usable = (first.light != TOP) & (second.light != TOP)
        if not usable.any():
            raise AlignmentError("the frames are entirely white; choose a later --start")
        one, two = (frame.light[:, :, None] / np.float64(TOP) for frame in (first, second))
        motion = exposure = None
        if self.settings.align != "off":
            try:
                motion = find_motion(one, two, usable, model=self.settings.align)
            except AlignmentError as error:
                raise AlignmentError(
                    f"at frames {first.number} and {second.number}: {error}, or choose another --start"
                ) from None
            self._notify(f"alignment: {motion.describe(usable.shape)}")
            if motion.moves:
                usable = usable & motion.inside(usable.shape) & ~motion.resample_map(second.light == TOP)
                two = motion.resample(two)
        if self.settings.exposure != "off":
            exposure = find_exposure(one, two, usable, field=FIELD_FOR[self.settings.exposure])
            self._notify(f"exposure: {exposure.describe()}")
        return _Change(
            motion if motion is not None and motion.moves else None,
            exposure if exposure is not None and exposure.changes else None,
        )


@dataclass(frozen=True, eq=False)
class _Change:
    """Motion and exposure of the second frames relative to the first."""

    motion: Motion | None
    exposure: Exposure | None

    def undo(self, light: AnyArray) -> AnyArray:
        """Return a second frame without its motion and exposure.

        The resampling is nearly ideal. The splines of a calibrated stream are faster, but increase s.
        """
        if self.motion is None and self.exposure is None:
            return light
        clipped = light == TOP
        values = light.astype(np.float32)[:, :, None] / np.float32(TOP)
        if self.motion is not None:
            values, clipped = self.motion.resample(values), self.motion.resample_map(clipped)
        if self.exposure is not None:
            values = self.exposure.apply(values)
        result = np.rint(values[:, :, 0] * np.float32(TOP)).clip(0, TOP).astype(np.uint16)
        result[clipped] = TOP
        return result


def widened(blur_map: BlurMap, factor: float) -> BlurMap:
    """Multiply the standard errors of a map by a factor; pixels that become too uncertain are flagged flat."""
    s, stderr = blur_map.variance_difference.copy(), blur_map.variance_stderr * np.float32(factor)
    flags = blur_map.flags.copy()
    flat = stderr > FLAT_ABOVE * np.hypot(s, np.float32(LINEAR_BELOW))
    mark(flags, flat, Flag.FLAT)
    s[flat], stderr[flat] = np.nan, np.nan
    settings = {**blur_map.settings, "stderr_widened_by": factor}
    return BlurMap.of_views(s, stderr, flags, side_of(s, stderr), settings)
