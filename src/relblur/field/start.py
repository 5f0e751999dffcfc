"""A first map: the discrete labelling that resolves multiple solutions.

Several values fit a single pixel, and a small window is ambiguous where texture is weak.  Semi-global matching finds,
along rows and columns through every cell of 2 x 2 pixels, the sequence of levels that minimises

    sum of U_k(x) + P1 [neighbouring levels differ by one] + P2 [they differ by more]

Noise also changes the energy from level to level.  So the costs ``U`` are sums of the steps ``X_k+1 - X_k`` of the
energy, each times the support of that step (:class:`.volume.Support`).  Without a support the factor is the share of
the change that the known noise does not explain.  Coarser grids of 4 x 4 cells add evidence where single cells are
noisy.  Where the costs contain no evidence, the labels around are averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .energy import Energy
from .grid import box, box_any, cell_means, cell_sums, enlarged, fill, of_pairs, pairs
from .loops import Loops, cost_of
from .volume import Volume

__all__ = ["label"]

Array = NDArray[np.float32]

#: Side of the cells and of the window of their costs, px.
CELL, COST_WINDOW = 2, 3
#: Penalties P1 of a step by one level and P2 of a larger one, nats.
STEP_COST, JUMP_COST = 1.0, 6.0
#: Noise floor of the costs (fraction of the contrast); it covers the distance between levels.
NOISE_FLOOR = 1 / 255
#: Penalty of the distance from the level nearest to zero (nats for each level), which resolves ties.
TIE = np.float32(1e-4)
#: Cells along a side of a coarse cell, the largest cost that it adds to a cell (nats), and the growth of the penalties
#: on each coarser grid, because the noise of the costs grows with the side.
POOL, MOST_COARSE_COST, PENALTY_GROWTH = 4, 0.4, 2.0
#: Side of the window in which the share of noise in a change is measured, cells.
CHANGE_WINDOW = 17
#: Sides of the blocks of cells whose evidence is summed, and the least evidence of a cell, relative to the mean of the
#: block, for the confidence of the block.
BLOCK_SIDES, LOCAL_EVIDENCE = (1, 4, 16), 0.25


def label(energy: Energy) -> Array:
    """Return a first map: the level of least aggregated cost at each cell, interpolated between levels."""
    volume = energy.volume
    cost = _costs(energy)
    # Without noise every area contains evidence.
    confidence = None if volume.search_support is None else _confidence(cost)
    total = _aggregate(cost, volume.loops, PENALTY_GROWTH if volume.noise.present else 1.0)
    nearest = np.abs(volume.axis.value_of(np.arange(volume.levels, dtype=np.float64))).argmin()
    total += (TIE * np.abs(np.arange(volume.levels) - nearest)).astype(np.float32)[:, None, None]
    level = _best_level(total)
    if confidence is not None:
        weight = np.square(confidence) + np.float32(1e-6)
        level = confidence * level + (1 - confidence) * fill(level * weight, weight)
    return volume.clip(volume.axis.value_of(of_pairs(level, volume.shape)))


def _costs(energy: Energy) -> Array:
    """Return the costs of the levels, summed over the cells, (K, rows, cols)."""
    volume, gain = energy.volume, energy.volume.noise.gain
    base = np.maximum(energy.misfit, np.float32(max(NOISE_FLOOR**2, volume.noise.of_images)))
    weight = energy.weight * np.float32(volume.independent)
    cost = np.empty((volume.levels, *(-(-n // CELL) for n in volume.shape)), np.float32)

    def fill_level(k: int) -> None:
        y = np.asarray(np.square(volume.residuals[:, k]) / (base * np.float32(gain[k])), np.float32)
        cost[k] = pairs(box(weight * cost_of(y).sum(axis=0), COST_WINDOW)) * np.float32(CELL**2)

    volume.loops.team.each(fill_level, range(volume.levels))
    if volume.noise.present or volume.support is not None:
        before = cost[0].copy()
        for k in range(1, volume.levels):
            here = cost[k].copy()
            cost[k] = cost[k - 1] + _step_support(volume, k) * (here - before)
            before = here
    return cost


def _step_support(volume: Volume, k: int) -> Array:
    """Return the share of the change of the residuals from level ``k - 1`` to ``k`` that is evidence, on cells."""
    if volume.search_support is not None:
        low, high = volume.axis.value_of(np.array([k - 1, k], np.float64))
        return volume.search_support.of_step(float(low), float(high))
    change = np.square(volume.residuals[:, k] - volume.residuals[:, k - 1]).mean(axis=0)
    of_noise = volume.noise.covariance[k - 1 : k + 1, k - 1 : k + 1] @ (1, -1) @ (1, -1)
    noise = np.float32(of_noise) * cell_means(np.broadcast_to(volume.noise.at_pixels, change.shape), CELL)
    mean = box_any(cell_means(change, CELL), CHANGE_WINDOW)
    return np.asarray(np.maximum(1 - noise / (mean + np.float32(1e-30)), 0))


def _aggregate(cost: Array, loops: Loops, growth: float, penalty: float = 1.0) -> Array:
    """Aggregate costs over the paths through every cell, coarse grids first; the costs are overwritten."""
    if min(cost.shape[1:]) > 2 * POOL:
        coarse = np.stack([cell_sums(level, POOL) for level in cost])
        coarse = _aggregate(coarse, loops, growth, growth * penalty)
        coarse = np.minimum((coarse - coarse.min(axis=0)) / np.float32(POOL**2), np.float32(MOST_COARSE_COST))
        for level, added in zip(cost, coarse, strict=True):
            level += enlarged(added, level.shape)
    return loops.scan(cost, penalty * STEP_COST, penalty * JUMP_COST)


def _best_level(cost: Array) -> Array:
    """Return the fractional level of least cost (K, H, W), by lines of opposite slopes through three levels."""
    least, at = cost[0].copy(), np.zeros(cost.shape[1:], np.intp)  # argmin along the first axis is slow
    for level in range(1, len(cost)):
        np.copyto(at, level, where=cost[level] < least)
        np.minimum(least, cost[level], out=least)
    k = np.clip(at, 1, len(cost) - 2)[None]
    below, here, above = (np.take_along_axis(cost, k + step, 0)[0] for step in (-1, 0, 1))
    steeper = np.maximum(np.maximum(below, above) - here, np.float32(1e-6))
    return np.asarray(k[0] + np.clip((below - above) / (2 * steeper), -0.5, 0.5), np.float32)


def _confidence(cost: Array) -> Array:
    """Return the confidence of the label of each cell, 0 to 1, from the costs (K, rows, cols).

    Weak evidence is summed over blocks, for the cells that contribute to the sum.
    """
    rows, cols = cost.shape[1:]
    confidence = np.zeros((rows, cols), np.float32)
    near = box(np.ptp(cost, axis=0), 3)
    for side in BLOCK_SIDES:
        if side > 1 and side > min(rows, cols):
            break
        blocks = np.stack([cell_sums(level, side) for level in cost])
        ranges = enlarged(np.ptp(blocks, axis=0), (rows, cols))
        part = near * np.float32(side**2 / LOCAL_EVIDENCE) / np.maximum(ranges, np.float32(1e-12))
        # A range of the costs equal to the penalty of a jump has the confidence 1/2.
        np.maximum(confidence, np.minimum(part, 1) * ranges / (ranges + np.float32(JUMP_COST)), out=confidence)
    return confidence
