"""Pair the frames of two sources that are nearest in time.

Sources may have unequal or changing rates, miss frames and end at different times. A frame is paired with the frame of
the other source that is nearest in time, if their time difference is within a tolerance. Each frame is in at most one
pair; the others are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .clip import Frame

__all__ = ["Dropped", "pair_alternating", "pair_by_time"]


@dataclass
class Dropped:
    """Numbers of unpaired frames of each source while both ran, and the largest time difference of a pair."""

    first: int = 0
    second: int = 0
    largest_gap_s: float = 0.0


def pair_by_time(
    first: Iterable[Frame], second: Iterable[Frame], tolerance_s: float, dropped: Dropped | None = None
) -> Iterator[tuple[Frame, Frame]]:
    """Pair the frames of two sources, each in the order of time; count dropped frames in ``dropped``.

    ``tolerance_s`` is the largest time difference of a pair. With half the longer of the two frame intervals, each
    frame of the slower source gets a partner.
    """
    count = Dropped() if dropped is None else dropped
    one, two = _Ahead(first), _Ahead(second)
    while one.now is not None and two.now is not None:
        apart = one.now.time_s - two.now.time_s
        if apart > tolerance_s or _is_nearer(two.next, one.now, abs(apart)):
            count.second += 1
            two.step()
        elif -apart > tolerance_s or _is_nearer(one.next, two.now, abs(apart)):
            count.first += 1
            one.step()
        else:
            count.largest_gap_s = max(count.largest_gap_s, abs(apart))
            pair = one.now, two.now
            one.step()
            two.step()
            yield pair


class _Ahead:
    """A source that gives access to the current and the next frame."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        self._frames = iter(frames)
        self.now = next(self._frames, None)
        self.next = next(self._frames, None)

    def step(self) -> None:
        self.now, self.next = self.next, next(self._frames, None)


def _is_nearer(candidate: Frame | None, to: Frame, than_s: float) -> bool:
    return candidate is not None and abs(candidate.time_s - to.time_s) < than_s


def pair_alternating(frames: Iterable[Frame], interval_s: float) -> Iterator[tuple[Frame, Frame]]:
    """Pair neighbouring frames of one source whose focus alternates: near, far, near, far ...

    Each frame except the first forms a pair with the previous one, so maps have the full frame rate. The first image of
    every pair has the focus of the clip's first frame. The focus of a frame follows from its time and the interval
    between neighbouring frames, so a missing frame does not exchange near and far.
    """
    previous: Frame | None = None
    place = 0
    for frame in frames:
        if previous is not None:
            steps = max(1, round((frame.time_s - previous.time_s) / interval_s))
            place += steps
            if steps == 1:
                yield (previous, frame) if place % 2 else (frame, previous)
        previous = frame
