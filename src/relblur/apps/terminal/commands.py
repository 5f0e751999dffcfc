"""Parse arguments, format help by panels, and turn every error into one line and an exit code."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .console import EXIT_USAGE, exit_code, print_message

__all__ = ["Command", "Group", "MovedCommand"]

_ParserError: Any = typer.BadParameter.__base__

#: Width of the column of option names in the help, characters.
_NAMES_WIDTH = 26


class _Panels:
    """Help that groups options by panel."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line after the name of the command."""
        arguments = (each for each in self.get_params(ctx) if each.param_type_name == "argument")  # type: ignore[attr-defined]
        names = [each.metavar or each.name.upper() for each in arguments]
        return [*names, "COMMAND ..." if isinstance(self, Group) else "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options; options without a panel come last."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        last: list[tuple[str, str]] = []
        for each in self.get_params(ctx):  # type: ignore[attr-defined]
            record = each.get_help_record(ctx)
            panel = each.rich_help_panel
            if each.param_type_name == "argument":
                panel, record = "Arguments", (each.metavar or each.name.upper(), record[1])
            if record is not None:
                text = re.sub(r"default: \((.*?)\)", r"default: \1", record[1])
                (last if panel is None else panels.setdefault(panel, [])).append((record[0], text))
        for name, lines in {**panels, "Options": last}.items():
            if lines:
                with formatter.section(name):
                    formatter.write_dl(lines, col_max=_NAMES_WIDTH)
        if isinstance(self, Group):
            self.format_commands(ctx, formatter)


class Command(_Panels, TyperCommand):
    """A command of the program."""


class MovedCommand(Command):
    """A command under its former name: hidden from the help. Version 1.1 removes it."""

    group = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the new call, then parse the arguments."""
        print_message(f"relblur: note: the new call is: {shlex.join(['relblur', self.group, ctx.info_name, *args])}")
        return super().parse_args(ctx, args)


class Group(_Panels, TyperGroup):
    """The program, or a group of its commands."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one line for each command, by panel, in the order of registration."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                line = " ".join((command.help or "").split("\n\n")[0].split())
                panels.setdefault(command.rich_help_panel or "Commands", []).append((name, line))
        for panel, lines in panels.items():
            with formatter.section(panel):
                formatter.write_dl(lines)

    def main(self, args: Any = None, *_: Any, standalone_mode: bool = True, **_options: Any) -> Any:
        """Run a command; exit with its code, or return the code if ``standalone_mode`` is false."""
        words = sys.argv[1:] if args is None else list(args)
        code = exit_code(lambda: self._run(words))
        return sys.exit(code) if standalone_mode else code

    def _run(self, words: list[str]) -> int:
        if any(word == "" or (word.startswith("-") and word.endswith("=")) for word in words):
            print_message("relblur: an argument is empty; write . for the current folder")
            return EXIT_USAGE
        try:
            return super().main(words, prog_name="relblur", standalone_mode=False) or 0
        except _ParserError as error:
            text = error.format_message()
            if not text.startswith("Usage: "):  # otherwise the text is the help of a command without arguments
                text = f"relblur: {text[:1].lower()}{' '.join(text.split()).rstrip('.')[1:]}"
                if "unexpected extra" in text:
                    text += "; put patterns such as 'dir/*_near.png' and names with blanks in quotes"
                text += f"; see '{error.ctx.command_path if error.ctx else 'relblur'} --help'"
            print_message(text)
            return EXIT_USAGE
