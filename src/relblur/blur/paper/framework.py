"""The paper's computational framework with its matrices W and F (equations 15 to 24, Fig. 3).

A patch of ``R_s x R_s`` pixels around a point is written as a vector and multiplied by W (MN x R_s^2). The product is
folded to M x N and multiplied by F (N). The result is M(sigma_m), the M intensities of the centre in an image blurred
by sigma_m:

    M = ivec(W vec(i_L), M) F,   F(r_n) = (r_N / N) r_n exp(-r_n^2 / 2),   r_n = n r_N / N

Both ``vec`` and ``ivec`` stack columns, as in the paper. This module is for study of patches and small images: it needs
26 million operations per pixel at the paper's dimensions. :func:`relblur.gaussian_bank` gives the same numbers for
whole images to 4e-6, the part of a kernel beyond 5 sigma.

The paper has three errata here. Equation 24 divides by ``R_s^2``, which makes the intensities 2601 times too small.
Rows must sum to one (``weights="gaussian"``; as printed: ``weights="literal"``). W as defined does not depend on n, so
its MN rows are M rows repeated N times, and the framework equals M Gaussian filters times the sum of F. This sum, by
equation 16 with N = 100, is 0.99979, not 1 as in equation 22. A gain error of 2e-4 acts as a change of blur, which is
too large for the accuracy of Fig. 1 (``normalise=False``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ... import __version__
from ...base._typing import AnyArray, ArrayLike, FloatArray, Progress
from ...base.arguments import as_choice, as_noise, as_odd_size, as_positive, as_sigmas, as_whole
from ...base.errors import InputError
from ...base.inputs import as_image, check_pair
from ...base.settings import PAPER_N_RADII, PAPER_RADIUS_LIMIT, PAPER_WINDOW, SIDES, paper_sigmas
from ...kernels.threads import count_workers
from ..blur_map import BlurMap
from ..request import Request
from ..tiles import local_tiling, run_in_tiles
from ..whole_image import survey
from .answer import answer_on_grid, fill_from_neighbours
from .method import Levels

__all__ = ["WEIGHTS", "Framework"]

WEIGHTS = ("gaussian", "literal", "circle")

#: Number of pixels on each side of a point in its interpolation: on a photograph blurred by 1 px the error is 6e-4 with
#: 3, 3.5e-4 with 4, 2e-4 with 6.
REACH = 6

#: Number of points on a circle per pixel of circumference: enough for all frequencies of the pixel grid.
POINTS_PER_PIXEL = 4

#: Largest size of the product W vec(i) in `respond_image`, bytes.
BATCH_BYTES = 64 * 2**20


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
        ``sigma_m r_n`` (equation 10), by interpolation between pixels.
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
        return self._respond_vectors(array.ravel(order="F")[None, :])[0]

    def respond_image(self, image: ArrayLike, *, mode: str = "reflect", progress: Progress | None = None) -> FloatArray:
        """Return M(x, sigma_m) at every pixel, shape (M, H, W), in bounded memory.

        Patches are processed a few at a time, so that intermediate arrays other than W stay below about 64 MB.
        ``mode`` is named as in :mod:`scipy.ndimage`.
        """
        array = as_image(image)
        half = self.window_size // 2
        pad_mode = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}
        as_choice(mode, "mode", tuple(pad_mode))
        padded: AnyArray = np.pad(array, half, mode=pad_mode[mode])  # type: ignore[call-overload]
        return self._respond_inside(padded, progress)

    def estimate(
        self,
        first: ArrayLike,
        second: ArrayLike,
        *,
        sharper: str = "auto",
        window: int = PAPER_WINDOW,
        noise: float | None = None,
        progress: Progress | None = None,
    ) -> BlurMap:
        """Estimate the relative blur of two small images, with every intensity computed by W and F.

        The estimate is that of :func:`relblur.estimate_blur` with ``method="paper"``, whose filters agree with this
        framework to 4e-6. It takes about a second for 1000 pixels at the paper's dimensions, so use images of
        100 x 100 or less.

        Parameters
        ----------
        first, second : (H, W) arrays
            In any order; grey.
        sharper, window, noise
            As for :func:`relblur.estimate_blur`.
        """
        raw = check_pair(first, second)
        as_choice(sharper, "sharper", SIDES)
        request = Request(
            method="paper",
            sharper=sharper,  # type: ignore[arg-type]
            sigmas=self.sigmas,
            window=as_odd_size(window, "window", raw.shape),
            given_noise=as_noise(noise),
            engine="opencv",
            workers=count_workers(None),
            overall=(survey(raw.first, raw.finite), survey(raw.second, raw.finite)),
        )
        levels = Levels(self.sigmas, self._levels_of, self.window_size // 2)
        tiling = local_tiling(partial(answer_on_grid, levels=levels), keep_doubtful=True)
        answer = fill_from_neighbours(run_in_tiles(tiling, raw, request, progress or (lambda _: None)))
        return BlurMap(answer.s, answer.stderr, answer.flags, answer.sharper, self._settings(request))

    def _levels_of(self, padded: FloatArray) -> Callable[[int], FloatArray]:
        """Return the function m -> M(x, sigma_m) of a padded image; in the margin it repeats the nearest values."""
        half = self.window_size // 2
        inside = self._respond_inside(padded)
        responses = np.pad(inside, ((0, 0), (half, half), (half, half)), mode="edge")
        return lambda m: np.asarray(responses[m])

    def _settings(self, request: Request) -> dict[str, Any]:
        return {
            "relblur": __version__,
            "method": "framework",
            "weights": self.weights,
            "normalise": self.normalise,
            "sharper": request.sharper,
            "window": request.window,
            "noise": request.noise,
            "sigmas": self.sigmas.tolist(),
            "kernel": "sampled",
        }

    def _respond_inside(self, padded: FloatArray, progress: Progress | None = None) -> FloatArray:
        """Return the responses at those pixels whose whole window lies in the image, (M, H - R_s + 1, W - R_s + 1)."""
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.window_size, self.window_size))
        height, width = windows.shape[:2]
        out = np.empty((self.sigmas.size, height * width))
        row_bytes = 8 * max(self.window_size**2, self.sigmas.size * self.n_radii)
        batch = max(1, BATCH_BYTES // row_bytes)
        for start in range(0, height * width, batch):
            index = np.arange(start, min(start + batch, height * width))
            patches = windows[index // width, index % width]  # (batch, R_s, R_s)
            vectors = patches.transpose(0, 2, 1).reshape(index.size, -1)  # vec() stacks columns
            out[:, index] = self._respond_vectors(vectors).T
            if progress is not None:
                progress(float(index[-1] + 1) / (height * width))
        return out.reshape(-1, height, width)

    def _respond_vectors(self, vectors: FloatArray) -> FloatArray:
        circles = vectors @ self.W.T  # first layer: (batch, MN)
        folded = circles.reshape(len(vectors), self.n_radii, self.sigmas.size)
        return np.asarray(np.einsum("bnm,n->bm", folded, self.F))  # second layer


def circle_weights(radius_px: float, size: int) -> FloatArray:
    """Return the weights of the mean over a circle around the middle of ``size`` x ``size`` pixels; their sum is 1.

    Values between pixels are interpolated by Lagrange's polynomial through the twelve nearest along each axis, which is
    exact up to degree eleven. Keys' cubic, with four pixels, has ten times the error at 1 px on photographs.
    """
    half = size // 2
    count = max(16, math.ceil(2 * math.pi * POINTS_PER_PIXEL * radius_px))
    angle = (np.arange(count) + 0.5) * (2 * np.pi / count)
    rows, row_weights = _taps(radius_px * np.sin(angle) + half, size)
    columns, column_weights = _taps(radius_px * np.cos(angle) + half, size)
    places = rows[:, :, None] * size + columns[:, None, :]
    weights = row_weights[:, :, None] * column_weights[:, None, :] / count
    total = np.bincount(places.ravel(), weights.ravel(), minlength=size**2)
    return np.asarray(total, dtype=np.float64).reshape(size, size)


def _taps(position: FloatArray, size: int) -> tuple[AnyArray, FloatArray]:
    """Return the pixels of a line that interpolate each position, and their weights, both (positions, 2 REACH).

    The outermost circle touches the border; pixels beyond it are replaced by those of the border.
    """
    nodes = np.arange(1 - REACH, REACH + 1)
    below = np.floor(position).astype(int)
    distance = (position - below)[:, None] - nodes  # (positions, nodes)
    between = nodes[:, None] - nodes
    weights = np.empty_like(distance)
    for i in range(nodes.size):
        others = np.arange(nodes.size) != i
        weights[:, i] = distance[:, others].prod(axis=1) / between[i, others].prod()
    return (below[:, None] + nodes).clip(0, size - 1), weights
