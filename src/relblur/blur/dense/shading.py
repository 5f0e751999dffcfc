"""Slow differences of brightness, which blur does not make.

Blur moves light over a few pixels and leaves the mean around as it is.  Two photographs differ slowly for other
reasons: vignetting that changes with the aperture, veiling glare, an offset.  Where an image has nothing but shading,
such a difference looks like a very large blur, of either sign.  So residuals are used without their slow part, the mean
over a Gaussian window several times as wide as the largest blur.  Pairs without noise keep it: they are synthetic, and
where blur varies the window would mix it.

The images themselves keep their slow part for :mod:`.coherence`, where fine bands count anyway: without it a lamp would
leave a dark halo over the wall around it, the same in both images, like texture.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ...kernels.threads import Team

__all__ = ["remove_slow"]

Array = NDArray[np.float32]

#: Standard deviation of the window over the largest blur. Chosen on `dfd_carvalho` (031, 066, 067: two apertures,
#: walls) and `street`: narrower windows calm walls more, wider ones keep more of a large blur.
WIDTH = 2.5
#: Cells per standard deviation on which the slow part is computed.
_CELLS = 4


def remove_slow(planes: Array, max_sigma: float, usable: NDArray[np.bool_] | None, team: Team) -> None:
    """Subtract the slow part of (..., H, W) planes in place; it is the mean of the usable pixels."""
    flat = planes.reshape(-1, *planes.shape[-2:])
    width = WIDTH * max_sigma
    if usable is None or usable.all():
        team.each(lambda plane: np.subtract(plane, _mean_around(plane, width), out=plane), flat)
        return
    mask = usable.astype(np.float32)
    share = np.maximum(_mean_around(mask, width), np.float32(1e-3))
    team.each(lambda plane: np.subtract(plane, _mean_around(plane * mask, width) / share, out=plane), flat)


def _mean_around(plane: Array, width: float) -> Array:
    """Return the mean over a Gaussian window, found on cells: it is smooth."""
    height, cols = plane.shape
    cell = max(1, int(width / _CELLS))
    size = (-(-cols // cell), -(-height // cell))
    small = cv2.resize(plane, size, interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), width / cell, borderType=cv2.BORDER_REFLECT)
    return np.asarray(cv2.resize(small, (cols, height), interpolation=cv2.INTER_LINEAR))
