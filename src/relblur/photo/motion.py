"""``Motion``: the map from pixels of one photograph to positions in the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..filters.resampling import Bend, positions, resample, resample_nearest

__all__ = ["Motion", "farthest"]

#: Number of rows that are resampled together with a bend: limits the memory for positions.
_ROWS = 256


@dataclass(frozen=True, eq=False)
class Motion:
    """The position in ``second`` of each pixel of ``first``.

    Attributes
    ----------
    transform : (3, 3) array
        Maps ``(row, column, 1)`` in ``first`` to ``(row, column, 1)`` in ``second``.
    model : str
        ``"none"``, ``"translation"``, ``"similarity"``, ``"affine"`` or ``"bent"``.
    largest_px : float
        Largest displacement in the frame, px.
    correlation : float
        Correlation of the aligned images at equal blur; 1 is perfect.
    bend : Bend or None
        A smooth displacement on top of ``transform``.
    left : float or None
        Fraction of the difference at equal blur (root mean square) that remains after ``transform``, on squares of the
        frame to which it was not fitted. A motion with 1 or more is rejected: ``model`` is then ``"none"`` and
        ``largest_px`` that of the rejected motion. None if the motion was not tested.
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
        """Return the motion at the middle of a frame of this shape, in one line."""
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
            text += f", bent by up to {farthest(np.eye(3), shape, self.bend):.1f} px"
        remaining = "" if self.left is None else f", {self.left:.0%} of the difference left"
        return f"{text} ({self.model}){remaining}"

    def bent(self, bend: Bend, shape: tuple[int, int]) -> Motion:
        """Return this motion plus a bend, for a frame of this shape."""
        return replace(self, model="bent", bend=bend, largest_px=farthest(self.transform, shape, bend))

    def enlarged(self, factor: float) -> Motion:
        """Return this motion converted from decimated images (every ``factor``-th pixel) to full-size images."""
        scale: FloatArray = np.diag([factor, factor, 1.0])
        transform = scale @ self.transform @ np.linalg.inv(scale)
        bend = None if self.bend is None else self.bend.enlarged(factor)
        return replace(self, transform=transform, largest_px=factor * self.largest_px, bend=bend)

    def resample(self, image: AnyArray, *, fast: bool = False) -> AnyArray:
        """Return an (H, W, C) image ``second`` resampled to the frame of ``first``.

        ``fast`` interpolates with a Lanczos window of 8 x 8 pixels. It blurs slightly: use it for pictures, not for
        measurements.
        """
        if not self.moves:
            return image
        if fast:
            return self._by_lanczos(image)
        return np.ascontiguousarray(np.moveaxis(resample(np.moveaxis(image, -1, 0), self.transform, self.bend), 0, -1))

    def _by_lanczos(self, image: AnyArray) -> AnyArray:
        import cv2

        if self.bend is None:
            warp = self.transform[[1, 0]][:, [1, 0, 2]]  # OpenCV puts x before y
            flags = cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP
            size = (image.shape[1], image.shape[0])
            moved = cv2.warpAffine(image, warp, size, flags=flags, borderMode=cv2.BORDER_REFLECT)
            return np.asarray(moved).reshape(image.shape)
        out = np.empty_like(image)
        for top in range(0, len(image), _ROWS):
            rows = slice(top, min(top + _ROWS, len(image)))
            down, right = positions(self.transform, (image.shape[0], image.shape[1]), rows, self.bend)
            y, x = (np.broadcast_to(each, out[rows].shape[:2]).astype(np.float32) for each in (down, right))
            read = cv2.remap(image, x, y, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REFLECT)
            out[rows] = np.asarray(read).reshape(out[rows].shape)
        return out

    def resample_map(self, bad: BoolArray) -> BoolArray:
        """Return the pixels in the frame of ``first`` that bad pixels of ``second`` influence."""
        if not self.moves or not bad.any():
            return bad
        import cv2

        wide = cv2.dilate(bad.astype(np.uint8), np.ones((3, 3), np.uint8))
        return np.asarray(resample_nearest(wide, self.transform, self.bend) > 0)

    def inside(self, shape: tuple[int, int]) -> BoolArray:
        """Return a mask of the pixels of ``first`` that lie in the frame of ``second``."""
        room = 1e-6
        if self.bend is None:
            down, right = (_between(self.transform[axis], shape, shape[axis], room) for axis in (0, 1))
            return down & right
        rows, columns = positions(self.transform, shape, bend=self.bend)
        return np.asarray(
            (rows >= -room) & (rows <= shape[0] - 1 + room) & (columns >= -room) & (columns <= shape[1] - 1 + room)
        )


def _between(line: FloatArray, shape: tuple[int, int], length: int, room: float) -> BoolArray:
    """Return where ``line . (row, column, 1)`` lies within 0 and ``length - 1``: an interval of columns in each row."""
    rows, columns = np.arange(shape[0]) * line[0] + line[2], np.arange(shape[1])
    ends = np.stack([-room - rows, length - 1 + room - rows])
    if line[1] == 0:
        return np.broadcast_to(((ends[0] <= 0) & (ends[1] >= 0))[:, None], shape)
    ends = np.sort(ends / line[1], axis=0)
    first, last = np.ceil(ends[0]), np.floor(ends[1])
    return np.asarray((columns >= first[:, None]) & (columns <= last[:, None]))


def farthest(transform: FloatArray, shape: tuple[int, int], bend: Bend | None = None) -> float:
    """Return the largest displacement of a motion in a frame, px, on a grid of 17 x 17 points."""
    rows, columns = (np.linspace(0, n - 1, 17) for n in shape)
    here = np.stack(np.broadcast_arrays(rows[:, None], columns, 1.0))
    moved = np.tensordot(transform, here, 1)[:2] - here[:2]
    return float(np.hypot(*(moved if bend is None else moved + bend.at(rows, columns))).max())
