"""Worker processes: one for short tasks, one for long tasks that can be stopped.

A task is stopped by ending its process, which also interrupts the libraries. A new process replaces it. The operating
system limits its memory, so images that are too large cause an error message.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ...base.children import Child, ChildError, Limits, Reporter
from ...base.errors import RelblurError

__all__ = ["Worker", "WorkerError"]


class WorkerError(RelblurError):
    """Raised if a task fails; the page shows the text."""


class _Call(NamedTuple):
    future: asyncio.Future[Any]
    progress: Callable[[float], None]
    partial: Callable[[Any], None]


def _ignore(_: Any) -> None:
    pass


class Worker:
    """A child process that runs the functions of :mod:`relblur.apps.view.tasks` one at a time."""

    def __init__(self, memory_bytes: int, *, stoppable: bool) -> None:
        self._memory = memory_bytes
        self._stoppable = stoppable
        self._number = 0
        self._calls: dict[int, _Call] = {}
        self._child: Child | None = None
        self._unread: Child | None = None  #: a process whose messages no thread reads yet
        self._held: dict[str, str] = {}
        self._sending = ThreadPoolExecutor(1)  # sends large messages in the order of the calls

    @property
    def pid(self) -> int | None:
        """Identifier of the process; None if it does not run."""
        return self._child.pid if self._child is not None else None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._child is None or not self._child.is_alive():
            self._child = self._unread = Child()
            self._held = {}

    def stop(self) -> None:
        """End the process; all other calls fail."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        self._fail_all("stopped by another request; repeat this one")

    async def run(
        self,
        task: str,
        *arguments: Any,
        keep: Mapping[str, tuple[str, Any]] | None = None,
        progress: Callable[[float], None] = _ignore,
        partial: Callable[[Any], None] = _ignore,
    ) -> Any:
        """Run a task and return its result; cancelling this call ends a stoppable process.

        ``keep`` contains large keyword arguments of the task, each with a key. A value is sent only if its key has
        changed.
        """
        self.start()
        loop = asyncio.get_running_loop()
        if self._unread is not None:
            threading.Thread(target=self._listen, args=(self._unread, loop), daemon=True).start()
            self._unread = None
        child = self._child
        assert child is not None
        self._number += 1
        number, keep = self._number, keep or {}
        future: asyncio.Future[Any] = loop.create_future()
        # Without this call asyncio prints exceptions that nothing retrieves.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._calls[number] = _Call(future, progress, partial)
        try:
            new = {name: value for name, (key, value) in keep.items() if self._held.get(name) != key}
            self._held |= {name: key for name, (key, _) in keep.items()}
            message = (number, f"{__name__}:_work_on", (task, arguments, tuple(keep), new), Limits(self._memory))
            try:
                await loop.run_in_executor(self._sending, child.send, *message)
            except (OSError, ValueError):
                raise WorkerError("the worker process has ended; try again") from None
            return await future
        except asyncio.CancelledError:
            if self._stoppable and self._child is child:
                self.stop()
            raise
        finally:
            self._calls.pop(number, None)

    def _listen(self, child: Child, loop: asyncio.AbstractEventLoop) -> None:
        """Pass messages of a process to the event loop until either ends; runs in a thread."""
        try:
            while True:
                try:
                    message = child.receive()
                except EOFError:
                    loop.call_soon_threadsafe(self._on_end, child)
                    return
                loop.call_soon_threadsafe(self._handle, *message)
        except RuntimeError:  # the event loop is closed
            return

    def _handle(self, number: int, kind: str, value: Any) -> None:
        call = self._calls.get(number)
        if call is None or call.future.done():
            return
        if kind == "progress":
            call.progress(value)
        elif kind == "partial":
            call.partial(value)
        elif kind == "answer":
            call.future.set_result(value)
        else:
            call.future.set_exception(WorkerError(self._text_of(value)))

    def _text_of(self, error: Exception) -> str:
        if isinstance(error, ChildError) and error.memory:
            return f"these images need more than {self._memory / 1e9:g} GB of memory: decimate them"
        text = " ".join(str(error).split())
        return f"unexpected {text}" if isinstance(error, ChildError) else text

    def _on_end(self, child: Child) -> None:
        """Handle the unexpected end of a process, by the operating system or a failing library."""
        if child is not self._child:
            return
        self._child = None
        child.end()
        self._fail_all(f"the work ended early; the images may need more than {self._memory / 1e9:g} GB: decimate them")

    def _fail_all(self, text: str) -> None:
        for call in self._calls.values():
            if not call.future.done():
                call.future.set_exception(WorkerError(text))


#: In a worker: large values, by the names of the arguments of tasks.
_kept: dict[str, Any] = {}


def _work_on(
    task: str, arguments: tuple[Any, ...], names: tuple[str, ...], new: dict[str, Any], progress: Reporter
) -> Any:
    """Run a task in the worker, with new and kept values."""
    from . import tasks

    _kept.update(new)
    return getattr(tasks, task)(*arguments, **{name: _kept[name] for name in names}, progress=progress)
