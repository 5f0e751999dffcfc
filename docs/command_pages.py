"""The reference of every command, made from the program: what ``relblur COMMAND --help`` prints."""

from __future__ import annotations

import textwrap
from typing import Any

import typer

from relblur.apps.cli.app import app

__all__ = ["commands", "pages"]

#: Width of the help, characters.
WIDTH = 96


def commands() -> dict[str, Any]:
    """Return the commands that help texts show, by the words that call them."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        found |= {f"{name} {last}": each for last, each in inner.items()} or {name: command}
    return {name: command for name, command in found.items() if not command.hidden}


def pages() -> dict[str, str]:
    """Return the reStructuredText of each page by its name."""
    files = {name: name.replace(" ", "_") for name in commands()}
    lines = ["Commands", "========", "", "What ``relblur COMMAND --help`` prints.", ""]
    for name, command in commands().items():
        first = " ".join((command.help or "").split("\n\n")[0].split())
        lines.append(f":doc:`{name} <{files[name]}>`\n   {first}\n")
    lines += [".. toctree::", "   :hidden:", "", *(f"   {file}" for file in files.values()), ""]
    return {"index": "\n".join(lines)} | {files[name]: _page(name, each) for name, each in commands().items()}


def _page(name: str, command: Any) -> str:
    title = f"relblur {name}"
    context = typer.Context(command, info_name=title, terminal_width=WIDTH, max_content_width=WIDTH)
    help_text = textwrap.indent(command.get_help(context), "   ")
    return f"{title}\n{'=' * len(title)}\n\n::\n\n{help_text}\n"
