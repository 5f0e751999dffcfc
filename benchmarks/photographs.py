"""Grey test photographs from scikit-image, at most 512 x 512."""

from __future__ import annotations

import numpy as np

from relblur.apps.demo.program import photograph

RAMP_IMAGES = ("camera", "brick", "gravel", "grass", "coffee", "coins", "text", "rocket", "chelsea", "astronaut")


def grey(name: str) -> np.ndarray:
    """Return a photograph as grey float64 on a 0..1 scale."""
    image = photograph(name)[:512, :512]
    return (image.mean(axis=2) if image.ndim == 3 else image) / 255.0
