"""Retouching: brush strokes that replace a region of the fused picture by one frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from ...base._typing import AnyArray, FloatArray, Progress, UInt8Array
from ...base.errors import InputError

__all__ = ["Painting", "Stroke", "labels_with", "painted"]

Box = tuple[int, int, int, int]

#: Limits of requests: points of a stroke, strokes of a picture, radius in px.
MOST_POINTS, MOST_STROKES, LARGEST_PX = 5000, 2000, 2000.0
#: Maximum memory of the undo history, bytes.
_UNDO_BYTES = 400_000_000
#: Standard deviation of the soft edge of the brush, as a fraction of its radius; the weight at the radius is 1/2.
_SOFT = 0.2


@dataclass(frozen=True)
class Stroke:
    """A stroke of a round brush: position of the frame in the order of focus, radius and (x, y) points in px."""

    frame: int
    radius: float
    points: tuple[tuple[float, float], ...]

    @classmethod
    def from_form(cls, form: Mapping[str, Any], frames: Sequence[int]) -> Stroke:
        """Return the stroke in a request; ``frames`` are the valid positions."""
        frame, radius, points = form.get("frame"), form.get("radius"), form.get("points")
        if not isinstance(frame, int) or frame not in frames:
            raise InputError(f"frame must be one of {frames[0]} to {frames[-1]}, got {str(frame)[:40]!r}")
        if not _is_number(radius) or not 0.5 <= radius <= LARGEST_PX:
            raise InputError(f"radius must be from 0.5 to {LARGEST_PX:g} px, got {str(radius)[:40]!r}")
        if not isinstance(points, list) or not 1 <= len(points) <= MOST_POINTS:
            raise InputError(f"points must be a list of 1 to {MOST_POINTS} pairs of numbers")
        if not all(isinstance(each, list) and len(each) == 2 and all(map(_is_number, each)) for each in points):
            raise InputError("each point must be a pair of numbers, column and row in px of the images")
        return cls(frame, float(radius), tuple((float(x), float(y)) for x, y in points))

    def weight(self, shape: tuple[int, ...]) -> tuple[Box, FloatArray] | None:
        """Return a box (left, top, right, bottom) of an image and the weight 0..1 in it; None outside the image."""
        import cv2

        reach = self.radius * (1 + 3 * _SOFT) + 2
        xs, ys = zip(*self.points, strict=True)
        left, top = (max(0, math.floor(min(each) - reach)) for each in (xs, ys))
        right, bottom = (min(side, math.ceil(max(each) + reach)) for each, side in ((xs, shape[1]), (ys, shape[0])))
        if left >= right or top >= bottom:
            return None
        drawn = np.zeros((bottom - top, right - left), np.uint8)
        # Centres of pixels are at integers in OpenCV, at half-integers in the page.
        line = np.rint(np.array((self.points[0], *self.points)) - (left + 0.5, top + 0.5)).astype(np.int32)
        cv2.polylines(drawn, [line.reshape(-1, 1, 2)], False, 255, max(1, round(2 * self.radius)))
        soft = cv2.GaussianBlur(drawn.astype(np.float32) / 255, (0, 0), max(0.3, _SOFT * self.radius))
        return (left, top, right, bottom), np.asarray(soft)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e6


def painted(
    light: AnyArray, strokes: Sequence[Stroke], frame_of: Callable[[int], AnyArray], progress: Progress
) -> AnyArray:
    """Return a picture (H, W, C) with strokes; ``frame_of`` returns the frame at a position, at full size."""
    result = light.copy()
    for number, stroke in enumerate(strokes):
        _paint(result, stroke, frame_of(stroke.frame))
        progress((number + 1) / len(strokes))
    return result


def labels_with(labels: AnyArray, strokes: Sequence[Stroke]) -> AnyArray:
    """Return labels (the position of the frame for every pixel) with strokes."""
    result = labels.copy()
    for stroke in strokes:
        weighted = stroke.weight(labels.shape)
        if weighted is not None:
            (left, top, right, bottom), weight = weighted
            result[top:bottom, left:right][weight >= 0.5] = stroke.frame
    return result


def _paint(picture: AnyArray, stroke: Stroke, frame: AnyArray) -> Box | None:
    weighted = stroke.weight(picture.shape)
    if weighted is None:
        return None
    box, weight = weighted
    area = (slice(box[1], box[3]), slice(box[0], box[2]))
    mixed = picture[area] + weight[:, :, None] * (frame[area].astype(np.float32) - picture[area])
    picture[area] = np.rint(mixed) if picture.dtype == np.uint8 else mixed
    return box


class Painting:
    """The fused picture for display, with an undo history of strokes."""

    def __init__(self, light: AnyArray, shown: UInt8Array) -> None:
        self.light = light  #: fused picture without strokes
        self.shown = shown.copy()
        self.strokes: list[Stroke] = []
        self._before: list[tuple[Box, UInt8Array] | None] = []

    def paint(self, stroke: Stroke, frame: UInt8Array) -> Box | None:
        """Add a stroke; return the changed box."""
        if len(self.strokes) >= MOST_STROKES:
            raise InputError(f"there are {MOST_STROKES} strokes; save the picture, or undo some")
        weighted = stroke.weight(self.shown.shape)
        before = None if weighted is None else (weighted[0], _area(self.shown, weighted[0]).copy())
        _paint(self.shown, stroke, frame)
        self.strokes.append(stroke)
        self._before.append(before)
        while sum(each[1].nbytes for each in self._before if each is not None) > _UNDO_BYTES:
            self._before.pop(0)
        return None if before is None else before[0]

    def undo(self) -> Box | None:
        """Remove the last stroke; return the changed box."""
        if not self.strokes:
            raise InputError("there is no stroke to undo")
        if not self._before:
            raise InputError("older strokes cannot be undone one by one; fuse again to remove all")
        self.strokes.pop()
        before = self._before.pop()
        if before is None:
            return None
        box, patch = before
        _area(self.shown, box)[...] = patch
        return box


def _area(picture: UInt8Array, box: Box) -> UInt8Array:
    return picture[box[1] : box[3], box[0] : box[2]]
