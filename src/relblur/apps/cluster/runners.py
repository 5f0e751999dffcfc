"""Run tasks in this process, in other processes on this machine, or on a cluster.

Every worker runs one task at a time on one thread. A plugin limits OpenCV, which ignores OMP_NUM_THREADS. Processes are
spawned, not forked, because a fork may hang if a thread of its parent holds a lock.
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

#: Workers that a task may lose before it is given up. One covers failures of machines; a task that kills two workers
#: would kill the others too.
ALLOWED_FAILURES = 1

#: Timeout for the connection to a scheduler, s.
PATIENCE_S = 20
#: Interval of the check for workers, and time without any worker after which the run fails, s. A start takes 3 s.
LOOK_S, GONE_S = 5, 60


def require(*modules: str) -> None:
    """Raise a one-line error if a package of the extra ``cluster`` is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(f"this needs {' and '.join(missing)}; run: pip install 'relblur[cluster]'")


class Runner(Protocol):
    """A place where tasks run."""

    threads: int | None  #: of a task; None: all threads of the machine
    scheduler: Any  #: Dask's scheduler

    def run(self, tasks: Sequence[Any], done: Callable[[int], None]) -> None:
        """Compute delayed tasks, discard their values, and report the number of finished ones."""


class Here:
    """Run one task after the other in this process, on all cores."""

    threads: int | None = None
    scheduler = "synchronous"

    def run(self, tasks: Sequence[Any], done: Callable[[int], None]) -> None:
        """Compute tasks in Dask's order, which keeps few of their shared intermediate results in memory."""
        import dask
        from dask.callbacks import Callback

        keys = {task.key for task in tasks}
        count = 0

        def after(key: Any, *_rest: Any) -> None:
            nonlocal count
            if key in keys:
                count += 1
                done(count)

        with Callback(posttask=after):
            dask.compute(*tasks, scheduler=self.scheduler, optimize_graph=False)


class OnCluster:
    """Run tasks on the workers of a scheduler."""

    threads: int | None = 1

    def __init__(self, client: Any) -> None:
        self.client = self.scheduler = client

    def stream(self, function: Callable[[S], T], items: Sequence[S], lost: Callable[[S], T]) -> Iterator[T]:
        """Call a function with each item on the workers, and yield the values in the order of completion.

        At most one call per thread runs at a time. A worker that dies therefore interrupts one call, which another
        worker repeats. A call that has lost two workers is repeated alone, because another call may have killed them.
        If it loses its worker again, ``lost`` returns its value.
        """
        from distributed import KilledWorker

        suspects = []
        for item, future in self._flow(function, items, self.count()):
            try:
                yield future.result()
            except KilledWorker:
                suspects.append(item)
        for item in suspects:
            alone = self.client.submit(function, item, pure=False)
            try:
                self._first_done([alone])
                yield alone.result()
            except KilledWorker:
                yield lost(item)
            finally:
                alone.cancel()

    def count(self) -> int:
        """Return the number of tasks that can run at the same time."""
        return max(1, sum(self.client.nthreads().values()))

    def _flow(self, function: Callable[[S], T], items: Sequence[S], at_once: int) -> Iterator[tuple[S, Any]]:
        remaining = iter(items)
        running = {self.client.submit(function, item, pure=False): item for item in islice(remaining, at_once)}
        try:
            while running:
                for future in self._first_done(list(running)):
                    for item in islice(remaining, 1):
                        running[self.client.submit(function, item, pure=False)] = item
                    yield running.pop(future), future
        finally:
            self.client.cancel(list(running))

    def _first_done(self, futures: list[Any]) -> list[Any]:
        """Wait until a call ends, and return the finished calls; raise an error if no worker is left for ``GONE_S``.

        Dask restarts a worker that has died, but not one that dies while it starts.
        """
        from distributed import wait

        seconds_without = 0
        while True:
            try:
                with self.client.as_current():  # wait() uses the latest client of the process otherwise
                    return list(wait(futures, timeout=LOOK_S, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                seconds_without = 0 if self.client.nthreads() else seconds_without + LOOK_S
            if seconds_without >= GONE_S:
                raise FileError(
                    "all workers have ended and none has restarted; use fewer workers or give them more memory, and "
                    "run the command again: it continues with the missing results"
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
                "the worker of a chunk ended twice, most likely for want of memory; use fewer workers, "
                "and run the command again: it continues"
            ) from None


@contextmanager
def started(workers: int | None = None, scheduler: str | None = None, memory: str | None = None) -> Iterator[OnCluster]:
    """Connect to a scheduler, or start processes on this machine that end with the block.

    ``memory`` ("2GB") limits each process; the default is an equal share of the memory of the machine or the container.
    Dask restarts a process that exceeds it.
    """
    require("distributed", "cryptography")
    if workers is not None and scheduler is not None:
        raise InputError("--processes start on this machine, --scheduler has its own; leave one of them out")
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
        resource_tracker.ensure_running()  # the first process would start it otherwise, which unblocks Ctrl-C
        with children_without_ctrl_c():  # inherited by the thread of Dask that starts the workers
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                security=Security.temporary(),  # without it, every user of the machine could run code on the workers
                memory_limit=limit,
                silence_logs=_CRITICAL,
            )
        with cluster, Client(cluster) as client:
            client.register_plugin(_one_thread())
            yield OnCluster(client)


#: Level of the logging package; relblur itself reports workers that end.
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
        raise InputError(f"--processes must be at least 1, got {workers}")
    return workers


def _one_thread() -> Any:
    """Return a plugin that limits a worker to one thread."""
    from distributed import WorkerPlugin

    class OneThread(WorkerPlugin):  # type: ignore[misc]
        name = "relblur-one-thread"

        def setup(self, worker: Any) -> None:
            use_one_thread()

    return OneThread()


def use_one_thread() -> None:
    """Limit OpenCV in this process to one thread."""
    import cv2

    cv2.setNumThreads(1)
