"""Processes that do the arithmetic: one answers at once, one takes its time and can be stopped.

A process is stopped by ending it: that frees its cores whatever library it is in. Another one is started in its
place. Its memory is limited by the system, so that a pair that is too large ends in a message.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...base.children import Child, ChildError, Limits
from ...base.errors import RelblurError

__all__ = ["Worker", "WorkerError"]


class WorkerError(RelblurError):
    """What was asked of a worker cannot be done; the text is for the person at the page."""


class Worker:
    """A child process that runs the functions of :mod:`relblur.apps.view.tasks`, one after the other."""

    def __init__(self, memory_bytes: int, *, stoppable: bool) -> None:
        self._memory = memory_bytes
        self._stoppable = stoppable
        self._number = 0
        self._waiting: dict[int, tuple[asyncio.Future[Any], Callable[[float], None]]] = {}
        self._child: Child | None = None
        self._unheard: Child | None = None  #: a process without a listening thread
        self._held: dict[str, str] = {}
        self._sending = ThreadPoolExecutor(1)  # large messages, in the order of the calls

    @property
    def pid(self) -> int | None:
        """The process that works, if there is one."""
        return self._child.pid if self._child is not None else None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._child is None or not self._child.is_alive():
            self._child = self._unheard = Child()
            self._held = {}

    def stop(self) -> None:
        """End the process now; who else waits for it is told."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
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
        child = self._child
        assert child is not None
        self._number += 1
        number = self._number
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio prints it if unused
        self._waiting[number] = (future, progress)
        try:
            new = {name: value for name, (key, value) in (keep or {}).items() if self._held.get(name) != key}
            self._held |= {name: key for name, (key, _) in (keep or {}).items()}
            message = (number, f"{__name__}:_work_on", (task, arguments, tuple(keep or {}), new), Limits(self._memory))
            try:
                await asyncio.get_running_loop().run_in_executor(self._sending, child.send, *message)
            except (OSError, ValueError):
                raise WorkerError("the process that does the arithmetic has ended; try again") from None
            return await future
        except asyncio.CancelledError:
            if self._stoppable and self._child is child:
                self.stop()
            raise
        finally:
            self._waiting.pop(number, None)

    def _listen(self, child: Child, loop: asyncio.AbstractEventLoop) -> None:
        """Pass on what a process says, in a thread of its own, until it ends."""
        try:
            while True:
                loop.call_soon_threadsafe(self._hear, *child.receive())
        except EOFError:
            pass
        except RuntimeError:  # the event loop is closed
            return
        try:
            loop.call_soon_threadsafe(self._lost, child)
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
            future.set_exception(WorkerError(self._text_of(value)))

    def _text_of(self, error: Exception) -> str:
        if isinstance(error, ChildError) and error.memory:
            return f"this pair needs more than {self._memory / 1e9:g} GB of memory: decimate it"
        text = " ".join(str(error).split())
        return f"unexpected {text}" if isinstance(error, ChildError) else text

    def _lost(self, child: Child) -> None:
        """A process has ended by itself: the system ended it, or a library fell over."""
        if child is not self._child:
            return
        self._child = None
        child.end()
        self._give_up(f"the work ended early; the pair may need more than {self._memory / 1e9:g} GB: decimate it")

    def _give_up(self, text: str) -> None:
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(WorkerError(text))


#: In a worker: large values by the names under which tasks take them.
_kept: dict[str, Any] = {}


def _work_on(
    task: str,
    arguments: tuple[Any, ...],
    names: tuple[str, ...],
    new: dict[str, Any],
    progress: Callable[[float], None],
) -> Any:
    """Run a task in the worker, with new values and those that it has."""
    from . import tasks

    _kept.update(new)
    return getattr(tasks, task)(*arguments, **{name: _kept[name] for name in names}, progress=progress)
