"""The distances that a camera can measure, and their resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base._typing import FloatArray
from ..base.arguments import as_positive
from ..base.errors import InputError
from ..base.settings import ASSUMED_STDERR_PX2, MAX_SIGMA
from .camera import Camera
from .relation import Relation

__all__ = [
    "Resolution",
    "decimation_to_reach",
    "inverse_range",
    "openings",
    "resolution_at",
    "resolution_table",
    "working_range_m",
]


def inverse_range(camera: Camera, most_sigma_px: float = MAX_SIGMA) -> tuple[float, float]:
    """Return the range of ``u = 1/z``, low and high, at which the relative blur stays within ``most_sigma_px``."""
    relation = Relation.of(camera)
    most = most_sigma_px**2
    if relation.a == 0:
        low, high = sorted((s - relation.c) / relation.b for s in (-most, most))
    else:
        reach = math.sqrt(most / abs(relation.a))
        low, high = relation.vertex - reach, relation.vertex + reach
    nearest = math.inf if camera.focal_length_mm is None else 990 / camera.focal_length_mm
    return max(low, 0.0), min(high, nearest)


def working_range_m(camera: Camera) -> tuple[float, float]:
    """Return the nearest and farthest distance in m within the default search range of blur; ``inf`` is possible."""
    low, high = inverse_range(camera)
    if not low < high:
        raise InputError(
            f"this camera makes more than {MAX_SIGMA:g} px of relative blur at every distance, too much to measure; "
            "check its fields, or decimate the images more (--decimate, --decimation)"
        )
    return 1 / high, 1 / low if low > 0 else math.inf


def decimation_to_reach(camera: Camera, depths_m: Sequence[float]) -> int:
    """Return the least decimation factor for which the blur at these distances is within the search."""
    u = 1 / np.asarray(depths_m, dtype=np.float64)
    blur = math.sqrt(float(np.abs(Relation.of(camera).s(u)).max()))
    return max(1, math.ceil(blur / MAX_SIGMA * (1 - 1e-9)))


def openings(camera: Camera) -> list[tuple[int, str]]:
    """Return the decimation factors that extend the working range to the focal planes and to infinity, if any."""
    planes = (camera.focus_first_m, camera.focus_second_m)
    to_planes, to_infinity = (decimation_to_reach(camera, each) for each in (planes, (*planes, math.inf)))
    found = [(to_planes, "both distances in focus")] if to_planes > 1 else []
    return [*found, (to_infinity, "all distances behind them as well")] if to_infinity > to_planes else found


@dataclass(frozen=True)
class Resolution:
    """Blur and resolution of a point at ``depth_m``."""

    depth_m: float
    circle_first_px: float
    circle_second_px: float
    variance_difference_px2: float
    resolution_mm: float


def resolution_at(depth_m: FloatArray, camera: Camera, stderr_px2: float = ASSUMED_STDERR_PX2) -> FloatArray:
    """Return the standard error of depth in mm at each distance, for a standard error of ``s`` in px^2."""
    relation = Relation.of(camera)
    u = 1 / depth_m
    error = as_positive(stderr_px2, "stderr_px2", "px^2")
    if relation.a == 0:
        u_error = np.full_like(u, error / abs(relation.b))
    else:
        offset, size = np.abs(u - relation.vertex), error / abs(relation.a)
        u_error = size / (offset + np.sqrt(offset**2 + size))
    return np.asarray(1000 * depth_m**2 * u_error)


def resolution_table(
    camera: Camera, depths_m: FloatArray | None = None, stderr_px2: float = ASSUMED_STDERR_PX2
) -> list[Resolution]:
    """Return blur and resolution at each distance; by default about ten over the working range, evenly in 1/z."""
    if depths_m is None:
        near, far = working_range_m(camera)
        far = min(far, 20 * max(z for z in (camera.focus_first_m, camera.focus_second_m, near) if math.isfinite(z)))
        planes = [z for z in (camera.focus_first_m, camera.focus_second_m) if near <= z <= far]
        depths_m = np.unique(np.append(1 / np.linspace(1 / far, 1 / near, 9), planes))
    circles = np.abs(camera.circle_px(depths_m))
    s = Relation.of(camera).s(1 / depths_m)
    resolution = resolution_at(depths_m, camera, stderr_px2)
    columns = zip(depths_m, circles[0], circles[1], s, resolution, strict=True)
    return [Resolution(*(float(value) for value in row)) for row in columns]
