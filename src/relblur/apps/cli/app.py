"""Assemble the program ``relblur`` from the commands of this package and of ``command.py`` in the other packages."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import __version__
from ..terminal.commands import Command, Group, MovedCommand
from ..terminal.console import keep_freed_memory, run_program, set_debug
from ..terminal.options import takes_records
from .calibrate import calibrate
from .camera import camera
from .depth import depth
from .estimate import estimate
from .evaluate import evaluate
from .fuse import fuse
from .range import find_range
from .refocus import refocus
from .report import report
from .stack import stack
from .tools import decimate, optics, synth

__all__ = ["app", "main"]

_COMMANDS: dict[str, Callable[..., None]] = {
    **{each.__name__: each for each in (estimate, evaluate, depth, refocus, fuse, stack, camera, calibrate)},
    **{f"tools {each.__name__}": each for each in (report, synth, decimate)},
    "range": find_range,
    "paper optics": optics,
}
#: Headings of the help, and the commands under each heading.
_PANELS = {
    "First steps": ("demo", "view"),
    "Two photographs": ("estimate", "evaluate", "refocus"),
    "Two or more": ("fuse", "stack"),
    "Distances, with a camera file": ("camera", "calibrate", "depth", "range"),
    "Video": ("video",),
    "Laboratory": ("tools", "paper"),
}
_GROUPS = {
    "tools": "Pages of results, data sets, test pairs, single images, speed of this machine.",
    "paper": "The figures, tables and equations of the paper.",
}
#: Commands that run without arguments. The other commands then print their help.
_RUN_ALONE = {"demo", "view", "paper reproduce", "tools bench"}
_HELP = """Measure how much blurrier one photograph is than another, at every pixel, with its standard error.

    relblur demo

    relblur estimate near.jpg far.jpg -o result

The photographs show one scene from one viewpoint with different focus. With a camera file 'relblur depth' measures
distances in metres.
"""


def _show_version(requested: bool) -> None:
    if requested:
        print(__version__)
        raise typer.Exit


def _commands() -> dict[str, Callable[..., None]]:
    """Return all commands by name, without those of packages whose ``NEEDS`` are missing."""
    commands = dict(_COMMANDS)
    apps = Path(__file__).parents[1]
    for place in sorted(apps.glob("*/command.py")):
        program = import_module(f"...{place.parent.name}.command", __name__)
        if all((apps / name).is_dir() for name in getattr(program, "NEEDS", ())):
            commands |= program.COMMANDS
    return commands


def _group(help_text: str, **about: Any) -> typer.Typer:
    about |= {"add_completion": False, "pretty_exceptions_enable": False}
    settings = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(cls=Group, help=help_text, rich_markup_mode=None, context_settings=settings, **about)


def _program() -> typer.Typer:
    """Return the program with all commands, in the order of the panels."""
    program = _group(_HELP, invoke_without_command=True)
    program.callback()(_options)
    groups = {name: _group(text, no_args_is_help=True) for name, text in _GROUPS.items()}
    panels = {name: panel for panel, names in _PANELS.items() for name in names}
    commands = _commands()
    order = [*panels, *sorted(set(commands) - set(panels))]
    for name in sorted(commands, key=order.index):
        group, _, last = name.rpartition(" ")
        command, no_help = takes_records(commands[name]), name in _RUN_ALONE
        if group:
            groups[group].command(last, cls=Command, no_args_is_help=not no_help)(command)
            moved = type("Moved", (MovedCommand,), {"group": group})
            program.command(last, cls=moved, hidden=True)(command)
        else:
            program.command(name, cls=Command, no_args_is_help=not no_help, rich_help_panel=panels.get(name))(command)
    for name, group_of in groups.items():
        program.add_typer(group_of, name=name, rich_help_panel=panels[name])
    return program


def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks instead of one-line errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Handle the options in front of the command."""
    set_debug(debug)
    if context.invoked_subcommand is None:
        print(context.get_help())


app = _program()


def _end(number: int, _frame: object) -> None:
    """Exit as after Ctrl-C, which removes unfinished files; the code is 128 plus the signal's number, as in shells."""
    raise SystemExit(128 + number)


def main() -> None:
    """Run the program."""
    os.environ["PYTHONSAFEPATH"] = "1"  # child processes must not import from the current folder
    keep_freed_memory()
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP; nohup ignores it
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    run_program(app)


if __name__ == "__main__":
    main()
