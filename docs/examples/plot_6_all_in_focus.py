"""
Sharp everywhere
================

Each image is sharp in part; the map says where, and with which certainty, so the two can be mixed without a seam.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

image = data.coffee()[100:300, 180:440] / 255.0
truth = synth.disc(image.shape[:2], inside=2.0, outside=-2.0, radius=70)
first, second = synth.pair(image, truth, channel_axis=-1)

blur = relblur.estimate_blur(first, second, channel_axis=-1)
fused = relblur.all_in_focus(first, second, blur, channel_axis=-1)

for name, picture in (("first", first), ("second", second), ("fused", fused)):
    print(f"{name:7} differs from the sharp photograph by {np.sqrt(np.mean((picture - image) ** 2)):.4f} (RMS)")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.1), layout="constrained")
for axis, picture, title in zip(axes, (first, second, fused), ("first", "second", "all in focus"), strict=True):
    axis.imshow(picture.clip(0, 1))
    axis.set_title(title)
    axis.set_axis_off()
plt.show()
