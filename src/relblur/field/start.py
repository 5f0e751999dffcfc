"""A first map: the discrete labelling that resolves multiple solutions.

A single pixel fits several values, and a window decides wrongly where texture is weak.  Semi-global matching finds,
along rows and columns through every cell of 2 x 2 pixels, the sequence of levels that minimises

    sum of U_k(x) + P1 [neighbouring levels differ by one] + P2 [they differ by more]

Noise changes from level to level too.  So the costs ``U`` are sums of the steps ``X_k+1 - X_k`` of the energy, each
times the share of the change ``e_k+1 - e_k`` around that is evidence: by the support (:class:`.volume.Support`), or
without one the share that the known noise does not explain.  Coarser grids of
4 x 4 cells help where single cells are too noisy to decide.  Where the costs contain no evidence, paths would carry
the level at which they enter straight across: there the labels around are averaged over ever larger cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .energy import Energy
from .loops import COST_CELL as CELL
from .loops import Loops
from .volume import Volume
from .windows import box, box_any, cell_means, cell_sums, enlarged, of_pairs

__all__ = ["label"]

Array = NDArray[np.float32]

#: Cost of a step of one level, and of a jump, nats.
STEP_COST, JUMP_COST = 1.0, 6.0
#: Noise floor of the costs, on images of contrast 1: it covers the distance between levels.
COARSE = 1 / 255
#: Preference for the level nearest to zero, nats a level: it decides ties.
TIE = np.float32(1e-4)
#: Cells a side of a coarse cell, the largest cost that it adds to one of them, nats, and the factor of the prices on
#: each coarser grid: the cost that a cell has by chance grows with its side.
POOL, PULL, DEARER = 4, 0.4, 2.0
#: Side of the window in which the share of noise in a change is measured, cells.
CHANGE_WINDOW = 17
#: Range of the costs (nats) of a cell that makes its label half sure: the cost of a jump.
HALF_SURE = 6.0
#: Sides of the blocks of cells whose evidence is summed, and the part of a block's evidence, spread evenly, that a cell
#: must have around itself to be as sure as the block.
TOGETHER, PART = (1, 4, 16), 0.25


def label(energy: Energy) -> Array:
    """Return a first map: the level of least aggregated cost at each cell, and a share of the next."""
    volume = energy.volume
    cost = _costs(energy)
    # Without noise there is no area without evidence.
    sure = None if volume.finding is None else _certainty(cost)
    total = _aggregate(cost, volume.loops, DEARER if volume.noise.present else 1.0)
    nearest = np.abs(volume.axis.value_of(np.arange(volume.levels, dtype=np.float64))).argmin()
    total += (TIE * np.abs(np.arange(volume.levels) - nearest)).astype(np.float32)[:, None, None]
    level = volume.loops.sublevel(total)
    if sure is not None:
        # An unsure label among sure ones hardly counts.
        weight = np.square(sure) + np.float32(1e-6)
        level = sure * level + (1 - sure) * _mean_around(level * weight, weight)
    return volume.clip(volume.axis.value_of(of_pairs(level, volume.shape)))


def _costs(energy: Energy) -> Array:
    """Return the costs of the levels on the cells, (K, rows, cols)."""
    volume = energy.volume
    base = np.maximum(energy.misfit, np.float32(max(COARSE**2, volume.noise.of_images)))
    weight = energy.weight * np.float32(volume.independent)
    cost = volume.loops.cell_costs(volume.residuals, base, volume.noise.gain, weight)
    if volume.noise.present or volume.support is not None:
        before = cost[0].copy()
        for k in range(1, volume.levels):
            here = cost[k].copy()
            cost[k] = cost[k - 1] + _share(volume, k) * (here - before)
            before = here
    return cost


def _share(volume: Volume, k: int) -> Array:
    """Return the share of the change of the residuals from level ``k - 1`` to ``k`` that is evidence, on cells."""
    if volume.finding is not None:
        low, high = volume.axis.value_of(np.array([k - 1, k], np.float64))
        return volume.finding.of_step(float(low), float(high))
    change = np.square(volume.residuals[:, k] - volume.residuals[:, k - 1]).mean(axis=0)
    of_noise = volume.noise.covariance[k - 1 : k + 1, k - 1 : k + 1] @ (1, -1) @ (1, -1)
    noise = np.float32(of_noise) * cell_means(np.broadcast_to(volume.noise.on(slice(None)), change.shape), CELL)
    mean = box_any(cell_means(change, CELL), CHANGE_WINDOW)
    return np.asarray(np.maximum(1 - noise / (mean + np.float32(1e-30)), 0))


def _aggregate(cost: Array, loops: Loops, dearer: float, price: float = 1.0) -> Array:
    """Aggregate costs, which are overwritten, over the paths through every cell, coarse grids first."""
    if min(cost.shape[1:]) > 2 * POOL:
        coarse = np.stack([cell_sums(level, POOL) for level in cost])
        coarse = _aggregate(coarse, loops, dearer, dearer * price)
        coarse -= coarse.min(axis=0)
        coarse *= np.float32(1 / POOL**2)
        np.minimum(coarse, np.float32(PULL), out=coarse)

        def pull(k: int) -> None:
            cost[k] += enlarged(coarse[k], cost.shape[1:])

        loops.team.each(pull, range(len(cost)))
    return loops.scan(cost, price * STEP_COST, price * JUMP_COST)


def _certainty(cost: Array) -> Array:
    """Return how sure the label of each cell can be, 0 to 1, from the costs (K, rows, cols).

    Weak evidence adds up over a block, and counts for the cells that have some of it.
    """
    rows, cols = cost.shape[1:]
    sure = np.zeros((rows, cols), np.float32)
    near = box(cost.max(axis=0) - cost.min(axis=0), 3)
    for side in TOGETHER:
        if side > 1 and side > min(rows, cols):
            break
        blocks = np.stack([cell_sums(level, side) for level in cost]) if side > 1 else cost
        ranges = enlarged(blocks.max(axis=0) - blocks.min(axis=0), (rows, cols))
        part = near * np.float32(side**2 / PART) / np.maximum(ranges, np.float32(1e-12))
        np.maximum(sure, np.minimum(part, 1) * ranges / (ranges + np.float32(HALF_SURE)), out=sure)
    return sure


def _mean_around(value: Array, weight: Array) -> Array:
    """Return the weighted mean of the smallest cells that have some weight, from sums of value and weight."""
    if max(weight.shape) == 1:
        return np.asarray(value / np.maximum(weight, np.float32(1e-12)))
    far = enlarged(_mean_around(cell_means(value, 2), cell_means(weight, 2)), weight.shape)
    value, weight = box(value, 3), box(weight, 3)
    known = np.minimum(weight * np.float32(4), 1)
    return np.asarray(known * value / np.maximum(weight, np.float32(1e-12)) + (1 - known) * far)
