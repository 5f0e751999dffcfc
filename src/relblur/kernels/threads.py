"""The number of threads, and a team of threads for short tasks.

An estimate runs hundreds of loops of a millisecond or less. The queues, futures and conditions of an executor cost
0.1 ms per task; a lock for each thread costs a third to two thirds of that.

After a fork the child has only the forking thread, and its locks keep their state. Objects with threads or locks
therefore register a function that renews them in the child (:func:`renew_after_fork`).
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..base.arguments import as_whole

__all__ = ["Team", "count_workers", "renew_after_fork"]

#: Number of threads that is allowed on any machine.
MOST_THREADS = 16


def count_workers(workers: int | None) -> int:
    """Return the number of threads: ``workers``, or one for each core that this process may use.

    Inside a Dask task it is one, because Dask uses all cores. The limit is twice the number of cores, or 16 if larger.
    """
    if workers is None:
        if "dask" in sys.modules and threading.current_thread() is not threading.main_thread():
            return 1
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    count = as_whole(workers, "workers", "None (all cores)")
    return min(count, max(MOST_THREADS, 2 * (os.cpu_count() or 1)))


_renewals: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()


def renew_after_fork(thing: Any, renew: Callable[[Any], None]) -> None:
    """Call ``renew(thing)`` in every process that is forked while ``thing`` lives."""
    _renewals[thing] = renew


def _renew_all() -> None:
    for thing, renew in list(_renewals.items()):
        renew(thing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


class Team:
    """The calling thread and ``workers - 1`` helpers.

    Helpers end with :meth:`close`, or when the team is collected.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._helpers = [_Helper() for _ in range(workers - 1)]
        self._busy = threading.Lock()
        self._dismiss = weakref.finalize(self, _dismiss, self._helpers)
        renew_after_fork(self, Team._renew)

    def _renew(self) -> None:
        """Drop the helpers of the parent process; new ones start with the next work."""
        self._helpers.clear()
        self._busy = threading.Lock()

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run every task once, as many at a time as there are workers.

        An error is raised when all tasks have ended. Tasks that call their own team run in one thread.
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

    def _run_together(self, works: Sequence[Callable[[], None]]) -> None:
        while len(self._helpers) < len(works) - 1:
            self._helpers.append(_Helper())
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
        """Run ``work`` on every item; a free thread takes the next item."""
        listed = list(items)
        queue = iter(listed)  # next() is atomic

        def take() -> None:
            for item in queue:
                work(item)

        self.run([take] * min(self.workers, len(listed)))

    def close(self) -> None:
        """End the helpers."""
        self._dismiss()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Helper:
    """A thread with at most one task. The caller sets the task and the thread removes it.

    The locks only wake threads. Spurious wake-ups are possible, because an interruption can occur between any two
    steps.
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
        """Start a task in the thread."""
        self._work = work
        _wake(self._called)

    def wait(self) -> BaseException | None:
        """Wait for the end of the task; return its error, or an interruption of the wait."""
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
        """End the thread."""
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
