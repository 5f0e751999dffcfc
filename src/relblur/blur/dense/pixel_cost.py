"""The energy that ``method="refined"`` minimises, as a function of the ``s`` of one pixel.

The method's own volume is built on the surroundings of the pixel, with the noise and the kernel that the whole image
was measured with, and solved there. The neighbours are held at the map's values:

    data        cost of the pixel's own residual e(s)                                   (``field.energy``)
    posterior   data + 1/2 sum over its four edges of lambda h (z - z_neighbour - slope)^2    (``field.surface``)

A residual that is zero at several ``s`` makes several valleys in ``data``: the roots of the curve M(sigma). The
neighbours choose among them. Noise is one number for each image, as in the map's settings, even where the map was made
with a noise that depends on the light. ``z`` is ``s``, or sigma where one image is given as the sharper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...field import Loops, PixelEnergy, solve
from ...filters.kernels import Family, kernel_radius
from ...kernels import choose_engine
from ..request import Request
from .estimate import build_volume
from .noise import GivenNoise, PairNoise, rounding_floor
from .planes import Planes, colour_directions, prepare
from .whole import Whole

__all__ = ["PixelCost", "pixel_cost", "reach_of"]

Array = NDArray[np.float32]

#: Surroundings that are looked at on every side, px: the prior's windows see farther, but change the answer by less
#: than a tenth of its error (the demo's pair: 0.3 % of s at 40 px, 0.1 % at 48).
SURROUNDINGS = 48


@dataclass(frozen=True, eq=False)
class PixelCost:
    """Both costs at the given ``s``, less the least of each; NaN where the method does not look."""

    data: NDArray[np.float64]
    posterior: NDArray[np.float64]


def reach_of(max_sigma: float) -> int:
    """Return how far around a pixel its surroundings extend, px."""
    return max(SURROUNDINGS, kernel_radius(max_sigma) + 16)


def pixel_cost(
    first: NDArray[Any],
    second: NDArray[Any],
    usable: NDArray[np.bool_],
    place: tuple[int, int],
    s: NDArray[np.float64],
    made_with: Mapping[str, Any],
    known: NDArray[Any] | None = None,
) -> PixelCost:
    """Return the costs of one pixel.

    Parameters
    ----------
    first, second : (H, W, C) array
        The surroundings, cut out of the pair.
    usable : (H, W) bool
    place : (int, int)
        Row and column of the pixel in them.
    s : (N,) array
        Variance differences to look at, px^2.
    made_with : mapping
        Settings of the map.
    known : (H, W) array, optional
        ``s`` of the whole image's map there, at which neighbours are held; without, what the descent finds here.
    """
    side = made_with.get("sharper", "auto")
    request = Request(
        "refined", side, np.array([float(np.sqrt(np.abs(s).max()))]), int(made_with["window"]), choose_engine("opencv")
    )
    given = GivenNoise()
    if "noise" in made_with:
        one, two = np.broadcast_to(made_with["noise"], 2)
        given = GivenNoise((float(one), float(two)))
    if side == "second":
        first, second, given, s = second, first, given.swapped(), -s
        known = None if known is None else -known
    planes = prepare(first, second, usable)
    given = given.on_scale(planes.unit)
    prefilter = float(made_with.get("prefilter", 0.0))
    volume, *_ = build_volume(planes, request, given, _whole(planes, given, made_with), prefilter, Loops())
    found = solve(volume)
    signed = side == "auto"
    if known is not None:
        there = np.where(np.isfinite(known), known, found.z if signed else np.square(found.z))
        z = volume.clip((there if signed else np.sqrt(np.maximum(there, 0))).astype(np.float32))
    else:
        z = found.z
    at = np.asarray(s if signed else np.sqrt(np.maximum(s, 0)))
    pixel = PixelEnergy(volume, found, z, place)
    data = pixel.data(at)
    posterior = data + pixel.prior(at)
    return PixelCost(data - np.nanmin(data), posterior - np.nanmin(posterior))


def _whole(pair: Planes, given: GivenNoise, made_with: Mapping[str, Any]) -> Whole | None:
    """Return what the map was made with, on the scale of a part of its images; None if that is not known."""
    if given.deviations is None:
        return None
    family: Family = made_with.get("kernel") or "band_limited"
    noise = PairNoise(given.deviations, (rounding_floor(pair.first), rounding_floor(pair.second)))
    return Whole((0.0, 1.0), colour_directions([(pair.first, pair.second)]), noise, family)
