"""
From blur to metres
===================

A slanted wall between 1.1 and 1.9 m, seen by a camera that was focused at 1 and at 2 m. Depth is affine in the
difference of the variances, so its error bar follows.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

camera = relblur.Camera(coc_constant_px_m=18.0, focus_first_m=1.0, focus_second_m=2.0)
texture = data.gravel()[:160, :256] / 255.0
depth_m = 1 / synth.ramp(texture.shape, 1 / 1.1, 1 / 1.9, axis=1)

# What the lens does to each image: blur in proportion to the distance from its focal plane, in 1/m.
spread = camera.blur_constant * 18.0
noise = iter((1, 2))
first, second = (
    synth.degrade(
        synth.blur_with_map(texture, spread * np.abs(1 / depth_m - 1 / focus), kernel="band_limited"),
        noise=0.002,
        rng=next(noise),
    )
    for focus in (1.0, 2.0)
)

blur = relblur.estimate_blur(first, second)
found = relblur.blur_to_depth(blur, camera)
error = np.abs(found.depth_m - depth_m) / depth_m
print(f"median error {np.nanmedian(error):.2%} of the distance")

# %%
# One row, with its standard error.

row = 80
columns = np.arange(texture.shape[1])
figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
low, high = (found.depth_m[row] + side * found.depth_stderr_m[row] for side in (-2, 2))
axis.fill_between(columns, low, high, alpha=0.3, label="two standard errors")
axis.plot(columns, found.depth_m[row], label="found")
axis.plot(columns, depth_m[row], "k--", linewidth=1, label="truth")
axis.set(xlabel="column", ylabel="distance, m")
axis.legend()
plt.show()
