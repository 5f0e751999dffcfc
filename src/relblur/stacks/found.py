"""What an estimator of stacks gives back."""

from __future__ import annotations

from dataclasses import dataclass

from ..base._typing import BoolArray, FloatArray

__all__ = ["Found"]


@dataclass(frozen=True)
class Found:
    """The place of best focus at every pixel, on the axis of the frames' own places.

    Attributes
    ----------
    place, stderr : (H, W) float64
    filled : (H, W) bool
        The pixels around say too little: the value comes from farther away.
    at_limit : (H, W) bool
        At an end of what was looked at.
    noise : float
        Standard deviation of the frames' noise.
    """

    place: FloatArray
    stderr: FloatArray
    filled: BoolArray
    at_limit: BoolArray
    noise: float
