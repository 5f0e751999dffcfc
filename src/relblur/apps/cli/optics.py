"""``relblur optics``: what circle of confusion a camera gives."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from ..terminal.console import UsageError, one_line_errors, print_json, print_table
from ..terminal.options import Json

__all__ = ["optics"]


@one_line_errors
def optics(
    f_number: Annotated[float, typer.Option("--f-number", "-N", help="Aperture, such as 2.8.", show_default=False)],
    near: Annotated[float, typer.Option(help="Distance of the foreground, or of the focus, m.", show_default=False)],
    focal_length: Annotated[
        float | None, typer.Option("--focal-length", "-f", help="Focal length, mm.", show_default=False)
    ] = None,
    far: Annotated[float, typer.Option(help="Distance of the background, m.")] = math.inf,
    pixel_pitch: Annotated[
        float | None, typer.Option("--pixel-pitch", "-p", help="Pixel pitch, um.", show_default=False)
    ] = None,
    c_max: Annotated[
        float | None,
        typer.Option(help="Wanted largest circle of confusion, px: tells the focal length.", show_default=False),
    ] = None,
    relative_depth: Annotated[float, typer.Option(help="Depth range around the focus for --c-max.")] = 0.1,
    as_json: Json = False,
) -> None:
    """Tell what circle of confusion a camera gives, and how much to decimate.

    The paper's cameras: relblur optics -f 17 -N 2 --near 1 -p 4.5 (32 px), and
    relblur optics -f 67 -N 4 --near 1.1 -p 21.43 (48 px).
    """
    from ... import optics as equations
    from ...base.settings import RECOMMENDED_BLUR_PX

    if focal_length is None and c_max is None:
        raise UsageError("give --focal-length (what blur does it make?) or --c-max (what focal length makes it?)")
    result: dict[str, Any] = {}
    if focal_length is not None:
        for form in ("exact", "small_focal_length", "far_background"):
            circle = equations.max_circle_foreground_background_mm(
                focal_length, f_number, 1000 * near, 1000 * far, form=form
            )
            result[f"c_max_{form}_mm"] = float(circle)
            if pixel_pitch is not None:
                result[f"c_max_{form}_px"] = float(equations.mm_to_px(circle, pixel_pitch))
        if pixel_pitch is not None:
            low, high = RECOMMENDED_BLUR_PX
            result["decimate_by"] = max(1, math.ceil(result["c_max_exact_px"] / high))
            result["c_max_after_decimation_px"] = result["c_max_exact_px"] / result["decimate_by"]
            result["within_recommended_range"] = low <= result["c_max_after_decimation_px"] <= high
    if c_max is not None:
        if pixel_pitch is None:
            raise UsageError("--c-max is in px, so --pixel-pitch (um) is needed too")
        circle = equations.px_to_mm(c_max, pixel_pitch)
        result["focal_length_for_c_max_mm"] = float(
            equations.focal_length_for_max_circle_mm(circle, relative_depth, f_number, 1000 * near)
        )
    if as_json:
        print_json(result)
        return
    print_table("optics", ("quantity", "value"), [(_label(key), _value(value)) for key, value in result.items()])


def _label(key: str) -> str:
    labels = {
        "c_max_exact": "largest circle of confusion, exact",
        "c_max_small_focal_length": "... for a focal length << distance",
        "c_max_far_background": "... and a far background",
        "decimate_by": "decimate by",
        "c_max_after_decimation": "largest circle then",
        "within_recommended_range": "within the paper's 0.5 to 5 px",
        "focal_length_for_c_max": "focal length for --c-max",
    }
    stem, _, unit = key.rpartition("_")
    return f"{labels[stem]} ({unit})" if stem in labels else labels[key]


def _value(value: float | bool) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:.4g}"
