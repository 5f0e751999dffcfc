"""The building blocks of the paper: its two-layer framework, the equivalent bank of Gaussians, its sharpness measure.

``Framework``          W, F and the local image, equations 10 to 24 (:mod:`relblur.blur.paper.framework`)
``gaussian_bank``      M(sigma) of whole images (:mod:`relblur.filters.bank`)
``local_sharpness``    3 x 3 standard deviation (:mod:`relblur.filters.sharpness`)
``compare_sharpness``  the sharper of two images by this measure

``relblur.estimate_blur(..., method="paper")`` is the estimator made of them.
"""

from __future__ import annotations

from .blur.paper.framework import Framework
from .filters.bank import gaussian_bank
from .filters.sharpness import compare_sharpness, local_sharpness

__all__ = ["Framework", "compare_sharpness", "gaussian_bank", "local_sharpness"]
