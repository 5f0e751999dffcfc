"""What ``method="refined"`` minimises, seen from one pixel: its own data, and what its neighbours say.

The method's own likelihood and prior are built on the surroundings of the pixel, with the noise and the kernel that
the whole image was measured with, and its descent is run there. What is read off is the energy as a function of the
``s`` of this pixel alone, the neighbours being held at the map's values:

    data        robust negative log-likelihood of the pixel's own residual e(s)         (``likelihood``)
    posterior   data + 1/2 sum over its four edges of c (z - z_neighbour - slope)^2     (``prior``)

A residual that is zero at several ``s`` makes several valleys in ``data``: the roots of the curve M(sigma). The
neighbours choose among them. Noise is one number for each image, as the map tells it, even where the map was made
with a noise that depends on the light. ``z`` is ``s``, or sigma where one image is given as the sharper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines import choose_engine
from ...filters.kernels import Family, kernel_radius
from ..request import Request
from .descent import SMALLEST_JUMP, Descent, descend
from .engine import open_loops
from .likelihood.likelihood import Likelihood
from .likelihood.noise import GivenNoise, PairNoise, rounding_floor
from .likelihood.stack import blurred
from .prepare import Pair, colour_directions, leading_colours, prepare
from .prior.coordinate import SIGMA, VARIANCE, Coordinate
from .prior.prior import stiffness
from .refine import Task, build_likelihood
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
    pair = prepare(first, second, usable)
    given = given.on_scale(pair.unit)
    task = Task(pair, request, given, _whole(pair, given, made_with))
    images = leading_colours(pair.first, pair.second)
    prefilter = float(made_with.get("prefilter", 0.0))
    if prefilter > 0:
        images = blurred(images, prefilter)
    coordinate = VARIANCE if task.signed else SIGMA
    with open_loops("opencv", 1) as loops:
        likelihood, _, _ = build_likelihood(task, images, prefilter, loops)
        found = descend(likelihood, coordinate, lambda share: None)
        if known is not None:
            there = np.where(np.isfinite(known), known, found.s).astype(np.float32)
            found = replace(found, s=likelihood.clip(there))
        data = _data(likelihood, found.s, place, s)
        posterior = data + _pull(likelihood, coordinate, found, place, s)
    return PixelCost(data - np.nanmin(data), posterior - np.nanmin(posterior))


def _whole(pair: Pair, given: GivenNoise, made_with: Mapping[str, Any]) -> Whole | None:
    """Return what the map was made with, on the scale of a part of its images; None if that is not known."""
    if given.deviations is None:
        return None
    family: Family = made_with.get("kernel") or "band_limited"
    noise = PairNoise(given.deviations, (rounding_floor(pair.first), rounding_floor(pair.second)))
    return Whole((0.0, 1.0), colour_directions([(pair.first, pair.second)]), noise, family)


def _data(likelihood: Likelihood, found: Array, place: tuple[int, int], s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the likelihood's own cost of the pixel: as if the image were a row of this pixel, one for each ``s``."""
    row, column = place
    low, high = likelihood.bounds
    inside = (s >= low) & (s <= high)
    at = s[inside].astype(np.float32)[None, :]

    def repeated(plane: Array) -> Array:
        return np.full(at.shape, plane[row, column], np.float32)

    stack, noise = likelihood.stack, likelihood.noise
    one = stack.residuals[:, :, row : row + 1, column : column + 1]
    alone = replace(stack, residuals=np.ascontiguousarray(np.broadcast_to(one, (*one.shape[:2], *at.shape))))
    likelihood.weigh(found)
    weight, misfit, inflation = (repeated(plane) for plane in (likelihood.use, likelihood.misfit, likelihood.inflation))
    variance = likelihood.loops.variance(alone, replace(noise, relative=repeated(noise.relative)), at, misfit)
    cost = np.full(s.shape, np.nan)
    cost[inside] = likelihood.loops.cost(alone, at, weight, variance, inflation)[0]
    return cost


def _pull(
    likelihood: Likelihood, coordinate: Coordinate, found: Descent, place: tuple[int, int], s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what the edges to the four neighbours cost."""
    loops, z, mu = likelihood.loops, coordinate.of(found.s), found.steps["mu"]
    w, _ = coordinate.carry(found.evidence.w, found.evidence.g, z, loops)
    variance = loops.posterior_variance(w, mu)
    down, right = np.gradient(z)
    slope = np.stack([down, right]).astype(np.float32)
    edges = loops.link(z, slope, variance, mu, np.full_like(z, SMALLEST_JUMP))
    half = np.float32(0.5) * stiffness(variance)
    row, column = place
    height, width = z.shape
    cost = np.zeros(s.shape)
    at = np.sqrt(np.maximum(s, 0)) if coordinate.is_sigma else s
    for r, c, cut, sign, p in (
        (row, column + 1, edges.cut_right[row, min(column, width - 2)], -1, slope[1]),
        (row, column - 1, edges.cut_right[row, max(column - 1, 0)], 1, slope[1]),
        (row + 1, column, edges.cut_down[min(row, height - 2), column], -1, slope[0]),
        (row - 1, column, edges.cut_down[max(row - 1, 0), column], 1, slope[0]),
    ):
        if 0 <= r < height and 0 <= c < width:
            level = float(z[r, c] + sign * 0.5 * (p[row, column] + p[r, c]))
            strength = float((half[row, column] + half[r, c]) * cut)
            cost += 0.5 * strength * (at - level) ** 2
    return cost
