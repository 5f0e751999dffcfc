"""What the matching is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from ...base._typing import FloatArray
from ..camera import Camera
from ..psf import Psf

__all__ = ["NOISE_FLOOR", "MatchTask", "TaskNoise"]

#: Evens out the noise over the frequencies (see :mod:`.candidates`); 0.1 to 1 do equally well.
NOISE_FLOOR = 0.3


@dataclass(frozen=True, eq=False)
class TaskNoise:
    """Standard deviations of the noise of (first, second), None if unknown, and where it is more or less than those.

    ``relative_variance`` is its variance at each pixel over the mean; None: the same everywhere. Noise that
    ``repeats`` from pixel to pixel, as compression's does, is not averaged away.
    """

    deviations: tuple[float, float] | None = None
    relative_variance: FloatArray | None = None
    repeats: bool = False


@dataclass(frozen=True, eq=False)
class MatchTask:
    """Where to look for depth, and how; checked.

    Attributes
    ----------
    u_range : (float, float)
        Inverse distances to look at, low and high, 1/m.
    side : {"behind", "front"}
        For two apertures: the side of the focal plane.
    noise : TaskNoise
        What is known of the noise.
    window : int
        Side of the square that must determine a pixel's depth, else it counts as filled.
    """

    camera: Camera
    psf: Psf
    u_range: tuple[float, float]
    side: str
    noise: TaskNoise
    window: int
    floor: float = NOISE_FLOOR
