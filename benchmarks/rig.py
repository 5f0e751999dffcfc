"""Measure the processor time of a Stream with and without the calibration of a rig, on one scene and one thread.

python benchmarks/rig.py
"""

from __future__ import annotations

import time

import cv2
import numpy as np

from machine import describe, write
from relblur import Stream, synth
from relblur.filters.resampling import resample

SHIFT = np.array([[1, 0, 0.5], [0, 1, -1.5], [0, 0, 1.0]])
AFFINE = np.array([[1.0006, -0.0008, 0.5], [0.0008, 1.0006, -1.5], [0, 0, 1]])
SIZES = ((480, 640), (1080, 1920))
REPEATS = 7
TRUE_S = 1.44


def scene(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return texture through a lens of 0.7 px, and the same with 1.2 px more, within 0..1."""
    noise = np.random.default_rng(0).standard_normal(shape)
    cloud = sum(width * cv2.GaussianBlur(noise, (0, 0), width) for width in (0.7, 2.0, 6.0, 18.0))
    cloud = 0.1 + 0.8 * (cloud - cloud.min()) / np.ptp(cloud)
    return cloud, synth.pair(cloud, np.sqrt(TRUE_S))[1]


def milliseconds(stream: Stream, first: np.ndarray, second: np.ndarray) -> float:
    """Return the least processor time of some pairs, after one to warm up."""
    stream.process(first, second)
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        stream.process(first, second)
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def main() -> None:
    """Print the table."""
    cv2.setNumThreads(1)
    about, rows = describe(), []
    print(f"{about['processor']}, load {about['load']}")
    for shape in SIZES:
        sharp, blurred = scene(shape)
        plain = None
        for name, transform in (("aligned already", None), ("shift", SHIFT), ("affine", AFFINE)):
            seen = blurred if transform is None else resample(blurred[None], np.linalg.inv(transform))[0]
            frames = [synth.degrade(image.clip(0, 1), bits=8) for image in (sharp, seen)]
            with Stream(shape, workers=1, calibration=transform) as stream:
                spent = milliseconds(stream, *frames)
                error = float(np.nanmedian(stream.process(*frames).variance_difference)) - TRUE_S
            plain = plain or spent
            rows.append({"shape": shape, "motion": name, "ms": spent, "ratio": spent / plain, "s_error_px2": error})
            print(
                f"{shape[0]}x{shape[1]}  {name:15}  {spent:6.1f} ms  x{spent / plain:.2f}  s off by {error:+.4f} px^2"
            )
    print(write("rig", rows))


if __name__ == "__main__":
    main()
