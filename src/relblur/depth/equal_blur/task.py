"""Options of the matching."""

from __future__ import annotations

from dataclasses import dataclass

from ...base._typing import FloatArray
from ..camera import Camera
from ..psf import Psf

__all__ = ["MatchTask", "TaskNoise"]


@dataclass(frozen=True, eq=False)
class TaskNoise:
    """Noise of the images, as far as it is known."""

    deviations: tuple[float, float] | None = None  #: standard deviations of (first, second); None: unknown
    relative_variance: FloatArray | None = None  #: variance at each pixel over the mean; None: the same everywhere
    repeats: bool = False  #: correlated between pixels, as after compression: averaging does not remove it


@dataclass(frozen=True, eq=False)
class MatchTask:
    """Checked options of the matching."""

    camera: Camera
    psf: Psf
    u_range: tuple[float, float]  #: inverse distances of the search, low and high, 1/m
    side: str  #: "behind" or "front": for two apertures, the side of the focal plane
    noise: TaskNoise
    window: int  #: side of the square that must determine a pixel's depth, else it counts as filled
