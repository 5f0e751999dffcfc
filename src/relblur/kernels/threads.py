"""The number of threads, and a team of threads for short tasks.

An estimate runs hundreds of loops of a millisecond or less. A task costs 0.1 ms with an executor, and
0.01 ms with a queue without futures.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any

from ..base.arguments import as_whole

__all__ = ["Team", "count_workers"]

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


class Team:
    """The calling thread and ``workers - 1`` helpers, which start with the first work.

    Helpers end with :meth:`close`, or when the team is collected.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._renew()

    def _renew(self) -> None:
        """Discard the helpers: a forked process has none."""
        self._process = os.getpid()
        self._busy = threading.Lock()
        self._helpers = 0
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._dismiss = weakref.finalize(self, _dismiss, self._calls, self.workers - 1)

    def each(self, work: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Run ``work`` on every item; a free thread takes the next item.

        An error is raised when all threads have ended. Nested calls of one team run in the calling thread.
        """
        if self._process != os.getpid():
            self._renew()
        listed = list(items)
        queue = iter(listed)  # next() is atomic
        ended: SimpleQueue[None] = SimpleQueue()
        errors: list[BaseException] = []
        helpers = min(self.workers, len(listed)) - 1

        def take() -> None:
            try:
                for item in queue:
                    work(item)
            except BaseException as wrong:
                errors.append(wrong)
            ended.put(None)

        if helpers < 1 or not self._busy.acquire(blocking=False):
            helpers = 0
        try:
            for _ in range(helpers):
                self._submit(take)
            take()
            left = helpers + 1  # with this thread's own
            while left:
                try:
                    ended.get()
                    left -= 1
                except BaseException as interruption:
                    errors.append(interruption)
        finally:
            if helpers:
                self._busy.release()
        if errors:
            raise errors[0]

    def _submit(self, work: Callable[[], None]) -> None:
        if self._helpers < self.workers - 1:
            self._helpers += 1
            threading.Thread(target=_run_calls, args=(self._calls,), name="relblur", daemon=True).start()
        self._calls.put(work)

    def close(self) -> None:
        """End the helpers; later work runs in the calling thread."""
        self.workers = 1
        self._dismiss()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run_calls(calls: SimpleQueue[Callable[[], None] | None]) -> None:
    while (work := calls.get()) is not None:
        work()
        del work  # it may reference the team


def _dismiss(calls: SimpleQueue[Callable[[], None] | None], helpers: int) -> None:
    for _ in range(helpers):
        calls.put(None)
