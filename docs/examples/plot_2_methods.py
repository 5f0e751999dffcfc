"""
Three methods
=============

The paper's own grid of 0.1 px, a plain window, and the default, which is continuous and regularised, along one row of
an 8-bit pair.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

image = data.brick()[:128, :256] / 255.0
truth = synth.ramp(image.shape, 0.8, 2.2, axis=1)
first, second = (synth.degrade(each, bits=8) for each in synth.pair(image, truth))

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
for method, style in (("paper", "."), ("window", "-"), ("refined", "-")):
    sigma = relblur.estimate_blur(first, second, method=method, linear=False).sigma
    print(f"{method:8} median error {np.nanmedian(np.abs(sigma - truth) / truth):.2%}")
    axis.plot(sigma[64], style, label=method, markersize=3, linewidth=1.5)
axis.plot(truth[64], "k--", label="truth", linewidth=1)
axis.set(xlabel="column", ylabel="relative blur, px", ylim=(0.6, 2.4))
axis.legend()
plt.show()
