"""Options of commands: those of the records in :mod:`relblur.base.options`, and those that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from ...base.options import Estimating, Preparing, Record, option_fields
from ...base.settings import Method
from .console import UsageError

OUTPUT, PROCESSES = "Output", "Processes"


def option(names: str, text: str, unit: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """Return an option with these names (separated by commas), help text, unit and panel."""
    return typer.Option(*names.split(","), help=text, metavar=unit, rich_help_panel=panel, **more)


First = Annotated[Path, typer.Argument(help="First image: PNG, JPEG, TIFF, camera raw ...", metavar="FIRST")]
Second = Annotated[Path, typer.Argument(help="Second image, same size and viewpoint.", metavar="SECOND")]
ResultFolder = Annotated[Path, option("--output,-o", "Folder for the results.", "DIR", OUTPUT)]
PictureFile = Annotated[Path, option("--output,-o", "PNG, JPEG, TIFF or NPY.", "FILE", OUTPUT)]
_CAMERA = option("--camera,-c", "Camera file; 'relblur camera' makes one.", "FILE")
CameraFile = Annotated[Path, _CAMERA]
AnyCameraFile = Annotated[Path | None, _CAMERA]
_STORED = "As in the paper: stored values, no alignment, exposure or decimation."
AsStoredOption = Annotated[bool, option("--as-stored", _STORED, panel=Preparing.PANEL)]
JobsOption = Annotated[int, option("--jobs,-j", "Pairs in parallel.", "N", PROCESSES)]
ProcessesOption = Annotated[int | None, option("--processes", "Processes on this machine.", "N", PROCESSES, min=1)]
SchedulerOption = Annotated[str | None, option("--scheduler", "Dask scheduler: tcp://HOST:8786.", "ADDRESS", PROCESSES)]
ReportOption = Annotated[bool, option("--report", "Also write report.html, all results on one page.", panel=OUTPUT)]
Json = Annotated[bool, option("--json", "Print the result as JSON.", panel=OUTPUT)]
Force = Annotated[bool, option("--force", "Replace existing files.", panel=OUTPUT)]


class Only:
    """Select the fields of a record that a command offers: ``Annotated[Record, Only("name", ...)]``."""

    def __init__(self, *names: str) -> None:
        self.names = names


def option_of(record: type[Record], name: str, **changes: Any) -> Any:
    """Return the Typer option of a field of a record; ``changes`` override its properties."""
    metadata = option_fields(record)[name].metadata
    properties: dict[str, Any] = {"help": metadata["help"], "rich_help_panel": record.PANEL, "min": metadata["least"]}
    if metadata["unset"]:
        properties["show_default"] = metadata["unset"]
    if metadata["choices"]:
        properties["metavar"] = "|".join(metadata["choices"])
    elif metadata["kind"] is not bool:
        properties["metavar"] = {float: "NUMBER", int: "N", Path: "FILE"}.get(metadata["kind"], "VALUE")
    if metadata["kind"] is not int:
        del properties["min"]
    names = (metadata["flag"] or f"--{name.replace('_', '-')}").split(",")
    return typer.Option(*names, **{**properties, **changes})


MethodOption = Annotated[Method, option_of(Estimating, "method")]


def takes_records(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with one option for each field of its parameters that are records."""
    records: dict[str, tuple[type[Record], tuple[str, ...]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        record, *only = get_args(parameter.annotation) or (parameter.annotation,)
        if not (isinstance(record, type) and issubclass(record, Record)):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        names = only[0].names if only else tuple(option_fields(record))
        records[parameter.name] = record, names
        parameters += [_parameter(record, name) for name in names]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name, (record, names) in records.items():
            chosen = {field: values.pop(field) for field in names}
            for field in _FROM_TEXT.keys() & chosen.keys():
                chosen[field] = None if chosen[field] is None else _FROM_TEXT[field](chosen[field])
            values[name] = record(**chosen)
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameter(record: type[Record], name: str) -> inspect.Parameter:
    field = option_fields(record)[name]
    choices, kind = field.metadata["choices"], field.metadata["kind"]
    typed: Any = Literal[choices] if choices else kind
    typed = typed | None if field.default is None and get_origin(typed) is None else typed
    annotation = Annotated[typed, option_of(record, name)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation)


#: Conversions of options that are given as text, by the names of the fields.
_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "decimate": lambda text: int(text) if text.isdecimal() and len(text) < 10 else text,
    "depth_range_m": lambda text: tuple(numbers(text, "--range", 2)),
    "focus_m": lambda text: numbers(text, "--focus"),
}


def stored_values(preparing: Preparing) -> Preparing:
    """Return options that keep the stored values of the files, as the paper does."""
    factor = 1 if preparing.decimate == "auto" else preparing.decimate
    return replace(preparing, align="off", exposure="off", linear=False, gamma=None, decimate=factor)


def numbers(text: str, name: str, count: int | None = None, kind: type = float) -> list[Any]:
    """Parse numbers such as ``0.8,3``; check their number if ``count`` is given."""
    try:
        values = [kind(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or (count is not None and len(values) != count):
        expected = f"{'' if count is None else f'{count} '}{'whole ' if kind is int else ''}numbers"
        raise UsageError(f"{name} must be {expected} separated by commas, got {text!r}")
    return values
