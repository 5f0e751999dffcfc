"""
A height map from a z-stack
===========================

Nine frames of a slanted specimen with a step, each focused at another height. The map has the frame in best focus,
with fractions, and its standard error.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

texture = data.grass()[:160, :240] / 255.0
y, x = np.indices(texture.shape)
truth = 2 + 3 * x / texture.shape[1] + (y > 80)  # frame in best focus at every pixel
frames = [
    synth.degrade(synth.blur_with_map(texture, 0.7 * np.abs(truth - number)), noise=0.003, bits=16, rng=number)
    for number in range(9)
]

stack = relblur.estimate_stack(np.stack(frames), align="off", exposure="off", step_um=0.5)
print(f"median error {np.nanmedian(np.abs(stack.index - truth)):.3f} frames")

figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
axes[0].imshow(frames[3], cmap="gray")
axes[0].set_title("frame 3")
maps = ((stack.height_um, "height, um"), (stack.height_stderr_um, "standard error, um"))
for axis, (values, title) in zip(axes[1:], maps, strict=True):
    figure.colorbar(axis.imshow(values), ax=axis)
    axis.set_title(title)
for axis in axes:
    axis.set_axis_off()
plt.show()
