"""The engine: every buffer, every thread, and the three passes over a pair of frames.

Everything that does not depend on the pixels is done when the engine is made; ``run`` then
only computes, into arrays that the next ``run`` overwrites.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ....base._typing import AnyArray, BoolArray
from ....base.bad_pixels import usual_values
from ....base.pixels import clipped_pixels
from ....base.settings import FLAT_ABOVE, Sharper
from ....engines import compile_cache as compiled
from ....engines import tell_terminal
from ....engines.barrier import abort, is_aborted, new_barrier, wait_for_all
from ....engines.threads import Team
from ...whole_image import MOST_RANGES
from .frames import CLIPPED, FULL_SCALE, NOT_FINITE, SEEN, arithmetic_noise, clear, least_noise, range_seen, run_load
from .plan import GROUP, How, Plan, Work, make_plan
from .reach import BAD_CLIPPED, INVALID, run_reach
from .tiles import run_halves, run_tiles

__all__ = ["FrameFit", "NotOrdinaryError", "WindowEngine", "prepare", "prepare_calls", "single_precision_unit"]

#: A pixel's search ends where its cost is rising and this many times its least.
STOP = 4.0

#: Least noise, on a scale of 0..1, from which on values count as rounded to a grid that swallows texture.
ROUNDED_ABOVE = 1e-5

#: Values of a frame that are looked at to know what is usual in it.
_SAMPLE = 1024


#: Counters of what threads take: rows of the two frames, of the half-size images, tiles.
_LOADS, _HALVES, _TILES = slice(0, 2), slice(2, 4), 4


class NotOrdinaryError(Exception):
    """A frame holds values that may be no light (:mod:`relblur.base.bad_pixels`); it has to be looked at first."""


@dataclass
class _Frames:
    """A pair on its way through the engine, and what one thread finds out for all."""

    first: AnyArray
    second: AnyArray
    noise: float | None
    valid: BoolArray | None
    blank: bool
    checked: bool
    clipped: BoolArray | None = None
    place: NDArray[np.int64] = field(default_factory=new_barrier)  #: where threads wait for each other
    how: How | None = None
    bad: int = 0  #: flags of the kinds of pixels without a value that there are

    @property
    def both(self) -> tuple[AnyArray, AnyArray]:
        """The two of them."""
        return self.first, self.second


@dataclass(frozen=True)
class FrameFit:
    """The estimate of one pair; the arrays are views of the engine's memory."""

    s: AnyArray
    stderr: AnyArray
    flags: AnyArray
    sharper: AnyArray
    noise: float


