"""Where each pixel of one photograph is found in the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..filters.resampling import Bend, positions, resample, resample_nearest

__all__ = ["Motion"]


@dataclass(frozen=True, eq=False)
class Motion:
    """Where each pixel of ``first`` is found in ``second``.

    Attributes
    ----------
    transform : (3, 3) array
        ``(row, column, 1)`` in ``first`` to ``(row, column, 1)`` in ``second``.
    model : str
        ``"none"``, ``"translation"``, ``"similarity"``, ``"affine"`` or ``"bent"``.
    largest_px : float
        The largest displacement in the frame.
    correlation : float
        Of the two once aligned, without their blur difference: 1 is perfect.
    bend : Bend or None
        A smooth displacement on top of ``transform``.
    left : float or None
        Share of the difference at equal blur (root mean square) that ``transform`` leaves on squares of the frame that
        it was not fitted to. A motion that leaves 1 or more is not applied: ``model`` is then ``"none"``, and
        ``largest_px`` that of the rejected motion. None if it was not judged.
    """

    transform: FloatArray
    model: str
    largest_px: float
    correlation: float
    bend: Bend | None = None
    left: float | None = None

    @property
    def moves(self) -> bool:
        """False if ``second`` already lies on ``first``."""
        return self.model != "none"

    def describe(self, shape: tuple[int, int]) -> str:
        """Return in one line what the motion is, at the middle of a frame of this shape."""
        if not self.moves and self.left is not None:
            return (
                f"left as it is: the motion found, up to {self.largest_px:.2f} px, would leave {self.left:.0%} of the "
                "difference; align the pair by other means if it is not aligned"
            )
        if not self.moves:
            return f"already aligned (within {max(self.largest_px, 0.01):.2f} px)"
        middle = np.array([(shape[0] - 1) / 2, (shape[1] - 1) / 2, 1.0])
        down, right = (self.transform @ middle - middle)[:2]
        text = f"second moved by {-down:+.2f} px down, {-right:+.2f} px right"
        if self.model != "translation":
            scale = np.sqrt(abs(np.linalg.det(self.transform[:2, :2])))
            turn = np.degrees(np.arctan2(self.transform[1, 0] - self.transform[0, 1], np.trace(self.transform[:2, :2])))
            text += f", scaled by {1 / scale:.5f}, turned by {turn:+.3f} degrees"
        if self.bend is not None:
            text += f", bent by up to {_farthest(np.eye(3), self.bend, shape):.1f} px"
        judged = "" if self.left is None else f", {self.left:.0%} of the difference left"
        return f"{text} ({self.model}){judged}"

    def bent(self, bend: Bend, shape: tuple[int, int]) -> Motion:
        """Return this motion of a frame with a bend on top of it."""
        return replace(self, model="bent", bend=bend, largest_px=_farthest(self.transform, bend, shape))

    def enlarged(self, factor: float) -> Motion:
        """Return the motion of images of which these hold every ``factor``-th pixel."""
        scale: FloatArray = np.diag([factor, factor, 1.0])
        transform = scale @ self.transform @ np.linalg.inv(scale)
        bend = None if self.bend is None else self.bend.enlarged(factor)
        return replace(self, transform=transform, largest_px=factor * self.largest_px, bend=bend)

    def resample(self, image: AnyArray) -> AnyArray:
        """Return an (H, W, C) image ``second`` as it would look from where ``first`` was taken."""
        if not self.moves:
            return image
        return np.ascontiguousarray(np.moveaxis(resample(np.moveaxis(image, -1, 0), self.transform, self.bend), 0, -1))

    def resample_map(self, bad: BoolArray) -> BoolArray:
        """Return a map of bad pixels of ``second`` in the frame of ``first``: all that they touch."""
        if not self.moves or not bad.any():
            return bad
        import cv2

        wide = cv2.dilate(bad.astype(np.uint8), np.ones((3, 3), np.uint8))
        return np.asarray(resample_nearest(wide, self.transform, self.bend) > 0)

    def inside(self, shape: tuple[int, int]) -> BoolArray:
        """Return which pixels of ``first`` are in the frame of ``second``."""
        rows, columns = positions(self.transform, shape, bend=self.bend)
        room = 1e-6
        return np.asarray(
            (rows >= -room) & (rows <= shape[0] - 1 + room) & (columns >= -room) & (columns <= shape[1] - 1 + room)
        )


def _farthest(transform: FloatArray, bend: Bend, shape: tuple[int, int]) -> float:
    """Return how far a motion moves any point of a frame, looked for on a grid."""
    rows, columns = (np.linspace(0, n - 1, 17) for n in shape)
    here = np.stack(np.broadcast_arrays(rows[:, None], columns, 1.0))
    there = np.tensordot(transform, here, 1)[:2] + bend.at(rows, columns)
    return float(np.hypot(*(there - here[:2])).max())
