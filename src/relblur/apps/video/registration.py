"""Alignment and exposure of a clip: found on a pair of frames, undone on all that follow.

A rig stands still, so its misalignment and gain are found once; hand-held or drifting ones are looked at again every
so many frames. What is found is that of single photographs (:mod:`relblur.photo`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray
from ...base.errors import AlignmentError
from ...photo.alignment import Motion, find_motion
from ...photo.exposure import FIELD_FOR, Exposure, find_exposure
from .light import TOP

__all__ = ["Registration", "find_registration"]

#: A motion found unasked that is smaller than this everywhere, px, is left alone: it changes s by less than 0.01 px^2,
#: and undoing it would cost more than measuring.
LEAVE_BELOW_PX = 0.1


@dataclass(frozen=True, eq=False)
class Registration:
    """What to do to every second frame so that it lies on the first and has its exposure."""

    motion: Motion | None = None
    exposure: Exposure | None = None

    @property
    def changes(self) -> bool:
        """False if second frames stay as they are."""
        return self._moves or self._exposes

    @property
    def _moves(self) -> bool:
        return self.motion is not None and self.motion.moves

    @property
    def _exposes(self) -> bool:
        return self.exposure is not None and self.exposure.changes

    def valid(self, shape: tuple[int, int]) -> BoolArray | None:
        """Return which pixels both frames have; None: all."""
        return self.motion.inside(shape) if self.motion is not None and self.motion.moves else None

    def apply(self, light: AnyArray) -> AnyArray:
        """Return a second frame of light as it would be had the first camera taken it."""
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
        """Return a line about each."""
        lines = []
        if self.motion is not None:
            lines.append(f"alignment: {self.motion.describe(shape)}")
        if self.exposure is not None:
            lines.append(f"exposure: {self.exposure.describe()}")
        return lines


def find_registration(first: AnyArray, second: AnyArray, *, align: str, exposure: str) -> Registration:
    """Find what brings the second of two frames of light to the first.

    Raises
    ------
    AlignmentError
        If they do not show the same scene.
    """
    usable = (first != TOP) & (second != TOP)
    if not usable.any():
        raise AlignmentError("the frames are white all over; begin where there is a picture, with --start")
    one, two = (_unit(frame) for frame in (first, second))
    motion = found = None
    if align != "off":
        motion = find_motion(one, two, usable, model=align)
        if align == "auto" and motion.largest_px < LEAVE_BELOW_PX:
            motion = Motion(np.eye(3), "none", motion.largest_px, motion.correlation)
        if motion.moves:
            usable = usable & motion.inside(usable.shape) & ~motion.resample_map(second == TOP)
            two = motion.resample(two)
    if exposure != "off":
        found = find_exposure(one, two, usable, field=FIELD_FOR[exposure])
    return Registration(motion, found)


def _unit(frame: AnyArray) -> FloatArray:
    return frame[:, :, None] / np.float64(TOP)
