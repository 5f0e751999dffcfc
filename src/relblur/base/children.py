"""Calls of relblur functions in child processes with limits on memory and time.

A child can be ended at any moment, even inside a library call. The operating system enforces its limits. A child
imports nothing from the current folder, ignores Ctrl-C, and ends with its parent.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .errors import RelblurError

__all__ = ["Child", "ChildError", "Limits", "Reporter", "children_without_ctrl_c", "run_limited"]

_PROGRAM = "import sys; sys.path[:] = {path!r}; from relblur.base.children import _serve; _serve()"

#: Largest number of children of :func:`run_limited`. Idle ones are kept, because a start takes 0.2 s.
_MOST = min(4, os.cpu_count() or 1)


class ChildError(Exception):
    """A function failed in a child: out of memory, out of time, or with an unexpected error."""

    def __init__(self, text: str, *, memory: bool = False, time: bool = False) -> None:
        super().__init__(text)
        self.memory, self.time = memory, time


@dataclass(frozen=True)
class Limits:
    """Limits of one call in a child: memory in bytes, and processor time in seconds (None: no limit)."""

    memory_bytes: int
    seconds: float | None = None


class Child:
    """A process that calls functions, one after the other."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Start the process; ``quiet`` discards its standard error."""
        path = [*(each for each in sys.path if not _is_current_folder(each)), str(Path(__file__).parents[2])]
        command = [sys.executable, "-c", _PROGRAM.format(path=path)]
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        errors = subprocess.DEVNULL if quiet else None
        with children_without_ctrl_c():
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
            )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def send(self, number: int, function: str, arguments: tuple[Any, ...], limits: Limits) -> None:
        """Request a call of the function "module:name", which takes ``progress`` as a keyword."""
        assert self._process.stdin is not None
        pickle.dump((number, function, arguments, limits), self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def receive(self) -> tuple[int, str, Any]:
        """Return the next message: the number of its call, its kind and its value.

        The kind is "progress", "partial", "answer" or "error". Raises EOFError if the child has ended.
        """
        assert self._process.stdout is not None
        try:
            number, kind, value = pickle.load(self._process.stdout)
        except (OSError, ValueError, pickle.UnpicklingError):  # ended in the middle of an answer
            raise EOFError from None
        return number, kind, value

    def end(self) -> int:
        """End a process that has closed its output; return its exit code."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return self.kill()

    def kill(self) -> int:
        """End the process now; return its exit code."""
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                assert pipe is not None
                pipe.close()
        return code


def _is_current_folder(folder: str) -> bool:
    """Return whether a search path is the current folder."""
    try:
        return os.path.samefile(folder or os.curdir, os.curdir)
    except OSError:  # it does not exist
        return not folder


_idle: list[Child] = []
_slots = threading.Semaphore(_MOST)


def run_limited(function: str, *arguments: Any, limits: Limits) -> Any:
    """Call the function "module:name" in a child within limits; return its value.

    Errors of relblur are raised unchanged, all others as :class:`ChildError`.
    """
    with _slots:
        try:
            child = _idle.pop()
        except IndexError:
            child = Child(quiet=True)
        try:
            child.send(0, function, arguments, limits)
            _, kind, value = child.receive()
        except (EOFError, OSError):
            code = child.end()
            raise ChildError("the decoder failed", time=code == -getattr(signal, "SIGXCPU", 0)) from None
        except BaseException:
            child.kill()
            raise
        if isinstance(value, ChildError) and value.memory:
            child.kill()
        else:
            _idle.append(child)
    if kind == "error":
        raise value
    return value


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().kill()


def _after_fork() -> None:
    """Discard the children in a forked process: they belong to its parent."""
    global _slots
    _idle.clear()
    _slots = threading.Semaphore(_MOST)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def children_without_ctrl_c() -> Iterator[None]:
    """Block Ctrl-C for processes and threads started inside; this process receives it afterwards.

    A terminal sends the signal to every process. Only this process acts on it and ends its children.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve() -> None:
    """Run requests one after the other: the main loop of a child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for systems that cannot block it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # text that libraries print goes to standard error
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        number, function, arguments, limits = requests.get()
        try:
            _limit(limits)
            module, _, name = function.partition(":")
            call = getattr(importlib.import_module(module), name)
            kind, value = "answer", call(*arguments, progress=Reporter(answers, number))
        except RelblurError as error:
            kind, value = "error", error
        except MemoryError:
            kind, value = "error", ChildError("out of memory", memory=True)
        except Exception as error:
            text = " ".join(str(error).split())
            memory = "nsufficient memory" in text or "bad_alloc" in text  # messages of OpenCV and of C++
            kind, value = "error", ChildError(f"{type(error).__name__}: {text[:300]}", memory=memory)
        _answer(answers, number, kind, value)
        value = None  # free the memory before the next request


class Reporter:
    """Sends the progress and the partial results of a running call."""

    def __init__(self, answers: IO[bytes], number: int) -> None:
        self._answers, self._number = answers, number
        self._last = -1.0

    def __call__(self, share: float) -> None:
        """Report progress (0 to 1) in steps of a hundredth."""
        if share - self._last >= 0.01:
            self._last = share
            _answer(self._answers, self._number, "progress", float(share))

    def partial(self, value: Any) -> None:
        """Send a partial result."""
        _answer(self._answers, self._number, "partial", value)


def _answer(answers: IO[bytes], number: int, kind: str, value: Any) -> None:
    pickle.dump((number, kind, value), answers, protocol=5)
    answers.flush()


def _receive(stream: IO[bytes], requests: queue.SimpleQueue[Any]) -> None:
    """Put requests into a queue; end this process as soon as its parent has ended."""
    try:
        while True:
            requests.put(pickle.load(stream))
    finally:
        os._exit(1)


def _limit(limits: Limits) -> None:
    """Set the system's limits on writable memory and processor time, where they exist."""
    try:
        import resource
    except ImportError:  # Windows
        return
    # Not RLIMIT_AS: it counts reserved address space, of which threads take gigabytes.
    largest = {resource.RLIMIT_DATA: limits.memory_bytes}
    if limits.seconds is not None:
        largest[resource.RLIMIT_CPU] = int(sum(os.times()[:2]) + limits.seconds) + 1
    for kind, most in largest.items():
        _, highest = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if highest == resource.RLIM_INFINITY else min(most, highest), highest))
