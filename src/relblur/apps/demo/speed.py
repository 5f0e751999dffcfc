"""Measure the speed of relblur and of two other methods on one scene, in alternating runs.

Y1 The paper's grid search, written plainly with OpenCV: 50 calls of ``GaussianBlur``, sigma 0.1 to
   5 px, and at each pixel the level with the least absolute difference. OpenCV chooses the size of
   the kernels and distributes the rows over its threads.
S  Subbarao's S-transform: both images blurred by 1.5 px, then the least-squares ratio of
   their difference to half the Laplacian, over the same window.

The scene has three textures side by side, blurred exactly by a ramp from 1 to 2 px.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base._typing import AnyArray, FloatArray, Progress
from ...base.settings import WINDOW_WINDOW, paper_sigmas
from ...blur.blur_map import signed_sigma
from ...blur.window.stream import Stream
from ...kernels.threads import count_workers
from ...synth import blur_with_map, ramp
from .program import photograph

__all__ = ["Timing", "bench", "interleave", "opencv_bank", "s_transform", "scene"]

TEXTURES = ("grass", "gravel", "brick")


@dataclass(frozen=True)
class Timing:
    """Wall and processor time of repeated runs, ms, and the error of the result."""

    name: str
    wall_least: float
    wall_median: float
    cpu_least: float
    cpu_median: float
    error_percent: float = math.nan  #: mean relative error of sigma


def scene(shape: tuple[int, int], names: tuple[str, ...] = TEXTURES) -> tuple[AnyArray, AnyArray, FloatArray]:
    """Return a sharp image, the same blurred by a ramp (both float32), and the true sigma."""
    third = -(-shape[1] // len(names))
    sharp = np.concatenate([_texture(name, (shape[0], third)) for name in names], axis=1)[:, : shape[1]]
    truth = ramp(shape, 1, 2)
    return sharp.astype(np.float32), blur_with_map(sharp, truth).astype(np.float32), truth


def _texture(name: str, shape: tuple[int, int]) -> FloatArray:
    """Return a photographed texture, continued by reflection to fill a shape."""
    image: FloatArray = photograph(name).astype(np.float64) / 255
    index = [np.arange(n) % (2 * m) for n, m in zip(shape, image.shape, strict=True)]
    rows, columns = (np.minimum(i, 2 * m - 1 - i) for i, m in zip(index, image.shape, strict=True))
    return image[np.ix_(rows, columns)]


def opencv_bank(first: AnyArray, second: AnyArray) -> AnyArray:
    """Return sigma, px, by a plain grid search (method Y1)."""
    import cv2

    best = np.full(first.shape, np.inf, dtype=np.float32)
    sigma = np.zeros(first.shape, dtype=np.float32)
    for level in paper_sigmas():
        difference = cv2.absdiff(cv2.GaussianBlur(first, (0, 0), level), second)
        better = difference < best
        sigma[better] = level
        best[better] = difference[better]
    return sigma


def s_transform(first: AnyArray, second: AnyArray, window: int = WINDOW_WINDOW) -> AnyArray:
    """Return signed sigma, px, by the S-transform (method S)."""
    import cv2

    one, two = (cv2.GaussianBlur(image, (0, 0), 1.5) for image in (first, second))
    laplacian = cv2.Laplacian(one + two, cv2.CV_32F) * 0.25
    top = cv2.boxFilter((two - one) * laplacian, -1, (window, window))
    bottom = cv2.boxFilter(laplacian * laplacian, -1, (window, window))
    s = np.asarray(top / np.maximum(bottom, 1e-20))
    return signed_sigma(s)


def interleave(
    runs: Mapping[str, Callable[[], Any]], repeats: int, truth: FloatArray, progress: Progress | None = None
) -> dict[str, Timing]:
    """Call all functions in turn, ``repeats`` times, so that other load of the machine affects all alike.

    A function that returns sigma or a map is scored against ``truth``, over the pixels with a value.
    """
    wall: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    error = {}
    for name, run in runs.items():
        result = run()  # also warms up
        sigma = getattr(result, "sigma", result)
        with np.errstate(all="ignore"):
            error[name] = math.nan if sigma is None else float(100 * np.nanmean(np.abs(sigma / truth - 1)))
    for done in range(repeats):
        for name, run in runs.items():
            before = time.perf_counter(), time.process_time()
            run()
            wall[name].append(1e3 * (time.perf_counter() - before[0]))
            cpu[name].append(1e3 * (time.process_time() - before[1]))
        if progress is not None:
            progress((done + 1) / repeats)
    return {
        name: Timing(
            name,
            min(wall[name]),
            float(np.median(wall[name])),
            min(cpu[name]),
            float(np.median(cpu[name])),
            error[name],
        )
        for name in runs
    }


def bench(shape: tuple[int, int], repeats: int = 15, progress: Progress | None = None) -> dict[str, Timing]:
    """Time Stream against Y1 and S on frames of one size, float32."""
    import cv2

    first, second, truth = scene(shape)
    threads = count_workers(None)
    before = cv2.getNumThreads()

    def by_bank() -> AnyArray:
        cv2.setNumThreads(threads)
        return opencv_bank(first, second)

    def by_s_transform() -> AnyArray:
        cv2.setNumThreads(threads)
        return s_transform(first, second)

    with Stream(shape, sharper="first") as stated, Stream(shape) as auto, Stream(shape, workers=1) as alone:
        try:
            return interleave(
                {
                    "Y1: OpenCV bank, 50 levels": by_bank,
                    "S-transform": by_s_transform,
                    "Stream, sharper stated": lambda: stated.process(first, second),
                    "Stream": lambda: auto.process(first, second),
                    "Stream, one thread": lambda: alone.process(first, second),
                },
                repeats,
                truth,
                progress,
            )
        finally:
            cv2.setNumThreads(before)
