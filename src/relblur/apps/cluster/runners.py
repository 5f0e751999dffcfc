"""Runners of tasks: this process, processes beside it on this machine, or a cluster.

Every worker runs one task at a time on one thread. A plugin limits OpenCV, which ignores OMP_NUM_THREADS. Processes are
spawned, never forked: a fork of a process whose threads hold locks may hang.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, Protocol, TypeVar

from ...base.children import children_without_ctrl_c
from ...base.errors import FileError, InputError, MissingDependencyError

__all__ = ["Here", "OnCluster", "Runner", "require", "started"]

S = TypeVar("S")
T = TypeVar("T")

#: Workers that a task may lose before it is given up: one, for failures of machines. A task that kills its worker twice
#: would kill them all.
ALLOWED_FAILURES = 1

#: Time to reach a scheduler, s.
PATIENCE_S = 20
#: Interval at which workers are counted while nothing is done, and longest time without any, s: a start takes some 3.
LOOK_S, GONE_S = 5, 60


def require(*modules: str) -> None:
    """Raise a one-line error if a package of the extra ``cluster`` is missing."""
    gone = [name for name in modules if importlib.util.find_spec(name) is None]
    if gone:
        raise MissingDependencyError(f"this needs {' and '.join(gone)}; run: pip install 'relblur[cluster]'")


class Runner(Protocol):
    """A place where tasks run."""

    threads: int | None  #: of a task; None for all that there are
    scheduler: Any  #: what Dask computes with

    def run(self, tasks: Sequence[Any], done: Callable[[int], None]) -> None:
        """Compute delayed tasks without a value; report the number done."""


class Here:
    """One task after the other in this process, on all its cores."""

    threads: int | None = None
    scheduler = "synchronous"

    def run(self, tasks: Sequence[Any], done: Callable[[int], None]) -> None:
        """Compute tasks in the order in which Dask needs the least memory for what they share."""
        import dask
        from dask.callbacks import Callback

        wanted = {task.key for task in tasks}
        count = 0

        def after(key: Any, *_rest: Any) -> None:
            nonlocal count
            if key in wanted:
                count += 1
                done(count)

        with Callback(posttask=after):
            dask.compute(*tasks, scheduler=self.scheduler, optimize_graph=False)


class OnCluster:
    """On the workers of a scheduler."""

    threads: int | None = 1

    def __init__(self, client: Any) -> None:
        self.client = self.scheduler = client

    def stream(self, function: Callable[[S], T], items: Sequence[S], lost: Callable[[S], T]) -> Iterator[T]:
        """Call a function with each item on the workers, and yield its values as they come.

        There are no more calls under way than threads, so a worker that dies takes one call with it, which another
        worker repeats. A call that has lost two workers is tried once more alone, because another call may have ended
        them; if it ends its worker again, its value is that of ``lost``.
        """
        from distributed import KilledWorker

        blamed = []
        for item, future in self._flow(function, items, self.count()):
            try:
                yield future.result()
            except KilledWorker:
                blamed.append(item)
        for item in blamed:
            alone = self.client.submit(function, item, pure=False)
            try:
                self._first_done([alone])
                yield alone.result()
            except KilledWorker:
                yield lost(item)
            finally:
                alone.cancel()

    def count(self) -> int:
        """Return how many tasks can be run at once."""
        return max(1, sum(self.client.nthreads().values()))

    def _flow(self, function: Callable[[S], T], items: Sequence[S], at_once: int) -> Iterator[tuple[S, Any]]:
        waiting = iter(items)
        under_way = {self.client.submit(function, item, pure=False): item for item in islice(waiting, at_once)}
        try:
            while under_way:
                for future in self._first_done(list(under_way)):
                    for item in islice(waiting, 1):
                        under_way[self.client.submit(function, item, pure=False)] = item
                    yield under_way.pop(future), future
        finally:
            self.client.cancel(list(under_way))

    def _first_done(self, futures: list[Any]) -> list[Any]:
        """Wait for one of some calls, and return those that are done; raise if there are no workers for long.

        Dask restarts a worker that has died, but not one that dies while it starts.
        """
        from distributed import wait

        seconds_without = 0
        while True:
            try:
                with self.client.as_current():  # another may be the process's latest
                    return list(wait(futures, timeout=LOOK_S, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                seconds_without = 0 if self.client.nthreads() else seconds_without + LOOK_S
            if seconds_without >= GONE_S:
                raise FileError(
                    "all workers have ended and none has come back; take fewer of them or give them more memory, and "
                    "run the command again: it goes on with what is missing"
                )

    def run(self, tasks: Sequence[Any], done: Callable[[int], None]) -> None:
        """Compute tasks on the workers."""
        from distributed import KilledWorker, as_completed

        futures = self.client.compute(list(tasks), optimize_graph=False)
        try:
            for count, future in enumerate(as_completed(futures, loop=self.client.loop), start=1):
                future.result()
                future.release()
                done(count)
        except KilledWorker:
            raise FileError(
                "a chunk has ended its worker twice, most likely for want of memory; take fewer workers, "
                "and run the command again: it goes on"
            ) from None


@contextmanager
def started(workers: int | None = None, scheduler: str | None = None, memory: str | None = None) -> Iterator[OnCluster]:
    """Give the workers of a scheduler, or so many processes on this machine, which end with the block.

    Each process may use ``memory`` ("2GB"), by default an equal share of that of the machine or the container. Dask
    restarts a process that exceeds it.
    """
    require("distributed", "cryptography")
    if workers is not None and scheduler is not None:
        raise InputError("--workers are processes on this machine, --scheduler has its own; leave one of them out")
    import dask
    from distributed import Client, LocalCluster, Security

    options = {
        "distributed.worker.multiprocessing-method": "spawn",
        "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
        "distributed.comm.timeouts.connect": f"{PATIENCE_S}s",
        "distributed.worker.daemon": True,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(options):
        if scheduler is not None:
            with _client(scheduler, Client) as client:
                client.register_plugin(_one_thread())
                yield OnCluster(client)
            return
        count, limit = _count(workers), _bytes(memory)
        resource_tracker.ensure_running()  # else the start of a process does it, which unblocks Ctrl-C
        with children_without_ctrl_c():  # inherited by Dask's thread, which starts the workers
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                security=Security.temporary(),  # else every user of the machine can have the workers run code
                memory_limit=limit,
                silence_logs=_CRITICAL,
            )
        with cluster, Client(cluster) as client:
            client.register_plugin(_one_thread())
            yield OnCluster(client)


#: Level of the logging package: relblur itself reports workers that end.
_CRITICAL = 50


@contextmanager
def _client(address: str, client: Callable[..., Any]) -> Iterator[Any]:
    try:
        connected = client(address, timeout=PATIENCE_S)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"no scheduler answers at {address} ({reason}); check --scheduler, such as tcp://HOST:8786"
        ) from None
    with connected:
        if not connected.scheduler_info()["workers"]:
            raise InputError(f"the scheduler at {address} has no workers; start some: dask worker {address}")
        yield connected


def _bytes(memory: str | None) -> int | str:
    if memory is None:
        return "auto"
    from dask.utils import parse_bytes

    try:
        return int(parse_bytes(memory))
    except ValueError:
        raise InputError(f"--memory must be a size such as 2GB, got {memory!r}") from None


def _count(workers: int | None) -> int:
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise InputError(f"--workers must be at least 1, got {workers}")
    return workers


def _one_thread() -> Any:
    """Return the plugin that keeps a worker to one thread."""
    from distributed import WorkerPlugin

    class OneThread(WorkerPlugin):  # type: ignore[misc]
        name = "relblur-one-thread"

        def setup(self, worker: Any) -> None:
            use_one_thread()

    return OneThread()


def use_one_thread() -> None:
    """Let OpenCV of this process use one thread."""
    import cv2

    cv2.setNumThreads(1)
