"""The slopes of the piecewise affine prior, found together with the map.

The prior (:mod:`prior`) ties the map ``z`` to a slope field ``p``.  Solving for one with the other held, in turn, takes
hundreds of rounds where the data are silent: there the map follows the slopes and the slopes follow the map.  So the
slopes are found with the change ``delta`` of the map that they call for, as one least-squares problem,

    sum w delta^2 / 2 - g delta  +  lambda h (z_j + delta_j - z_i - delta_i - p_ij)^2 / 2  +  mu h |grad p|^2 / 2

on cells of 4 x 4 pixels: slopes vary slowly, and a flat area is then crossed as a thin plate would.  Only ``p`` is
kept; the map is solved for anew, pixel by pixel, with these slopes.

A thin plate that leaves the data goes on as it left, for ever.  What slopes do in the rest of the image says for how
long to believe it: with mean ``m``, variance ``V`` and length ``L`` over which they change, a field with these habits
has the further term ``(mu / L^2) |p - m|^2 / 2``, which is added where the data are silent: times the weight that a
prior of variance V keeps against a window of L x L, ``1 / (1 + V L^4 mean w / 12)``.  A ramp, whose slopes are all
alike, is continued as a ramp; a wavy map returns to the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from .engine import ALONE, Crew
from .prior import CUT, Edges, box_any, leverage, stiffness
from .solver import Multigrid, conjugate_gradients

Array = NDArray[np.float32]

#: Side of a cell in px.
CELL = 4


class SlopeField:
    """Rise of the map per pixel along rows (0) and columns (1): ``cells`` (2, rows, cols)."""

    def __init__(self, shape: tuple[int, int], crew: Crew = ALONE) -> None:
        self._shape = shape
        self._crew = crew
        self.cells: Array = np.zeros((2, *(-(-n // CELL) for n in shape)), np.float32)

    def pixels(self) -> Array:
        """Return the slopes of every pixel, (2, H, W)."""
        height, width = self._shape
        _, rows, cols = self.cells.shape
        fine = np.empty((2, height, width), np.float32)
        for p, out in zip(self.cells, fine, strict=True):
            out[...] = cv2.resize(p, (cols * CELL, rows * CELL), interpolation=cv2.INTER_LINEAR)[:height, :width]
        return fine

    def fit(self, z: Array, w: Array, g: Array, edges: Edges, variance: Array, mu: Array, steps: int) -> None:
        """Set the slopes to those that suit the map ``z`` after the step that the data ask for."""
        compiled = self._crew.compiled
        if compiled is not None:
            cuts = (edges.cut_right, edges.cut_down)
            (weight, score, lam, bend), ways = compiled.cells(z, w, g, cuts, variance, mu)
            open_right, rise_right, open_down, rise_down = ways
        else:
            weight, score, lam, bend = _sum_cells(w), _sum_cells(g), _mean_cells(stiffness(variance)), _mean_cells(mu)
            open_right, rise_right = _paths(z, edges.cut_right)
            open_down, rise_down = (a.T for a in _paths(z.T, edges.cut_down.T))
        # The curvature's scale is no finer than the grid.
        tight = np.maximum(bend, np.float32(CELL**2) * lam)
        problem = _Problem(
            weight + np.float32(1e-4),
            (_between(lam, 0) * open_down, _between(lam, 1) * open_right),
            (_between(tight, 0) * open_down, _between(tight, 1) * open_right),
            self._crew,
        )
        own = _mean_cells(leverage(w, variance))
        # (mu / w)^(1/4), over which the prior smooths: see prior, lambda = 2 sqrt(mu w).
        smooth2 = 2 * bend / lam
        problem.forget(_measure_habit(self.cells, own, (open_down, open_right), smooth2), weight, bend)
        start = np.concatenate([np.zeros_like(lam)[None], self.cells])
        self.cells = problem.solve(score, (rise_down, rise_right), start, steps)[1:]


@dataclass(frozen=True)
class _Habit:
    """What slopes do where the data tell, for each of the two: their mean and variance, and a squared length in px^2.

    ``length2`` is ``variance / mean (dp / dx)^2`` along the axis on which they change the less: a field that bends one
    way only is continued the other way for ever.  ``trust`` is 0 where the length is no longer than the one over which
    the prior smooths: what changes there is noise, and there is no habit.
    """

    mean: Array
    spread: NDArray[np.float64]
    length2: NDArray[np.float64]
    trust: NDArray[np.float64]


class _Problem:
    """The normal equations for ``x = (delta, p along rows, p along columns)`` on the cells.

    Parameters
    ----------
    weight : (rows, cols)
        Information on ``delta``.
    tie, bend : (down, right)
        Weights of ``(delta_j - delta_i - CELL p_ij)^2`` and of ``(p_j - p_i)^2`` for the edges along each axis.
    """

    def __init__(self, weight: Array, tie: tuple[Array, Array], bend: tuple[Array, Array], crew: Crew) -> None:
        self._tie = tie
        self._crew = crew
        # p_ij is the mean of two cells: its square is half the sum of theirs less a quarter of their difference's.
        lumped = np.full((3, *weight.shape), 1e-9, np.float32)  # a single cell has no slope
        lumped[0] = weight
        down = np.stack([tie[0], bend[0], bend[0]])
        right = np.stack([tie[1], bend[1], bend[1]])
        for axis, edge in ((0, down), (1, right)):
            _spread_sum(tie[axis] * np.float32(CELL**2 / 2), axis, lumped[1 + axis])
            edge[1 + axis] -= tie[axis] * np.float32(CELL**2 / 4)
        #: The operator without what couples the map to its slopes.
        self._blocks = (lumped, right, down)
        self._pull = np.zeros_like(lumped)

    def forget(self, habit: _Habit, weight: Array, mu: Array) -> None:
        """Pull the slopes to their mean where the data are silent; ``weight`` and ``mu`` are per cell."""
        for axis, (mean, spread, length2, trust) in enumerate(
            zip(habit.mean, habit.spread, habit.length2, habit.trust, strict=True)
        ):
            if not trust * length2 > 0:
                continue
            side = max(round(np.sqrt(length2) / CELL), 1)
            near = np.maximum(box_any(weight, side), 0) * np.float32(1 / CELL**2)
            silent = 1 / (1 + near * np.float32(spread * length2**2 / 12))
            pull = silent * mu * np.float32(trust * CELL**2 / length2)
            self._blocks[0][1 + axis] += pull
            self._pull[1 + axis] += pull * mean

    def _multiply(self, blocks: Multigrid, x: Array) -> Array:
        out = blocks.multiply(x)
        half = np.float32(CELL / 2)
        for axis, tie in enumerate(self._tie):
            p = x[1 + axis]
            _spread_difference(-half * tie * _pair_sum(p, axis), axis, out[0])
            _spread_sum(-half * tie * _difference(x[0], axis), axis, out[1 + axis])
        return out

    def solve(self, score: Array, rise: tuple[Array, Array], start: Array, steps: int) -> Array:
        b = self._pull.copy()
        b[0] = score
        for axis, tie in enumerate(self._tie):
            pull = tie * rise[axis]
            _spread_difference(-pull, axis, b[0])
            _spread_sum(np.float32(CELL / 2) * pull, axis, b[1 + axis])
        if self._crew.compiled is not None:
            return self._crew.compiled.solve_slopes(self._blocks, self._tie, b, start, steps)
        blocks = Multigrid(*self._blocks)
        multiply = partial(self._multiply, blocks)
        return start + conjugate_gradients(multiply, blocks.precondition, b - multiply(start), steps)


def _measure_habit(p: Array, weight: Array, ways: tuple[Array, Array], smooth2: Array) -> _Habit:
    """Measure the habit of slopes.

    ``weight`` says how much of each cell's are its own, ``ways`` which edges count, ``smooth2`` over what (squared)
    length they were smoothed.
    """
    total = float(weight.sum(dtype=np.float64)) + 1e-30
    mean = ((p * weight).sum(axis=(1, 2), dtype=np.float64) / total).astype(np.float32)
    off = p - mean[:, None, None]
    spread = (np.square(off) * weight).sum(axis=(1, 2), dtype=np.float64) / total
    bent = []
    for axis, way in enumerate(ways):
        edge = _between(weight, axis) * way
        near, far = _ends(axis)
        change = np.square(off[(slice(None), *far)] - off[(slice(None), *near)]) * edge
        bent.append(change.sum(axis=(1, 2), dtype=np.float64) / (edge.sum(dtype=np.float64) + 1e-30))
    length2 = np.minimum(CELL**2 * spread / (np.minimum(*bent) + 1e-30), (10.0 * CELL * max(weight.shape)) ** 2)
    noise2 = float((smooth2 * weight).sum(dtype=np.float64)) / total
    return _Habit(mean, spread, length2, np.maximum(1 - noise2 / (length2 + 1e-30), 0))


def _ends(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the near and far cells of the edges along an axis."""
    near, far = [slice(None)] * 2, [slice(None)] * 2
    near[axis], far[axis] = slice(None, -1), slice(1, None)
    return tuple(near), tuple(far)


