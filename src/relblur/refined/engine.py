"""The hot loops, in NumPy and OpenCV: the specification a compiled engine must agree with.

Everything that touches each pixel more than a few times lives here, behind plain functions of arrays: reading the
stack, scanning a cost volume, applying the operator of the prior.  Nothing here knows what it is computing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def box(image: Array, size: int) -> Array:
    """Return the mean over a ``size`` x ``size`` window with a symmetric border."""
    return np.asarray(cv2.blur(image, (size, size), borderType=cv2.BORDER_REFLECT))


def in_row_blocks(work: Callable[[slice], None], height: int, workers: int) -> None:
    """Run ``work`` on as many blocks of rows as there are threads; blocks must not depend on each other."""
    edges = np.linspace(0, height, workers + 1).astype(int)
    blocks = [slice(int(top), int(bottom)) for top, bottom in pairwise(edges)]
    if workers == 1:
        work(blocks[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, blocks))


def _cells(levels: int, level: Array, rows: slice) -> tuple[NDArray[np.intp], Array]:
    """Return the flat index of the first of the four levels around each pixel, and the offset from the second."""
    here = level[rows]
    base = np.clip(here.astype(np.int32), 1, levels - 3)
    start = rows.start * level.shape[1]
    pixels = np.arange(start, start + here.size, dtype=np.intp).reshape(here.shape)
    return (base.astype(np.intp) - 1) * level.size + pixels, here - base


def interpolate_value(volume: Array, level: Array, workers: int = 1) -> Array:
    """Read a (C, K, H, W) volume at a fractional level (H, W) by the cubic through four levels."""
    out = np.empty((volume.shape[0], *level.shape), np.float32)

    def read(rows: slice) -> None:
        index, u = _cells(volume.shape[1], level, rows)
        a, b, c = u + 1, u - 1, u - 2
        weights = (
            u * b * c * np.float32(-1 / 6),
            a * b * c * np.float32(0.5),
            a * u * c * np.float32(-0.5),
            a * u * b * np.float32(1 / 6),
        )
        for channel in range(volume.shape[0]):
            flat = volume[channel].ravel()
            total = weights[0] * flat.take(index, mode="clip")
            for j in (1, 2, 3):
                total += weights[j] * flat.take(index + j * level.size, mode="clip")
            out[channel, rows] = total

    in_row_blocks(read, level.shape[0], workers)
    return out


def interpolate(volume: Array, level: Array, workers: int = 1) -> tuple[Array, Array]:
    """Return value and derivative by level of the cubic through four levels, each (C, H, W)."""
    value = np.empty((volume.shape[0], *level.shape), np.float32)
    slope = np.empty_like(value)
    sixth = np.float32(1 / 6)

    def read(rows: slice) -> None:
        index, u = _cells(volume.shape[1], level, rows)
        for channel in range(volume.shape[0]):
            flat = volume[channel].ravel()
            # The index is inside by construction; "clip" spares the check of it.
            y0, y1, y2, y3 = (flat.take(index + j * level.size, mode="clip") for j in range(4))
            # Newton form around level 1: y1 + u (a + u (b + u c)).
            b = np.float32(0.5) * (y0 + y2) - y1
            c = (y3 - y0) * sixth + (y1 - y2) * np.float32(0.5)
            a = y2 - y1 - b - c
            value[channel, rows] = y1 + u * (a + u * (b + u * c))
            slope[channel, rows] = a + u * (2 * b + 3 * u * c)

    in_row_blocks(read, level.shape[0], workers)
    return value, slope


def scan(cost: Array, small: float, large: float) -> Array:
    """Aggregate a (K, H, W) cost volume along its rows axis, downwards and upwards.

    ``L(y) = cost(y) + min(L(y-1), L(y-1) of the next level + small, min L(y-1) + large) - min L(y-1)``
    for every column at once; the two directions are added.
    """
    total = np.empty_like(cost)
    height = cost.shape[1]
    p1, p2 = np.float32(small), np.float32(large)
    for rows, first in ((range(height), True), (range(height - 1, -1, -1), False)):
        path = np.zeros((cost.shape[0], cost.shape[2]), np.float32)
        raised = np.empty_like(path)
        best = np.empty_like(path)
        for y in rows:
            path -= path.min(axis=0)
            np.minimum(path, p2, out=best)
            np.add(path, p1, out=raised)
            np.minimum(best[1:], raised[:-1], out=best[1:])
            np.minimum(best[:-1], raised[1:], out=best[:-1])
            np.add(best, cost[:, y], out=path)
            if first:
                total[:, y] = path
            else:
                total[:, y] += path
    return total


def apply(diagonal: Array, right: Array, down: Array, x: Array, out: Array, scratch: Array) -> Array:
    """Compute ``A x`` of a five-point operator on the last two axes.

    ``diagonal`` includes the edge weights; ``right`` (..., H, W-1) and ``down`` (..., H-1, W) are the edges.
    """
    np.multiply(diagonal, x, out=out)
    t = scratch[..., :, :-1]
    np.multiply(right, x[..., :, 1:], out=t)
    out[..., :, :-1] -= t
    np.multiply(right, x[..., :, :-1], out=t)
    out[..., :, 1:] -= t
    t = scratch[..., :-1, :]
    np.multiply(down, x[..., 1:, :], out=t)
    out[..., :-1, :] -= t
    np.multiply(down, x[..., :-1, :], out=t)
    out[..., 1:, :] -= t
    return out
