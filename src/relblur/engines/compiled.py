"""When to compile, and where compiled code is kept.

Compiling takes tens of seconds, loading what was compiled before a fraction of one. The
code is kept on disk in the first of these directories that can be written:

1. ``NUMBA_CACHE_DIR``, if set;
2. the user's cache directory (``~/.cache/relblur`` on Linux);
3. a private directory for temporary files.

If none can, everything works and is compiled once a process. numba's own cache would look
at the time stamp of one source file only; a function is compiled from all files of its
package and from some of this one, so the stamp here is a digest of them all. A cache file that cannot be read is as
good as none. Cache files are pickles: a directory that belongs to somebody else is not used.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from . import tell_terminal

__all__ = ["Call", "cache_directory", "is_ready", "prepare"]

#: A compiled function and the types it is called with.
Call: TypeAlias = tuple[Any, tuple[Any, ...]]

_lock = threading.Lock()


@lru_cache(maxsize=1)
def cache_directory() -> Path | None:
    """Where compiled code is kept; None if no directory can be written."""
    for root in _candidates():
        path = root / "relblur-compiled"
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
                continue
            with tempfile.TemporaryFile(dir=path):
                return path
        except OSError:
            continue
    return None


def _candidates() -> list[Path]:
    roots = []
    if numba.config.CACHE_DIR:
        roots.append(Path(numba.config.CACHE_DIR))
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home directory
        roots.append((Path(base) if base else Path.home() / ".cache") / "relblur")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    roots.append(Path(tempfile.gettempdir()) / f"relblur-{user}")
    return roots


@lru_cache
def _digest_of_sources(directory: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for folder in (directory, Path(__file__).parent):  # here are functions that the others use
        for path in sorted(folder.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _Locator(_CacheLocator):  # type: ignore[misc]
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        return None if cache_directory() is None else cls(Path(py_file).parent)

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return _digest_of_sources(self._directory)

    def get_disambiguator(self) -> str:
        return "0"


class _CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code, or None: a broken file is as good as none."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code if it can be saved."""
        with suppress(Exception):
            super().save_overload(sig, data)

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Whether code for these types is on disk (it is not loaded)."""
        try:
            target_context.refresh()
            return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()
        except Exception:
            return False


def _attach_cache(function: Any) -> _Cache | None:
    """Give a compiled function our cache instead of numba's."""
    if isinstance(function._cache, _Cache):
        return function._cache
    if cache_directory() is None:
        return None
    try:
        function._cache = _Cache(function.py_func)
    except Exception:  # numba's internals have changed: do without
        return None
    return function._cache


def is_ready(calls: Sequence[Call]) -> bool:
    """Whether these calls can be made without compiling anything.

    True if the code is in memory or on disk. Costs milliseconds once numba is imported.
    """
    for function, types in calls:
        if types in function.overloads:
            continue
        cache = _attach_cache(function)
        if cache is None or not cache.holds(types, function.targetctx):
            return False
    return True


def prepare(calls: Sequence[Call], tell: Callable[[str], None] = tell_terminal) -> None:
    """Load or compile what these calls need.

    ``tell`` is called with a sentence if something has to be compiled, for people to read.
    """
    with _lock:
        if not is_ready(calls):
            tell("compiling, once: this takes about a minute")
        for function, types in calls:
            if types not in function.overloads:
                _attach_cache(function)
                function.compile(types)
