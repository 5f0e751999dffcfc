"""How the command line talks: results to stdout, everything else to stderr, errors in one line.

What is told is never read as markup, and a stream that is closed, full or cannot write a character is no
reason to lose the work: files are written before anything is printed. A result that cannot be printed ends in one line
on stderr and exit code 3; what cannot be said on stderr is not said.
"""

from __future__ import annotations

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
from typing import Any, ParamSpec, TypeVar

import typer

from ...base._typing import Progress as Report
from ...base.errors import FileError, InputError, MissingDependencyError, OutputExistsError, RelblurError
from ...base.shown import as_json, visible

__all__ = [
    "UsageError",
    "flags_in_words",
    "load_in_background",
    "one_line_errors",
    "print_json",
    "print_lines",
    "print_table",
    "program_name",
    "progress_bar",
    "run_program",
    "said_warnings",
    "say",
    "shares_in_words",
]

EXIT_USAGE, EXIT_DATA, EXIT_MISSING, EXIT_BUG = 2, 3, 4, 1

P = ParamSpec("P")
R = TypeVar("R")


class UsageError(RelblurError):
    """The options given do not fit together."""


_debug = False

#: Warnings that this command has said.
_said: list[str] = []


def set_debug(debug: bool) -> None:
    """Show tracebacks from now on (``relblur --debug ...``)."""
    global _debug
    _debug = debug


def say(text: str) -> None:
    """Tell the person at the terminal something that is not a result; nothing if nobody can hear it."""
    if sys.stderr is None:  # print would take stdout
        return
    with suppress(OSError, ValueError):  # full, or closed
        print(_lines(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a result as JSON, NaN as null."""
    print_lines(as_json(value, indent=2))


def print_lines(*lines: object) -> None:
    """Print results as they are, a line each."""
    with _printing():
        print(*lines, sep="\n")


def flags_in_words(shares: Mapping[str, float]) -> str:
    """Write what share of the pixels has which flag, so that the shares add up."""
    told = zip(shares, shares_in_words(list(shares.values())), strict=True)
    return ", ".join(f"{name} {share}" for name, share in told)


def shares_in_words(shares: Sequence[float]) -> list[str]:
    """Write shares of one whole as percentages that add up."""
    from ...base.shown import percentages

    return percentages(shares)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a result as a table, as wide as it needs when nobody watches."""
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
    """Write to stdout now, so that a failure shows here and not when the interpreter ends."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        _give_up_stdout()
        raise FileError(f"the result cannot be printed: {_reason(error)}; files named with -o are written") from None


def _give_up_stdout() -> None:
    """Let what is still in the stream go nowhere: the interpreter would fail to write it again at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason(error: OSError | ValueError) -> str:
    if getattr(error, "errno", None) == errno.EBADF:
        return "the stream is closed"
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__


def _lines(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n"))


def program_name() -> str:
    """Return what to type for this program here: its name if the shell finds it, else where it is."""
    import shutil

    called = sys.argv[0] if sys.argv else "relblur"
    if os.path.basename(called) != "relblur" or shutil.which("relblur"):
        return "relblur"
    return os.path.abspath(called)


def run_program(program: Callable[[], object]) -> None:
    """Run the program with streams that can be written to, and say in one line if its output could not be."""
    _mend_streams()
    try:
        try:
            program()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone; nothing to say
        _give_up_stdout()
        sys.exit(EXIT_DATA)
    except OSError as error:  # help and version are printed by the library that reads the options
        _give_up_stdout()
        say(f"relblur: the output cannot be printed: {_reason(error)}")
        sys.exit(EXIT_DATA)


def _mend_streams() -> None:
    """Let no character be a reason to fail, and no file get the number of a stream that is closed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the least free number is this one; reading gives nothing, writing fails as it should
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
    """Give a function to report progress to; a bar is drawn only on a terminal, and one at a time."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield lambda _share: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(text, markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def load_in_background(*modules: str) -> None:
    """Import modules that will be needed later while the arithmetic has the processor's other core."""

    def load() -> None:
        for name in modules:
            # A module that cannot be imported is reported where it is used.
            with suppress(ImportError):
                import_module(name)

    threading.Thread(target=load, daemon=True).start()


def one_line_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one line on stderr and an exit code; warnings into a line each."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _said.clear()
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
        except BrokenPipeError:  # run_program knows
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


def said_warnings() -> tuple[str, ...]:
    """Return the warnings that this command has said so far."""
    return tuple(_said)


def _show_warning(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
    text = " ".join(str(message).split())
    _said.append(text)
    say(f"relblur: note: {text}")
