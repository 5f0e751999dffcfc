"""``relblur tools synth`` and ``decimate``, ``relblur paper optics``: test pairs, decimation, equations 1 to 8."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from ...base.settings import DECIMATE_BETA, DECIMATE_HALF_WIDTH, RECOMMENDED_BLUR_PX
from ..terminal.console import UsageError, one_line_errors, print_json, print_lines, print_table, say
from ..terminal.options import Force, Json, given

__all__ = ["decimate", "optics", "synth"]

FieldName = Literal["ramp", "steps", "disc", "sinusoid"]
KernelName = Literal["band_limited", "sampled"]
FIELDS, KERNELS = get_args(FieldName), get_args(KernelName)
_KERNEL = "sampled: the paper's Gaussian. band_limited: accurate below 0.8 px too."
Image = Annotated[Path, typer.Argument(help="The image.", metavar="IMAGE")]


@one_line_errors
def synth(
    image: Image,
    output: Annotated[Path, given("--output,-o", "Folder for the pair.", "DIR")],
    field: Annotated[FieldName, given("--field", "Shape of the blur over the image.", "|".join(FIELDS))] = "ramp",
    start: Annotated[
        float, given("--start", "Blur at the start of the field, px; negative blurs the first image.", "PX")
    ] = 1.0,
    stop: Annotated[float, given("--stop", "Blur at the end of the field (outside the disc), px.", "PX")] = 2.0,
    axis: Annotated[int, given("--axis", "0: down the rows, 1: along the columns.", "N", min=0, max=1)] = 0,
    period: Annotated[int, given("--period", "Width of a stripe or wave, px.", "PX", min=1)] = 64,
    noise: Annotated[
        float, given("--noise", "Standard deviation of the noise of both images, 0..1 scale.", "NUMBER", min=0)
    ] = 0.0,
    bits: Annotated[int, given("--bits", "8: PNG, sRGB. 16: PNG, linear. 0: TIFF of floats.", "8|16|0")] = 16,
    seed: Annotated[int, given("--seed", "Seed of the noise.", "N", min=0)] = 0,
    kernel: Annotated[KernelName, given("--kernel", _KERNEL, "|".join(KERNELS))] = "band_limited",
    as_stored: Annotated[bool, given("--as-stored", "Blur the values in the file, not the light they encode.")] = False,
    force: Force = False,
) -> None:
    """Make a pair with known relative blur from one sharp image.

        relblur tools synth sharp.png --start -2 --stop 2 -o pair

    DIR gets first, second and truth.tif (signed sigma in px, positive where second is blurrier). For the paper's
    Fig. 1 use --as-stored --kernel sampled, with --axis 0 and 1. Estimate it with 'relblur estimate --method paper
    --sharper first --as-stored'.
    """
    import numpy as np

    from ... import synth as fields
    from ...base.tone import encode_srgb
    from ...images.disk import write_image, write_tiff
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.io import imread

    if bits not in (0, 8, 16):
        raise UsageError(f"--bits must be 8, 16 or 0 (float), got {bits}")
    for option, value in (("--start", start), ("--stop", stop)):
        if not math.isfinite(value):
            raise UsageError(f"{option} must be a finite number of px, got {value:g}")
    suffix = ".tif" if bits == 0 else ".png"
    names = (f"first{suffix}", f"second{suffix}", "truth.tif")
    refuse_inputs((output / name for name in names), (image,))
    refuse_to_replace(output, names, force)
    sharp = imread(image, linear=not as_stored)
    shape = (sharp.shape[0], sharp.shape[1])
    truth = {
        "ramp": lambda: fields.ramp(shape, start, stop, axis),
        "steps": lambda: fields.steps(shape, (start, stop), period, axis),
        "disc": lambda: fields.disc(shape, start, stop),
        "sinusoid": lambda: fields.sinusoid(shape, (start + stop) / 2, (stop - start) / 2, period),
    }[field]()
    pair = fields.pair(sharp, truth, kernel=kernel, channel_axis=-1 if sharp.ndim == 3 else None)
    rng = np.random.default_rng(seed)
    with filling(output, force=force) as new:
        for name, blurred in zip(names, pair, strict=False):
            light = fields.degrade(blurred, noise=noise, rng=rng)
            gaps = np.isnan(light)
            if bits and gaps.any():  # integers have no NaN; full scale counts as clipped
                light[gaps] = 1.0
                say(f"{name}: {int(gaps.sum())} unknown values are written as full scale, which counts as clipped")
            # Files of 8 bits are read as sRGB, those of 16 bits and floats as linear light.
            encoded = encode_srgb(light) if bits == 8 and not as_stored else light
            stored = fields.degrade(encoded, bits=bits or None)
            write_image(new / name, stored.astype(np.float32) if bits == 0 else stored)
        description = {"quantity": "signed relative blur in px, positive: second is blurrier"}
        write_tiff(new / "truth.tif", truth.astype(np.float32), description)
    print_lines(*(output / name for name in names))


@one_line_errors
def decimate(
    image: Image,
    factor: Annotated[int, typer.Argument(help="Factor: every FACTOR-th row and column is kept.", metavar="FACTOR")],
    output: Annotated[Path, given("--output,-o", "File to write.", "FILE")],
    half_width: Annotated[
        int, given("--half-width,-L", "L of equation 25 for factor 2; larger primes use more.", "N", min=1)
    ] = DECIMATE_HALF_WIDTH,
    beta: Annotated[
        float, given("--beta", "Shape of the Kaiser window. Larger values: fewer aliases, more blur.", "NUMBER")
    ] = DECIMATE_BETA,
    force: Force = False,
) -> None:
    """Reduce the resolution of an image without aliasing (the paper's equation 25).

    relblur tools decimate photo.png 2 -o small.png
    """
    import numpy as np

    from ...base.pixels import as_integers
    from ...filters.decimation import decimate as decimate_array
    from ...images.disk import write_image
    from ...images.images import read_image
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file

    refuse_inputs((output,), (image,))
    refuse_to_replace_file(output, force)
    stored = read_image(image)
    reduced = decimate_array(
        stored, factor, half_width=half_width, beta=beta, channel_axis=-1 if stored.ndim == 3 else None
    )
    if np.issubdtype(stored.dtype, np.integer):
        # The filter overshoots at edges, beyond the range of the integers.
        reduced = as_integers(reduced, stored.dtype)
    with placing(output, force=force) as file:
        write_image(file, reduced)
    say(f"{stored.shape[1]}x{stored.shape[0]} -> {reduced.shape[1]}x{reduced.shape[0]}")
    print_lines(output)


@one_line_errors
def optics(
    f_number: Annotated[float, given("--f-number,-N", "Aperture, such as 2.8.", "N")],
    near: Annotated[float, given("--near", "Distance of the foreground, or of the focus, m.", "M")],
    focal_length: Annotated[float | None, given("--focal-length", "Focal length, mm.", "MM")] = None,
    far: Annotated[float, given("--far", "Distance of the background, m.", "M")] = math.inf,
    pixel_pitch: Annotated[float | None, given("--pixel-pitch,-p", "Pixel pitch, µm.", "UM")] = None,
    c_max: Annotated[
        float | None, given("--c-max", "Largest circle, px, to compute the focal length from.", "PX")
    ] = None,
    relative_depth: Annotated[
        float, given("--relative-depth", "Depth range around the focus for --c-max.", "NUMBER")
    ] = 0.1,
    as_json: Json = False,
) -> None:
    """Compute the circle of confusion of a camera and the decimation factor that suits it.

        relblur paper optics --focal-length 17 -N 2 --near 1 -p 4.5

    The example is the paper's Lytro Illum (32 px). Its Canon is --focal-length 67 -N 4 --near 1.1 -p 21.43 (48 px).
    """
    from ... import optics as equations

    if focal_length is None and c_max is None:
        raise UsageError(
            "give --focal-length to compute the circle of confusion, or --c-max to compute the focal length"
        )
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
            raise UsageError("--c-max is in px and needs --pixel-pitch (um)")
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
