"""Options that several commands share, described once."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from .talk import UsageError

__all__ = [
    "AlignName",
    "AlignOption",
    "ExposureName",
    "ExposureOption",
    "First",
    "Force",
    "GammaOption",
    "Json",
    "LinearOption",
    "MethodName",
    "MethodOption",
    "Second",
    "SideName",
    "SideOption",
    "numbers",
    "whole_numbers",
]


class MethodName(str, Enum):
    """The methods, as choices."""

    refined = "refined"
    window = "window"
    paper = "paper"


class AlignName(str, Enum):
    """What to do about motion between the two, as choices."""

    auto = "auto"
    translation = "translation"
    similarity = "similarity"
    affine = "affine"
    off = "off"


class ExposureName(str, Enum):
    """What to do about exposure, as choices."""

    auto = "auto"
    field = "field"
    off = "off"


class SideName(str, Enum):
    """Which image is the sharper, as choices."""

    auto = "auto"
    first = "first"
    second = "second"


First = Annotated[Path, typer.Argument(help="First image: PNG, JPEG, WebP, TIFF, camera raw ...", show_default=False)]
Second = Annotated[Path, typer.Argument(help="Second image, same size and viewpoint.", show_default=False)]
MethodOption = Annotated[
    MethodName,
    typer.Option(
        "--method",
        "-m",
        help="refined: dense, regularised. window: local only. paper: the paper's 0.1 px grid.",
    ),
]
SideOption = Annotated[
    SideName, typer.Option("--sharper", help="Which image is the sharper; auto decides at every pixel.")
]
AlignOption = Annotated[
    AlignName,
    typer.Option("--align", help="Bring the second image onto the first; similarity suits focus breathing."),
]
ExposureOption = Annotated[
    ExposureName,
    typer.Option("--exposure", help="Give the second the first's exposure; field: vignetting may differ too."),
]
LinearOption = Annotated[
    bool,
    typer.Option("--linear/--no-linear", help="Undo the files' tone curve: blur adds light. Or keep values as is."),
]
GammaOption = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        help="The tone curve to undo, whatever the files say; 1: linear already.",
        show_default="as the file says",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that are already there.")]


def whole_numbers(text: str, name: str) -> list[int]:
    """Read a list such as ``1,2,4``."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise UsageError(f"{name} must be whole numbers >= 1 separated by commas, such as 1,2,4; got {text!r}")
    return numbers


def numbers(text: str, name: str, count: int | None = None) -> list[float]:
    """Read a list of numbers such as ``0.8,3``, of a certain length if that is given."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or (count is not None and len(values) != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise UsageError(f"{name} must be {wanted} separated by commas, got {text!r}")
    return values
