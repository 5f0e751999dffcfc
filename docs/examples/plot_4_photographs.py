"""
Two photographs that do not fit
===============================

The second is shifted, darker, and stored as 8 bits. ``prepare_pair`` finds both and undoes them; without it the
map is of the shift as much as of the blur.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

light = (data.camera()[60:260, 130:390] / 255.0) ** 2.2
truth = synth.disc(light.shape, inside=-1.5, outside=1.2, radius=60)
first, second = synth.pair(0.9 * light, truth)
second = 0.8 * np.roll(second, (2, -3), axis=(0, 1))
first, second = (synth.degrade(each, bits=16) for each in (first, second))

pair = relblur.prepare_pair(first, second)
for note in pair.notes:
    print(note)

# %%
# Left: as they were. Middle: prepared. Right: the truth.

maps = [relblur.estimate_blur(first, second).sigma, relblur.estimate_blur(pair).sigma, truth]
figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
for axis, sigma, title in zip(axes, maps, ("as they were", "prepared", "truth"), strict=True):
    shown = axis.imshow(sigma, cmap="RdBu_r", vmin=-2, vmax=2)
    axis.set_title(title)
    axis.set_axis_off()
figure.colorbar(shown, ax=axes, label="relative blur, px")
plt.show()