class WindowEngine:
    """``method="window"`` for pairs of one size, in float32.

    Parameters
    ----------
    shape
        Rows and columns.
    channels
        1, or more for interleaved colour.
    stop
        See ``STOP``; infinity looks at every node, as the reference does.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        channels: int,
        sharper: Sharper,
        window: int,
        max_sigma: float,
        workers: int,
        stop: float = STOP,
    ) -> None:
        self._sharper = sharper
        self._stop = stop
        self._plan = make_plan(shape, channels, sharper, window, max_sigma)
        self._buffers = _Buffers(self._plan, workers)
        self._team = Team(workers)
        #: The pixels that the distances in the buffer are those of; whoever gives them does not change them.
        self._measured: BoolArray | None = None

    @property
    def nbytes(self) -> int:
        """Memory that the engine holds."""
        return self._buffers.nbytes

    def run_in_team(self, work: Callable[[], None]) -> None:
        """Let every thread of the engine do one work, which hands itself out by a counter."""
        self._team.run([work] * self._buffers.workers)

    def run(
        self,
        first: AnyArray,
        second: AnyArray,
        *,
        noise: float | None = None,
        valid: BoolArray | None = None,
        blank: bool = True,
        checked: bool = False,
        clipped: BoolArray | None = None,
    ) -> FrameFit:
        """Estimate one pair of (rows, columns x channels) frames of a type in ``FULL_SCALE``.

        ``noise`` is the least standard deviation to assume; by default what the values say.
        ``blank`` puts NaN where there is no answer, and looks after clipped pixels and those
        that are not ``valid``; without it the raw fit is returned. Frames that are not ``checked`` for values that
        are no light are refused if they seem to hold some. ``clipped`` names further pixels that are at the top of a
        range, beside those of integers that show it.
        """
        b, lay = self._buffers, self._plan.layout
        frames = _Frames(_read_only(first), _read_only(second), noise, valid, blank, checked, clipped)
        b.counters[:] = 0
        self._team.run_together(lambda rank: self._take_part(rank, frames), b.workers)
        if frames.bad:
            b.counters[:] = 0
            distances = (*b.distances, frames.bad)
            self._team.run([partial(run_reach, *distances, work, lay, b.counters[_TILES]) for work in b.work])
        assert frames.how is not None
        return FrameFit(b.s, b.stderr, b.flags, b.sharper, float(frames.how.noise))

    def _take_part(self, rank: int, frames: _Frames) -> None:
        """Do one thread's share of a pair.

        Threads take work from counters until there is none, and wait for each other without going to sleep.
        """
        b, place = self._buffers, frames.place
        try:
            self._load(rank, frames)
            wait_for_all(place, b.workers)
            if rank == 0:  # while the others begin to halve
                self._decide(frames)
            self._halve(rank)
            wait_for_all(place, b.workers)
            if not is_aborted(place):
                run_tiles(b.work[rank], self._plan.layout, frames.how, b.counters[_TILES])
        except BaseException:
            abort(place)
            raise

    def _load(self, rank: int, frames: _Frames) -> None:
        """Read the frames into padded images."""
        plan, b = self._plan, self._buffers
        maps = (plan.row_map, plan.column_map)
        both = zip(frames.both, b.images, b.seen, b.counters[_LOADS], strict=True)
        for frame, image, seen, counter in both:
            scale = FULL_SCALE[frame.dtype]
            clear(seen[rank : rank + 1], scale)
            run_load(frame, scale, image, plan.layout, *maps, seen[rank], counter)

    def _decide(self, frames: _Frames) -> None:
        """Find out, from what all threads have seen in the frames, how to estimate them."""
        plan, b, noise = self._plan, self._buffers, frames.noise
        if b.seen[:, :, NOT_FINITE].any():
            raise NotOrdinaryError
        ranges = [self._range(frame, seen, frames) for frame, seen in zip(frames.both, b.seen, strict=True)]
        arithmetic = max(arithmetic_noise(*each) for each in ranges)
        least = [least_noise(seen, *each) for seen, each in zip(b.seen, ranges, strict=True)]
        assumed = max(least) if noise is None else max(noise, arithmetic)
        frames.bad = self._bad_pixels(frames) if frames.blank else 0
        frames.how = How(
            spacing=np.float32(plan.nodes.t[1] - plan.nodes.t[0]),
            noise=np.float32(assumed),
            flat=np.float32(FLAT_ABOVE),
            stop=np.float32(self._stop),
            rounded_first=np.float32(3 * least[0] ** 2),
            rounded_second=np.float32(3 * least[1] ** 2),
            textures=self._textures(least),
            blank=frames.blank and not frames.bad,
        )

    def _range(self, frame: AnyArray, seen: NDArray[np.float64], frames: _Frames) -> tuple[float, float]:
        """Return between which values, on a scale of 0..1, a frame lies but for a few lights."""
        low, high = range_seen(seen)
        scale = FULL_SCALE[frame.dtype]
        if scale == 255:  # 8 bits hold nothing else
            return low, high
        usual = usual_values(frame[:, :, None], _SAMPLE)
        holds = single_precision_holds(max(high, -low))
        if holds and usual.is_ordinary(scale * low, scale * high):
            return low, high
        if not frames.checked:
            raise NotOrdinaryError
        around = (usual.middle / scale, MOST_RANGES * usual.core / scale or np.inf)
        return max(low, around[0] - around[1]), min(high, around[0] + around[1])

    def _textures(self, least: list[float]) -> int:
        """Whose local variance has to be known: the blurrier one's, and both if values are rounded."""
        rounded = max(least) > ROUNDED_ABOVE
        return 3 if rounded else {"first": 2, "second": 1}.get(self._sharper, 3)

    def _halve(self, rank: int) -> None:
        """Make the half-size images that will be blurred."""
        plan, b = self._plan, self._buffers
        if not plan.layout.half_reach:
            return
        filters = (plan.taps, plan.prefilter, plan.layout)
        sides = zip(b.images, b.halves, b.counters[_HALVES], ("second", "first"), strict=True)
        for image, half, counter, other in sides:
            if self._sharper != other:
                run_halves(image, half, *filters, b.lines[rank], counter)

    def _bad_pixels(self, frames: _Frames) -> int:
        """Measure the distance to pixels without a value; returns the flags of the kinds there are."""
        import cv2

        b = self._buffers
        lay = self._plan.layout
        bits = 0
        valid = frames.valid
        if valid is not None and not valid.all():
            bits |= INVALID
            if valid is not self._measured:  # the same in every frame of a rig
                cv2.distanceTransform(valid.view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE, dst=b.distance(0))
                self._measured = valid
        if b.seen[:, :, CLIPPED].any() or frames.clipped is not None:
            bits |= BAD_CLIPPED
            good = np.ones((lay.height, lay.width), dtype=np.uint8)
            if frames.clipped is not None:
                good &= ~frames.clipped
            for frame in frames.both:
                clipped = clipped_pixels(frame.reshape(lay.height, lay.width, -1))
                if clipped is not None:
                    good &= ~clipped
            cv2.distanceTransform(good, cv2.DIST_L2, cv2.DIST_MASK_PRECISE, dst=b.distance(1))
        return bits

    def close(self) -> None:
        """End the threads."""
        self._team.close()


def single_precision_unit(first: AnyArray, second: AnyArray) -> float:
    """Return what to divide a pair by so that float32 holds its squares; 1 if it does as it is."""
    largest = max(float(np.abs([image.min(), image.max()]).max()) for image in (first, second))
    return 1.0 if single_precision_holds(largest) else largest


