"""In which order the frames of a stack were focused, when nobody says.

Two frames next to each other in focus have their detail at the same places. The distance between the logarithms of
the detail energy, on a coarse grid, grows with the difference in focus; the order is the shortest way through all
frames that starts at an end. An order that makes sense as it is is kept: frames in front of and behind a single plane
look alike, and the shortest way would go to and fro between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..filters.sharpness import detail_energy

__all__ = ["focus_order"]

#: An order is kept if the next frame but one differs less than the next at no more than this share of the frames, or
#: at two of them: these are the frames around a single plane. In a random order it is a third.
CONTRADICTED, AROUND_A_PLANE = 0.2, 2
#: Side of the cells, px of the frames looked at.
_CELL = 8


def focus_order(frames: Sequence[AnyArray]) -> list[int]:
    """Return the order of focus of grey (H, W) frames; the one they are in unless another is clearly better."""
    given = list(range(len(frames)))
    if len(frames) < 3:
        return given
    apart = _distances(np.stack([_pattern(frame) for frame in frames]))
    near, far = np.diagonal(apart, 1), np.diagonal(apart, 2)
    contradicted = np.concatenate([near[:-1] >= far, near[1:] >= far])
    if contradicted.sum() <= max(CONTRADICTED * contradicted.size, AROUND_A_PLANE):
        return given
    best = min((_improved(_chain(apart, start), apart) for start in given), key=lambda order: _length(order, apart))
    if _length(best, apart) >= _length(given, apart):
        return given
    return best if best[0] < best[-1] else best[::-1]


def _pattern(frame: AnyArray) -> FloatArray:
    import cv2

    energy = detail_energy(frame)
    size = (max(1, energy.shape[1] // _CELL), max(1, energy.shape[0] // _CELL))
    cells = cv2.resize(energy, size, interpolation=cv2.INTER_AREA).ravel()
    return np.asarray(cells - cells.mean(), np.float64)


def _distances(patterns: FloatArray) -> FloatArray:
    """Return the mean squares of the differences: one long step then costs more than many short ones."""
    return np.asarray(np.square(patterns[:, None] - patterns[None]).mean(axis=2))


def _chain(apart: FloatArray, start: int) -> list[int]:
    """Return the way that always goes to the nearest frame that is left."""
    order, left = [start], set(range(len(apart))) - {start}
    while left:
        order.append(min(left, key=lambda each: apart[order[-1], each]))
        left.remove(order[-1])
    return order


def _improved(order: list[int], apart: FloatArray) -> list[int]:
    """Turn parts of the way around as long as that makes it shorter."""
    count, better = len(order), True
    while better:
        better = False
        for i in range(count - 1):
            for j in range(i + 2, count + 1):
                turned = order[:i] + order[i:j][::-1] + order[j:]
                if _length(turned, apart) < _length(order, apart) - 1e-12:
                    order, better = turned, True
    return order


def _length(order: Sequence[int], apart: FloatArray) -> float:
    return float(sum(apart[a, b] for a, b in pairwise(order)))
