"""How a photograph was taken, as far as its EXIF data say: what tells two apertures from two focus settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Shot", "smaller_aperture"]

_F_NUMBER, _FOCAL_LENGTH, _SUBJECT_DISTANCE = 0x829D, 0x920A, 0x9206
#: f-numbers are alike within this factor: half a third of a stop.
_ALIKE_APERTURES = 2 ** (1 / 12)
#: Lengths and distances are the same within this factor: EXIF rounds them.
_ALIKE = 1.005


@dataclass(frozen=True)
class Shot:
    """Aperture, focal length in mm and distance of focus in m."""

    f_number: float
    focal_length_mm: float
    focus_m: float

    @classmethod
    def of(cls, exif: Mapping[int, Any]) -> Shot | None:
        """Return what EXIF says, None unless it says all of it."""
        values = [_positive(exif.get(tag)) for tag in (_F_NUMBER, _FOCAL_LENGTH, _SUBJECT_DISTANCE)]
        return None if None in values else cls(*values)  # type: ignore[arg-type]


def smaller_aperture(first: Shot | None, second: Shot | None) -> Literal["first", "second"] | None:
    """Return which of two photographs has the smaller aperture if nothing else differs, else None."""
    if first is None or second is None:
        return None
    if not _alike(first.focal_length_mm, second.focal_length_mm, _ALIKE):
        return None
    if not _alike(first.focus_m, second.focus_m, _ALIKE) or _alike(first.f_number, second.f_number, _ALIKE_APERTURES):
        return None
    return "first" if first.f_number > second.f_number else "second"


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return number if 0 < number < math.inf else None


def _alike(one: float, two: float, factor: float) -> bool:
    return max(one, two) <= factor * min(one, two)
