"""``relblur camera``: make or check a camera file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...base.settings import ASSUMED_STDERR_PX2
from ..terminal.console import UsageError, print_json, print_lines, print_message, print_table
from ..terminal.options import OUTPUT, Force, Json, numbers, option

if TYPE_CHECKING:
    from ...depth.working_range import Resolution

__all__ = ["camera"]

CAMERA = "Camera"
COLUMNS = ("distance, m", "circle 1, px", "circle 2, px", "s, px^2", "resolution, mm", "of distance")


def camera(
    file: Annotated[
        Path | None, typer.Argument(help="Camera file to check.", metavar="[FILE]", show_default=False)
    ] = None,
    focal_length: Annotated[float | None, option("--focal-length", "Focal length, mm.", "MM", CAMERA)] = None,
    f_number: Annotated[
        str | None, option("--f-number,-N", "Aperture: 2.8; two apertures: 2.8,8.", "N", CAMERA)
    ] = None,
    focus: Annotated[
        str | None, option("--focus", "Distances in focus, m: FIRST,SECOND, or one.", "M,M", CAMERA)
    ] = None,
    pixel_pitch: Annotated[float | None, option("--pixel-pitch,-p", "Pixel pitch, µm.", "UM", CAMERA)] = None,
    sensor_width: Annotated[
        float | None,
        option("--sensor-width", "Width of the sensor, mm; with --image-width for the pitch.", "MM", CAMERA),
    ] = None,
    image_width: Annotated[
        int | None, option("--image-width", "Width of the image before decimation, px.", "PX", CAMERA)
    ] = None,
    circle_constant: Annotated[
        str | None,
        option("--circle-constant", "c in C = c |1/z - 1/focus|, px m; replaces lens and pitch.", "C", CAMERA),
    ] = None,
    blur_constant: Annotated[
        float | None,
        option("--blur-constant", "Standard deviation of the blur over the circle's diameter.", "KAPPA", CAMERA),
    ] = None,
    decimation: Annotated[
        int | None, option("--decimation", "Factor by which the images were decimated.", "N", CAMERA)
    ] = None,
    output: Annotated[Path | None, option("--output,-o", "Camera file to write.", "FILE", OUTPUT)] = None,
    plot: Annotated[Path | None, option("--plot", "Draw the table as a PNG.", "FILE", OUTPUT)] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make or check a camera file; print its range and resolution in depth.

        relblur camera --focal-length 35 -N 2.8 -p 6 --focus 1,2 -o cam.toml

    The options or FILE describe the camera; options have precedence.
    """
    from ...base.arguments import as_positive
    from ...base.shown import span
    from ...depth.camera import Camera
    from ...depth.working_range import openings, resolution_table, working_range_m
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file

    refuse_inputs((output, plot), (file,))
    for target in (output, plot):
        refuse_to_replace_file(target, force)
    planes = _one_or_two(focus, "--focus")
    both = planes if isinstance(planes, tuple) else (planes, planes)
    stated: dict[str, Any] = {
        "focus_first_m": both[0],
        "focus_second_m": both[1],
        "focal_length_mm": focal_length,
        "f_number": _one_or_two(f_number, "--f-number"),
        "pixel_pitch_um": pixel_pitch,
        "coc_constant_px_m": _one_or_two(circle_constant, "--circle-constant"),
        "blur_constant": blur_constant,
        "decimation": decimation,
        "image_width_px": image_width,
    }
    if sensor_width is not None:
        if image_width is None:
            raise UsageError("--sensor-width needs --image-width: together they give the pixel pitch")
        width = as_positive(image_width, "--image-width", "px")
        stated["pixel_pitch_um"] = 1000 * as_positive(sensor_width, "--sensor-width", "mm") / width
    stated = {name: value for name, value in stated.items() if value is not None}
    if file is None and not stated:
        raise UsageError(
            "name a camera file, or describe a camera: relblur camera --focal-length 35 -N 2.8 -p 6 --focus 1,2"
        )
    of_file = {} if file is None else Camera.load(file).as_dict()
    model = Camera.from_dict({**of_file, **stated}, "the camera on the command line" if file is None else str(file))
    near, far = working_range_m(model)
    table, opened = resolution_table(model), openings(model)
    if output is not None:
        with placing(output, force=force) as fresh:
            model.save(fresh)
        print_message(f"camera file: {output}")
    if plot is not None:
        from ...plot.figures import camera_png

        with placing(plot, force=force) as fresh:
            fresh.write_bytes(camera_png(model))
        print_message(f"plot: {plot}")
    if as_json:
        about = {"camera": model.as_dict(), "kind": model.kind, "nearest_m": near, "farthest_m": far}
        print_json({**about, "table": [vars(row) for row in table], "openings": [factor for factor, _ in opened]})
        return
    title = (
        f"{model.kind} pair, measures {span(near, far)}; "
        f"resolution for a standard error of s of {ASSUMED_STDERR_PX2:g} px^2"
    )
    print_table(title, COLUMNS, [_cells(row) for row in table])
    for factor, why in opened:
        wider = span(*working_range_m(model.decimated(factor)))
        print_lines(f"--decimate {factor} in 'relblur depth' and 'calibrate' extends the range to {wider}: {why}")


def _cells(row: Resolution) -> tuple[str, ...]:
    return (
        f"{row.depth_m:.3f}",
        f"{row.circle_first_px:.2f}",
        f"{row.circle_second_px:.2f}",
        f"{row.variance_difference_px2:+.2f}",
        f"{row.resolution_mm:.2g}",
        f"{row.resolution_mm / row.depth_m / 10:.2g} %",
    )


def _one_or_two(text: str | None, name: str) -> float | tuple[float, float] | None:
    if text is None:
        return None
    values = numbers(text, name)
    if len(values) > 2:
        raise UsageError(f"{name} takes one number or two separated by a comma, got {text!r}")
    return values[0] if len(values) == 1 else (values[0], values[1])
