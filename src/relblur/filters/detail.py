"""How much fine detail an image has around each pixel: what tells which of several images is in focus there.

The energy of three bands (the Laplacian, and differences of Gaussians one and two octaves below) over windows as wide
as each band needs. In focus all three are larger; their geometric mean is steadier than any one of them.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray

__all__ = ["detail_energy"]

#: Width of the window of the finest band, and (inner Gaussian, window) of the others, px. Chosen on half of the
#: Real-MFF pairs; wider windows lose 0.05 dB of the fused picture, the finest band alone 0.1 dB.
_FINEST = 1.5
_BANDS = ((0.7, 1.4), (1.4, 2.8))
#: Energy of a plain area, of images between 0 and 1: a tenth of an 8-bit step.
_LEAST = 1e-6
#: Rows worked on together, and how far the filters look beyond them.
_ROWS, _REACH = 1024, 24


def detail_energy(grey: AnyArray) -> AnyArray:
    """Return the logarithm of the detail energy of an (H, W) image on a scale of 0..1, float32.

    Encoded as a screen expects it: noise and detail are then alike in the dark and in the light.
    """
    out = np.empty(grey.shape, np.float32)
    for start in range(0, grey.shape[0], _ROWS):  # a band at a time: six arrays of it are alive
        above = min(start, _REACH)
        band = np.ascontiguousarray(grey[start - above : start + _ROWS + _REACH], np.float32)
        out[start : start + _ROWS] = _energy(band)[above : above + _ROWS]
    return out


def _energy(grey: AnyArray) -> AnyArray:
    import cv2

    def soft(image: AnyArray, width: float) -> AnyArray:
        return np.asarray(cv2.GaussianBlur(image, (0, 0), width, borderType=cv2.BORDER_REFLECT))

    fine = cv2.Laplacian(grey, cv2.CV_32F, borderType=cv2.BORDER_REFLECT)
    total = np.log(soft(np.square(fine), _FINEST) + np.float32(_LEAST))
    for inner, window in _BANDS:
        band = soft(grey, inner) - soft(grey, 2 * inner)
        total += np.log(soft(np.square(band), window) + np.float32(_LEAST))
    return np.asarray(total / np.float32(1 + len(_BANDS)))
