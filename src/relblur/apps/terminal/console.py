"""Output of commands: results to stdout, everything else to stderr, errors in one line; and memory of the process.

Text is never read as markup. A stream that is closed, full or cannot encode a character loses no work, because files
are written before anything is printed. A result that cannot be printed ends in one line on stderr and exit code 3.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import io
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer

from ...base.errors import FileError, InputError, MissingDependencyError, OutputExistsError, RelblurError

if TYPE_CHECKING:
    from ...base._typing import Progress as Report

__all__ = [
    "UsageError",
    "flags_in_words",
    "keep_freed_memory",
    "load_in_background",
    "one_line_errors",
    "print_json",
    "print_lines",
    "print_summary",
    "print_table",
    "printed_warnings",
    "program_name",
    "progress_bar",
    "run_program",
    "say",
    "shares_in_words",
]

EXIT_USAGE, EXIT_DATA, EXIT_MISSING, EXIT_BUG = 2, 3, 4, 1

P = ParamSpec("P")
R = TypeVar("R")


class UsageError(RelblurError):
    """The options given do not fit together."""


_debug = False

#: Warnings that this command has printed.
_printed: list[str] = []

# Parameters of glibc's malloc, from malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
#: Arrays larger than this (bytes) are freed at once, to keep the peak of large pictures low.
_LARGE = 32 * 2**20
_NEVER = 2**31 - 1


def set_debug(debug: bool) -> None:
    """Show tracebacks (``relblur --debug ...``)."""
    global _debug
    _debug = debug


def say(text: str) -> None:
    """Print a line that is not a result to stderr, if that is open."""
    if sys.stderr is None:  # print would use stdout
        return
    with suppress(OSError, ValueError):  # full, or closed
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
    """Print results as they are, a line each."""
    with _printing():
        print(*lines, sep="\n")


def flags_in_words(shares: Mapping[str, float]) -> str:
    """Return the shares of pixels with each flag as text; they add up."""
    named = zip(shares, shares_in_words(list(shares.values())), strict=True)
    return ", ".join(f"{name} {share}" for name, share in named)


def shares_in_words(shares: Sequence[float]) -> list[str]:
    """Return shares of one whole as percentages that add up."""
    from ...base.shown import percentages

    return percentages(shares)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a result as a table: as wide as the terminal, or as its text if stdout is a file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def plain(text: str) -> Text:  # brackets in names are names, not markup
        return Text(_lines(text))

    with _printing():
        console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False, emoji=False)
        table = Table(title=plain(title), title_justify="left")
        for index, column in enumerate(columns):
            table.add_column(plain(column), justify="left" if index == 0 else "right")
        for row in rows:
            table.add_row(*(plain(cell) for cell in row))
        console.print(table)


@contextmanager
def _printing() -> Iterator[None]:
    """Flush stdout, so that a failure shows here and not at the end of the interpreter."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        _give_up_stdout()
        raise FileError(f"the result cannot be printed: {_reason(error)}; files named with -o are written") from None


def _give_up_stdout() -> None:
    """Discard the rest of the stream: the interpreter would fail to write it at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason(error: OSError | ValueError) -> str:
    if getattr(error, "errno", None) == errno.EBADF:
        return "the stream is closed"
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__


def _lines(text: str) -> str:
    from ...base.shown import visible

    return "\n".join(visible(line) for line in text.split("\n"))


def program_name() -> str:
    """Return the word that calls this program: its name if the shell finds it, else its path."""
    import shutil

    called = sys.argv[0] if sys.argv else "relblur"
    if os.path.basename(called) != "relblur" or shutil.which("relblur"):
        return "relblur"
    return os.path.abspath(called)


def run_program(program: Callable[[], object]) -> None:
    """Run the program with usable streams; output that cannot be written ends it in one line."""
    _mend_streams()
    try:
        try:
            program()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has gone
        _give_up_stdout()
        sys.exit(EXIT_DATA)
    except OSError as error:  # Typer prints help and version
        _give_up_stdout()
        say(f"relblur: the output cannot be printed: {_reason(error)}")
        sys.exit(EXIT_DATA)


def _mend_streams() -> None:
    """Open closed streams, whose numbers files would get, and escape characters that cannot be encoded."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # it gets the least free number, this one; writing to it fails
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def progress_bar(text: str, shown: bool = True) -> Iterator[Report]:
    """Yield a function that takes the share done; a bar is drawn on terminals only, one at a time."""
    if not (shown and sys.stderr is not None and sys.stderr.isatty()):
        yield lambda _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(text, markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def load_in_background(*modules: str) -> None:
    """Import modules that are needed later, beside the arithmetic on the other core."""

    def load() -> None:
        for name in modules:
            with suppress(ImportError):  # reported where the module is used
                import_module(name)

    threading.Thread(target=load, daemon=True).start()


def one_line_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one line on stderr and an exit code; warnings into a line each."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _printed.clear()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                warnings.simplefilter("always", UserWarning)
                return command(*args, **kwargs)
        except RelblurError as error:
            if _debug:
                raise
            say(f"relblur: {' '.join(str(error).split())}")
            raise typer.Exit(_exit_code(error)) from None
        except typer.Exit:
            raise
        except BrokenPipeError:  # for run_program
            raise
        except OSError as error:  # no permission, no space
            if _debug:
                raise
            where = f"{error.filename}: " if error.filename is not None else ""
            say(f"relblur: {where}{_reason(error)}; check permissions and space")
            raise typer.Exit(EXIT_DATA) from None
        except MemoryError:
            say("relblur: not enough memory for images of this size; use --decimate 2 or more")
            raise typer.Exit(EXIT_DATA) from None
        except Exception as error:
            if _debug:
                raise
            detail = " ".join(str(error).split())
            say(f"relblur: unexpected {type(error).__name__}: {detail}; run 'relblur --debug ...' and report it")
            raise typer.Exit(EXIT_BUG) from None

    return run


def _exit_code(error: RelblurError) -> int:
    if isinstance(error, MissingDependencyError):
        return EXIT_MISSING
    if isinstance(error, (OutputExistsError, UsageError)):
        return EXIT_USAGE
    return EXIT_DATA if isinstance(error, (InputError, FileError)) else EXIT_BUG


def printed_warnings() -> tuple[str, ...]:
    """Return the warnings that this command has printed so far."""
    return tuple(_printed)


def _show_warning(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
    text = " ".join(str(message).split())
    _printed.append(text)
    say(f"relblur: note: {text}")


def keep_freed_memory() -> None:
    """Keep freed arrays in the process: fresh pages of the system took a seventh of the time of an estimate.

    This changes the whole process, so programs call it and the library does not. It has no effect without glibc.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for parameter, value in ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _NEVER), (_M_TOP_PAD, _LARGE)):
        adjust(parameter, value)
