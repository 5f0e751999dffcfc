"""Blur by a map of standard deviations, where every pixel has its own Gaussian.

:func:`blur_planes` is exact. A pixel is the full sum over its own kernel, ``(10 sigma)^2`` products:

    R(x) = sum_y g_sigma(x)(x - y) L(y)

:func:`blur_by_levels` is fast. It interpolates between images that are blurred as a whole, with separable filters of
``20 sigma`` products. Levels are a tenth of sigma apart; the interpolation is a cubic through four levels. Its largest
error is 1e-4 of the contrast on a photograph and 4e-4 on white noise; it is 5e-3 for sampled kernels narrower than
0.6 px, which are close to the identity. This suffices for pictures and for comparisons with photographs. Results that
define an estimate use the exact blur.

Beyond the border images are mirrored, d c b a | a b c d.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ..base._typing import AnyArray, FloatArray
from ..base.settings import TRUNCATE
from ..kernels.threads import count_workers
from .discs import DiscBlur, apart_of
from .kernels import (
    BAND_LIMITED_RADIUS,
    SOFTENING,
    STEP,
    Family,
    band_limited_weights,
    kernel,
    kernel_radius,
    sampled_weights,
)

__all__ = ["blur_by_levels", "blur_planes"]

#: Side of a tile of the exact blur, px: the widest blur in a tile sets the length of its kernels.
EXACT_TILE = 64

#: Side of a tile of the fast blur, px: a small area has a small range of blur and needs few levels.
TILE = 128


def blur_planes(
    planes: AnyArray, sigma: FloatArray, family: str, truncate: float = TRUNCATE, workers: int | None = None
) -> AnyArray:
    """Blur checked (C, H, W) planes exactly by a map of standard deviations, in their own precision.

    Families of discs are interpolated between levels.
    """
    if apart_of(family) is not None:
        return blur_by_levels(planes.astype(np.float32), sigma, family).astype(planes.dtype)
    height, width = planes.shape[1:]
    weigh = sampled_weights if family == "sampled" else band_limited_weights
    reach = max(kernel_radius(float(sigma.max()), truncate), BAND_LIMITED_RADIUS)
    padded = np.pad(planes, ((0, 0), (reach, reach), (reach, reach)), mode="symmetric")
    out = np.empty_like(planes, order="C")

    def blur_tile(corner: tuple[int, int]) -> None:
        top, left = corner
        rows, columns = slice(top, min(top + EXACT_TILE, height)), slice(left, min(left + EXACT_TILE, width))
        tile_sigma = sigma[rows, columns]
        radius = kernel_radius(float(tile_sigma.max()), truncate)
        if family == "band_limited" and radius > 0:
            radius = max(radius, BAND_LIMITED_RADIUS)
        source = padded[
            :,
            rows.start + reach - radius : rows.stop + reach + radius,
            columns.start + reach - radius : columns.stop + reach + radius,
        ]
        out[:, rows, columns] = _gather(source, weigh(tile_sigma, radius, truncate).astype(planes.dtype))

    corners = [(top, left) for top in range(0, height, EXACT_TILE) for left in range(0, width, EXACT_TILE)]
    with ThreadPoolExecutor(count_workers(workers)) as pool:
        list(pool.map(blur_tile, corners))
    return out


def _gather(source: AnyArray, weight: AnyArray) -> AnyArray:
    """Return the weighted sums over a tile of planes; ``source`` is the tile with ``radius`` pixels around it.

    ``weight[d]`` is the one-dimensional kernel at distance d for every pixel. The kernel is symmetric, so pixels at
    +-dx, and rows at +-dy, are added before they are weighted. Four pixels share one multiplication.
    """
    radius = len(weight) - 1
    height, width = weight.shape[1:]
    norm = weight[0] + 2 * weight[1:].sum(axis=0)
    total = np.zeros((source.shape[0], height, width), dtype=source.dtype)
    both = np.empty_like(total)
    for dy in range(radius + 1):
        rows = source[:, radius + dy : radius + dy + height]
        if dy:
            rows = rows + source[:, radius - dy : radius - dy + height]
        line = weight[0] * rows[:, :, radius : radius + width]
        for dx in range(1, radius + 1):
            left = rows[:, :, radius - dx : radius - dx + width]
            np.add(rows[:, :, radius + dx : radius + dx + width], left, out=both)
            both *= weight[dx]
            line += both
        line *= weight[dy]
        total += line
    total /= norm**2
    return total


def blur_by_levels(planes: NDArray[np.float32], sigma: FloatArray, family: Family) -> NDArray[np.float32]:
    """Blur (C, H, W) planes by a map of standard deviations, px, interpolating between levels."""
    if (apart := apart_of(family)) is not None:
        return _blur_by_discs(planes, sigma, apart)
    height, width = sigma.shape
    level = (np.arcsinh(np.square(sigma) / SOFTENING) / STEP).astype(np.float32)
    s_levels = SOFTENING * np.sinh(STEP * np.arange(max(int(np.ceil(level.max())) + 3, 4)))
    kernels = [kernel(float(s), family) for s in s_levels]
    reach = max(len(taps) for taps in kernels) // 2
    padded = np.pad(planes, ((0, 0), (reach, reach), (reach, reach)), mode="symmetric")
    out = np.empty(planes.shape, np.float32)

    def fill(corner: tuple[int, int]) -> None:
        top, left = (TILE * place for place in corner)
        rows, columns = slice(top, min(top + TILE, height)), slice(left, min(left + TILE, width))
        total = np.zeros((len(planes), rows.stop - rows.start, columns.stop - columns.start), np.float32)
        for k, weight in _weights(level[rows, columns]):
            around = len(kernels[k]) // 2
            less = reach - around
            here = tuple(slice(at.start + less, at.stop + 2 * reach - less) for at in (rows, columns))
            for plane, to in zip(padded[:, *here], total, strict=True):
                to += weight * _filter(plane, kernels[k], around)
        out[:, rows, columns] = total

    with ThreadPoolExecutor(count_workers(None)) as pool:
        list(pool.map(fill, np.ndindex(-(-height // TILE), -(-width // TILE))))
    return out


def _blur_by_discs(planes: NDArray[np.float32], sigma: FloatArray, apart: float) -> NDArray[np.float32]:
    level = (np.arcsinh(np.square(sigma) / SOFTENING) / STEP).astype(np.float32)
    ready = [DiscBlur(plane, float(sigma.max())) for plane in planes]
    out = np.zeros(planes.shape, np.float32)
    for k, weight in _weights(level):
        for plane, to in zip(ready, out, strict=True):
            to += weight * plane.by(float(SOFTENING * np.sinh(STEP * k)), apart)
    return out


def _weights(level: NDArray[np.float32]) -> list[tuple[int, NDArray[np.float32]]]:
    """Return the levels with a weight at any pixel, and the weight of each at every pixel."""
    base = np.maximum(level.astype(np.int32), 1)
    shares = _cubic_weights(level - base)
    weights = []
    for k in range(int(base.min()) - 1, int(base.max()) + 3):
        weight = np.zeros_like(level)
        for j, share in enumerate(shares):
            np.copyto(weight, share, where=base + (j - 1) == k)
        if weight.any():
            weights.append((k, weight))
    return weights


def _cubic_weights(u: AnyArray) -> tuple[AnyArray, ...]:
    """Return the weights of four levels in the cubic through them, ``u`` levels after the second."""
    a, b, c = u + 1, u - 1, u - 2
    half, sixth = np.float32(1 / 2), np.float32(1 / 6)
    return u * b * c * -sixth, a * b * c * half, a * u * c * -half, a * u * b * sixth


def _filter(plane: AnyArray, taps: FloatArray, around: int) -> AnyArray:
    import cv2

    if not around:
        return plane
    return cv2.sepFilter2D(plane, cv2.CV_32F, taps, taps)[around:-around, around:-around]
