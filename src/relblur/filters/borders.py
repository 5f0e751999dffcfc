"""What lies beyond the border of an image: which of its pixels a mirror shows there."""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray

__all__ = ["mirrored", "mirrored_at_last"]


def mirrored(index: AnyArray, length: int) -> AnyArray:
    """Return the pixels of a line seen at any index, the mirror at its edge: d c b a | a b c d."""
    place = index % (2 * length)
    return np.minimum(place, 2 * length - 1 - place)


def mirrored_at_last(index: AnyArray, length: int) -> AnyArray:
    """Return the pixels of a line seen at any index, the mirror in its last pixels: d c b | a b c d."""
    period = 2 * (length - 1)
    inside = np.abs(index) % period
    return np.asarray(np.minimum(inside, period - inside))
