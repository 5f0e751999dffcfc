"""Options that several commands share, described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...base.settings import Align, Exposure, Method, Sharper
from .console import UsageError

__all__ = [
    "AlignOption",
    "AnyCameraFile",
    "AsStoredOption",
    "CameraFile",
    "DecimateOption",
    "ExposureOption",
    "First",
    "Force",
    "GammaOption",
    "JobsOption",
    "Json",
    "LinearOption",
    "MethodOption",
    "PictureFile",
    "PrefilterOption",
    "ReportOption",
    "ResultFolder",
    "SchedulerOption",
    "Second",
    "SideOption",
    "WorkersOption",
    "as_preparing",
    "numbers",
    "stored_values",
    "whole_numbers",
]


First = Annotated[Path, typer.Argument(help="First image: PNG, JPEG, WebP, TIFF, camera raw ...", show_default=False)]
Second = Annotated[Path, typer.Argument(help="Second image, same size and viewpoint.", show_default=False)]
MethodOption = Annotated[
    Method,
    typer.Option(
        "--method",
        "-m",
        help="refined: dense, regularised. window: local only. paper: the paper's 0.1 px grid.",
    ),
]
SideOption = Annotated[
    Sharper,
    typer.Option("--sharper", help="Which image is the sharper; auto decides at every pixel."),
]
AlignOption = Annotated[
    Align,
    typer.Option(
        "--align",
        help="Bring the second image onto the first; similarity suits focus breathing, bent suits phones.",
    ),
]
ExposureOption = Annotated[
    Exposure,
    typer.Option(
        "--exposure",
        help="Give the second the first's exposure: by one gain, by a field of it (vignetting), or as the pair asks.",
    ),
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
AsStoredOption = Annotated[
    bool,
    typer.Option(
        "--as-stored",
        help="The paper's setting: values as the files hold them; no tone curve, alignment, exposure, decimation.",
    ),
]
DecimateOption = Annotated[
    str,
    typer.Option(
        "--decimate", help="Reduce the resolution first: a whole factor, or auto to choose it by the blur found."
    ),
]
CameraFile = Annotated[
    Path, typer.Option("--camera", "-c", help="Camera file, TOML or JSON ('relblur camera' makes one).")
]
AnyCameraFile = Annotated[
    Path | None,
    typer.Option("--camera", "-c", help="Camera file ('relblur camera' makes one).", show_default=False),
]
ResultFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.", show_default=False)]
PictureFile = Annotated[
    Path, typer.Option("--output", "-o", help="Picture to write: PNG, JPEG, TIFF, NPY.", show_default=False)
]
PrefilterOption = Annotated[float, typer.Option(help="Gaussian only: blur both images by this many px first.")]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", help="Folders and patterns: so many pairs at a time.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Processes on this machine.", show_default="one a core", min=1)
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="A Dask scheduler whose workers do it: tcp://HOST:8786.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that are already there.")]


ReportOption = Annotated[
    bool, typer.Option("--report", help="Also write report.html: one page with everything, for any browser.")
]


PageOption = Annotated[
    Path | None, typer.Option("--report", help="HTML file to write: one page with everything.", show_default=False)
]


def _as_factor(text: str) -> int | str:
    """Read a factor of decimation, or the word auto."""
    if text == "auto":
        return text
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:20]) < 10**9:
        raise UsageError(f"--decimate must be a whole number >= 1, or auto; got {text!r}")
    return int(text)


def as_preparing(align: str, exposure: str, linear: bool, gamma: float | None, decimate: str) -> dict[str, Any]:
    """Return the arguments of ``prepare_pair`` and ``estimate_stack`` that the options of these names ask for."""
    return {
        "align": align,
        "exposure": exposure,
        "linear": linear,
        "gamma": gamma,
        "decimate": _as_factor(decimate),
    }


def stored_values(preparing: dict[str, Any], option: str = "--as-stored") -> dict[str, Any]:
    """Return the arguments of ``prepare_pair`` that leave the files' values alone; refuse those that would not."""
    told = [f"--{name}" for name in ("align", "exposure") if preparing[name] not in ("auto", "off")]
    told += ["--gamma"] if preparing["gamma"] is not None else []
    if told:
        raise UsageError(f"{option} takes the values in the files as they are; leave {' and '.join(told)} out")
    factor = 1 if preparing["decimate"] == "auto" else preparing["decimate"]
    return {**preparing, "align": "off", "exposure": "off", "linear": False, "decimate": factor}


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
