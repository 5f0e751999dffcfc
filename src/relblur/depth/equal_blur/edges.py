"""Put depth edges where the picture has them.

Within a circle of confusion of a depth edge the blur of two distances is mixed, no single blur fits, and the nearer
object grows beyond its outline. The image focused on it shows that outline. So near every jump each pixel takes the
side of the pixels around it that look like it; those far from the jump, whose depth is sure, count most.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

#: Change of the circle's diameter from one pixel to the next that is a jump, px.
JUMP_PX = 1.5
#: Difference of intensity, in units of the contrast, at which pixels stop looking alike.
ALIKE = 0.06
#: A pixel changes sides if the other side's votes exceed its own by this factor.
MARGIN = 1.3
#: Least weight of a pixel at a jump, and the reach of the vote in px.
_UNSURE = 0.05
LEAST_REACH, MOST_REACH = 4, 14
_PASSES = 2


def settle_edges(u: Array, u_stderr: Array, guide: Array, circle_px_m: float, reach: int) -> tuple[Array, Array]:
    """Return inverse depth with its edges moved to those of the guide, and its standard error.

    ``guide`` is at each pixel the sharper image, (channels, H, W), ``circle_px_m`` the change of the circle's diameter
    with ``u``, ``reach`` the largest displacement of an edge (px). The standard error grows where the vote is close: by
    ``p (1 - p)`` of the squared jump, ``p`` being a side's share.
    """
    reach = int(np.clip(reach, LEAST_REACH, MOST_REACH))
    variance = np.square(u_stderr)
    for _ in range(_PASSES):
        u, added = _vote(u, guide, circle_px_m, reach)
        variance = np.maximum(variance, np.square(u_stderr) + added)
    return u, np.sqrt(variance)


def _vote(u: Array, guide: Array, circle_px_m: float, reach: int) -> tuple[Array, Array]:
    """Let every pixel near a jump choose its side once; return the map and the variance of the choice."""
    least = np.float32(JUMP_PX / circle_px_m)
    beside = np.ones((3, 3), np.uint8)
    jump = cv2.dilate(u, beside) - cv2.erode(u, beside) > least
    added = np.zeros_like(u)
    if not jump.any():
        return u, added
    distance = cv2.distanceTransform((~jump).astype(np.uint8), cv2.DIST_L2, 5)
    sure = np.square(np.clip(distance * np.float32(2 / reach), np.float32(_UNSURE), 1))
    around = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    high, low = cv2.dilate(u, around), cv2.erode(u, around)
    rows, columns = np.nonzero((distance < reach) & (high - low > least))
    border = ((high + low) / 2)[rows, columns]
    own_guide = guide[:, rows, columns]
    votes = np.zeros((2, 2, len(rows)), np.float32)  # side, (weight, weight * u)
    height, width = u.shape
    for dy in range(-reach, reach + 1, 3):
        for dx in range(-reach, reach + 1, 3):
            there = (np.clip(rows + dy, 0, height - 1), np.clip(columns + dx, 0, width - 1))
            unlike = np.square(guide[:, there[0], there[1]] - own_guide).sum(axis=0) * np.float32(0.5 / ALIKE**2)
            nearness = np.float32((dy * dy + dx * dx) / (2 * (0.6 * reach) ** 2))
            weight = sure[there] * np.exp(-unlike - nearness)
            value = u[there]
            nearer = value > border
            for side, here in ((0, ~nearer), (1, nearer)):
                share = weight * here
                votes[side, 0] += share
                votes[side, 1] += share * value
    nearer = u[rows, columns] > border
    own, other = np.where(nearer, votes[1], votes[0]), np.where(nearer, votes[0], votes[1])
    changed = other[0] > np.float32(MARGIN) * own[0]
    mean_other = other[1] / np.maximum(other[0], np.float32(1e-12))
    mean_own = own[1] / np.maximum(own[0], np.float32(1e-12))
    doubt = own[0] * other[0] / np.square(own[0] + other[0] + np.float32(1e-12))
    both = (own[0] > 0) & (other[0] > 0)
    added[rows, columns] = np.where(both, doubt * np.square(mean_other - mean_own), 0)
    settled = u.copy()
    settled[rows[changed], columns[changed]] = mean_other[changed]
    return settled, added
