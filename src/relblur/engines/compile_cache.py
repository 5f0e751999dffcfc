"""When to compile, and where compiled code is kept.

Compiling takes about ten seconds, loading what was compiled before a fraction of one. The
code is kept on disk in the first of these directories that can be used:

1. ``NUMBA_CACHE_DIR``, if set;
2. the user's cache directory (``~/.cache/relblur`` on Linux);
3. a private directory for temporary files.

If none can, everything works and is compiled once a process. numba's own cache would look
at one source file only; a function is compiled from functions and constants of many, so what
counts here is a digest of every package that a compiled function may take something from.
numba would also keep a list of what it holds for each function, which two processes that
write at the same time spoil for each other, and two versions of this package all the time.
Here every function has one file for each version and types, named by a digest of all that
decides what is in it, and there is no list. A file that cannot be read is as good as none;
one that no version has asked for in a while is deleted.

Cache files are pickles: whoever can write one can have a command run. So a directory is used
only if nobody but this user and root can change it or put another in its place: it belongs to
this user, every directory above it to this user or root, and none is a link or can be written
by others, except that others may write beside it where the sticky bit keeps them from renaming
(``/tmp``). The check goes from the root down, so that what has been checked cannot change
while the rest is looked at, and is made again before every read and write.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from . import tell_terminal
from .compile_helper import Call, compile_in_two_processes, serve

__all__ = ["Call", "cache_directory", "is_ready", "prepare"]

#: The packages that compiled functions are in, and those that they take functions and constants from.
SOURCES = ("base", "engines", "filters", "blur")

_ROOT = Path(__file__).parents[1]

#: Days after which compiled code that nobody has loaded is deleted: long enough for a program that is used once a
#: month, short enough that the versions of a year do not pile up (3 MB each).
DAYS_KEPT = 60

#: What a second process runs that compiles for this one.
_HELP_OUT = f"import {__name__} as cache; cache.help_out()"

_lock = threading.Lock()


def cache_directory() -> Path | None:
    """Where compiled code is kept; None if there is no directory that is this user's alone."""
    path = _chosen_directory()
    return path if path is not None and _is_private(path) else None


@lru_cache(maxsize=1)
def _chosen_directory() -> Path | None:
    for root in _candidates():
        try:
            path = root.resolve() / "relblur-compiled"
            if _is_private(path, make=True):
                with tempfile.TemporaryFile(dir=path):
                    return path
        except (OSError, RuntimeError, ValueError):  # the last two: a loop of links, a name with a zero byte
            continue
    return None


def _is_private(path: Path, make: bool = False) -> bool:
    """Whether nobody but this user and root can change a directory or put another in its place.

    With ``make`` directories that are missing are made, for this user alone whatever the umask.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else None  # Windows: all are in the user's profile
    for each in reversed([path, *path.parents]):
        if make and not os.path.lexists(each):
            os.mkdir(each, 0o700)
        try:
            state = os.lstat(each)
        except OSError:
            return False
        sticky = state.st_mode & stat.S_ISVTX and each != path
        if not stat.S_ISDIR(state.st_mode):
            return False
        if user is not None and (state.st_uid not in {user, user if each == path else 0}):
            return False
        if user is not None and state.st_mode & 0o022 and not sticky:
            return False
    return True


def _candidates() -> list[Path]:
    roots = []
    if numba.config.CACHE_DIR:
        roots.append(Path(numba.config.CACHE_DIR))
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home directory
        roots.append((Path(base) if base else Path.home() / ".cache") / "relblur")
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    roots.append(Path(tempfile.gettempdir()) / f"relblur-{user}")
    return roots


@lru_cache(maxsize=1)
def _digest_of_sources() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(path for package in SOURCES for path in (_ROOT / package).rglob("*.py")):
        digest.update(f"{path.relative_to(_ROOT)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Locator(_CacheLocator):  # type: ignore[misc]
    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        return None if cache_directory() is None else cls()

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return _digest_of_sources()

    def get_disambiguator(self) -> str:
        return "0"


class _CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Files:
    """Where one function's code is, by what numba calls its key: types, processor, bytecode."""

    def __init__(self, function: str) -> None:
        self._function = function

    def path(self, key: object) -> Path:
        """Return the file for a key, whether it exists or not."""
        directory = cache_directory()
        if directory is None:
            raise FileNotFoundError("no directory for compiled code that is this user's alone")
        digest = hashlib.sha256(f"{_digest_of_sources()} {key!r}".encode()).hexdigest()
        return directory / f"{self._function}-{digest[:32]}.nbc"

    def load(self, key: object) -> object:
        """Return what was saved, None if nothing was; and remember that it was asked for."""
        try:
            path = self.path(key)
            saved = path.read_bytes()
        except FileNotFoundError:
            return None
        with suppress(OSError):
            os.utime(path)
        known, data = pickle.loads(saved)
        return data if known == key else None

    def save(self, key: object, data: object) -> None:
        """Save, so that whoever reads finds all of it or nothing."""
        path = self.path(key)
        handle, temporary = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(dumps((key, data)))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _CacheImpl

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._impl.filename_base)

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
            return self._cache_file.path(self._index_key(sig, target_context.codegen())).exists()
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
    return all(map(_is_there, calls))


def _is_there(call: Call) -> bool:
    function, types = call
    if types in function.overloads:
        return True
    cache = _attach_cache(function)
    return cache is not None and cache.holds(types, function.targetctx)


def prepare(calls: Sequence[Call], tell: Callable[[str], None] = tell_terminal) -> None:
    """Load or compile what these calls need; large functions should come first.

    ``tell`` is called with a sentence if something has to be compiled, for people to read.
    """
    with _lock:
        if not is_ready(calls):
            tell("compiling, once: this takes about ten seconds")
            missing = [call for call in calls if not _is_there(call)]
            if len(missing) > 1 and cache_directory() is not None:
                compile_in_two_processes(missing, _load_or_compile, _HELP_OUT)
            _clear_out()
        for call in calls:
            _load_or_compile(call)


def help_out() -> None:
    """Compile for another process."""
    serve(_load_or_compile)


def _load_or_compile(call: Call) -> None:
    function, types = call
    known = isinstance(function._cache, _Cache)
    cache = _attach_cache(function)
    if types not in function.overloads:
        function.compile(types)
    elif cache is not None and not known:  # compiled as a part of another function, before there was a cache
        cache.save_overload(types, function.overloads[types])


def _clear_out() -> None:
    """Delete what nobody has asked for in a while, and what was never finished."""
    directory = cache_directory()
    if directory is not None:
        for path in directory.iterdir():
            with suppress(OSError):
                if path.suffix in {".nbc", ".nbi", ".tmp"} and path.stat().st_mtime < time.time() - DAYS_KEPT * 86400:
                    path.unlink()
