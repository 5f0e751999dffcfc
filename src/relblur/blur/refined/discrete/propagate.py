"""Candidates from the neighbourhood: the discrete moves a gradient cannot make.

Gauss-Newton slides down the basin a pixel is in.  Beside a jump, or inside a speck with a wrong root, the right basin
is the neighbour's.  Each pixel is offered its neighbours' planes, ``s(x + o) - p(x + o) . o``, and the majority value
around it, and takes the one its own surroundings fit best.  In noise each is judged by the variance that goes with it:
otherwise the larger blur would win because it averages noise.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..averages import box
from ..likelihood.likelihood import Likelihood
from ..prior.coordinate import Coordinate
from ..team import ThreadTeam

Array = NDArray[np.float32]

#: A plane from one side must fit better by this much log-likelihood over the window ...
_MARGIN = 2.0
#: ... while the majority is taken unless it fits worse by this much.
_BENEFIT = 4.0
_MAJORITY = 11
#: Side of the tiles that the majority is looked for in.
_TILE = 128


def propagate(likelihood: Likelihood, coordinate: Coordinate, z: Array, slope: Array, reach: int, size: int) -> Array:
    """Offer the planes of the four neighbours ``reach`` px away; ``size`` is the side of the window that judges."""
    s = coordinate.to_s(z)
    variance = likelihood.variance(s)
    best = box(likelihood.cost(s, variance), size) - np.float32(_MARGIN / size**2)
    out = z.copy()
    limits = coordinate.limits(likelihood.bounds)
    for offset in ((reach, 0), (-reach, 0), (0, reach), (0, -reach)):
        candidate, there = likelihood.loops.neighbour_plane(z, slope, offset, limits, coordinate.is_sigma)
        its_own = likelihood.variance(there) if likelihood.noise.noisy else variance
        cost = box(likelihood.cost(there, its_own), size)
        better = cost < best
        np.copyto(out, candidate, where=better)
        np.copyto(best, cost, where=better)
    return out


def follow_majority(likelihood: Likelihood, s: Array) -> Array:
    """Replace specks by the median around them unless the data object."""
    level = likelihood.stack.axis.level_of(s)
    fine = min(4, 255 // len(likelihood.stack.s_levels))  # the median filter takes 8 bits
    quarters = np.clip(np.round(level * fine), 0, 255).astype(np.uint8)
    median = np.asarray(_median(quarters, fine, likelihood.loops.team) / np.float32(fine), np.float32)
    differs = np.abs(median - level) > 1
    if not differs.any():
        return s
    candidate = likelihood.clip(likelihood.stack.axis.s_of(median))
    variance = likelihood.variance(s)
    size = 5
    its_own = likelihood.variance(candidate) if likelihood.noise.noisy else variance
    worse = box(likelihood.cost(candidate, its_own) - likelihood.cost(s, variance), size)
    take = differs & (worse < np.float32(_BENEFIT / size**2))
    return np.asarray(np.where(take, candidate, s))


def _median(image: NDArray[np.uint8], matters: int, team: ThreadTeam) -> NDArray[np.uint8]:
    """Return the median over a square, the border repeated, wherever it may be ``matters`` away from the image.

    It lies between the least and the most around, which are fast to find: most tiles need not be looked at.
    """
    square = np.ones((_MAJORITY, _MAJORITY), np.uint8)
    most = cv2.dilate(image, square, borderType=cv2.BORDER_REPLICATE)
    least = cv2.erode(image, square, borderType=cv2.BORDER_REPLICATE)
    far = np.maximum(most - image, image - least) >= matters
    out = image.copy()
    reach = _MAJORITY // 2

    def fill(corner: tuple[int, int]) -> None:
        top, left = (start * _TILE for start in corner)
        here = slice(top, top + _TILE), slice(left, left + _TILE)
        if far[here].any():
            above, before = min(reach, top), min(reach, left)
            around = image[top - above : top + _TILE + reach, left - before : left + _TILE + reach]
            median = cv2.medianBlur(around, _MAJORITY)
            out[here] = median[above : above + _TILE, before : before + _TILE]

    team.each(fill, np.ndindex(*(-(-n // _TILE) for n in image.shape)))
    return out
