"""
Do the error bars hold?
=======================

Noise is added, the map is estimated, and the errors are divided by the standard errors that came with it. If those
are right, about 68 % of the values lie within one and 95 % within two of them.
"""

from math import erf, sqrt

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import relblur
from relblur import synth

image = data.gravel()[:160, :160] / 255.0
truth = synth.sinusoid(image.shape, mean=1.6, amplitude=0.4, period=160)
pair = synth.pair(image, truth)

off = {}
for noise in (0.002, 0.01):
    noisy = [synth.degrade(each, noise=noise, rng=seed) for seed, each in enumerate(pair)]
    blur = relblur.estimate_blur(*noisy)
    errors = np.abs(blur.variance_difference - truth**2) / blur.variance_stderr
    off[noise] = errors[(blur.flags == 0) & np.isfinite(errors)]
    shares = [(off[noise] <= k).mean() for k in (1, 2)]
    print(f"noise {noise:g}: {shares[0]:.0%} within one standard error, {shares[1]:.0%} within two")

# %%
# The dashed line is that of a normal distribution. Above it error bars are too wide, below it too narrow.

steps = np.linspace(0, 4, 41)
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for noise, errors in off.items():
    axis.plot(steps, [(errors <= step).mean() for step in steps], label=f"noise {noise:g}")
axis.plot(steps, [erf(step / sqrt(2)) for step in steps], "k--", label="normal distribution")
axis.set(xlabel="standard errors", ylabel="share of pixels within", ylim=(0, 1.02))
axis.legend()
plt.show()
