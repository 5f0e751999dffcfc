"""``method="paper"``: the roots of M(x, sigma) = R(x) on the paper's grid, with one selected at each pixel.

At a pixel, the sharper image blurred by sigma gives M(sigma) for the M grid values (a filter bank,
:mod:`relblur.filters.bank`). M(sigma) generally crosses the observed value R at several sigmas. These roots are the
candidate solutions. The paper selects one "using similarity measures over neighboring points", without more detail.
Here the sigma that fits a window best minimises

    E(sigma) = mean over the window of (M(sigma) - R)^2.

The root of the pixel nearest to that sigma is selected and rounded to the grid.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import NamedTuple

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray, Progress
from ...filters.kernels import kernel_radius, sampled_kernel
from ...kernels.separable import box_mean, filter_separable
from ..request import Request
from ..tiles import padded_tiles

__all__ = ["GridRoots", "estimate_on_grid"]

#: Largest minimum of |M - R| that is a double root, relative to its neighbours on the grid. Two roots within a grid
#: interval give no change of sign.
TOUCHING = 0.3

#: Number of pixels that are solved together: they stay in the processor's cache.
PIXELS_AT_ONCE = 512


class GridRoots(NamedTuple):
    """Result for one direction, with a given sharper image."""

    sigma: FloatArray  #: the selected root, rounded to the grid, px
    stderr: FloatArray  #: its standard error, px
    window_stderr: FloatArray  #: standard error of the sigma that fits the window best, px
    has_root: BoolArray  #: False where a substitute was selected


def estimate_on_grid(
    images: tuple[FloatArray, FloatArray], request: Request, where: BoolArray, progress: Progress
) -> GridRoots:
    """Find, at each pixel of ``where``, the grid sigma that blurs the first of two (H, W) images into the second.

    Other pixels are used in the windows of these but get no result (NaN).
    """
    sigmas = request.sigmas
    empty = [np.full(where.shape, np.nan) for _ in range(3)]
    result = GridRoots(empty[0], empty[1], empty[2], np.zeros(where.shape, dtype=bool))
    margin = kernel_radius(request.max_sigma) + request.window // 2
    done = 0
    with ThreadPoolExecutor(request.workers) as pool:
        for place, padded in padded_tiles(images, margin, 4 * sigmas.size):
            here = where[place]
            if here.any():
                misfit, energy = _misfit_and_energy(padded, request, np.pad(here, margin), pool)
                starts = range(0, misfit.shape[1], PIXELS_AT_ONCE)
                blocks = [np.s_[:, start : start + PIXELS_AT_ONCE] for start in starts]
                parts = pool.map(_solve, (misfit[b] for b in blocks), (energy[b] for b in blocks), repeat(request))
                for whole, solved in zip(result, zip(*parts, strict=True), strict=True):
                    whole[place][here] = np.concatenate(solved)
            done += here.size
            progress(done / where.size)
    return result


def _misfit_and_energy(
    padded: list[FloatArray], request: Request, where: BoolArray, pool: ThreadPoolExecutor
) -> tuple[FloatArray, FloatArray]:
    """Return M(sigma) - R and its mean square over the window, (M, pixels) each, for the pixels of ``where``."""
    sharp, blurry = padded
    misfit = np.empty((request.sigmas.size, int(where.sum())))
    energy = np.empty_like(misfit)

    def level(m: int) -> None:
        kernel = sampled_kernel(float(request.sigmas[m]))
        difference = filter_separable(sharp, kernel, "nearest") - blurry
        misfit[m] = difference[where]
        energy[m] = box_mean(difference**2, request.window)[where]

    # The longest kernels are filtered first, to balance the threads.
    list(pool.map(level, range(request.sigmas.size - 1, -1, -1)))
    return misfit, energy


def _solve(misfit: FloatArray, energy: FloatArray, request: Request) -> tuple[AnyArray, ...]:
    """Return the fields of :class:`GridRoots` for some pixels."""
    sigmas = request.sigmas
    common, window_stderr, residual = _common_sigma(energy, sigmas, request.window, request.noise)
    sigma, has_root = _nearest_root(misfit, sigmas, common)
    index = np.searchsorted((sigmas[1:] + sigmas[:-1]) / 2, sigma)
    # A grid of one level gives the order of magnitude only.
    step = np.gradient(sigmas)[index] if sigmas.size > 1 else np.full_like(sigma, sigmas[0])
    with np.errstate(divide="ignore"):
        own = residual / np.abs(_slope(misfit, sigmas, index))
    # The error of a root is at most the width of the grid; rounding adds a variance of step^2 / 12.
    span = float(sigmas[-1] - sigmas[0]) if sigmas.size > 1 else float(sigmas[0])
    return sigmas[index], np.sqrt(np.minimum(own, span) ** 2 + step**2 / 12), window_stderr, has_root


def _common_sigma(
    energy: FloatArray, sigmas: FloatArray, window: int, noise: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sigma that fits a window best, its standard error, and the root mean square residual."""
    residual = np.sqrt(np.maximum(energy.min(axis=0), noise**2))
    if sigmas.size < 3:  # no curvature, so the error is the range of the grid
        return sigmas[energy.argmin(axis=0)], np.full_like(residual, float(np.ptp(sigmas))), residual
    best = energy.argmin(axis=0).clip(1, sigmas.size - 2)
    left, centre, right = (np.take_along_axis(energy, (best + d)[None], 0)[0] for d in (-1, 0, 1))
    h = (sigmas[best + 1] - sigmas[best - 1]) / 2
    curvature = np.maximum(left - 2 * centre + right, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = np.where(curvature > 0, (left - right) / (2 * curvature), 0.0).clip(-1, 1)
        # E'' / 2 is the mean squared derivative of M, so this many pixels give 1 / se^2.
        window_stderr = residual / np.sqrt(window**2 * curvature / (2 * h**2))
    # In a flat area E is constant over a range of sigma, which the local curvature does not show. The error is at least
    # half the range of levels that fit as well as the best.
    as_good = (energy <= energy.min(axis=0) + (residual / window) ** 2).sum(axis=0)
    window_stderr = np.maximum(window_stderr, (as_good - 1) / 2 * h)
    return sigmas[best] + offset * h, window_stderr, residual


def _nearest_root(misfit: FloatArray, sigmas: FloatArray, common: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the root of the misfit nearest to the common sigma of the window, and whether there is one.

    ``misfit`` is (M, pixels). Without a root the substitute is a minimum of the absolute misfit, the one nearest to the
    common sigma. Without a minimum it is the better end of the grid.
    """
    grid = np.broadcast_to(sigmas[:, None], misfit.shape)
    better_end = np.where(np.abs(misfit[0]) <= np.abs(misfit[-1]), sigmas[0], sigmas[-1])[None]
    crossing, cross_at = _crossings(misfit, sigmas)
    turning, touching, turn_at = _turning_points(misfit, sigmas)
    on_grid = misfit == 0

    candidates = np.concatenate([grid, cross_at, turn_at, better_end])
    # Larger than the distance of any root.
    handicap = float(sigmas[-1] - sigmas[0]) + 1
    penalty = np.concatenate(
        [
            np.where(on_grid, 0.0, np.inf),
            np.where(crossing, 0.0, np.inf),
            np.where(touching, 0.0, np.where(turning, handicap, np.inf)),
            np.full_like(better_end, 2 * handicap),
        ]
    )
    distance = np.abs(candidates - common) + penalty
    best = distance.argmin(axis=0)[None]
    has_root = np.take_along_axis(distance, best, 0)[0] < handicap
    return np.take_along_axis(candidates, best, 0)[0], has_root


def _crossings(misfit: FloatArray, sigmas: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return the intervals in which the misfit changes sign, and the sigmas of its zeros.

    A zero is that of a straight line, improved by one Newton step on the parabola with the mean second difference of
    the two levels. Near a turning point the error of the line alone is a good part of a grid step.
    """
    here, after = misfit[:-1], misfit[1:]
    crossing = here * after < 0
    bend = np.zeros_like(misfit)
    bend[1:-1] = misfit[:-2] - 2 * misfit[1:-1] + misfit[2:]
    # The levels at the ends of the grid have no second difference.
    has_bend = np.full((sigmas.size, 1), 1.0)
    has_bend[[0, -1]] = 0.0
    mean_bend = (bend[:-1] + bend[1:]) / np.maximum(has_bend[:-1] + has_bend[1:], 1.0)
    rise = after - here
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(crossing, -here / rise, 0.0)
        slope = rise - 0.5 * mean_bend * (1 - 2 * x)
        step = np.where(crossing & (slope * rise > 0), -0.5 * mean_bend * x * (1 - x) / slope, 0.0)
    return crossing, sigmas[:-1, None] + (x - step).clip(0, 1) * np.diff(sigmas)[:, None]


def _turning_points(misfit: FloatArray, sigmas: FloatArray) -> tuple[BoolArray, BoolArray, FloatArray]:
    """Return the minima of |misfit| without a change of sign, those that touch zero, and their sigmas."""
    before, here, after = misfit[:-2], misfit[1:-1], misfit[2:]
    same_side = (before * here > 0) & (after * here > 0)
    turning = same_side & (np.abs(here) <= np.abs(before)) & (np.abs(here) <= np.abs(after))
    bend = before - 2 * here + after
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(turning & (bend != 0), (before - after) / (2 * bend), 0.0).clip(-1, 1)
    lowest = here - 0.25 * (before - after) * at
    outer = np.minimum(np.abs(before), np.abs(after))
    touching = turning & ((lowest * here <= 0) | (np.abs(lowest) <= TOUCHING * outer))
    half_width = (sigmas[2:] - sigmas[:-2])[:, None] / 2
    return turning, touching, sigmas[1:-1, None] + at * half_width


def _slope(misfit: FloatArray, sigmas: FloatArray, index: AnyArray) -> FloatArray:
    """Return dM/dsigma at a grid index, by central differences."""
    low, high = np.maximum(index - 1, 0), np.minimum(index + 1, sigmas.size - 1)
    rise = np.take_along_axis(misfit, high[None], 0)[0] - np.take_along_axis(misfit, low[None], 0)[0]
    run = sigmas[high] - sigmas[low]
    return rise / np.where(run > 0, run, 1.0)
