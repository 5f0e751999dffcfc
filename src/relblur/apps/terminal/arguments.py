"""Arguments of commands that take two pictures: what to do about a third one, in one line."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperCommand

from .console import EXIT_USAGE, say

__all__ = ["CommandOfPictures"]


class CommandOfPictures(TyperCommand):
    """A command, most often of two pictures: arguments that are left over get a line, not a page of help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; those that are left over are named, with what was probably meant."""
        if any(each == "" or (each.startswith("-") and each.endswith("=")) for each in args):
            say("relblur: an argument is empty, and would mean the current folder; write . for that")
            raise typer.Exit(EXIT_USAGE)
        ctx.allow_extra_args = True
        left: list[str] = super().parse_args(ctx, args)
        if left:
            others = getattr(ctx.parent.command, "commands", {}) if ctx.parent else {}
            pictures = any(parameter.name in ("second", "far") for parameter in self.params)
            say(f"relblur: {advice(left, pictures, fuse='fuse' in others)}")
            raise typer.Exit(EXIT_USAGE)
        return left


def advice(left: list[str], pictures: bool, *, fuse: bool) -> str:
    """Say what to do about arguments that are too many, of a command of two pictures or another."""
    first = left[0]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    if not (pictures and os.path.exists(first)):
        return f"unexpected argument {first!r}{more}; put names with blanks in quotes, and see --help"
    many = "; 'relblur fuse' takes more than two" if fuse else ""
    return (
        f"two pictures are compared, and {first}{more} would be left over; for many pairs name two folders, or put "
        f"patterns in quotes, 'dir/*_near.png' 'dir/*_far.png', so that the shell leaves the star alone{many}"
    )
