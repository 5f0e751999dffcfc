"""Options of the matching."""

from __future__ import annotations

from dataclasses import dataclass

from ...base._typing import FloatArray
from ..camera import Camera
from ..psf import Psf

__all__ = ["MatchTask", "TaskNoise"]


@dataclass(frozen=True, eq=False)
class TaskNoise:
    """Standard deviations of the noise of (first, second), None if unknown, and its distribution.

    ``relative_variance`` is its variance at each pixel over the mean; None: the same everywhere. Noise that
    ``repeats`` from pixel to pixel, as compression's does, is not averaged away.
    """

    deviations: tuple[float, float] | None = None
    relative_variance: FloatArray | None = None
    repeats: bool = False


@dataclass(frozen=True, eq=False)
class MatchTask:
    """Checked options of the matching.

    Attributes
    ----------
    u_range : (float, float)
        Inverse distances of the search, low and high, 1/m.
    side : {"behind", "front"}
        For two apertures: the side of the focal plane.
    noise : TaskNoise
    window : int
        Side of the square that must determine a pixel's depth, else it counts as filled.
    """

    camera: Camera
    psf: Psf
    u_range: tuple[float, float]
    side: str
    noise: TaskNoise
    window: int
