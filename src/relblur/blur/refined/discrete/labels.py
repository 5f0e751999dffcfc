"""A global start: the discrete labelling that resolves multiple solutions.

A single pixel fits several blurs, and a window decides wrongly where texture is weak.  Semi-global matching finds,
along rows and columns through every pixel, the sequence of levels that minimises

    sum of C_k(x) + P1 [neighbouring levels differ by one] + P2 [they differ by more]

with the saturating cost ``C = x / (1 + x / 8)``, ``x = e^2 / 2v``.  The sign of ``s`` is one of the things it decides.

Noise changes from level to level too.  So the costs are put together again from their steps ``C_k+1 - C_k``, each times
the share of the change ``e_k+1 - e_k`` around that both images show (:mod:`..likelihood.coherence`): where the sharper
image shows noise only, levels differ, but the difference says nothing about blur.
"""

from __future__ import annotations

import itertools

import cv2
import numpy as np
from numpy.typing import NDArray

from ..averages import block_means, box_any
from ..likelihood.likelihood import Likelihood
from ..loops import Loops
from ..team import ThreadTeam
from .silent import certainty, fill_smoothly

Array = NDArray[np.float32]

#: Price of a step of one level, and of a jump, in units of log-likelihood, on the finest grid; in noise, each
#: coarser one asks for twice as much: what a cell says by chance grows with its side.
STEP_PRICE, JUMP_PRICE, DEARER = 1.0, 6.0, 2.0
#: One over the most that a pixel may cost.
SATURATION = np.float32(1 / 8)
#: The finest grid that is labelled: cells of this many pixels a side. The descent finds the edges within them.
CELL = 2
#: Pixels a side that one coarse pixel pools, and the most its answer may weigh on one of them.
POOL, PULL = 4, 0.4
#: Cells a side of the window in which the share of texture is judged.
SHARE_WINDOW = 17
#: Residuals below this share of the contrast are not told apart: levels are coarse, so the exact one is not there.
COARSE = 1 / 255


def label(likelihood: Likelihood) -> Array:
    """Return a first map ``s``: at each pixel the level of least aggregated cost, and a share of the next.

    Where the data say nothing, paths would carry what is beyond them straight across: there it is filled smoothly.
    """
    loops, stack = likelihood.loops, likelihood.stack
    cost = data_cost(likelihood)
    # Without noise there is no area that says nothing.
    sure = None if likelihood.shared is None else certainty(cost)
    total = _aggregate(cost, loops, DEARER if likelihood.noise.noisy else 1.0)
    # Ties, as in a pair without texture, go to the smallest blur.
    distance = np.abs(np.arange(len(stack.s_levels)) - np.abs(stack.s_levels).argmin())
    level = loops.sublevel(total, np.float32(1e-4) * distance.astype(np.float32))
    if sure is not None:
        level = fill_smoothly(level, sure)
    level = level.repeat(CELL, axis=0).repeat(CELL, axis=1)
    height, width = likelihood.weight.shape
    return likelihood.clip(stack.axis.s_of(np.ascontiguousarray(level[:height, :width])))


def _aggregate(cost: Array, loops: Loops, dearer: float, price: float = 1.0) -> Array:
    """Aggregate a cost volume (which is written to) over the paths through every pixel, coarse grids first.

    The coarse result, per pixel, is added to the cost before scanning: it decides where single pixels are too noisy to.
    """
    if min(cost.shape[1:]) > 2 * POOL:
        coarse = _aggregate(_pool_levels(cost, loops.team), loops, dearer, dearer * price)
        coarse -= coarse.min(axis=0)
        coarse *= np.float32(1 / POOL**2)
        np.minimum(coarse, np.float32(PULL), out=coarse)
        height, width = cost.shape[1:]
        size = (POOL * coarse.shape[2], POOL * coarse.shape[1])

        def pull(k: int) -> None:
            cost[k] += cv2.resize(coarse[k], size, interpolation=cv2.INTER_LINEAR)[:height, :width]

        loops.team.each(pull, range(len(cost)))
    return loops.scan(cost, price * STEP_PRICE, price * JUMP_PRICE)


def _pool_levels(cost: Array, team: ThreadTeam) -> Array:
    """Sum each level over blocks of ``POOL`` x ``POOL``."""
    levels, height, width = cost.shape
    out = np.empty((levels, -(-height // POOL), -(-width // POOL)), np.float32)

    def fill(k: int) -> None:
        out[k] = pool(cost[k], POOL)

    team.each(fill, range(levels))
    return out


def pool(cost: Array, side: int) -> Array:
    """Sum over blocks of ``side`` x ``side``, the border repeated."""
    return block_means(cost, side) * np.float32(side**2)


def data_cost(likelihood: Likelihood) -> Array:
    """Return the costs of the levels on the cells, (levels, rows, cols)."""
    stack = likelihood.stack
    floor = max(*likelihood.noise.sensor, COARSE)
    base = np.maximum(likelihood.misfit, np.float32(floor**2))
    weight = likelihood.weight * np.float32(stack.gain.independent)
    cost = likelihood.loops.label_cost(stack, weight, base, likelihood.noise.ratio)
    shares = _shares(likelihood)
    if shares is not None:
        _count_shares(cost, shares, likelihood.loops.team)
    return cost


def _shares(likelihood: Likelihood) -> Array | None:
    """Return the shares of the steps between levels that count, (levels - 1, rows, cols); None if all count whole.

    Where it is known what both images show, that decides; else the share that is not noise, if there is any.
    """
    shared, noise = likelihood.shared, likelihood.noise_between_levels(CELL)
    if shared is not None:
        s = likelihood.stack.s_levels
        return np.stack([shared.of_step(low, high) for low, high in itertools.pairwise(s)])
    return None if noise is None else _texture_shares(likelihood, *noise)


def _texture_shares(likelihood: Likelihood, between: NDArray[np.float64], relative: Array) -> Array:
    """Return the shares of texture in the steps.

    ``between`` is the variance that noise gives to ``e_k+1 - e_k``, on average, ``relative`` that of a cell over it.
    """
    stack, loops = likelihood.stack, likelihood.loops
    channels, levels, _, _ = stack.residuals.shape
    per_pixel = np.float32(1 / (channels * CELL**2))

    def weigh(k: int) -> None:
        mean = box_any(loops.change_on_cells(stack, k), SHARE_WINDOW) * per_pixel
        noise = relative * np.float32(between[k])
        share[k] = np.maximum(1 - noise / (mean + np.float32(1e-30)), 0)

    share = np.empty((levels - 1, *relative.shape), np.float32)
    loops.team.each(weigh, range(levels - 1))
    return share


def _count_shares(cost: Array, share: Array, team: ThreadTeam) -> None:
    """Put the costs together again from their steps, each times its share."""

    def join(rows: slice) -> None:
        before = cost[0, rows].copy()
        for k in range(1, len(cost)):
            here = cost[k, rows].copy()
            cost[k, rows] = cost[k - 1, rows] + share[k - 1, rows] * (here - before)
            before = here

    team.share_rows(join, cost.shape[1], cost.size)
