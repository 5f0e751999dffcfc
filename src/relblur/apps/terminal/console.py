"""Print results to stdout, everything else to stderr, errors as one line; set the memory allocator of programs.

Text is never interpreted as markup. Commands write their files before they print, so a closed or full stream loses no
result. If a result cannot be printed, the program prints one line on stderr and exits with code 3.
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
    """Raised if the given options do not fit together."""


_debug = False

#: Warnings printed by the running command.
_printed: list[str] = []

# Numbers of the parameters of glibc's mallopt, from malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
#: Arrays larger than this (bytes) are freed at once, to keep the peak of large pictures low.
_LARGE = 32 * 2**20
_NEVER = 2**31 - 1


def set_debug(debug: bool) -> None:
    """Show tracebacks (``relblur --debug ...``)."""
    global _debug
    _debug = debug


def say(text: str) -> None:
    """Print a message to stderr; a closed or full stream is no error."""
    if sys.stderr is None:  # print(file=None) uses stdout
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
    """Print results without formatting, one per line."""
    with _printing():
        print(*lines, sep="\n")


def flags_in_words(shares: Mapping[str, float]) -> str:
    """Return the share of pixels with each flag as text, rounded so that the shares add up."""
    named = zip(shares, shares_in_words(list(shares.values())), strict=True)
    return ", ".join(f"{name} {share}" for name, share in named)


def shares_in_words(shares: Sequence[float]) -> list[str]:
    """Return shares as percentages, rounded so that they add up to their total."""
    from ...base.shown import percentages

    return percentages(shares)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a result as a table: at most as wide as the terminal, or 200 characters if stdout is a file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def plain(text: str) -> Text:  # brackets in names are not markup
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
    """Flush stdout after the block, so that a failure is raised here and not when the interpreter exits."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        _give_up_stdout()
        raise FileError(f"the result cannot be printed: {_reason(error)}; files named with -o are written") from None


def _give_up_stdout() -> None:
    """Redirect stdout to the null device; the interpreter's last flush would fail otherwise."""
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
    """Return the name by which a shell can call this program: ``relblur`` if it is on the path, else its path."""
    import shutil

    path = sys.argv[0] if sys.argv else "relblur"
    if os.path.basename(path) != "relblur" or shutil.which("relblur"):
        return "relblur"
    return os.path.abspath(path)


def run_program(program: Callable[[], object]) -> None:
    """Run the program with usable streams; exit with one line if the output cannot be written."""
    _repair_streams()
    try:
        try:
            program()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the process at the other end of the pipe has ended
        _give_up_stdout()
        sys.exit(EXIT_DATA)
    except OSError as error:  # raised while Typer prints the help or the version
        _give_up_stdout()
        say(f"relblur: the output cannot be printed: {_reason(error)}")
        sys.exit(EXIT_DATA)


def _repair_streams() -> None:
    """Reopen closed standard streams, and escape characters that a stream cannot encode.

    A file would otherwise get the number of a closed stream, and printed text would go into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the null device gets the lowest free number, this one; read-only, so that writes fail
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
    """Yield a function that takes the completed share, 0 to 1, and draws a bar if stderr is a terminal."""
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
    """Import modules in a thread, while the main thread computes."""

    def load() -> None:
        for name in modules:
            with suppress(ImportError):  # raised again where the module is used
                import_module(name)

    threading.Thread(target=load, daemon=True).start()


def one_line_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command: print errors and warnings as one line each, and exit with the code of the error."""

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
        except BrokenPipeError:  # handled by run_program
            raise
        except OSError as error:  # such as no permission or a full disk
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
    """Return the warnings that the running command has printed."""
    return tuple(_printed)


def _show_warning(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
    text = " ".join(str(message).split())
    _printed.append(text)
    say(f"relblur: note: {text}")


def keep_freed_memory() -> None:
    """Keep the memory of freed arrays in the process; fresh pages cost a seventh of the time of an estimate.

    The setting holds for the whole process. Programs therefore call this function, the library does not. It has no
    effect without glibc.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for parameter, value in ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _NEVER), (_M_TOP_PAD, _LARGE)):
        adjust(parameter, value)
