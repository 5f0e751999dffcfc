"""Parse arguments and format help: options grouped by panel, one-line usage errors, former names."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .console import EXIT_USAGE, say

__all__ = ["Command", "Group", "MovedCommand", "path_of"]

UsageError: Any = typer.BadParameter.__base__

#: Former names of options and the present ones. Version 1.1 removes them.
FORMER = {"-f": ("--focal-length", "--force"), "--workers": ("--processes",)}
#: Ranges that Typer adds to help lines, ``[x>=0]`` or ``; x>=0``: removed, because the parser reports violations.
_RANGE = re.compile(r"  \[[\d.<=]*x[<>]=[\d.]+\]|; [\d.<=]*x[<>]=[\d.]+")
#: Width of the column of option names in the help, characters.
_NAMES_WIDTH = 26


def path_of(context: Any) -> str:
    """Return the full name of a command: ``relblur estimate``."""
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, context.info_name)
        context = context.parent
    return " ".join(["relblur", *words])


class _PlainHelp:
    """Format help as plain lines at the width of the terminal."""

    params: list[Any]
    help: str | None

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line."""
        arguments = [each.metavar or each.name.upper() for each in self.params if each.param_type_name == "argument"]
        last = ["COMMAND ..."] if isinstance(self, TyperGroup) else ["[OPTIONS]"]
        formatter.write_usage(path_of(ctx), " ".join([*arguments, *last]))

    def format_help_text(self, _ctx: Any, formatter: Any) -> None:
        """Write the paragraphs of the help; example calls are not wrapped."""
        with formatter.indentation():
            for paragraph in (self.help or "").split("\n\n"):
                formatter.write_paragraph()
                if paragraph.lstrip().startswith("relblur "):
                    formatter.write("".join(f"      {line.strip()}\n" for line in paragraph.splitlines()))
                else:
                    formatter.write_text(" ".join(paragraph.split()))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, grouped by panel."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        options: list[tuple[str, str]] = []  # options without a panel, shown last
        for each in self.get_params(ctx):  # type: ignore[attr-defined]
            record = each.get_help_record(ctx)
            if record is None:
                continue
            names, text = record
            text = _RANGE.sub("", re.sub(r"default: \((.*?)\)", r"default: \1", text))
            panel = getattr(each, "rich_help_panel", None)
            if each.param_type_name == "argument":
                panels["Arguments"].append((each.metavar or each.name.upper(), text))
            else:
                (options if panel is None else panels.setdefault(panel, [])).append((names, text))
        for name, lines in {**panels, "Options": options}.items():
            if lines:
                with formatter.section(name):
                    formatter.write_dl(lines, col_max=_NAMES_WIDTH)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all parts of the help."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        if isinstance(self, Group):
            self.format_commands(ctx, formatter)


class Command(_PlainHelp, TyperCommand):
    """A command that prints each usage error as one line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; refuse empty and surplus ones."""
        args = self._with_new_names(ctx, args)
        if any(each == "" or (each.startswith("-") and each.endswith("=")) for each in args):
            _refuse("an argument is empty; write . for the current folder")
        ctx.allow_extra_args = True
        surplus = _parse(super().parse_args, ctx, args)
        if surplus:
            others = getattr(ctx.parent.command, "commands", {}) if ctx.parent else {}
            takes_pair = any(parameter.name in ("second", "far") for parameter in self.params)
            _refuse(_surplus_message(surplus, takes_pair, has_fuse="fuse" in others))
        return surplus

    def _with_new_names(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace former names of options by the present ones, and print the new call."""
        known = {name for each in self.params for name in (*each.opts, *each.secondary_opts)}
        new = list(args)
        for place, word in enumerate(args):
            name, equals, value = word.partition("=")
            if re.fullmatch(r"-f[0-9.]+", word):  # a value may follow a short option without a blank
                name, equals, value = "-f", "=", word[2:]
            present = next((each for each in FORMER.get(name, ()) if each in known), None)
            if present is None or (name in known and not (equals or _is_page(args[place + 1 : place + 2]))):
                continue
            new[place] = f"{present}{equals}{value}"
        if new != args:
            say(f"relblur: note: options have new names; the new call is: {shlex.join([*path_of(ctx).split(), *new])}")
        return new


class MovedCommand(Command):
    """A command under its former name: hidden from the help, prints the new call. Version 1.1 removes it."""

    group = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the new call, then parse the arguments."""
        say(f"relblur: note: the new call is: {shlex.join(['relblur', self.group, ctx.info_name, *args])}")
        return super().parse_args(ctx, args)


class Group(_PlainHelp, TyperGroup):
    """A group of commands. Its help lists them by panel, in the order of their registration."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                line = " ".join((command.help or "").split("\n\n")[0].split())
                panels.setdefault(command.rich_help_panel or "Commands", []).append((name, line))
        for panel, lines in panels.items():
            with formatter.section(panel):
                formatter.write_dl(lines)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options in front of the command."""
        return _parse(super().parse_args, ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command named by the next word."""
        return _parse(super().resolve_command, ctx, args)


def _parse(parser: Any, ctx: Any, args: list[str]) -> Any:
    """Call a parser of arguments; print its usage error as one line and exit."""
    is_empty = not args
    try:
        return parser(ctx, args)
    except UsageError as error:
        if is_empty:  # Typer prints the help
            raise
        reason = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")
        _refuse(f"{reason[:1].lower()}{reason[1:]}; see '{path_of(ctx)} --help'")


def _refuse(reason: str) -> None:
    say(f"relblur: {reason}")
    raise typer.Exit(EXIT_USAGE)


def _is_page(words: list[str]) -> bool:
    return any(word.lower().endswith((".html", ".htm")) for word in words)


def _surplus_message(surplus: list[str], takes_pair: bool, *, has_fuse: bool) -> str:
    """Return the error message for surplus arguments, with a remedy."""
    first = surplus[0]
    more = f" and {len(surplus) - 1} more" if len(surplus) > 1 else ""
    if not (takes_pair and os.path.exists(first)):
        return f"unexpected argument {first!r}{more}; put names with blanks in quotes, and see --help"
    many = "; 'relblur fuse' takes more than two" if has_fuse else ""
    return (
        f"two pictures are compared, and {first}{more} would be left over; for many pairs name two folders, or put "
        f"patterns in quotes, 'dir/*_near.png' 'dir/*_far.png', so that the shell does not expand them{many}"
    )
