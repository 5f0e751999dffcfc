"""How the command line talks: results to stdout, everything else to stderr, errors in one line."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import typer

from .._typing import Progress as Report
from ..errors import FileError, InputError, MissingDependencyError, OutputExistsError, RelblurError

__all__ = ["UsageError", "load_in_background", "one_line_errors", "print_json", "print_table", "progress_bar", "say"]

EXIT_USAGE, EXIT_DATA, EXIT_MISSING, EXIT_BUG = 2, 3, 4, 1

P = ParamSpec("P")
R = TypeVar("R")


class UsageError(RelblurError):
    """The options given do not fit together."""


_debug = False


def set_debug(debug: bool) -> None:
    """Show tracebacks from now on (``relblur --debug ...``)."""
    global _debug
    _debug = debug


def say(text: str) -> None:
    """Tell the person at the terminal something that is not a result."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a result as JSON, NaN as null."""
    print(json.dumps(_without_nan(value), indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a result as a table, as wide as it needs when nobody watches."""
    from rich.console import Console
    from rich.table import Table

    console = Console() if sys.stdout.isatty() else Console(width=200)
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


@contextmanager
def progress_bar(text: str) -> Iterator[Report]:
    """Give a function to report progress to; a bar is drawn only on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _share: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(text),
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
        except BrokenPipeError:  # the reader of our output has gone; nothing to say
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(EXIT_BUG) from None
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


def _show_warning(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
    say(f"relblur: note: {message}")


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
