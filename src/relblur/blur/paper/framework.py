"""The paper's computational framework with its matrices W and F (equations 15 to 24, Fig. 3).

A patch of ``R_s x R_s`` pixels around a point is written as a vector and multiplied by W (MN x R_s^2). The product is
folded to M x N and multiplied by F (N). The result is M(sigma_m), the M intensities of the centre in an image blurred
by sigma_m:

    M = ivec(W vec(i_L), M) F,   F(r_n) = (r_N / N) r_n exp(-r_n^2 / 2),   r_n = n r_N / N

Both ``vec`` and ``ivec`` stack columns, as in the paper. This module is for the study of patches: it needs 26 million
operations per pixel at the paper's dimensions. :func:`relblur.paper.gaussian_bank` gives the same numbers for whole
images to 4e-6, the part of a kernel beyond 5 sigma.

There are three errata in the paper. Equation 24 divides by ``R_s^2``, which makes the intensities 2601 times too small.
Rows must sum to one (``weights="gaussian"``; as printed: ``weights="literal"``). W as defined does not depend on n, so
its MN rows are M rows repeated N times, and the framework equals M Gaussian filters times the sum of F. This sum, by
equation 16 with N = 100, is 0.99979, not 1 as in equation 22. A gain error of 2e-4 acts as a change of blur, which is
too large for the accuracy of Fig. 1 (``normalise=False``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...base._typing import ArrayLike, FloatArray
from ...base.arguments import as_choice, as_positive, as_sigmas, as_whole
from ...base.errors import InputError
from ...base.inputs import as_image
from ...base.settings import PAPER_N_RADII, PAPER_RADIUS_LIMIT, paper_sigmas

__all__ = ["WEIGHTS", "Framework"]

WEIGHTS = ("gaussian", "literal", "circle")


class Framework:
    """The two-layer framework of Fig. 3.

    Parameters
    ----------
    sigmas : sequence of M floats, optional
        Standard deviations in px; the paper's 0.1, 0.2, ... 5.0 by default.
    n_radii : int
        N, points of the Riemann sum.
    radius_limit : float
        r_N, upper limit of the integral in units of sigma.
    weights : {"gaussian", "literal", "circle"}
        ``"gaussian"``: equation 24 with rows that sum to one. ``"literal"``: equation 24 as
        printed. ``"circle"``: row (m, n) is the mean over the circle of radius
        ``sigma_m r_n`` (equation 10) of the band-limited image through the pixels.
    normalise : bool
        Divide F by its sum, so that an even patch keeps its intensity. False: equation 16 as
        printed, with a result 2e-4 too dark at N = 100.

    Examples
    --------
    >>> import numpy as np
    >>> framework = Framework(sigmas=[1.0, 2.0], n_radii=20)
    >>> framework.window_size, framework.W.shape, framework.F.shape
    (21, (40, 441), (20,))
    >>> framework.respond(np.full((21, 21), 0.5)).round(2)
    array([0.5, 0.5])
    """

    def __init__(
        self,
        sigmas: ArrayLike | Sequence[float] | None = None,
        n_radii: int = PAPER_N_RADII,
        radius_limit: float = PAPER_RADIUS_LIMIT,
        weights: str = "gaussian",
        normalise: bool = True,
    ) -> None:
        self.sigmas: FloatArray = as_sigmas(paper_sigmas() if sigmas is None else sigmas)
        self.n_radii = as_whole(n_radii, "n_radii")
        self.radius_limit = as_positive(radius_limit, "radius_limit", "(in units of sigma)")
        self.weights = as_choice(weights, "weights", WEIGHTS)
        self.normalise = bool(normalise)

    @property
    def radii(self) -> FloatArray:
        """The points r_n, in units of sigma."""
        return np.arange(1.0, self.n_radii + 1) * (self.radius_limit / self.n_radii)

    @property
    def window_size(self) -> int:
        """R_s = 2 sigma_M r_N + 1, rounded up to an odd number of pixels."""
        return 2 * math.ceil(float(self.sigmas[-1]) * self.radius_limit - 1e-9) + 1

    @cached_property
    def F(self) -> FloatArray:
        """F(r_n) of equation 16, shape (N,); of unit sum if the framework is normalised."""
        r = self.radii
        printed = (self.radius_limit / self.n_radii) * r * np.exp(-0.5 * r**2)
        return printed / printed.sum() if self.normalise else printed

    @cached_property
    def W(self) -> FloatArray:
        """The weighting matrix of equation 19, shape (MN, R_s^2); row ``m + M n``."""
        if self.weights == "circle":
            radii = [sigma * r for r in self.radii for sigma in self.sigmas]
            return np.stack([circle_weights(radius, self.window_size).ravel(order="F") for radius in radii])
        half = self.window_size // 2
        n = np.arange(-half, half + 1)
        squared_radius = (n[:, None] ** 2 + n[None, :] ** 2).ravel(order="F")
        v = self.sigmas[:, None] ** 2
        gaussian = np.exp(-0.5 * squared_radius / v)
        if self.weights == "literal":
            gaussian /= 2 * np.pi * v * self.window_size**2
        else:
            gaussian /= gaussian.sum(axis=1, keepdims=True)
        return np.tile(gaussian, (self.n_radii, 1))

    def respond(self, patch: ArrayLike) -> FloatArray:
        """Return M(sigma_m) for one patch of ``window_size`` squared pixels, shape (M,)."""
        array = as_image(patch, "patch")
        size = self.window_size
        if array.shape != (size, size):
            raise InputError(f"patch must be {size}x{size} (window_size), got {array.shape[0]}x{array.shape[1]}")
        folded = (self.W @ array.ravel(order="F")).reshape(self.sigmas.size, -1, order="F")  # ivec: (M, N)
        return np.asarray(folded @ self.F)


def circle_weights(radius_px: float, size: int) -> FloatArray:
    """Return the weights of the mean over a circle around the middle of ``size`` x ``size`` pixels; their sum is 1.

    The mean of a plane wave over a circle of radius r is J0(r |w|) times the wave at its centre, so the weights are the
    inverse Fourier transform of J0.
    """
    from scipy.special import j0

    w = 2 * np.pi * np.fft.fftfreq(size)
    transfer = j0(radius_px * np.hypot(w[:, None], w))
    return np.asarray(np.fft.fftshift(np.fft.ifft2(transfer).real))
