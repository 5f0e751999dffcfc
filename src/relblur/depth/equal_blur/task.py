"""What the matching is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from ..camera import Camera
from ..psf import Psf

__all__ = ["NOISE_FLOOR", "MatchTask"]

#: Evens out the noise over the frequencies (see :mod:`.candidates`); 0.1 to 1 do equally well.
NOISE_FLOOR = 0.3


@dataclass(frozen=True)
class MatchTask:
    """Where to look for depth, and how; checked.

    Attributes
    ----------
    u_range : (float, float)
        Inverse distances to look at, low and high, 1/m.
    side : {"behind", "front"}
        For two apertures: the side of the focal plane.
    noise : (float, float), optional
        Standard deviations of the noise of first and second, if known.
    window : int
        Side of the square that must determine a pixel's depth, else it counts as filled.
    """

    camera: Camera
    psf: Psf
    u_range: tuple[float, float]
    side: str
    noise: tuple[float, float] | None
    window: int
    floor: float = NOISE_FLOOR
