"""
The paper's idea, at one pixel
==============================

Blur the sharper image by every amount: each pixel follows a curve. Where the curve meets the value that the
blurrier image has there, the amount is a candidate. One pixel often has several; its neighbours decide.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

image = data.camera()[80:208, 150:278] / 255.0
first = image
second = synth.blur_with_map(image, 1.6)

sigmas = np.arange(0.1, 5.01, 0.05)
bank = relblur.paper.gaussian_bank(first, sigmas)  # the value of every pixel at every blur

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharex=True)
for axis, (row, column) in zip(axes, ((40, 60), (64, 30), (90, 70)), strict=True):
    curve, seen = bank[:, row, column], second[row, column]
    crossings = np.flatnonzero(np.diff(np.sign(curve - seen)))
    axis.plot(sigmas, curve)
    axis.axhline(seen, color="k", linestyle="--", linewidth=1)
    axis.plot(sigmas[crossings], curve[crossings], "o", label="candidates")
    axis.axvline(1.6, color="C3", linewidth=1, label="truth")
    axis.set(title=f"row {row}, column {column}", xlabel="blur, px")
axes[0].set_ylabel("value of the pixel")
axes[0].legend()
plt.show()

# %%
# With the neighbours' help:

blur = relblur.estimate_blur(first, second)
print(f"median {np.nanmedian(blur.sigma):.4f} px, 90 % within {np.nanpercentile(np.abs(blur.sigma - 1.6), 90):.4f} px")
