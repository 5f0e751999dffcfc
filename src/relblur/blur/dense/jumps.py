"""Two maps made into one: a wide prefilter everywhere but at jumps, a narrow one there.

A prefilter makes ``s`` follow the second moments of the blur, whatever its shape, and the wider the better.  But it
also mixes what lies on either side of a jump.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ...filters.kernels import relative_scale

Array = NDArray[np.float32]

#: Width of the narrow prefilter over that of the wide one.
NARROWER = 0.65
#: Step from pixel to pixel, as a share of ``sqrt(s^2 + C^2)``, that is a jump here.
_JUMP = np.float32(0.2)
#: The narrow one is used up to the first distance from a jump, the wide one from the second on, in widths of the
#: prefilter.
_NEAR, _FAR = 2.5, 5.0


def share_of_wide(wide: Array, narrow: Array, prefilter: float) -> Array:
    """Return the weight of the map ``wide`` at each pixel, 0 at its jumps and at those of ``narrow`` beside them.

    A jump that only the narrow prefilter shows is a speck.
    """
    jumps = _jumps(wide)
    if not jumps.any():
        return np.ones_like(wide)
    jumps |= _jumps(narrow) & (_distance(jumps) < _FAR * prefilter)
    share = (_distance(jumps) / np.float32(prefilter) - _NEAR) / (_FAR - _NEAR)
    return np.asarray(np.clip(share, 0, 1), np.float32)


def _distance(jumps: NDArray[np.bool_]) -> Array:
    """Return the distance to the next jump, px."""
    return np.asarray(cv2.distanceTransform((~jumps).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE))


def _jumps(s: Array) -> NDArray[np.bool_]:
    """Return the pixels on both sides of a jump."""
    least = _JUMP * relative_scale(s)
    found = np.zeros(s.shape, bool)
    for one, two in (((slice(1, None),), (slice(-1),)), ((slice(None), slice(1, None)), (slice(None), slice(-1)))):
        jump = np.abs(s[one] - s[two]) > np.minimum(least[one], least[two])
        found[one] |= jump
        found[two] |= jump
    return found