def single_precision_holds(largest: float) -> bool:
    """Tell whether squares of values up to this, and their sums, are float32 numbers."""
    return largest == 0 or 1e-12 < largest < 1e12


def _read_only(frame: AnyArray) -> AnyArray:
    """The code is compiled for read-only frames; a view of the same memory will do."""
    view = frame.view()
    view.setflags(write=False)
    return view


class _Buffers:
    """All the memory of an engine."""

    def __init__(self, plan: Plan, workers: int) -> None:
        lay = plan.layout
        self.nbytes = 0
        self.images = [self._line(lay.channels * lay.plane + GROUP) for _ in range(2)]
        halves = lay.channels * lay.half_plane + GROUP
        needed = (lay.limit_high, lay.limit_low)  # the first image is blurred where s > 0
        self.halves = [self._line(halves if lay.half_reach and side else 1) for side in needed]
        size = lay.height * lay.out_stride
        results = {
            "s": self._line(size + GROUP),
            "stderr": self._line(size + GROUP),
            "flags": self._line(size + GROUP, np.uint8),
            "sharper": self._line(size + GROUP, np.int8),
        }
        self.s, self.stderr, self.flags, self.sharper = (
            _read_only(x[:size].reshape(lay.height, lay.out_stride)[:, : lay.width]) for x in results.values()
        )
        self.lines = [self._line(lay.stride + 2 * lay.half_stride + 4 * GROUP) for _ in range(workers)]
        self.seen = np.empty((2, workers, SEEN))
        self.counters = np.zeros((5, 8), dtype=np.int64)  # the first of a cache line each
        self.workers = workers
        images = {
            "first": self.images[0],
            "second": self.images[1],
            "half_first": self.halves[0],
            "half_second": self.halves[1],
        }
        self.work = [
            _make_work(plan, {**images, **results, "scratch": self._line(lay.scratch)}) for _ in range(workers)
        ]
        # Grown when the first pixel without a value is seen.
        self._shape = (lay.height, lay.width)
        self.distances = [np.empty((1, 1), dtype=np.float32) for _ in range(2)]

    def distance(self, which: int) -> AnyArray:
        """A buffer for distances to invalid (0) or clipped (1) pixels."""
        if self.distances[which].shape != self._shape:
            self.distances[which] = np.empty(self._shape, dtype=np.float32)
            self.nbytes += self.distances[which].nbytes
        return self.distances[which]

    def _line(self, size: int, dtype: Any = np.float32) -> AnyArray:
        """A flat array of zeros that starts on a cache line."""
        itemsize = np.dtype(dtype).itemsize
        raw = np.zeros(size + 64 // itemsize, dtype=dtype)
        start = -raw.ctypes.data % 64 // itemsize
        self.nbytes += raw.nbytes
        return raw[start : start + size]


def _make_work(plan: Plan, arrays: dict[str, Any]) -> Work:
    """Put images, results and a thread's scratch together with the plan's tables."""
    nodes = plan.layout.nodes
    return Work(
        **arrays,
        taps=plan.taps,
        recipe=plan.recipe,
        values=plan.values,
        ranges=np.zeros((8, nodes), dtype=np.int64),
        winners=np.zeros((3, nodes), dtype=np.int64),
    )


def _calls(frame_types: Sequence[str]) -> list[compiled.Call]:
    """Functions that the engine calls, and the types it calls them with."""
    plan = make_plan((16, 16), 1, "auto", 3, 1.0)
    line = np.zeros(1, dtype=np.float32)
    counter = np.zeros(1, dtype=np.int64)
    number = np.float32(0)
    flat = dict.fromkeys(("first", "second", "half_first", "half_second", "s", "stderr", "scratch"), line)
    results = {"flags": np.zeros(1, dtype=np.uint8), "sharper": np.zeros(1, dtype=np.int8)}
    work = _make_work(plan, {**flat, **results})
    how = How(number, number, number, number, number, number, textures=3, blank=True)
    distance = np.zeros((1, 1), dtype=np.float32)
    values: list[tuple[Any, tuple[Any, ...]]] = [
        (run_tiles, (work, plan.layout, how, counter)),
        (run_halves, (line, line, plan.taps, plan.prefilter, plan.layout, line, counter)),
        (run_reach, (distance, distance, 1, work, plan.layout, counter)),
        (wait_for_all, (new_barrier(), 1)),
    ]
    found = [(function, tuple(map(numba.typeof, arguments))) for function, arguments in values]
    rest = (1.0, line, plan.layout, plan.row_map, plan.column_map, np.zeros(SEEN), counter)
    for name in frame_types:
        frame = numba.types.Array(numba.from_dtype(np.dtype(name)), 2, "C", readonly=True)
        found.append((run_load, (frame, *map(numba.typeof, rest))))
    return found


def prepare(*frame_types: str, tell: Callable[[str], None] = tell_terminal) -> None:
    """Load or compile what frames of these types need."""
    compiled.prepare(_calls(frame_types), tell)


def prepare_calls(calls: list[compiled.Call], tell: Callable[[str], None] = tell_terminal) -> None:
    """Load or compile further functions."""
    compiled.prepare(calls, tell)
