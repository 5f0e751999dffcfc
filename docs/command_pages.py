"""The reference of every command, made from the program: what ``relblur COMMAND --help`` prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from page_files import write_pages

from relblur.apps.cli.app import app

__all__ = ["commands", "pages", "write"]


def commands() -> dict[str, Any]:
    """Return the commands that help texts show, by the words that call them."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        found |= {f"{name} {last}": each for last, each in inner.items()} or {name: command}
    return {name: command for name, command in found.items() if not command.hidden}


def pages() -> dict[str, str]:
    """Return the reStructuredText of each page by its name."""
    lines = ["Commands", "========", "", "What ``relblur COMMAND --help`` prints.", ""]
    lines += [f":doc:`{name} <{_file(name)}>`\n   {_first(each.help)}\n" for name, each in commands().items()]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {_file(name)}" for name in commands()), ""]
    return {"index": "\n".join(lines)} | {_file(name): _page(name, command) for name, command in commands().items()}


def _file(name: str) -> str:
    return name.replace(" ", "_")


def _page(name: str, command: Any) -> str:
    title = f"relblur {name}"
    shown = [option for option in command.params if not getattr(option, "hidden", False)]
    groups: dict[str, list[Any]] = {"Arguments": [each for each in shown if each.param_type_name == "argument"]}
    usage = " ".join([title, *map(_argument, groups["Arguments"]), "[OPTIONS]"])
    for each in shown:
        if each.param_type_name == "option":
            groups.setdefault(each.rich_help_panel or "Options", []).append(each)
    lines = [title, "=" * len(title), "", *_paragraphs(command.help or ""), "::", "", f"   {usage}", ""]
    for heading, group in groups.items():
        if group:
            lines += [heading, "-" * len(heading), ""]
        for each in group:
            is_argument = each.param_type_name == "argument"
            names = _argument(each) if is_argument else ", ".join([*each.opts, *each.secondary_opts])
            metavar = "" if is_argument or each.is_flag or each.metavar is None else f" {each.metavar}"
            lines += [
                f"``{names}{metavar}``",
                f"   {_escaped(' '.join((each.help or '').split()))}{_default(each)}",
                "",
            ]
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text; lines of calls become a literal block."""
    lines = []
    for paragraph in text.split("\n\n"):
        if paragraph.lstrip().startswith("relblur "):
            lines += ["::", "", *(f"   {line.strip()}" for line in paragraph.splitlines()), ""]
        else:
            lines += [_escaped(" ".join(paragraph.split())), ""]
    return lines


def _argument(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    value = shown if isinstance(shown, str) else parameter.default
    if value is None or value is False or value is ... or callable(value) or value == [] or not str(value):
        return "\n   Required." if parameter.required else ""
    if value is True:
        value = parameter.opts[0]
    return f"\n   Default: {_escaped(str(value))}." if not parameter.required else "\n   Required."


def _first(text: str | None) -> str:
    return _escaped(" ".join((text or "").split("\n\n")[0].split()))


def _escaped(text: str) -> str:
    return re.sub(r"([\\*`_|])", r"\\\1", text)


def write(folder: Path) -> None:
    """Write the pages that have changed, and remove those of commands that are gone."""
    write_pages(folder, pages())