def _difference(a: Array, axis: int) -> Array:
    near, far = _ends(axis)
    return np.asarray(a[far] - a[near])


def _pair_sum(a: Array, axis: int) -> Array:
    near, far = _ends(axis)
    return np.asarray(a[far] + a[near])


def _between(a: Array, axis: int) -> Array:
    """Return the mean of the two cells of each edge along an axis."""
    return _pair_sum(a, axis) * np.float32(0.5)


def _spread_sum(edge: Array, axis: int, out: Array) -> None:
    """Add to both cells of each edge: the transpose of :func:`_pair_sum`."""
    near, far = _ends(axis)
    out[near] += edge
    out[far] += edge


def _spread_difference(edge: Array, axis: int, out: Array) -> None:
    """Add to the far cell, take from the near: the transpose of :func:`_difference`."""
    near, far = _ends(axis)
    out[far] += edge
    out[near] -= edge


def _sum_cells(a: Array) -> Array:
    height, width = a.shape
    padded = np.pad(a, ((0, -height % CELL), (0, -width % CELL)))
    return np.asarray(padded.reshape(padded.shape[0] // CELL, CELL, -1, CELL).sum(axis=(1, 3)))


def _mean_cells(a: Array) -> Array:
    height, width = a.shape
    padded = np.pad(a, ((0, -height % CELL), (0, -width % CELL)), mode="edge")
    return np.asarray(padded.reshape(padded.shape[0] // CELL, CELL, -1, CELL).mean(axis=(1, 3)))


def _paths(z: Array, cut: Array) -> tuple[Array, Array]:
    """Return between horizontally neighbouring cells how open the way is, and how much ``z`` rises on it.

    Each of the four lines is as open as its least open edge between the cells' centres; slopes do not pass over a jump.
    """
    height, width = z.shape
    rows, cols = -(-height // CELL), -(-width // CELL)
    pad = ((0, rows * CELL - height), (0, cols * CELL - width))
    cut = np.pad(cut, (pad[0], (0, cols * CELL - 1 - cut.shape[1])), mode="edge")
    z = np.pad(z, pad, mode="reflect", reflect_type="odd")
    way = cut[:, 1 : 1 + CELL * (cols - 1) : CELL].copy()
    for offset in range(2, CELL + 2):
        np.minimum(way, cut[:, offset : offset + CELL * (cols - 1) : CELL], out=way)
    # From the centre of a cell, between its pixels 1 and 2, to that of the next.
    centre = z[:, 1::CELL] + z[:, 2::CELL]
    rise = np.float32(0.5) * way * (centre[:, 1:] - centre[:, :-1])
    total = way.reshape(rows, CELL, cols - 1).sum(axis=1)
    rise = rise.reshape(rows, CELL, cols - 1).sum(axis=1) / total
    return np.maximum(total * np.float32(1 / CELL), CUT), rise
