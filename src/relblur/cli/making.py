"""``relblur synth``, ``relblur decimate`` and ``relblur optics``."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Force, Json
from .talk import UsageError, one_line_errors, print_json, print_table, say

__all__ = ["decimate", "optics", "synth"]


class FieldName(str, Enum):
    """Sigma fields, as choices."""

    ramp = "ramp"
    steps = "steps"
    disc = "disc"
    sinusoid = "sinusoid"


@one_line_errors
def synth(
    image: Annotated[Path, typer.Argument(help="The sharp image.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pair.", show_default=False)],
    field: Annotated[FieldName, typer.Option(help="Shape of the blur over the image.")] = FieldName.ramp,
    start: Annotated[
        float, typer.Option(help="Blur where the field begins (inside the disc), px; negative blurs first.")
    ] = 1.0,
    stop: Annotated[float, typer.Option(help="Blur where the field ends (outside the disc), px.")] = 2.0,
    axis: Annotated[int, typer.Option(min=0, max=1, help="0: along rows downwards, 1: along columns.")] = 0,
    period: Annotated[int, typer.Option(min=1, help="Width of a stripe, or of a wave, px.")] = 64,
    noise: Annotated[float, typer.Option(min=0, help="Noise added to both, 0..1 scale.")] = 0.0,
    bits: Annotated[int, typer.Option(help="8 (sRGB) or 16 (linear) for PNG, 0 for float TIFF.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise.")] = 0,
    force: Force = False,
) -> None:
    """Make a pair with known relative blur from one sharp image.

    Writes first, second and truth.tif (signed sigma in px, positive where second is the
    blurrier).
    """
    import numpy as np

    from .. import synth as fields
    from ..files import write_image, write_tiff
    from ..io import imread
    from ..light import encode_srgb
    from ..report import prepare_folder

    if bits not in (0, 8, 16):
        raise UsageError(f"--bits must be 8, 16 or 0 (float), got {bits}")
    sharp = imread(image)
    shape = (sharp.shape[0], sharp.shape[1])
    truth = {
        FieldName.ramp: lambda: fields.ramp(shape, start, stop, axis),
        FieldName.steps: lambda: fields.steps(shape, (start, stop), period, axis),
        FieldName.disc: lambda: fields.disc(shape, start, stop),
        FieldName.sinusoid: lambda: fields.sinusoid(shape, (start + stop) / 2, (stop - start) / 2, period),
    }[field]()
    suffix = ".tif" if bits == 0 else ".png"
    names = (f"first{suffix}", f"second{suffix}", "truth.tif")
    prepare_folder(output, names, force)
    pair = fields.pair(sharp, truth, channel_axis=-1 if sharp.ndim == 3 else None)
    rng = np.random.default_rng(seed)
    for name, blurred in zip(names, pair, strict=False):
        light = fields.degrade(blurred, noise=noise, rng=rng)
        # 8 bits are read as sRGB, so they are written so; 16 bits and floats hold light itself.
        stored = fields.degrade(encode_srgb(light) if bits == 8 else light, bits=bits or None)
        write_image(output / name, stored.astype(np.float32) if bits == 0 else stored)
    description = {"quantity": "signed relative blur in px, positive: second is blurrier"}
    write_tiff(output / "truth.tif", truth.astype(np.float32), description)
    print(output / names[0], output / names[1], output / "truth.tif", sep="\n")


@one_line_errors
def decimate(
    image: Annotated[Path, typer.Argument(help="The image.", show_default=False)],
    factor: Annotated[int, typer.Argument(help="Keep every FACTOR-th row and column.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.", show_default=False)],
    force: Force = False,
) -> None:
    """Reduce an image's resolution without aliasing (the paper's equation 25)."""
    import numpy as np

    from ..decimation import decimate as decimate_array
    from ..decoding import read_image
    from ..errors import OutputExistsError
    from ..files import write_image

    if output.exists() and not force:
        raise OutputExistsError(f"{output} would be replaced; add --force or choose another name")
    stored = read_image(image)
    reduced = decimate_array(stored, factor, channel_axis=-1 if stored.ndim == 3 else None)
    if np.issubdtype(stored.dtype, np.integer):
        full_scale = np.iinfo(stored.dtype).max
        # The filter overshoots at edges; a file of integers cannot hold that.
        reduced = np.rint(reduced.clip(0, 1) * full_scale).astype(stored.dtype)
    write_image(output, reduced)
    say(f"{stored.shape[1]}x{stored.shape[0]} -> {reduced.shape[1]}x{reduced.shape[0]}")
    print(output)


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
    from .. import optics as equations
    from ..settings import RECOMMENDED_BLUR_PX

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
