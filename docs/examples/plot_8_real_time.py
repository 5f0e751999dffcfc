"""
In real time
============

A textured disc wanders before a wall; ``Stream`` gives a map for every pair of frames.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur

shape = (240, 320)
wall, disc = (np.resize(image[: shape[0]], shape) / 255.0 for image in (data.brick(), data.gravel()))
blurred_wall, blurred_disc = (relblur.paper.gaussian_bank(image, [1.5])[0] for image in (wall, disc))
y, x = np.indices(shape)


def frames(count):
    """Yield pairs: the wall is sharp in the first, the disc in the second."""
    for n in range(count):
        cover = np.hypot(y - 120, x - 80 - 16 * n) < 60
        for_first, for_second = np.where(cover, blurred_disc, wall), np.where(cover, disc, blurred_wall)
        yield tuple(np.rint(255 * each).astype(np.uint8) for each in (for_first, for_second))


with relblur.Stream(shape) as stream:
    maps, start = [], time.perf_counter()
    for first, second in frames(10):
        maps.append(stream.process(first, second).copy())
    print(f"{10 / (time.perf_counter() - start):.0f} pairs a second, making the frames included")

figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
for axis, n in zip(axes, (0, 4, 9), strict=True):
    shown = axis.imshow(maps[n].sigma, cmap="RdBu_r", vmin=-2, vmax=2)
    axis.set_title(f"pair {n}")
    axis.set_axis_off()
figure.colorbar(shown, ax=axes, label="relative blur, px")
plt.show()
