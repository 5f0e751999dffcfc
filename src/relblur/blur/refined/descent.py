"""The descent to the map of greatest posterior probability.

A global discrete labelling (``labels``) is the start.  Gauss-Newton steps, each one linear system, descend in its basin
with the slopes found alongside (``slope``) and the stiffness that the data allow (``strength``); discrete moves in
between (``propagate``) change the basin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from . import uncertainty
from .averages import box
from .discrete import labels
from .discrete.propagate import follow_majority, propagate
from .likelihood.likelihood import Evidence, Likelihood
from .prior import strength
from .prior.coordinate import Coordinate
from .prior.slope import SlopeField

__all__ = ["ITERATIONS", "SMALLEST_JUMP", "Descent", "descend"]

Array = NDArray[np.float32]

#: Gauss-Newton steps.  The stiffness settles by the ninth; the rest is convergence, and two more change little.
ITERATIONS = 12
#: First iteration at which stiffness is tested: before, the start's staircase is still being smoothed away.
_FIRST_TEST = 3
#: Last iteration that may stiffen: afterwards the map must have time to follow.
_LAST_STIFFENING = 8
#: Jump tolerance over the first iterations as a share of sqrt(s^2 + C^2): the start is a staircase of 20 % steps in s.
_STAIRCASE = (0.26, 0.12, 0.06)
#: Steps below this (px^2 of s, px of sigma) from pixel to pixel are never jumps.
SMALLEST_JUMP = 0.01
#: Side in px of the window that has to have seen a jump, and how much it has to know: information times the jump
#: squared.  It is next to nothing: what is less is no evidence at all.  Of 0 and 5e-6 to 0.4 the least that clears
#: skies and walls of jumps (`street`, rocket) and leaves discs and stripes as they are (camera, coffee).
_SEEN_IN, _SEEN = 17, 2e-5
#: Discrete moves: iteration -> (reach of the neighbour, side of the judging window), from coarse to fine.
_MOVES = {4: (4, 5), 6: (2, 3), 8: (1, 3)}
#: The descent ends early when a step moves the map by less than this many standard errors.
_SETTLED = 0.12
#: Conjugate-gradient steps for the map and for its slopes.
_MAP_STEPS, _SLOPE_STEPS = 5, 10


@dataclass(frozen=True)
class Descent:
    """A map ``s``, its standard error, and the evidence for it.

    ``steps`` are intermediates, for looking at.
    """

    s: Array
    s_stderr: Array
    evidence: Evidence
    iterations: int
    steps: dict[str, Array] = field(repr=False)


def descend(likelihood: Likelihood, coordinate: Coordinate, progress: Callable[[float], None]) -> Descent:
    """Find the map of greatest posterior probability."""
    loops, axis = likelihood.loops, likelihood.stack.axis
    limits = coordinate.limits(likelihood.bounds)
    start = labels.label(likelihood)
    shape = (start.shape[0], start.shape[1])
    z = before = coordinate.of(start)
    slopes = SlopeField(shape, loops)
    slope = slopes.pixels()
    log_mu = strength.initial(shape, coordinate.first_stiffness)
    for iteration in range(ITERATIONS):
        s, scale = loops.place(z, coordinate.is_sigma, axis)
        likelihood.weigh(s)
        evidence = likelihood.evidence(s, inflate=iteration > 0)
        w, g = coordinate.carry(evidence.w, evidence.g, z, loops)
        if iteration >= _FIRST_TEST:
            test = strength.score_test(w, g, scale, loops)
            may_stiffen = iteration <= _LAST_STIFFENING
            log_mu = strength.adapt(log_mu, test, may_stiffen, coordinate.most_stiffness)
        mu = strength.spread(log_mu, shape)
        variance = loops.posterior_variance(w, mu)
        staircase = np.float32(_STAIRCASE[iteration] if iteration < len(_STAIRCASE) else 0.0)
        tolerance = np.maximum(np.float32(SMALLEST_JUMP), staircase * scale)
        # Without noise there is no area that says nothing.
        if likelihood.shared is not None:
            tolerance = np.hypot(tolerance, _unseen(w))
        edges = loops.link(z, slope, variance, mu, tolerance)
        slopes.fit(z, w, g, edges, variance, mu, _SLOPE_STEPS)
        slope = slopes.pixels()
        delta = loops.solve_step(z, slope, w, g, slopes.pull(), edges, variance, _MAP_STEPS)
        z = loops.move(z, delta, scale, limits)
        if iteration == _LAST_STIFFENING:
            before = z
        if iteration in _MOVES:
            z = coordinate.of(follow_majority(likelihood, coordinate.to_s(z)))
            z = propagate(likelihood, coordinate, z, slope, *_MOVES[iteration])
        likelihood.refit_misfit(coordinate.to_s(z), evidence, w, variance)
        progress((iteration + 1) / ITERATIONS)
        if iteration > _LAST_STIFFENING and _moved(delta, w, variance) < _SETTLED:
            progress(1.0)
            break
    s, scale = loops.place(z, coordinate.is_sigma, axis)
    evidence = likelihood.evidence(s, inflate=True)
    model_error = likelihood.model_error(s, evidence, axis.scale(s))
    evidence = replace(evidence, w=likelihood.located(s, evidence.w))
    own, _ = coordinate.carry(evidence.w, evidence.g, z, loops)
    own_error = uncertainty.standard_error(z, before, scale, own, mu, edges, limits)
    stderr = np.hypot(coordinate.gain(z) * own_error, model_error)
    steps = {"start": start, "mu": mu, "information": evidence.w, "misfit": likelihood.misfit}
    return Descent(s, stderr, evidence, iteration + 1, steps)


def _unseen(w: Array) -> Array:
    """Return the largest jump of which the window around has seen nothing."""
    known = np.maximum(box(w, _SEEN_IN), 0) * np.float32(_SEEN_IN**2)
    return np.asarray(np.sqrt(np.float32(_SEEN) / (known + np.float32(1e-6))))


def _moved(delta: Array, w: Array, variance: Array) -> float:
    """Return the root mean square of a step in standard errors, single pixels counting three at most."""
    squares = np.minimum(np.square(delta) * (w + 1 / variance), np.float32(9))
    return float(np.sqrt(np.mean(squares, dtype=np.float64)))
