"""Print results to stdout, messages to stderr, errors as one line; configure the memory allocator.

Text is never interpreted as markup. Commands write their files first, so a closed or full stream loses no result. If a
result cannot be printed, the program prints one line on stderr and exits with code 3.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ...base.errors import MissingDependencyError, OutputExistsError, RelblurError

if TYPE_CHECKING:
    from ...base._typing import Progress as Report


EXIT_USAGE, EXIT_DATA, EXIT_MISSING, EXIT_BUG = 2, 3, 4, 1


class UsageError(RelblurError):
    """Raised if options contradict each other."""


_debug = False

#: Warnings printed by the running command.
_printed: list[str] = []

# Numbers of the parameters of glibc's mallopt, from malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
#: Arrays larger than this (bytes) are freed at once, to limit the peak memory of large pictures.
_LARGE = 32 * 2**20
_NEVER = 2**31 - 1


def set_debug(debug: bool) -> None:
    """Show tracebacks (``relblur --debug ...``)."""
    global _debug
    _debug = debug


def print_message(text: str) -> None:
    """Print a message to stderr; a closed or full stream is no error."""
    with suppress(OSError, ValueError):
        print(_lines(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a result as JSON, NaN as null."""
    from ...base.shown import as_json

    print_lines(as_json(value, indent=2))


def print_summary(title: str, rows: Sequence[Sequence[str]], summary: Any, as_json: bool) -> None:
    """Print a result as a table of names and values, or as JSON."""
    if as_json:
        print_json(summary)
    else:
        print_table(title, ("", ""), rows)


def print_lines(*lines: object) -> None:
    """Print results without formatting, one per line."""
    print(*lines, sep="\n")


def flags_in_words(shares: Mapping[str, float]) -> str:
    """Return the share of pixels with each flag as text, rounded so that the shares add up."""
    from ...base.shown import percentages

    named = zip(shares, percentages(list(shares.values())), strict=True)
    return ", ".join(f"{name} {share}" for name, share in named)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a result as a table: at most as wide as the terminal, or 200 characters if stdout is a file."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False, emoji=False)
    table = Table(title=_lines(title), title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(_lines(column), justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*map(_lines, row))
    console.print(table)


def _lines(text: str) -> str:
    from ...base.shown import visible

    return "\n".join(visible(line) for line in text.split("\n"))


@contextmanager
def progress_bar(text: str, shown: bool = True) -> Iterator[Report]:
    """Yield a function that takes the completed share, 0 to 1, and draws a bar if stderr is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield lambda _share: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def exit_code(program: Callable[[], int]) -> int:
    """Run a program and return its exit code; print warnings and errors as one line each."""
    _printed.clear()
    set_debug(False)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", UserWarning)
            return program()
    except Exception as error:
        if _debug:
            raise
        code, line = _explained(error)
        print_message(f"relblur: {' '.join(line.split())}")
        return code


def _explained(error: Exception) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    if isinstance(error, MissingDependencyError):
        return EXIT_MISSING, str(error)
    if isinstance(error, (OutputExistsError, UsageError)):
        return EXIT_USAGE, str(error)
    if isinstance(error, RelblurError):
        return EXIT_DATA, str(error)
    if isinstance(error, OSError):  # for example no permission, or a full disk
        where = "a file or the output cannot be written" if error.filename is None else error.filename
        return EXIT_DATA, f"{where}: {error.strerror or error}; check permissions and space"
    if isinstance(error, MemoryError):
        return EXIT_DATA, "not enough memory for images of this size; use --decimate 2 or more"
    return EXIT_BUG, f"unexpected {type(error).__name__}: {error}; run 'relblur --debug ...' and report it"


def printed_warnings() -> tuple[str, ...]:
    """Return the warnings that the running command has printed."""
    return tuple(_printed)


def _show_warning(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
    text = " ".join(str(message).split())
    _printed.append(text)
    print_message(f"relblur: note: {text}")


def run_program(program: Callable[[], object]) -> None:
    """Run the program with usable streams; exit with one line if the output cannot be written."""
    _repair_streams()
    code: Any = 0
    try:
        program()
    except SystemExit as end:
        code = end.code or 0
    try:
        sys.stdout.flush()
    except OSError as error:
        if not (code or isinstance(error, BrokenPipeError)):
            print_message(f"relblur: the result cannot be printed: {error.strerror}; files named with -o are written")
        code = code or EXIT_DATA
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush of the interpreter
    sys.exit(code)


def _repair_streams() -> None:
    """Open closed standard streams, so that no file gets their descriptor; escape characters outside their encoding."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the null device gets this number, the lowest free one; read-only, so that writes fail
            os.open(os.devnull, os.O_RDONLY)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def keep_freed_memory() -> None:
    """Keep freed memory in the process: requesting new pages takes a seventh of the time of an estimate.

    The setting holds for the whole process. Programs therefore call this function, the library does not. It has no
    effect without glibc.
    """
    with suppress(OSError, AttributeError, TypeError):
        adjust = ctypes.CDLL(None).mallopt
        for parameter, value in ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _NEVER), (_M_TOP_PAD, _LARGE)):
            adjust(parameter, value)
