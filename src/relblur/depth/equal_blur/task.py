"""Define the options of the matching, and the noise of the images."""

from __future__ import annotations

from dataclasses import dataclass

from ...base._typing import FloatArray
from ..camera import Camera
from ..psf import Psf

__all__ = ["MatchTask", "TaskNoise"]


@dataclass(frozen=True, eq=False)
class TaskNoise:
    """Given noise of the images."""

    deviations: tuple[float, float] | None = None  #: standard deviations of (first, second); None: estimate
    relative_variance: FloatArray | None = None  #: variance at each pixel / mean variance; None: uniform
    repeats: bool = False  #: whether it is correlated between pixels, as after compression


@dataclass(frozen=True, eq=False)
class MatchTask:
    """Checked options of the matching."""

    camera: Camera
    psf: Psf
    u_range: tuple[float, float]  #: inverse distances of the search, low and high, 1/m
    side: str  #: "behind" or "front": for two apertures, the side of the focal plane
    noise: TaskNoise
    window: int  #: side of the square (px) that must determine a pixel's depth; else the pixel is filled
