"""Blur by a map of standard deviations, quickly: interpolated between images blurred as a whole.

A pixel of :func:`relblur.synth.blur_with_map` is a sum over its own kernel, ``(10 sigma)^2`` products. Filters with one
kernel are separable and cost ``20 sigma``, and between levels a tenth of sigma apart the blurred image is a smooth
function of the level: at the worst pixel the cubic through four of them is off by 1e-4 of the contrast on a photograph,
4e-4 on white noise (5e-3 where a sampled kernel is narrower than 0.6 px and about to vanish). Where pictures are looked
at or compared with photographs that will do; what defines an answer is made the long way.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ._typing import AnyArray, FloatArray
from .bank import count_workers
from .refined.stack import SOFTENING, STEP, Family, kernel

__all__ = ["blur_by_levels"]

#: Side of a tile: the blur of a small place takes few values, and few levels have to be made.
TILE = 128


def blur_by_levels(planes: NDArray[np.float32], sigma: FloatArray, family: Family) -> NDArray[np.float32]:
    """Blur (C, H, W) planes with a map of standard deviations, px; mirrored at the border."""
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


def _weights(level: NDArray[np.float32]) -> list[tuple[int, NDArray[np.float32]]]:
    """Return the levels that count anywhere, and the weight of each at every pixel: Lagrange's cubic."""
    base = np.maximum(level.astype(np.int32), 1)
    u = level - base
    a, b, c = u + 1, u - 1, u - 2
    cubic = (u * b * c * np.float32(-1 / 6), a * b * c / 2, a * u * c / -2, a * u * b * np.float32(1 / 6))
    found = []
    for k in range(int(base.min()) - 1, int(base.max()) + 3):
        weight = np.zeros_like(level)
        for j, share in enumerate(cubic):
            np.copyto(weight, share, where=base + (j - 1) == k)
        if weight.any():
            found.append((k, weight))
    return found


def _filter(plane: AnyArray, taps: FloatArray, around: int) -> AnyArray:
    import cv2

    if not around:
        return plane
    return cv2.sepFilter2D(plane, cv2.CV_32F, taps, taps)[around:-around, around:-around]
