"""
A first map
===========

A photograph, blurred from -2 px (the first image is the blurrier) at the left to +2 px (the second is) at the right,
and what relblur finds.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

image = data.camera()[80:240, 150:390] / 255.0
truth = synth.ramp(image.shape, -2, 2, axis=1)
first, second = synth.pair(image, truth)

blur = relblur.estimate_blur(first, second)
print(blur)
print(f"mean error {np.nanmean(np.abs(blur.sigma - truth)):.4f} px")

# %%
# Red is where the second image is the blurrier, blue where the first is.

figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
for axis, picture, title in zip(axes, (first, second), ("first", "second"), strict=False):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axis.set_title(title)
shown = axes[2].imshow(blur.sigma, cmap="RdBu_r", vmin=-2.2, vmax=2.2)
axes[2].set_title("relative blur")
figure.colorbar(shown, ax=axes[2], label="px")
for axis in axes:
    axis.set_axis_off()
plt.show()
