"""Who runs the hot loops, and the loops in NumPy and OpenCV: the specification compiled ones must agree with.

Everything that touches each pixel more than a few times lives here, behind plain functions of arrays: reading the
stack, scanning a cost volume, applying the operator of the prior.  Nothing here knows what it is computing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..teamwork import Team

if TYPE_CHECKING:
    from .compiled import Compiled

Array = NDArray[np.float32]

#: Elements below which starting a thread costs more than it saves.
WORTH_SHARING = 150_000

#: Elements that NumPy works on at a time where it can.
BAND = 16_384


def box(image: Array, size: int) -> Array:
    """Return the mean over a ``size`` x ``size`` window with a symmetric border."""
    return np.asarray(cv2.blur(image, (size, size), borderType=cv2.BORDER_REFLECT))


def block_means(image: Array, side: int, border: int = cv2.BORDER_REPLICATE) -> Array:
    """Return the means over blocks of ``side`` x ``side``; beyond the image lies its border, or zeros if told so."""
    height, width = image.shape
    rows, cols = -(-height // side), -(-width // side)
    if height % side or width % side:
        image = np.asarray(cv2.copyMakeBorder(image, 0, rows * side - height, 0, cols * side - width, border, value=0))
    return np.asarray(cv2.resize(image, (cols, rows), interpolation=cv2.INTER_AREA))


class Crew:
    """Some threads, and compiled loops if there are any.

    What runs must give the same numbers however it is shared out.

    Attributes
    ----------
    compiled : Compiled or None
        The loops to use instead of those in NumPy.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._team = Team(workers)
        self.compiled: Compiled | None = None

    def each(self, work: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Run ``work`` on every item."""
        self._team.each(work, items)

    def share_rows(self, work: Callable[[slice], None], height: int, size: int) -> None:
        """Run ``work`` on blocks of rows, a block a thread, if the arrays of ``size`` elements are worth sharing."""
        if self.workers == 1 or size < WORTH_SHARING or height < self.workers:
            work(slice(0, height))
            return
        edges = np.linspace(0, height, self.workers + 1).astype(int).tolist()
        self._team.run([partial(work, slice(top, bottom)) for top, bottom in pairwise(edges)])

    def meet(self, work: Callable[[int], None], members: int) -> None:
        """Run ``work`` once for each of some members, all at the same time, so that they may wait for each other."""
        self._team.meet(work, members)

    def leave(self) -> None:
        """End the threads, and forget the compiled loops."""
        self._team.close()
        self.compiled = None  # each knows the other: without this they would stay until the collector comes

    def in_bands(self, work: Callable[[slice], None], shape: tuple[int, ...]) -> None:
        """Run ``work`` on every few rows of arrays of (H, W): what NumPy needs in between stays in the cache."""
        self._in_pieces(work, shape[0], shape[1])

    def in_lines(self, work: Callable[[slice], None], size: int) -> None:
        """Run ``work`` on pieces of flat arrays of ``size`` elements."""
        if size <= BAND:
            work(slice(0, size))
        else:
            self._in_pieces(work, size, 1)

    def _in_pieces(self, work: Callable[[slice], None], length: int, width: int) -> None:
        # Not shared out: on so short arrays threads wait for the interpreter's lock more than they work.
        rows = max(1, BAND // width)
        for start in range(0, length, rows):
            work(slice(start, min(start + rows, length)))


#: Nobody else, and nothing compiled.
ALONE = Crew()


@contextmanager
def gather(name: str = "opencv", workers: int = 1) -> Iterator[Crew]:
    """Bring together what the engine of a name needs; threads and work arrays end with the block."""
    crew = Crew(workers)
    try:
        yield _equip(crew, name)
    finally:
        crew.leave()


def _equip(crew: Crew, name: str) -> Crew:
    if name == "numba":
        from .compiled import Compiled, load

        load()
        crew.compiled = Compiled(crew)
    return crew


def _cells(levels: int, level: Array, start: int, size: int) -> tuple[NDArray[np.intp], Array]:
    """Return the flat index of the first of the four levels around each pixel, and the offset from the second.

    ``level`` are the rows from flat pixel ``start`` on of planes of ``size`` pixels.
    """
    base = np.clip(level.astype(np.int32), 1, levels - 3)
    pixels = np.arange(start, start + level.size, dtype=np.intp).reshape(level.shape)
    return (base.astype(np.intp) - 1) * size + pixels, level - base


def _take(flat: Array, index: NDArray[np.intp], offset: int) -> Array:
    # The index is inside by construction; "clip" spares the check of it.
    return flat[offset:].take(index, mode="clip")


def interpolate_value(volume: Array, level: Array, top: int) -> Array:
    """Read a (C, K, H, W) volume at fractional levels of the rows from ``top`` on by the cubic through four levels."""
    size = volume.shape[2] * volume.shape[3]
    index, u = _cells(volume.shape[1], level, top * level.shape[1], size)
    a, b, c = u + 1, u - 1, u - 2
    weights = (
        u * b * c * np.float32(-1 / 6),
        a * b * c * np.float32(0.5),
        a * u * c * np.float32(-0.5),
        a * u * b * np.float32(1 / 6),
    )
    out = np.empty((volume.shape[0], *level.shape), np.float32)
    for channel in range(volume.shape[0]):
        flat = volume[channel].ravel()
        total = np.multiply(weights[0], _take(flat, index, 0), out=out[channel])
        for j in (1, 2, 3):
            total += weights[j] * _take(flat, index, j * size)
    return out


def interpolate(volume: Array, level: Array, top: int) -> tuple[Array, Array]:
    """Return value and derivative by level of the cubic through four levels, each (C, rows, W), as above."""
    value = np.empty((volume.shape[0], *level.shape), np.float32)
    slope = np.empty_like(value)
    sixth = np.float32(1 / 6)
    size = volume.shape[2] * volume.shape[3]
    index, u = _cells(volume.shape[1], level, top * level.shape[1], size)
    for channel in range(volume.shape[0]):
        flat = volume[channel].ravel()
        y0, y1, y2, y3 = (_take(flat, index, j * size) for j in range(4))
        # Newton form around level 1: y1 + u (a + u (b + u c)).
        b = np.float32(0.5) * (y0 + y2) - y1
        c = (y3 - y0) * sixth + (y1 - y2) * np.float32(0.5)
        a = y2 - y1 - b - c
        value[channel] = y1 + u * (a + u * (b + u * c))
        slope[channel] = a + u * (2 * b + 3 * u * c)
    return value, slope


def scan(cost: Array, small: float, large: float) -> Array:
    """Aggregate a (K, H, W) cost volume along its rows axis, downwards and upwards.

    ``L(y) = cost(y) + min(L(y-1), L(y-1) of the next level + small, min L(y-1) + large) - min L(y-1)``
    for every column at once; the two directions are added.
    """
    total = np.empty_like(cost)
    height = cost.shape[1]
    p1, p2 = np.float32(small), np.float32(large)
    for rows, first in ((range(height), True), (range(height - 1, -1, -1), False)):
        path = np.zeros((cost.shape[0], cost.shape[2]), np.float32)
        raised = np.empty_like(path)
        best = np.empty_like(path)
        for y in rows:
            path -= path.min(axis=0)
            np.minimum(path, p2, out=best)
            np.add(path, p1, out=raised)
            np.minimum(best[1:], raised[:-1], out=best[1:])
            np.minimum(best[:-1], raised[1:], out=best[:-1])
            np.add(best, cost[:, y], out=path)
            if first:
                total[:, y] = path
            else:
                total[:, y] += path
    return total


def add_neighbours(right: Array, down: Array, width: int, x: Array, out: Array, start: int = 0) -> None:
    """Add to ``out`` the neighbours of every pixel on the last two axes, each times the weight of its edge.

    ``right``, ``down`` and ``x`` are flat, with rows of ``width``; ``out`` is the piece from ``start`` on.  The weights
    are 0 in the last column and row: what lies behind a row's end in memory then counts nothing, and all is arithmetic
    on lines of numbers.
    """
    size, stop = x.size, start + out.size
    for weight, distance in ((right, 1), (down, width)):
        last = min(stop, size - distance)
        if start < last:
            add_product(weight[start:last], x[start + distance : last + distance], out[: last - start])
        first = max(start, distance)
        if first < stop:
            behind = slice(first - distance, stop - distance)
            add_product(weight[behind], x[behind], out[first - start :])


def add_product(a: Array, b: Array, out: Array) -> None:
    """Add ``a b`` to a contiguous array."""
    cv2.accumulateProduct(a, b, out)


def add_multiple(factor: float | np.float32, a: Array, b: Array, out: Array) -> None:
    """Write ``factor a + b`` to a contiguous array, which may be one of them."""
    cv2.scaleAdd(a, float(factor), b, dst=out)
