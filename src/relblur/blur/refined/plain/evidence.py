"""Reading the stack at a map and weighing what it says.  The equations are in :mod:`..likelihood.likelihood`.

Nothing but a mean looks at neighbours: what comes before and after it is done in bands of rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..averages import box
from ..likelihood.likelihood import ALPHA, OUTLIER, SATURATION
from ..likelihood.noise import ResidualNoise
from ..likelihood.stack import ResidualStack
from ..prior.prior import leverage
from ..team import ThreadTeam
from .bands import in_bands
from .reading import Tables, interpolate, interpolate_value

__all__ = ["EvidenceLoops"]

Array = NDArray[np.float32]

#: Numbers of the noise tables.
_OWN, _PASSED, _IN_ED, _IN_DD = range(4)


def _noise_at_levels(noise: ResidualNoise) -> Tables:
    tables = noise.tables
    return Tables(tables.own, tables.passed, tables.in_ed, tables.in_dd)


def _variance(noise: ResidualNoise, table: Callable[[int], Array], misfit: Array, rows: slice) -> Array:
    relative = noise.relative[rows]
    own = np.maximum(misfit[rows], relative * table(_OWN))
    return np.asarray(own + relative * table(_PASSED) if noise.noisy else own)


class EvidenceLoops:
    """Loops over the residual stack."""

    team: ThreadTeam

    def variance(self, stack: ResidualStack, noise: ResidualNoise, s: Array, misfit: Array) -> Array:
        """Return the larger of misfit and the blurrier image's noise, and the noise that the sharper passes on."""
        at_levels, out = _noise_at_levels(noise), np.empty_like(s)

        def fill(rows: slice) -> None:
            out[rows] = _variance(noise, at_levels.at(stack.axis.level_of(s[rows])), misfit, rows)

        in_bands(fill, s.shape)
        return out

    def evidence(
        self, stack: ResidualStack, noise: ResidualNoise, s: Array, misfit: Array, weight: Array, trust: Array
    ) -> tuple[Array, Array, Array]:
        """Return information ``rho D^2 / v``, score ``rho e D / v``, and the mean of ``e^2`` over the channels."""
        at_levels, channels = _noise_at_levels(noise), len(stack.residuals)
        e, d, squares = np.empty((3, channels, *s.shape), np.float32)
        over_v, noise_d, w, g, power = np.zeros((5, *s.shape), np.float32)

        def read(rows: slice) -> None:
            level = stack.axis.level_of(s[rows])
            here, slope = interpolate(stack.residuals, level, rows.start)
            change = -stack.axis.by_s(slope, s[rows])
            table = at_levels.at(level)
            over_v[rows] = 1 / _variance(noise, table, misfit, rows)
            if noise.noisy:
                relative = noise.relative[rows]
                noise_ed = relative * table(_IN_ED)
                share = noise_ed * over_v[rows]
                noise_d[rows] = relative * table(_IN_DD) - noise_ed * share
                # The part of D that goes with e is noise: what is left is independent of e, and the score unbiased.
                change -= here * share
            e[:, rows], d[:, rows], squares[:, rows] = here, change, change * change

        def add(rows: slice) -> None:
            use = weight[rows] * trust[rows] * np.float32(stack.gain.independent)
            for ec, dc, d2, mean in zip(e[:, rows], d[:, rows], squares[:, rows], means, strict=True):
                square = ec * ec
                power[rows] += square
                rho = use * over_v[rows] / (1 + square * over_v[rows] * OUTLIER)
                if mean is None:
                    w[rows] += rho * d2
                else:
                    alpha = 1 - noise_d[rows] / np.maximum(mean[rows], noise_d[rows] + np.float32(1e-30))
                    rho *= alpha
                    w[rows] += alpha * rho * d2
                g[rows] += rho * ec * dc

        in_bands(read, s.shape)
        means = [box(square, ALPHA) if noise.noisy else None for square in squares]
        in_bands(add, s.shape)
        power /= channels
        return w, g, power

    def deflate(self, square: Array, mean: Array, w: Array, g: Array) -> Array:
        """Return the sandwich ratio, by which both are divided."""
        ratio: Array = square * np.asarray(25 / (mean + np.float32(1e-20)), np.float32)
        np.clip(ratio, 1, 50, out=ratio)
        w /= ratio
        g /= ratio
        return ratio

    def leave_out(self, power: Array, ceiling: Array, w: Array, variance: Array) -> Array:
        """Return ``e^2`` as it would be without each pixel's own datum: over one less its leverage."""
        square: Array = np.minimum(power, 20 * ceiling)
        square /= 1 - leverage(w, variance)
        return square

    def settle(
        self,
        stack: ResidualStack,
        noise: ResidualNoise,
        s: Array,
        near: Array,
        far: Array,
        ceiling: Array,
        misfit: Array,
    ) -> None:
        """Overwrite the misfit."""
        at_levels = _noise_at_levels(noise)

        def settle(rows: slice) -> None:
            mean = near[rows] * np.float32(0.7)
            mean += far[rows] * np.float32(0.3)
            np.minimum(mean, 2 * ceiling[rows], out=mean)
            if noise.noisy:
                table = at_levels.at(stack.axis.level_of(s[rows]))
                mean -= noise.relative[rows] * table(_PASSED)
            np.maximum(mean, misfit[rows] * np.float32(0.01), out=misfit[rows])

        in_bands(settle, s.shape)

    def cost(self, stack: ResidualStack, s: Array, weight: Array, variance: Array, inflation: Array) -> Array:
        """Return ``z / (1 + z / 20)`` with ``z = sum e^2 / 2 v``, over the inflation."""
        independent = np.float32(stack.gain.independent)
        out = np.empty_like(s)

        def fill(rows: slice) -> None:
            e = interpolate_value(stack.residuals, stack.axis.level_of(s[rows]), rows.start)
            z = np.square(e).sum(axis=0) * (weight[rows] / (2 * variance[rows]))
            out[rows] = independent * z / ((1 + z * SATURATION) * inflation[rows])

        in_bands(fill, s.shape)
        return out

    def best_fit(self, stack: ResidualStack, factors: NDArray[np.float64]) -> Array:
        """Return the least 5 x 5 mean of ``e^2`` over the levels."""
        found: list[Array] = []

        def look(levels: range) -> None:
            best = np.full(stack.residuals.shape[2:], np.inf, np.float32)
            for k in levels:
                power = box(np.square(stack.residuals[:, k]).mean(axis=0), 5)
                power *= np.float32(factors[k])
                np.minimum(best, power, out=best)
            found.append(best)

        workers = self.team.workers
        self.team.each(look, [range(start, len(stack.s_levels), workers) for start in range(workers)])
        return np.minimum.reduce(found)
