"""The order of focus of the frames of a stack.

Frames of similar focus have their detail at the same pixels. The distance between the logarithms of the detail energy,
on a coarse grid, grows with the difference in focus. The order is the shortest path through all frames. A plausible
input order is kept, because frames in front of and behind a single plane are similar, and the shortest path would
alternate between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..filters.sharpness import detail_energy

__all__ = ["focus_order"]

#: Largest fraction and number of frames that are more similar to the next frame but one than to the next, for a
#: plausible order. Two are the frames around a single plane. In a random order the fraction is a third.
CONTRADICTED, AROUND_A_PLANE = 0.2, 2
#: Side of the cells, px of the frames.
_CELL = 8


def focus_order(frames: Sequence[AnyArray]) -> list[int]:
    """Return the order of focus of grey (H, W) frames; the input order unless another is clearly better."""
    same = list(range(len(frames)))
    if len(frames) < 3:
        return same
    patterns = np.stack([_pattern(frame) for frame in frames])
    # Mean squares, so that one long step costs more than many short ones.
    apart = np.square(patterns[:, None] - patterns[None]).mean(axis=2)
    near, far = np.diagonal(apart, 1), np.diagonal(apart, 2)
    contradicted = np.concatenate([near[:-1] >= far, near[1:] >= far])
    if contradicted.sum() <= max(CONTRADICTED * contradicted.size, AROUND_A_PLANE):
        return same
    paths = [_shortened(_greedy(apart, start), apart) for start in same]
    best = min([same, *paths], key=lambda path: _length(path, apart))
    return best if best[0] < best[-1] else best[::-1]


def _pattern(frame: AnyArray) -> FloatArray:
    import cv2

    energy = detail_energy(frame)
    size = (max(1, energy.shape[1] // _CELL), max(1, energy.shape[0] // _CELL))
    cells = cv2.resize(energy, size, interpolation=cv2.INTER_AREA).ravel()
    return np.asarray(cells - cells.mean(), np.float64)


def _greedy(apart: FloatArray, start: int) -> list[int]:
    """Return the path on which each frame is the nearest of the remaining ones."""
    path, remaining = [start], set(range(len(apart))) - {start}
    while remaining:
        path.append(min(remaining, key=lambda each: apart[path[-1], each]))
        remaining.remove(path[-1])
    return path


def _shortened(path: list[int], apart: FloatArray) -> list[int]:
    """Reverse parts of a path while that makes it shorter."""
    better = True
    while better:
        better = False
        for i in range(len(path) - 1):
            for j in range(i + 2, len(path) + 1):
                turned = path[:i] + path[i:j][::-1] + path[j:]
                if _length(turned, apart) < _length(path, apart) - 1e-12:
                    path, better = turned, True
    return path


def _length(path: Sequence[int], apart: FloatArray) -> float:
    return float(apart[path[:-1], path[1:]].sum())
