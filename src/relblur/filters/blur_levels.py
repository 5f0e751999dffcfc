"""Levels of relative blur: where candidate variance differences ``s`` (px^2) lie.

They are uniform in ``t = asinh(s / C)``: evenly spaced around zero, where blur is hardly measurable, and geometric far
out, about 10 % of sigma a step, where relative precision counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SOFTENING", "STEP", "relative_scale"]

#: ``C``, px^2: below it blur is hardly measurable, above it relative precision counts.
SOFTENING = 0.3
#: Step of ``t`` from level to level. Reading between such levels is exact to 0.01 % of sigma.
STEP = 0.2


def relative_scale(s: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``sqrt(s^2 + C^2) = ds/dt``, the change of ``s`` that counts as a relative change of blur by 1."""
    return np.asarray(np.sqrt(s * s + np.float32(SOFTENING**2)))
