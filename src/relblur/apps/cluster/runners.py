"""Connect to the workers of Dask: processes on this machine, or a cluster.

Every worker runs one task at a time on one thread. Processes are spawned, not forked, because a fork may hang if a
thread of its parent holds a lock.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

from ...base.children import children_without_ctrl_c
from ...base.errors import FileError, InputError, MissingDependencyError
from ...kernels.threads import count_workers

__all__ = ["require", "started"]

#: Timeout for the connection to a scheduler, s.
PATIENCE_S = 20

_OPTIONS = {
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.worker.daemon": True,
    # A task is given up after two workers have ended, so that it does not end the others.
    "distributed.scheduler.allowed-failures": 1,
    # Workers queue no tasks, so a worker that ends loses only its current task.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # OpenCV ignores OMP_NUM_THREADS.
    "distributed.nanny.pre-spawn-environ.OPENCV_FOR_THREADS_NUM": 1,
}

#: Level of the logging package: relblur itself reports workers that end.
_CRITICAL = 50


def require(*modules: str) -> None:
    """Raise a one-line error if a package of the extra ``cluster`` is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(f"this needs {' and '.join(missing)}; run: pip install 'relblur[cluster]'")


@contextmanager
def started(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Yield Dask's client of a scheduler, or of processes on this machine that stop at the end of the block.

    Each process may use an equal share of the memory of the machine or container. Dask restarts one that exceeds it.
    """
    require("distributed", "cryptography")
    if workers is not None and scheduler is not None:
        raise InputError("--processes starts workers on this machine, --scheduler uses its own; leave one of them out")
    import dask
    from distributed import Client, KilledWorker, LocalCluster, Security

    with dask.config.set(_OPTIONS), ExitStack() as stack:
        stack.enter_context(_one_line(KilledWorker))
        if scheduler is not None:
            yield stack.enter_context(_connected(scheduler))
            return
        resource_tracker.ensure_running()  # otherwise the first worker process starts it and unblocks Ctrl-C
        with children_without_ctrl_c():  # inherited by the thread of Dask that starts the workers
            cluster = LocalCluster(
                n_workers=count_workers(workers),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                security=Security.temporary(),  # otherwise every user of the machine could run code on the workers
                silence_logs=_CRITICAL,
            )
        with cluster, Client(cluster) as client:
            yield client


@contextmanager
def _one_line(killed: type[Exception]) -> Iterator[None]:
    try:
        yield
    except killed:
        raise FileError("a worker ended twice, probably because its memory was full; use fewer --processes") from None


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE_S)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"no scheduler answers at {address} ({reason}); check --scheduler, such as tcp://HOST:8786"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError(f"the scheduler at {address} has no workers; start some: dask worker {address}")
        yield client
