"""Measure the speed of the real-time engine: three forms of ``Stream`` on one scene, in alternating runs.

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
from ...blur.window.stream import Stream
from ...synth import blur_with_map, ramp
from .program import photograph

__all__ = ["Timing", "bench", "interleave", "scene"]

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
    textures = []
    for name in names:
        image = photograph(name) / 255.0
        room = [(0, max(0, size - have)) for size, have in zip((shape[0], third), image.shape, strict=True)]
        textures.append(np.pad(image, room, mode="symmetric")[: shape[0], :third])
    sharp = np.concatenate(textures, axis=1)[:, : shape[1]]
    truth = ramp(shape, 1, 2)
    return sharp.astype(np.float32), blur_with_map(sharp, truth).astype(np.float32), truth


def interleave(
    runs: Mapping[str, Callable[[], Any]], repeats: int, truth: FloatArray, progress: Progress | None = None
) -> dict[str, Timing]:
    """Call all functions in turn, ``repeats`` times, so that other load of the machine affects all alike.

    A function that returns sigma or a map is scored against ``truth``, over the pixels with a value.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    error = {}
    for name, run in runs.items():
        result = run()  # also warms up
        sigma = getattr(result, "sigma", result)
        with np.errstate(all="ignore"):
            error[name] = math.nan if sigma is None else float(100 * np.nanmean(np.abs(sigma / truth - 1)))
    for done in range(repeats):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            times[name].append((1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)))
        if progress is not None:
            progress((done + 1) / repeats)
    timings = {}
    for name, values in times.items():
        (wall, cpu), (wall_median, cpu_median) = np.min(values, axis=0), np.median(values, axis=0)
        timings[name] = Timing(name, float(wall), float(wall_median), float(cpu), float(cpu_median), error[name])
    return timings


def bench(shape: tuple[int, int], repeats: int = 15, progress: Progress | None = None) -> dict[str, Timing]:
    """Time ``Stream`` on frames of one size, float32."""
    first, second, truth = scene(shape)
    with Stream(shape, sharper="first") as stated, Stream(shape) as auto, Stream(shape, workers=1) as alone:
        streams = {"sharper stated": stated, "defaults": auto, "one thread": alone}
        runs = {name: (lambda stream=stream: stream.process(first, second)) for name, stream in streams.items()}
        return interleave(runs, repeats, truth, progress)
