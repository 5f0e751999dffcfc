"""A second process that compiles: in one process numba compiles one function at a time, whatever the threads.

The helper is given calls, one after the other, and leaves what it compiles in the cache on disk, where whoever asked
finds it. Nothing depends on it: what it has not done, because it could not be started, was ended or is too slow, is
compiled without it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Call", "compile_in_two_processes", "serve"]

#: A compiled function and the types it is called with.
Call: TypeAlias = tuple[Any, tuple[Any, ...]]

#: Seconds to wait for the helper's last function. The largest takes five on a quiet machine.
PATIENCE = 60.0

_DONE = b"."


def serve(compile_call: Callable[[Call], None]) -> None:
    """Compile what comes in until nothing more comes: the helper's whole life."""
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever else is printed is no answer
    while True:
        try:
            module, name, types = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        compile_call((getattr(import_module(module), name), types))
        answers.write(_DONE)
        answers.flush()


def compile_in_two_processes(calls: Sequence[Call], compile_call: Callable[[Call], None], program: str) -> None:
    """Compile calls here, and as many of them as it can do meanwhile in a process that runs ``program``.

    What the other process has compiled is in the cache; what neither has is not compiled. Large ones should come first.
    """
    helper = _start(program)
    if helper is None:
        return
    first, *others = calls
    waiting = deque(others)
    feeder = threading.Thread(target=_feed, args=(helper, waiting), name="relblur-compile", daemon=True)
    feeder.start()
    try:
        compile_call(first)
        with suppress(IndexError):  # none is left
            while True:
                compile_call(waiting.popleft())
        feeder.join(PATIENCE)
    finally:
        helper.kill()
        helper.wait()
        feeder.join()  # it reads to the end of the helper's answers
        helper.communicate()  # closes the pipes


def _feed(helper: subprocess.Popen[bytes], waiting: deque[Call]) -> None:
    """Give the helper one call after the other."""
    assert helper.stdin is not None
    assert helper.stdout is not None
    with suppress(IndexError, OSError):  # none is left; the helper has ended
        answer = _DONE
        while answer == _DONE:
            function, types = waiting.popleft()
            job = (function.py_func.__module__, function.py_func.__qualname__, types)
            helper.stdin.write(pickle.dumps(job))
            helper.stdin.flush()
            answer = helper.stdout.read(1)


def _start(program: str) -> subprocess.Popen[bytes] | None:
    """Start a Python like this one, or return None if it would not help or not work."""
    if _cores() < 2 or not _is_python():
        return None
    here = str(Path(__file__).parents[2])
    search = os.pathsep.join([here, *(path for path in sys.path if path)])
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": search},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_python() -> bool:
    """Whether the running program is the interpreter: inside another program it may be anything."""
    name = Path(sys.executable or "").stem.lower()
    return name.startswith("python") and not getattr(sys, "frozen", False)
