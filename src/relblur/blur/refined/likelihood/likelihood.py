"""What the images say about ``s``: information and score, pixel by pixel.

With residual ``e``, sensitivity ``D = -de/ds`` and variance ``v`` of the residual, the negative log-likelihood of a
pixel is a robust function of ``y = e^2 / v``.  Its Gauss-Newton expansion is

    information  w = rho D^2 / v            score  g = rho e D / v            rho = 1 / (1 + y / 25)

(``rho`` is Cauchy's weight at five standard deviations: a dead pixel is an outlier, not evidence).  Four corrections:

* *errors in variables*: the noise of the sharper image is in ``e`` and in ``D``, and ``e D`` would favour blur because
  blur averages noise.  ``D - e mean(e D) / v``, with the mean that noise alone gives, is independent of ``e``: it takes
  the place of ``D``.  Part of its square is noise too, hence it is shrunk by ``alpha = 1 - noise / mean(D^2)``.
* *misfit*: ``v`` is the larger of the sensor's variance and the local mean of ``e^2``.  Real residuals are mostly the
  model's error (lens, occlusion), which varies over the image.
* *shared texture*: only detail that both images show is evidence (:mod:`coherence`).
* *inflation*: model error is correlated, so neighbouring pixels repeat each other.  The sandwich ratio
  ``mean (sum g)^2 / mean sum w`` over small windows is 1 for independent residuals; ``w`` and ``g`` are divided by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..averages import box
from ..loops import Loops
from .coherence import SharedTexture
from .noise import ResidualNoise
from .stack import ResidualStack

Array = NDArray[np.float32]

#: Side of the window in which the share of the sensitivity that is not noise is judged, px.
ALPHA = 7
#: One over the ``y`` at which evidence counts half, and over the most a pixel may cost.
OUTLIER, SATURATION = np.float32(1 / 25), np.float32(1 / 20)

#: Pixels are clear of which so many together know the blur.
_CLEAR = 25
#: Noise may be this many times what it is said to be before residuals are the model's error.
_SURE_NOISE = 1.2
#: Share of the model's error that looks like blur, in amplitude.  Chosen on the rendered scenes `street`, `table` and
#: `room`, whose discs no Gaussian fits: it makes 63 to 71 % of the unflagged errors smaller than their bar.
_LIKE_BLUR = 0.12
#: Blur that both images have where they are equally sharp, over the usual difference of their blurs (variances).
#: Halfway between two focal planes it is a quarter of the difference at either plane; chosen on `street`.
_OF_BOTH = 0.3


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
    noise : ResidualNoise
        Of the stack's residuals.
    best : (H, W)
        Least ``e^2`` around each pixel that any level reaches (:func:`best_fit`).
    bounds : (float, float)
        Range of ``s``.
    trust : (H, W)
        Weight of each pixel's evidence, 0 to 1 (:func:`noise.dithered_share`).  It does not enter the costs of the
        discrete stages: they compare alternatives, and a poor datum is better than none.
    weight_at : callable, optional
        Returns for a map ``s`` the weight of every pixel, less than 1 where what its blur reaches must not be used.
    loops : Loops
    shared : SharedTexture, optional
        What both images show; all of it counts without.
    """

    def __init__(
        self,
        stack: ResidualStack,
        noise: ResidualNoise,
        best: Array,
        bounds: tuple[float, float],
        trust: Array,
        weight_at: Callable[[Array], Array] | None,
        loops: Loops,
        shared: SharedTexture | None = None,
    ) -> None:
        self.stack = stack
        self.noise = noise
        self.bounds = bounds
        self.loops = loops
        #: No map need do worse than about this.
        self._ceiling = box(best, 7)
        #: Misfit variance, without the part passed on from the sharper image; a geometric mean to begin with, because a
        #: jump or an occlusion in the window should not hide the good fit beside it.
        self.misfit = np.exp(box(np.log(best + np.float32(1e-14)), 7))
        #: Sandwich ratio of the last evidence.
        self.inflation = np.ones_like(best)
        #: Relative error of ``s`` that the assumed shape of the blur leaves, beside what residuals show.
        self.shape_error = 0.0
        self._trust = trust
        self._weight_at = weight_at
        self.shared = shared
        self.weight: Array = np.ones_like(best)
        self._share: Array = np.ones_like(best)
        self.weigh(np.zeros_like(best))

    def weigh(self, s: Array) -> None:
        """Set the weight of every pixel at a map ``s``: what its blur reaches, and what both images show of it."""
        if self._weight_at is not None:
            self.weight = self._weight_at(s)
        if self.shared is not None:
            self._share = self.shared.at(s)

    def located(self, s: Array, w: Array) -> Array:
        """Return the part of the information at a map ``s`` that is about the pixel itself."""
        return w if self.shared is None else w * self.shared.located(s)

    def clip(self, s: Array) -> Array:
        """Keep ``s`` inside the levels (and where a sampled kernel is one, off the delta)."""
        return np.asarray(np.clip(s, np.float32(self.bounds[0]), np.float32(self.bounds[1])))

    def noise_between_levels(self, cell: int) -> tuple[NDArray[np.float64], Array] | None:
        """Return the variance of ``e_k+1 - e_k`` in noise, and that of each cell over it; None if there is none."""
        if not self.noise.noisy:
            return None
        rows, cols = (-(-n // cell) for n in self.weight.shape)
        if self.noise.varies:
            relative = cv2.resize(self.noise.relative, (cols, rows), interpolation=cv2.INTER_AREA)
        else:
            relative = np.ones((rows, cols), np.float32)
        return self.noise.tables.between, np.asarray(relative)

    def variance(self, s: Array) -> Array:
        """Return ``v`` at a map ``s``."""
        return self.loops.variance(self.stack, self.noise, s, self.misfit)

    def evidence(self, s: Array, inflate: bool) -> Evidence:
        """Return information and score at a map ``s``."""
        w, g, power = self.loops.evidence(
            self.stack, self.noise, s, self.misfit, self.weight, self._trust * self._share
        )
        if inflate:
            self.inflation = self._deflate(w, g)
        return Evidence(w, g, power)

    def model_error(self, s: Array, evidence: Evidence, scale: Array) -> Array:
        """Return what the model's error leaves open of a map ``s``; ``scale`` is a relative change of blur by 1.

        Residuals beyond noise are the lens's own shape, compression, misalignment: they repeat from pixel to pixel,
        and a share of them looks like blur.  They are measured where the data are clear, in units of the change
        that a relative change of blur by 1 would make.  It is a share of the blur of both images, which is there
        even where they do not differ.
        """
        known = evidence.w * np.square(scale) * np.float32(_CLEAR) > 1
        use = self._trust * self._share * self.weight
        power = evidence.power
        if not self.noise.repeats:
            power = power - np.float32(_SURE_NOISE) * self.loops.variance(self.stack, self.noise, s, np.zeros_like(s))
        beyond = len(self.stack.residuals) * use * power
        change = evidence.w * self.inflation * self.variance(s) * np.square(scale)
        total, unit, squares = (
            float(np.sum(a, where=known, dtype=np.float64)) for a in (beyond, change, np.square(scale))
        )
        if not unit > 0:
            return np.zeros_like(s)
        usual = np.float32(_OF_BOTH * np.sqrt(squares / np.count_nonzero(known)))
        relative = np.hypot(_LIKE_BLUR * np.sqrt(max(total, 0.0) / unit), self.shape_error)
        return np.asarray(np.float32(relative) * np.hypot(scale, usual))

    def _deflate(self, w: Array, g: Array) -> Array:
        """Divide both by ``mean (sum g)^2 / mean sum w`` over small windows, 1 to 50, which is returned.

        Scores are taken about the map that suits the surroundings best: a map that is wrong makes them alike, and must
        not excuse itself by that.
        """
        means: dict[str, Array] = {}

        def square_of_sum() -> None:
            step = np.asarray(box(g, 31) / np.maximum(box(w, 31), np.float32(1e-12)), np.float32)
            total = box(g - w * step, 5)
            means["square"] = box(np.multiply(total, total, out=total), 31)

        def information() -> None:
            means["w"] = box(w, 35)

        self.loops.team.each(lambda work: work(), (square_of_sum, information))
        return self.loops.deflate(means["square"], means["w"], w, g)

    @property
    def use(self) -> Array:
        """How much of each pixel counts in its cost."""
        return self.weight * self._share

    def cost(self, s: Array, variance: Array) -> Array:
        """Return the robust negative log-likelihood of each pixel at ``s``, saturating at 20."""
        return self.loops.cost(self.stack, s, self.use, variance, self.inflation)

    def refit_misfit(self, s: Array, evidence: Evidence, w: Array, variance: Array) -> None:
        """Set the misfit to the local mean of ``e^2``, leave-one-out.

        It may fall by at most 100 a call: the estimate is improving, and a variance that collapses before ``s`` has
        converged freezes what is still wrong.  It may not exceed twice the best local fit: a map that is wrong must not
        excuse itself by a large misfit.  ``w`` is the information and ``variance`` the posterior variance of the map.
        """
        square = self.loops.leave_out(evidence.power, self._ceiling, w, variance)
        near = box(square, 7)
        far = box(near, 15)
        self.loops.settle(self.stack, self.noise, s, near, far, self._ceiling, self.misfit)


def reach_of_blur(distance: Array | None) -> Callable[[Array], Array] | None:
    """Return the weight of pixels at some distance (px) from those that must not be used, None if there are none.

    A pixel whose blur (two sigma and a pixel) reaches one of them has none.
    """
    if distance is None:
        return None
    return lambda s: (distance > 1 + 2 * np.sqrt(np.abs(s))).astype(np.float32)


def best_fit(stack: ResidualStack, loops: Loops) -> Array:
    """Return the least 5 x 5 mean of ``e^2`` over the levels, as variance of the blurrier image's own noise.

    Levels are compared after division by ``q0 + q(s)``: otherwise the larger blur would win, or lose, only because it
    averages noise.
    """
    return loops.best_fit(stack, stack.gain.q0 / (stack.gain.q0 + stack.gain.q))
