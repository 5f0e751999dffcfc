"""Processes that do the arithmetic: one answers at once, one takes its time and can be stopped.

A process is stopped by ending it: that frees its cores whatever library it is in. Another one is started in its
place. Its memory is limited by the system, so that a pair that is too large ends in a message.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from ..base.errors import RelblurError
from ..engines.threads import children_without_ctrl_c

__all__ = ["Worker", "WorkerError"]


class WorkerError(RelblurError):
    """What was asked of a worker cannot be done; the text is for the person at the page."""


class Worker:
    """A child process that runs the functions of :mod:`relblur.view.tasks`, one after the other."""

    def __init__(self, memory_bytes: int, *, stoppable: bool) -> None:
        self._memory = memory_bytes
        self._stoppable = stoppable
        self._number = 0
        self._waiting: dict[int, tuple[asyncio.Future[Any], Callable[[float], None]]] = {}
        self._process: multiprocessing.process.BaseProcess | None = None
        self._unheard: Connection | None = None  #: of a process that nobody listens to yet
        self._pipe: Connection | None = None
        self._held: dict[str, str] = {}
        self._sending = ThreadPoolExecutor(1)  # large messages, in the order of the calls

    @property
    def pid(self) -> int | None:
        """The process that works, if there is one."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._process is not None and self._process.is_alive():
            return
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(theirs, self._memory), daemon=True)
        with _without_main(), children_without_ctrl_c():
            self._process.start()
        theirs.close()
        self._pipe = self._unheard = ours
        self._held = {}

    def stop(self) -> None:
        """End the process now; who else waits for it is told."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()
        self._give_up("stopped by another request; ask again")

    async def run(
        self,
        task: str,
        *arguments: Any,
        keep: dict[str, tuple[str, Any]] | None = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> Any:
        """Run a task and return its answer; cancelling this call stops a stoppable process.

        ``keep`` names large values that the task takes by keyword, each with a key: what the process has under that key
        is not sent again.
        """
        self.start()
        if self._unheard is not None:
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._listen, args=(self._unheard, loop), daemon=True).start()
            self._unheard = None
        assert self._pipe is not None
        pipe, process = self._pipe, self._process
        self._number += 1
        number = self._number
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio prints it if unused
        self._waiting[number] = (future, progress)
        try:
            new = {name: value for name, (key, value) in (keep or {}).items() if self._held.get(name) != key}
            self._held |= {name: key for name, (key, _) in (keep or {}).items()}
            message = (number, task, arguments, tuple(keep or {}), new)
            try:
                await asyncio.get_running_loop().run_in_executor(self._sending, pipe.send, message)
            except OSError:
                raise WorkerError("the process that does the arithmetic has ended; try again") from None
            return await future
        except asyncio.CancelledError:
            if self._stoppable and self._process is process:
                self.stop()
            raise
        finally:
            self._waiting.pop(number, None)

    def _listen(self, pipe: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Pass on what a process says, in a thread of its own, until it ends."""
        try:
            while True:
                number, kind, value = pipe.recv()
                loop.call_soon_threadsafe(self._hear, number, kind, value)
        except (EOFError, OSError):
            pass
        except RuntimeError:  # the loop is closed: nobody waits
            return
        try:
            loop.call_soon_threadsafe(self._lost, pipe)
        except RuntimeError:
            return

    def _hear(self, number: int, kind: str, value: Any) -> None:
        future, progress = self._waiting.get(number, (None, None))
        if future is None or progress is None or future.done():
            return
        if kind == "progress":
            progress(value)
        elif kind == "answer":
            future.set_result(value)
        else:
            future.set_exception(WorkerError(value))

    def _lost(self, pipe: Connection) -> None:
        """A process has ended by itself: the system ended it, or a library fell over."""
        if pipe is not self._pipe or self._process is None:
            return
        self._process.join(timeout=1)
        self._process = None
        self._give_up(f"the work ended early; the pair may need more than {self._memory / 1e9:g} GB: decimate it")

    def _give_up(self, text: str) -> None:
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(WorkerError(text))


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the program that runs: a new process would import the command line and all it needs before its work."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _work(pipe: Connection, memory_bytes: int) -> None:
    """Be the child process: take tasks from a pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its children; for Windows
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit_memory(memory_bytes)
    from . import tasks

    kept: dict[str, Any] = {}
    while True:
        try:
            number, task, arguments, names, new = pipe.recv()
        except (EOFError, OSError):
            return
        kept |= new
        last = [-1.0]

        def tell(share: float, number: int = number, last: list[float] = last) -> None:
            if share - last[0] >= 0.01:
                last[0] = share
                pipe.send((number, "progress", float(share)))

        try:
            answer = getattr(tasks, task)(*arguments, **{name: kept[name] for name in names}, progress=tell)
            pipe.send((number, "answer", answer))
        except RelblurError as error:
            pipe.send((number, "error", " ".join(str(error).split())))
        except MemoryError:
            pipe.send((number, "error", f"this pair needs more than {memory_bytes / 1e9:g} GB of memory: decimate it"))
        except Exception as error:
            detail = " ".join(str(error).split())[:300]
            if "nsufficient memory" in detail:  # OpenCV's word
                detail = f"this pair needs more than {memory_bytes / 1e9:g} GB of memory: decimate it"
            pipe.send((number, "error", f"unexpected {type(error).__name__}: {detail}"))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory(memory_bytes: int) -> None:
    """Have the system refuse memory beyond a limit, where it can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
