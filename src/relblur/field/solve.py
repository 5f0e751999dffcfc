"""The descent to the most likely surface.

A discrete labelling (:mod:`.start`) gives the first map.  Each Gauss-Newton step adapts the stiffness of the prior
(:mod:`.stiffness`) and solves for the slopes and for the map (:mod:`.surface`).  Discrete moves between the steps
(:mod:`.moves`) correct pixels in a wrong minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import stiffness
from .energy import Energy
from .moves import follow_median, propagate
from .start import label
from .surface import Slopes, largest_hidden_jump, link, map_step
from .uncertainty import model_error, standard_error
from .volume import Volume

__all__ = ["Field", "solve"]

Array = NDArray[np.float32]

#: Most Gauss-Newton steps.
STEPS = 12
#: First step with a test of stiffness, after the start's staircase is smooth, and the last that may stiffen.
FIRST_TEST, LAST_STIFFENING = 3, 8
#: Relative jump tolerance in the first steps; it covers the staircase of levels in the start.
STAIRCASE = (0.26, 0.12, 0.06)
#: Largest difference of neighbouring pixels that is never a jump.
SMALLEST_JUMP = 0.01
#: Discrete moves: step -> (distance of the neighbour, size of the window of the costs), px.
MOVES = {4: (4, (5, 5)), 6: (2, (3, 3)), 8: (1, (1, 11))}
#: Largest relative change of the map in a step, within the range of the linearisation.
MOST_MOVE = np.float32(0.5)
#: Root mean square of a step, in standard errors, at which the descent ends.
SETTLED = 0.12


@dataclass(frozen=True)
class Field:
    """A map with its standard error, (H, W) each."""

    z: Array
    stderr: Array  #: standard error; about 68 % of errors are smaller
    w: Array  #: information of each pixel about its own value
    power: Array  #: mean of the squared residuals over the channels
    iterations: int
    steps: dict[str, Array] = field(repr=False)  #: intermediates: ``start``, ``mu``, ``information``, ``misfit``


def solve(volume: Volume, progress: Callable[[float], None] = lambda share: None) -> Field:
    """Return the most likely surface of a volume."""
    energy, shape = Energy(volume), volume.shape
    z = start = settled = label(energy)
    slopes = Slopes(shape, volume.loops)
    slope = slopes.pixels()
    log_mu = stiffness.initial(shape, volume.stiffness[0])
    for step in range(STEPS):
        scale = volume.axis.scale(z)
        energy.weigh(z)
        evidence = energy.evidence(z, correlated=step > 0)
        if step >= FIRST_TEST:
            t = stiffness.score_test(evidence.w, evidence.g, scale)
            log_mu = stiffness.adapt(log_mu, t, step <= LAST_STIFFENING, volume.stiffness[1])
        mu = stiffness.spread(log_mu, shape)
        variance = volume.loops.posterior_variance(evidence.w, mu)
        staircase = np.float32(STAIRCASE[step] if step < len(STAIRCASE) else 0.0)
        tolerance = np.maximum(np.float32(SMALLEST_JUMP), staircase * scale)
        # Without noise every area contains evidence.
        if volume.search_support is not None:
            tolerance = np.hypot(tolerance, largest_hidden_jump(evidence.w))
        edges = link(z, slope, variance, mu, tolerance)
        slopes.fit(z, evidence.w, evidence.g, edges, variance, mu)
        slope = slopes.pixels()
        delta = map_step(volume.loops, z, slope, evidence.w, evidence.g, edges, variance, slopes.change())
        z = volume.clip(z + np.clip(delta, -MOST_MOVE * scale, MOST_MOVE * scale))
        if step == LAST_STIFFENING:
            settled = z
        if step in MOVES:
            z = propagate(energy, follow_median(energy, z), slope, *MOVES[step])
        energy.refit(z, evidence, variance)
        progress((step + 1) / STEPS)
        if step > LAST_STIFFENING and _step_size(delta, evidence.w, variance) < SETTLED:
            break
    scale = volume.axis.scale(z)
    evidence = energy.evidence(z)
    error = model_error(energy, z, evidence, scale)
    w = evidence.w if volume.support is None else evidence.w * volume.support.local_support(z)
    if volume.support is not None and not volume.support_in_search:
        w = w * volume.support.at(z)
    stderr = np.hypot(standard_error(scale, w, mu, edges, z - settled, volume.range_variance), error)
    progress(1.0)
    steps = {"start": start, "mu": mu, "information": w, "misfit": energy.misfit}
    return Field(z, stderr, w, evidence.power, step + 1, steps)


def _step_size(delta: Array, w: Array, variance: Array) -> float:
    """Return the root mean square of a step in standard errors, of which a pixel contributes three at most."""
    squares = np.minimum(np.square(delta) * (w + 1 / variance), np.float32(9))
    return float(np.sqrt(np.mean(squares, dtype=np.float64)))
