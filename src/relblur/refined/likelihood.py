"""What the images say about ``s``: information and score, pixel by pixel.

With residual ``e``, sensitivity ``D = -de/ds`` and variance ``v`` of the residual, the negative log-likelihood of a
pixel is a robust function of ``y = e^2 / v``.  Its Gauss-Newton expansion is

    information  w = rho D^2 / v            score  g = rho e D / v            rho = 1 / (1 + y / 25)

(``rho`` is Cauchy's weight at five standard deviations: a dead pixel is an outlier, not evidence).  Three corrections:

* *errors in variables*: the noise of the sharper image is in ``e`` and in ``D``, and ``e D`` would favour blur because
  blur averages noise.  ``D - e mean(e D) / v``, with the mean that noise alone gives, is independent of ``e``: it takes
  the place of ``D``.  Part of its square is noise too, hence it is shrunk by ``alpha = 1 - noise / mean(D^2)``.
* *misfit*: ``v`` is the larger of the sensor's variance and the local mean of ``e^2``.  Real residuals are mostly the
  model's error (lens, occlusion), which varies over the image.
* *inflation*: model error is correlated, so neighbouring pixels repeat each other.  The sandwich ratio
  ``mean (sum g)^2 / mean sum w`` over small windows is 1 for independent residuals; ``w`` and ``g`` are divided by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from . import engine
from .noise import PairNoise
from .prior import leverage
from .stack import ResidualStack, Tables

Array = NDArray[np.float32]

#: Side of the window in which the share of the sensitivity that is not noise is judged, px.
ALPHA = 7
#: One over the ``y`` at which evidence counts half, and over the most a pixel may cost.
OUTLIER, SATURATION = np.float32(1 / 25), np.float32(1 / 20)
#: Numbers of the noise tables.
_OWN, _PASSED, _IN_ED, _IN_DD = range(4)


@dataclass(frozen=True)
class Evidence:
    """Information ``w`` and score ``g`` at a map ``s``; ``power`` is the mean of ``e^2`` over channels."""

    w: Array
    g: Array
    power: Array


class Likelihood:
    """Likelihood of a residual stack under a noise model and a slowly varying misfit.

    Parameters
    ----------
    best : (H, W)
        :func:`best_fit` of the stack.
    bounds : (float, float)
        Range of ``s``.
    trust : (H, W)
        Weight of each pixel's evidence, 0 to 1 (:func:`noise.dithered_share`).  It does not enter the costs of the
        discrete stages: they compare alternatives, and a poor witness is better than none.
    distance : (H, W), optional
        Distance in px to the nearest pixel that must not be used.
    relative_variance : (H, W), optional
        Variance of the noise at each pixel over its mean.
    """

    def __init__(
        self,
        stack: ResidualStack,
        noise: PairNoise,
        best: Array,
        bounds: tuple[float, float],
        trust: Array,
        distance: Array | None,
        relative_variance: Array | None = None,
    ) -> None:
        self.stack = stack
        self.noise = noise
        self.bounds = bounds
        self._distance = distance
        self._relative: Array | np.float32 = np.float32(1) if relative_variance is None else relative_variance
        self._tables = noise.tables(stack)
        self._at_levels = Tables(self._tables.own, self._tables.passed, self._tables.in_ed, self._tables.in_dd)
        #: Whether there is sensor noise to speak of.
        self.noisy = max(noise.sensor) > 0
        #: Tables and relative variance as compiled loops read them.
        self._packed = (
            np.array([self._tables.own, self._tables.passed], np.float32),
            np.array([self._tables.in_ed, self._tables.in_dd], np.float32),
            np.ascontiguousarray(np.broadcast_to(self._relative, best.shape), np.float32),
        )
        #: Noise of the residual at each level over the blurrier image's own.
        self.noise_ratio = 1 + self._tables.passed / self._tables.own
        #: Least residual any level reaches around a pixel: no map need do worse than about this.
        self._ceiling = engine.box(best, 7)
        #: Misfit variance, without the part passed on from the sharper image; a geometric mean to begin with, because a
        #: jump or an occlusion in the window should not hide the good fit beside it.
        self.misfit = np.exp(engine.box(np.log(best + np.float32(1e-14)), 7))
        #: Sandwich ratio of the last evidence.
        self._inflation = np.ones_like(best)
        self._trust = trust
        #: 0 where the images must not be used, 1 elsewhere.
        self.weight: Array = np.ones_like(best)
        self.exclude_reach(np.zeros_like(best))

    def exclude_reach(self, s: Array) -> None:
        """Give no weight to pixels whose blur (two sigma and a pixel) reaches an invalid one."""
        if self._distance is not None:
            self.weight = (self._distance > 1 + 2 * np.sqrt(np.abs(s))).astype(np.float32)

    def clip(self, s: Array) -> Array:
        """Keep ``s`` inside the levels (and where a sampled kernel is one, off the delta)."""
        return np.asarray(np.clip(s, np.float32(self.bounds[0]), np.float32(self.bounds[1])))

    def noise_between_levels(self, cell: int) -> tuple[NDArray[np.float64], Array] | None:
        """Return the variance of ``e_k+1 - e_k`` in noise, and that of each cell over it; None if there is none."""
        if not self.noisy:
            return None
        rows, cols = (-(-n // cell) for n in self.weight.shape)
        if isinstance(self._relative, np.ndarray):
            relative = cv2.resize(self._relative, (cols, rows), interpolation=cv2.INTER_AREA)
        else:
            relative = np.ones((rows, cols), np.float32)
        return self._tables.between, np.asarray(relative)

    def variance(self, s: Array) -> Array:
        """Return ``v`` at a map ``s``."""
        compiled = self.stack.crew.compiled
        if compiled is not None:
            return compiled.variance(self.stack, s, self.misfit, self._packed, self.noisy)
        out = np.empty_like(s)

        def fill(rows: slice) -> None:
            out[rows] = self._variance(self._at_levels.at(self.stack.level_of(s[rows])), rows)

        self.stack.crew.in_bands(fill, s.shape)
        return out

    def _variance(self, table: Callable[[int], Array], rows: slice) -> Array:
        relative = self._relative_of(rows)
        own = np.maximum(self.misfit[rows], relative * table(_OWN))
        return np.asarray(own + relative * table(_PASSED) if self.noisy else own)

    def _relative_of(self, rows: slice) -> Array | np.float32:
        return self._relative[rows] if isinstance(self._relative, np.ndarray) else self._relative

    def evidence(self, s: Array, inflate: bool) -> Evidence:
        """Return information and score at a map ``s``."""
        w, g, power = self._weigh(s)
        if inflate:
            self._inflation = self._deflate(w, g)
        return Evidence(w, g, power)

    def _deflate(self, w: Array, g: Array) -> Array:
        """Divide both by ``mean (sum g)^2 / mean sum w`` over small windows, 1 to 50, which is returned."""
        means: dict[str, Array] = {}

        def square_of_sum() -> None:
            total = engine.box(g, 5)
            means["square"] = engine.box(np.multiply(total, total, out=total), 31)

        def information() -> None:
            means["w"] = engine.box(w, 35)

        crew = self.stack.crew
        crew.each(lambda work: work(), (square_of_sum, information))
        if crew.compiled is not None:
            return crew.compiled.deflate(means["square"], means["w"], w, g)
        ratio = means["square"]
        ratio *= 25 / (means["w"] + np.float32(1e-20))
        np.clip(ratio, 1, 50, out=ratio)
        w /= ratio
        g /= ratio
        return ratio

    def _weigh(self, s: Array) -> tuple[Array, Array, Array]:
        """Return information, score and power, pixel by pixel."""
        compiled = self.stack.crew.compiled
        if compiled is not None:
            weights = (self.weight, self._trust)
            near = partial(engine.box, size=ALPHA)
            return compiled.evidence(self.stack, s, self.misfit, weights, self._packed, self.noisy, near)
        # Nothing but a mean looks at neighbours: what comes before and after it is done in bands of rows.
        stack, channels = self.stack, len(self.stack.residuals)
        e, d, squares = np.empty((3, channels, *s.shape), np.float32)
        over_v, noise_d, w, g, power = np.zeros((5, *s.shape), np.float32)

        def read(rows: slice) -> None:
            level = stack.level_of(s[rows])
            here, change = stack.evaluate(s[rows], level, rows.start)
            table = self._at_levels.at(level)
            over_v[rows] = 1 / self._variance(table, rows)
            if self.noisy:
                relative = self._relative_of(rows)
                noise_ed = relative * table(_IN_ED)
                share = noise_ed * over_v[rows]
                noise_d[rows] = relative * table(_IN_DD) - noise_ed * share
                # The part of D that goes with e is noise: what is left is independent of e, and the score unbiased.
                change -= here * share
            e[:, rows], d[:, rows], squares[:, rows] = here, change, change * change

        def add(rows: slice) -> None:
            use = self.weight[rows] * self._trust[rows] * np.float32(stack.gain.independent)
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

        stack.crew.in_bands(read, s.shape)
        means = [engine.box(square, ALPHA) if self.noisy else None for square in squares]
        stack.crew.in_bands(add, s.shape)
        power /= channels
        return w, g, power

    def cost(self, s: Array, variance: Array) -> Array:
        """Return the robust negative log-likelihood of each pixel at ``s``, saturating at 20."""
        compiled = self.stack.crew.compiled
        if compiled is not None:
            return compiled.cost(self.stack, s, self.weight, variance, self._inflation)
        independent = np.float32(self.stack.gain.independent)
        out = np.empty_like(s)

        def fill(rows: slice) -> None:
            power = np.square(self.stack.residual(s[rows], rows.start)).sum(axis=0)
            z = power * (self.weight[rows] / (2 * variance[rows]))
            out[rows] = independent * z / ((1 + z * SATURATION) * self._inflation[rows])

        self.stack.crew.in_bands(fill, s.shape)
        return out

    def refit_misfit(self, s: Array, evidence: Evidence, w: Array, variance: Array) -> None:
        """Set the misfit to the local mean of ``e^2``, leave-one-out.

        It may fall by at most 100 a call: the estimate is improving, and a variance that collapses before ``s`` has
        converged freezes what is still wrong.  It may not exceed twice the best local fit: a map that is wrong must not
        excuse itself by a large misfit.  ``w`` is the information and ``variance`` the posterior variance of the map.
        """
        compiled, ceiling = self.stack.crew.compiled, self._ceiling
        if compiled is not None:
            square = compiled.leave_out(evidence.power, ceiling, w, variance)
        else:
            square = np.minimum(evidence.power, 20 * ceiling)
            square /= 1 - leverage(w, variance)
        near = engine.box(square, 7)
        far = engine.box(near, 15)
        if compiled is not None:
            self.misfit = compiled.settle(self.stack, s, near, far, ceiling, self._packed, self.noisy, self.misfit)
            return

        def settle(rows: slice) -> None:
            here = near[rows]
            here *= np.float32(0.7)
            here += far[rows] * np.float32(0.3)
            np.minimum(here, 2 * ceiling[rows], out=here)
            if self.noisy:
                table = self._at_levels.at(self.stack.level_of(s[rows]))
                here -= self._relative_of(rows) * table(_PASSED)
            np.maximum(here, self.misfit[rows] * np.float32(0.01), out=here)

        self.stack.crew.in_bands(settle, s.shape)
        self.misfit = near


def best_fit(stack: ResidualStack) -> Array:
    """Return the least 5 x 5 mean of ``e^2`` over the levels, as variance of the blurrier image's own noise.

    Levels are compared after division by ``q0 + q(s)``: otherwise the larger blur would win, or lose, only because it
    averages noise.
    """
    factors = stack.gain.q0 / (stack.gain.q0 + stack.gain.q)
    if stack.crew.compiled is not None:
        return stack.crew.compiled.best_fit(stack, factors)
    found: list[Array] = []

    def look(levels: range) -> None:
        best = np.full(stack.residuals.shape[2:], np.inf, np.float32)
        for k in levels:
            power = engine.box(np.square(stack.residuals[:, k]).mean(axis=0), 5)
            power *= np.float32(factors[k])
            np.minimum(best, power, out=best)
        found.append(best)

    crew = stack.crew
    crew.each(look, [range(start, len(stack.s_levels), crew.workers) for start in range(crew.workers)])
    return np.minimum.reduce(found)
