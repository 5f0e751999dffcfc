"""``relblur``: the program. Each command is in a module of its own beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import depth, estimating, making, paper, speed
from .memory import keep_freed_memory
from .talk import set_debug

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


app.command()(paper.demo)
app.command(no_args_is_help=True)(estimating.estimate)
app.command(no_args_is_help=True)(estimating.evaluate)
app.command(no_args_is_help=True)(depth.depth)
app.command(no_args_is_help=True)(depth.calibrate)
app.command(no_args_is_help=True)(depth.camera)
app.command(no_args_is_help=True)(making.synth)
app.command(no_args_is_help=True)(making.decimate)
app.command(no_args_is_help=True)(making.optics)
app.command()(paper.reproduce)
app.command()(speed.bench)


def main() -> None:
    """Run the program."""
    keep_freed_memory()
    app()


if __name__ == "__main__":
    main()
