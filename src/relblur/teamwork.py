"""A few threads that wait for short work.

The loops of an estimate take a millisecond or less each, and there are hundreds of them. An executor's queues, futures
and conditions cost a tenth of a millisecond every time; a lock for each thread costs a third to two thirds of that.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

__all__ = ["Team"]


class Team:
    """The calling thread and ``workers - 1`` helpers.

    Helpers end with :meth:`close`, or when nobody knows the team any more.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._helpers = [_Helper() for _ in range(workers - 1)]
        self._busy = threading.Lock()
        self._dismiss = weakref.finalize(self, _dismiss, self._helpers)

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run every work once, as many at a time as there are workers.

        The first error of any is raised when all have ended.  Work that calls its own team does so alone.
        """
        if len(works) > self.workers:
            self.each(lambda work: work(), works)
        elif len(works) < 2 or not self._busy.acquire(blocking=False):
            for work in works:
                work()
        else:
            try:
                self._run_together(works)
            finally:
                self._busy.release()

    def meet(self, work: Callable[[int], None], members: int) -> None:
        """Run ``work`` for every member, from 0 on, at the same time for certain: they may wait for each other.

        There may be no more members than workers, and none of them may call the team.
        """
        if members > self.workers:
            raise ValueError(f"{members} members, but only {self.workers} workers")
        with self._busy:
            self._run_together([partial(work, rank) for rank in range(members)])

    def _run_together(self, works: Sequence[Callable[[], None]]) -> None:
        helpers = self._helpers[: len(works) - 1]
        error: BaseException | None = None
        try:
            for helper, work in zip(helpers, works[1:], strict=True):
                helper.start(work)
            works[0]()
        except BaseException as wrong:
            error = wrong
        for helper in helpers:
            error = helper.wait() or error
        if error is not None:
            raise error

    def each(self, work: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Run ``work`` on every item; whoever is free takes the next."""
        waiting = list(items)
        ahead = iter(waiting)  # next() is atomic

        def take() -> None:
            for item in ahead:
                work(item)

        self.run([take] * min(self.workers, len(waiting)))

    def close(self) -> None:
        """End the helpers."""
        self._dismiss()


class _Helper:
    """A thread with at most one work, which is the caller's to set and the thread's to take away.

    The locks only wake who waits, and may do so once too often: an interruption can fall between any two steps.
    """

    def __init__(self) -> None:
        self._called, self._done = threading.Lock(), threading.Lock()
        self._called.acquire()
        self._done.acquire()
        self._work: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._dismissed = False
        threading.Thread(target=self._live, name="relblur", daemon=True).start()

    def start(self, work: Callable[[], None]) -> None:
        """Let the thread do a work."""
        self._work = work
        _wake(self._called)

    def wait(self) -> BaseException | None:
        """Wait for the work's end and return its error; an interruption is kept until then."""
        interruption: BaseException | None = None
        while self._work is not None:
            try:
                self._done.acquire()
            except BaseException as wrong:
                interruption = wrong
                _wake(self._called)
        error, self._error = self._error, None
        return interruption or error

    def dismiss(self) -> None:
        """Let the thread end."""
        self._dismissed = True
        _wake(self._called)

    def _live(self) -> None:
        while True:
            self._called.acquire()
            if self._dismissed:
                return
            if self._work is None:
                continue
            try:
                self._work()
            except BaseException as wrong:
                self._error = wrong
            self._work = None
            _wake(self._done)


def _wake(lock: threading.Lock) -> None:
    if lock.locked():
        lock.release()


def _dismiss(helpers: list[_Helper]) -> None:
    for helper in helpers:
        helper.dismiss()
