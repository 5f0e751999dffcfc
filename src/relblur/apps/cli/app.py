"""``relblur``: the program. A command is in the module of its name, or in ``command.py`` of the program that has it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ... import __version__
from ..terminal.arguments import CommandOfPictures
from ..terminal.console import run_program, set_debug
from ..terminal.memory import keep_freed_memory
from .calibrate import calibrate
from .camera import camera
from .decimate import decimate
from .depth import depth
from .estimate import estimate
from .evaluate import evaluate
from .fuse import fuse
from .optics import optics
from .range import find_range
from .refocus import refocus
from .report import report
from .stack import stack
from .synth import synth

__all__ = ["app", "main"]

app = typer.Typer(
    name="relblur",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How much blurrier is one photograph than another, at every pixel, with an error bar. "
    "Start with 'relblur demo', then 'relblur estimate FIRST SECOND -o DIR' on two photographs of "
    "one scene taken from one viewpoint with different focus. With a camera file, "
    "'relblur depth' gives metres.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks instead of one-line errors.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Options that stand before the command."""
    set_debug(debug)
    if context.invoked_subcommand is None:
        print(context.get_help())


_COMMANDS: dict[str, Callable[..., None]] = {
    "estimate": estimate,
    "evaluate": evaluate,
    "depth": depth,
    "range": find_range,
    "report": report,
    "fuse": fuse,
    "refocus": refocus,
    "stack": stack,
    "calibrate": calibrate,
    "camera": camera,
    "synth": synth,
    "decimate": decimate,
    "optics": optics,
}
#: Commands that need no argument; the others print their help without one.
_RUN_ALONE = {"demo", "view", "reproduce", "bench"}


def _commands() -> dict[str, Callable[..., None]]:
    """Return the commands of this program, and those of the programs beside it.

    A program without its folder, or without that of a program that it builds on, has no command.
    """
    found = dict(_COMMANDS)
    for place in sorted(Path(__file__).parents[1].glob("*/command.py")):
        try:
            program = import_module(f"...{place.parent.name}.command", __package__ + ".app")
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(__package__.rpartition(".")[0]):
                raise
            continue
        if all((place.parents[1] / name).is_dir() for name in getattr(program, "NEEDS", ())):
            found |= program.COMMANDS
    return found


for name, command in _commands().items():
    app.command(name, no_args_is_help=name not in _RUN_ALONE, cls=CommandOfPictures)(command)


def _end(number: int, _frame: object) -> None:
    """Leave as by Ctrl-C, so that unfinished work is cleared away; shells report a signal as 128 and its number."""
    raise SystemExit(128 + number)


def main() -> None:
    """Run the program."""
    os.environ["PYTHONSAFEPATH"] = "1"  # for child processes: the current folder may hold a multiprocessing.py
    keep_freed_memory()
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP; nohup has it ignored
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    run_program(app)


if __name__ == "__main__":
    main()
