"""The reference of every command, written from the program: what ``relblur COMMAND --help`` prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from page_files import write_pages

from relblur.apps.cli.app import app

__all__ = ["pages", "write"]


def pages() -> dict[str, str]:
    """Return the reStructuredText of each page by its name."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = ["Commands", "========", "", "What ``relblur COMMAND --help`` prints.", ""]
    lines += [f":doc:`{name}`\n   {_escaped(_first(command.help))}\n" for name, command in commands.items()]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {name}" for name in commands), ""]
    return {"index": "\n".join(lines)} | {name: _page(name, command) for name, command in commands.items()}


def _page(name: str, command: Any) -> str:
    title = f"relblur {name}"
    shown = [option for option in command.params if not getattr(option, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    options = [each for each in shown if each.param_type_name == "option"]
    usage = " ".join([title, *("[options]" for _ in options[:1]), *map(_argument, arguments)])
    paragraphs = [_escaped(" ".join(each.split())) + "\n" for each in (command.help or "").split("\n\n")]
    lines = [title, "=" * len(title), "", *paragraphs, "::", "", f"   {usage}", ""]
    for heading, group in (("Arguments", arguments), ("Options", options)):
        if group:
            lines += [heading, "-" * len(heading), ""]
        for each in group:
            names = _argument(each) if each in arguments else ", ".join([*each.opts, *each.secondary_opts])
            lines += [f"``{names}``", f"   {_escaped(' '.join((each.help or '').split()))}{_default(each)}", ""]
    return "\n".join(lines)


def _argument(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    value = shown if isinstance(shown, str) else parameter.default
    if value is None or value is False or value is ... or callable(value) or value == [] or not str(value):
        return "\n   Required." if parameter.required else ""
    if value is True:
        value = parameter.opts[0]
    value = getattr(value, "value", value)
    return f"\n   Default: {_escaped(str(value))}." if not parameter.required else "\n   Required."


def _first(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _escaped(text: str) -> str:
    return re.sub(r"([\\*`_|])", r"\\\1", text)


def write(folder: Path) -> None:
    """Write the pages that have changed, and remove those of commands that are gone."""
    write_pages(folder, pages())
