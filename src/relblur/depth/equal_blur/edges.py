"""Move depth edges to the outlines in the picture.

Within a circle of confusion of a depth edge the light of two distances is mixed, and no single blur fits. The map shows
the nearer object too large there. The image that is focused on the object shows its outline. Each pixel near a jump is
therefore assigned to the side with the more similar pixels. Pixels far from the jump have the largest weights, because
their depth is more reliable.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

#: Change of the circle's diameter between neighbouring pixels that counts as a jump (px).
JUMP_PX = 1.5
#: Width (standard deviation) of the Gaussian weight of intensity differences, as a fraction of the contrast.
ALIKE = 0.06
#: A pixel changes sides if the weight of the other side exceeds that of its own by this factor.
MARGIN = 1.3
#: Minimum weight of a pixel at a jump.
_JUMP_WEIGHT = 0.05
#: Minimum and maximum half-side of the neighbourhood (px).
LEAST_REACH, MOST_REACH = 4, 14
#: Number of passes.
_PASSES = 2


def settle_edges(u: Array, u_stderr: Array, guide: Array, circle_px_m: float, reach: int) -> tuple[Array, Array]:
    """Return inverse depth with its edges moved to those of the guide, and its standard error.

    ``guide`` contains the sharper image at each pixel, (channels, H, W). ``circle_px_m`` is the change of the circle's
    diameter with ``u``, and ``reach`` the largest displacement of an edge (px). If one side has the fraction ``p`` of
    the weight, the variance grows by ``p (1 - p)`` times the squared jump.
    """
    reach = int(np.clip(reach, LEAST_REACH, MOST_REACH))
    variance = np.square(u_stderr)
    for _ in range(_PASSES):
        u, added = _reassign(u, guide, circle_px_m, reach)
        variance = np.maximum(variance, np.square(u_stderr) + added)
    return u, np.sqrt(variance)


def _reassign(u: Array, guide: Array, circle_px_m: float, reach: int) -> tuple[Array, Array]:
    """Assign every pixel near a jump to the side of larger weight; return the map and the added variance."""
    least = np.float32(JUMP_PX / circle_px_m)
    beside = np.ones((3, 3), np.uint8)
    jump = cv2.dilate(u, beside) - cv2.erode(u, beside) > least
    added = np.zeros_like(u)
    if not jump.any():
        return u, added
    distance = cv2.distanceTransform((~jump).astype(np.uint8), cv2.DIST_L2, 5)
    reliability = np.square(np.clip(distance * np.float32(2 / reach), np.float32(_JUMP_WEIGHT), 1))
    around = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    high, low = cv2.dilate(u, around), cv2.erode(u, around)
    rows, columns = np.nonzero((distance < reach) & (high - low > least))
    border = ((high + low) / 2)[rows, columns]
    own_guide = guide[:, rows, columns]
    weights = np.zeros((2, 2, len(rows)), np.float32)  # side, (weight, weight * u)
    height, width = u.shape
    for dy in range(-reach, reach + 1, 3):
        for dx in range(-reach, reach + 1, 3):
            there = (np.clip(rows + dy, 0, height - 1), np.clip(columns + dx, 0, width - 1))
            dissimilarity = np.square(guide[:, there[0], there[1]] - own_guide).sum(axis=0) * np.float32(0.5 / ALIKE**2)
            nearness = np.float32((dy * dy + dx * dx) / (2 * (0.6 * reach) ** 2))
            weight = reliability[there] * np.exp(-dissimilarity - nearness)
            value = u[there]
            nearer = value > border
            for side, here in ((0, ~nearer), (1, nearer)):
                share = weight * here
                weights[side, 0] += share
                weights[side, 1] += share * value
    nearer = u[rows, columns] > border
    own, other = np.where(nearer, weights[1], weights[0]), np.where(nearer, weights[0], weights[1])
    changed = other[0] > np.float32(MARGIN) * own[0]
    mean_other = other[1] / np.maximum(other[0], np.float32(1e-12))
    mean_own = own[1] / np.maximum(own[0], np.float32(1e-12))
    ambiguity = own[0] * other[0] / np.square(own[0] + other[0] + np.float32(1e-12))
    both = (own[0] > 0) & (other[0] > 0)
    added[rows, columns] = np.where(both, ambiguity * np.square(mean_other - mean_own), 0)
    moved = u.copy()
    moved[rows[changed], columns[changed]] = mean_other[changed]
    return moved, added
