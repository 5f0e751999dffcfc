"""Correction for a rig: two cameras, or two focus settings, with the same misalignment and gain in every frame.

Misalignment and gain are measured on one pair of frames (:func:`relblur.align`, :func:`relblur.match_exposure`). They
are undone in the second frame of every pair of a :class:`~relblur.Stream`. A shift is a filter along both axes. Other
affine motions are interpolated by cubic splines in compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray
from ...base.arguments import shape_of
from ...base.errors import InputError
from ...base.pixels import clipped_pixels, full_scale, without_gaps
from ...filters.resampling import positions, resample_nearest
from ...kernels.compiled import kernels
from ...kernels.threads import Team

__all__ = ["Correction", "Rig", "read_calibration"]

#: Largest displacement by scale and rotation of a motion that counts as a shift, px.
SHIFT_WITHIN_PX = 1e-3
#: Largest shift that is not undone, px.
STILL_WITHIN_PX = 1e-4

#: Number of taps and Kaiser parameter of the filter for shifts by a part of a pixel: its error in s is 0.001 px^2.
SHIFT_TAPS, SHIFT_BETA = 24, 8.0

#: Pole of the filter from values to coefficients of cubic splines, and its length: the powers are cut at 1e-6.
_POLE, _POLE_REACH = np.sqrt(3.0) - 2, 10

#: Margin of mirrored coefficients around the frame, px: the reach of a cubic spline beyond the border.
_SPLINE_PAD = 2
#: Number of rows that a thread processes together.
_WARPED_ROWS = 16

_ADVICE = "pass a result of relblur.align or relblur.match_exposure, or both, calibration=(aligned, matched)"


@dataclass(frozen=True, eq=False)
class Correction:
    """The motion that maps (row, column, 1) of ``first`` to ``second``, and the exposure ``gain * value + offset``."""

    transform: FloatArray
    gain: FloatArray  #: (rows or 1, columns or 1, channels)
    offset: FloatArray  #: (channels,)


def read_calibration(calibration: Any, shape: tuple[int, int, int]) -> Correction:
    """Return the correction from an alignment, an exposure or a 3 x 3 transform, or from several of these."""
    parts = calibration if isinstance(calibration, (tuple, list)) else [calibration]
    transform, gain, offset = np.eye(3), np.ones((1, 1, shape[2])), np.zeros(shape[2])
    for part in parts:
        motion, exposure = getattr(part, "motion", part), getattr(part, "exposure", part)
        matrix = getattr(motion, "transform", part)
        if hasattr(exposure, "apply"):
            gain, offset = _gain_of(exposure, shape)
        elif shape_of(matrix) == (3, 3):
            _check_size(part, shape)
            if getattr(motion, "bend", None) is not None:
                raise InputError("calibration has a bend, which a stream cannot undo; align with model='affine'")
            transform = np.asarray(matrix, np.float64)
        else:
            raise InputError(f"calibration contains a {type(part).__name__}; {_ADVICE}")
    if not (np.isfinite(transform).all() and np.allclose(transform[2], (0, 0, 1))) or np.linalg.det(transform) <= 0:
        raise InputError(f"calibration has a transform that is not affine; {_ADVICE}")
    return Correction(transform, gain, offset)


def _check_size(part: Any, shape: tuple[int, int, int]) -> None:
    size = shape_of(getattr(part, "valid", None))
    if size and size != shape[:2]:
        raise InputError(
            f"calibration was made with frames of {size[0]}x{size[1]}, and this stream takes {shape[0]}x{shape[1]}; "
            "make it with frames of this size"
        )


def _gain_of(exposure: Any, shape: tuple[int, int, int]) -> tuple[FloatArray, FloatArray]:
    try:
        black, white = (np.asarray(exposure.apply(np.full(shape, value)), np.float64) for value in (0.0, 1.0))
        offset, gain = black[0, 0], white - black
    except ValueError:
        raise InputError(f"calibration has an exposure of other channels than {shape[2]}; {_ADVICE}") from None
    if gain.shape != shape or not (gain > 0).all():
        raise InputError(f"calibration has an exposure that does not fit frames of {shape}; {_ADVICE}")
    return (gain[:1, :1] if np.ptp(gain, axis=(0, 1)).max() == 0 else gain), offset


class Rig:
    """A correction for frames of one size. ``undo`` returns the same array each time."""

    def __init__(self, correction: Correction, shape: tuple[int, int, int], team: Team) -> None:
        self._shape = shape
        rows, columns, channels = shape
        self.correction = correction
        row, column = positions(correction.transform, (rows, columns))
        tolerance = 1e-6
        #: Pixels of the first frame inside the second.
        self.inside: BoolArray = np.asarray(
            (row >= -tolerance) & (row <= rows - 1 + tolerance)
            & (column >= -tolerance) & (column <= columns - 1 + tolerance)
        )  # fmt: skip
        if not self.inside.any():
            raise InputError(f"calibration moves the second frame outside the first; {_ADVICE}")
        self._motion = _kind_of(correction.transform, (rows, columns))
        self._gain = np.broadcast_to(correction.gain, (correction.gain.shape[0], columns, channels))
        self._gain = np.ascontiguousarray(self._gain.reshape(len(self._gain), -1), np.float32)
        self._offset = correction.offset.astype(np.float32)
        self._out = np.empty((rows, columns * channels), np.float32)
        self._team = team

    @property
    def nbytes(self) -> int:
        """Memory of its arrays, bytes."""
        return self._out.nbytes + self._gain.nbytes + self.inside.nbytes

    def undo(self, frame: AnyArray) -> AnyArray:
        """Transform a finite (rows, columns x channels) second frame to the view and exposure of the first, float32."""
        rows, columns, channels = self._shape
        values = frame.reshape(rows, columns, channels)
        if values.dtype == np.float64:
            values = values.astype(np.float32)
        unit = 1 / (full_scale(frame.dtype) or 1)
        if self._motion == "affine":
            self._read_splines(values, unit)
            return self._out
        if self._motion == "shift":
            values, unit = _shifted(values, self.correction.transform[:2, 2], unit), 1.0
        np.multiply(values.reshape(rows, -1), self._gain * np.float32(unit), out=self._out)
        if self._offset.any():
            self._out += np.tile(self._offset, columns)
        return self._out

    def undo_all(self, frame: AnyArray, bad: BoolArray | None) -> tuple[AnyArray, BoolArray | None, BoolArray | None]:
        """Transform a second frame; return it with the pixels that bad and clipped pixels influence (None: none)."""
        planes = frame.reshape(self._shape)
        if frame.dtype.kind == "f" and not np.isfinite(frame.sum(dtype=np.float64)):
            gaps: BoolArray = np.asarray(~np.isfinite(planes).all(axis=2))
            bad = gaps if bad is None else bad | gaps
        clipped = clipped_pixels(planes)
        if bad is not None:
            if bad.all():
                raise InputError("second has no usable pixel; all are masked or not finite")
            frame = np.ascontiguousarray(without_gaps(planes, ~bad)).reshape(frame.shape)
        return self.undo(frame), self._undo_map(bad), self._undo_map(clipped)

    def _undo_map(self, bad: BoolArray | None) -> BoolArray | None:
        import cv2

        if bad is None or not bad.any():
            return None
        if self._motion == "still":
            return bad
        wide = cv2.dilate(bad.view(np.uint8), np.ones((5, 5), np.uint8))
        return np.asarray(resample_nearest(wide, self.correction.transform) > 0)

    def _read_splines(self, values: AnyArray, unit: float) -> None:
        import cv2

        taps = _spline_taps()
        coefficients = cv2.sepFilter2D(values, cv2.CV_32F, unit * taps, taps, borderType=cv2.BORDER_REFLECT_101)
        pad = _SPLINE_PAD
        padded = cv2.copyMakeBorder(coefficients, pad, pad, pad, pad, cv2.BORDER_REFLECT_101)
        padded = padded.reshape(padded.shape[0], -1)
        transform = np.ascontiguousarray(self.correction.transform[:2])

        def warp(top: int) -> None:
            rows = self._out[top : top + _WARPED_ROWS]
            kernels().warp(padded, transform, self._gain, self._offset, top, rows)

        self._team.each(warp, range(0, len(self._out), _WARPED_ROWS))


def _kind_of(transform: FloatArray, size: tuple[int, int]) -> str:
    still = np.abs(transform[:2, :2] - np.eye(2)) @ np.array(size)
    if still.max() > SHIFT_WITHIN_PX:
        return "affine"
    return "still" if np.abs(transform[:2, 2]).max() < STILL_WITHIN_PX else "shift"


def _spline_taps() -> FloatArray:
    """Return the filter from values to coefficients of cubic splines (Unser 1999), normalised to a sum of 1."""
    taps = _POLE ** np.abs(np.arange(-_POLE_REACH, _POLE_REACH + 1))
    return np.asarray(taps / taps.sum())


def _shifted(values: AnyArray, shift: AnyArray, unit: float) -> AnyArray:
    """Shift (rows, columns, channels) by (rows, columns) px with a windowed sinc, and multiply the values by ``unit``.

    Beyond the frame the last pixel is repeated.
    """
    import cv2

    whole = np.floor(shift).astype(int)
    taps = [_sinc_taps(float(part)) for part in shift - whole]
    middle = SHIFT_TAPS // 2 - 1
    moved = cv2.sepFilter2D(
        values, cv2.CV_32F, unit * taps[1], taps[0], anchor=(middle, middle), borderType=cv2.BORDER_REFLECT_101
    )
    (rows, columns), (down, right) = values.shape[:2], whole
    kept = moved[max(down, 0) : rows + min(down, 0), max(right, 0) : columns + min(right, 0)]
    around = (max(-down, 0), max(down, 0), max(-right, 0), max(right, 0))
    return np.asarray(cv2.copyMakeBorder(kept, *around, cv2.BORDER_REPLICATE)).reshape(values.shape)


def _sinc_taps(part: float) -> FloatArray:
    """Return the filter that interpolates at a fraction of a pixel, 0 to 1, after the middle tap."""
    away = np.arange(SHIFT_TAPS) - (SHIFT_TAPS // 2 - 1) - part
    window = np.i0(SHIFT_BETA * np.sqrt(np.maximum(1 - (2 * away / SHIFT_TAPS) ** 2, 0)))
    taps = np.sinc(away) * window
    return np.asarray(taps / taps.sum())
