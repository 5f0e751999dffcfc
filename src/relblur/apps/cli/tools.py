"""``relblur tools synth`` and ``decimate``, ``relblur paper optics``: test pairs, decimation, equations 1 to 8."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...base.settings import DECIMATE_BETA, DECIMATE_HALF_WIDTH, RECOMMENDED_BLUR_PX
from ..terminal.console import UsageError, print_lines, print_message, print_summary
from ..terminal.options import Force, Json, option

__all__ = ["decimate", "optics", "synth"]

_KERNEL = "sampled: the paper's Gaussian. band_limited: accurate below 0.8 px too."
Image = Annotated[Path, typer.Argument(help="The image.", metavar="IMAGE")]


def synth(
    image: Image,
    output: Annotated[Path, option("--output,-o", "Folder for the pair.", "DIR")],
    start: Annotated[float, option("--start", "Blur at the start, px; negative blurs the first image.", "PX")] = 1.0,
    stop: Annotated[float, option("--stop", "Blur at the end, px.", "PX")] = 2.0,
    axis: Annotated[int, option("--axis", "0: down the rows, 1: along the columns.", "N", min=0, max=1)] = 0,
    noise: Annotated[
        float, option("--noise", "Standard deviation of the noise of both images, 0..1 scale.", "NUMBER")
    ] = 0.0,
    bits: Annotated[Literal["8", "16"], option("--bits", "PNG of 8 bits, sRGB, or of 16 bits, linear.", "8|16")] = "16",
    kernel: Annotated[
        Literal["band_limited", "sampled"], option("--kernel", _KERNEL, "band_limited|sampled")
    ] = "band_limited",
    as_stored: Annotated[
        bool, option("--as-stored", "Blur the values in the file, not the light they encode.")
    ] = False,
    force: Force = False,
) -> None:
    """Make a pair with known relative blur from one sharp image.

        relblur tools synth sharp.png --start -2 --stop 2 -o pair

    The blur is a ramp. DIR gets first.png, second.png and truth.tif (signed sigma in px, positive where second is
    blurrier). For the paper's Fig. 1 use --as-stored --kernel sampled, with --axis 0 and 1. Estimate it with 'relblur
    estimate --method paper --sharper first --as-stored'.
    """
    import numpy as np

    from ... import synth as fields
    from ...base.tone import encode_srgb
    from ...images.disk import write_image, write_tiff
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.io import imread

    if not (math.isfinite(start) and math.isfinite(stop)):
        raise UsageError(f"--start and --stop must be finite numbers of px, got {start:g} and {stop:g}")
    names = ("first.png", "second.png", "truth.tif")
    refuse_inputs((output / name for name in names), (image,))
    refuse_to_replace(output, names, force)
    sharp = imread(image, linear=not as_stored)
    truth = fields.ramp((sharp.shape[0], sharp.shape[1]), start, stop, axis)
    pair = fields.pair(sharp, truth, kernel=kernel, channel_axis=-1 if sharp.ndim == 3 else None)
    rng = np.random.default_rng(0)
    with filling(output, force=force) as new:
        for name, blurred in zip(names, pair, strict=False):
            light = fields.degrade(blurred, noise=noise, rng=rng)
            # Files of 8 bits are read as sRGB, those of 16 bits as linear light.
            encoded = encode_srgb(light) if bits == "8" and not as_stored else light
            write_image(new / name, fields.degrade(encoded, bits=int(bits)))
        description = {"quantity": "signed relative blur in px, positive: second is blurrier"}
        write_tiff(new / "truth.tif", truth.astype(np.float32), description)
    print_lines(*(output / name for name in names))


def decimate(
    image: Image,
    factor: Annotated[int, typer.Argument(help="Factor: every FACTOR-th row and column is kept.", metavar="FACTOR")],
    output: Annotated[Path, option("--output,-o", "File to write.", "FILE")],
    half_width: Annotated[
        int, option("--half-width,-L", "L of equation 25 for factor 2; larger primes use more.", "N", min=1)
    ] = DECIMATE_HALF_WIDTH,
    beta: Annotated[
        float, option("--beta", "Shape of the Kaiser window. Larger values: fewer aliases, more blur.", "NUMBER")
    ] = DECIMATE_BETA,
    force: Force = False,
) -> None:
    """Reduce the resolution of an image without aliasing.

        relblur tools decimate photo.png 2 -o small.png

    The filter is the paper's equation 25 with unit gain.
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
    print_message(f"{stored.shape[1]}x{stored.shape[0]} -> {reduced.shape[1]}x{reduced.shape[0]}")
    print_lines(output)


def optics(
    f_number: Annotated[float, option("--f-number,-N", "Aperture, such as 2.8.", "N")],
    near: Annotated[float, option("--near", "Distance of the foreground, or of the focus, m.", "M")],
    pixel_pitch: Annotated[float, option("--pixel-pitch,-p", "Pixel pitch, µm.", "UM")],
    focal_length: Annotated[float | None, option("--focal-length", "Focal length, mm.", "MM")] = None,
    far: Annotated[float, option("--far", "Distance of the background, m.", "M")] = math.inf,
    c_max: Annotated[float | None, option("--c-max", "Largest circle, px; gives the focal length.", "PX")] = None,
    relative_depth: Annotated[
        float, option("--relative-depth", "Depth range around the focus for --c-max.", "NUMBER")
    ] = 0.1,
    as_json: Json = False,
) -> None:
    """Compute the circle of confusion of a camera and the decimation factor that suits it.

        relblur paper optics --focal-length 17 -N 2 --near 1 -p 4.5

    The example is the paper's Lytro Illum (32 px). Its Canon is --focal-length 67 -N 4 --near 1.1 -p 21.43 (48 px).
    """
    from ... import optics as equations

    result: dict[str, Any] = {}
    if focal_length is not None:
        for form in ("exact", "small_focal_length", "far_background"):
            circle = equations.max_circle_foreground_background_mm(
                focal_length, f_number, 1000 * near, 1000 * far, form=form
            )
            result[f"c_max_{form}_mm"] = float(circle)
            result[f"c_max_{form}_px"] = float(equations.mm_to_px(circle, pixel_pitch))
        low, high = RECOMMENDED_BLUR_PX
        result["decimate_by"] = max(1, math.ceil(result["c_max_exact_px"] / high))
        result["c_max_after_decimation_px"] = result["c_max_exact_px"] / result["decimate_by"]
        result["within_recommended_range"] = low <= result["c_max_after_decimation_px"] <= high
    elif c_max is not None:
        circle = equations.px_to_mm(c_max, pixel_pitch)
        result["focal_length_for_c_max_mm"] = float(
            equations.focal_length_for_max_circle_mm(circle, relative_depth, f_number, 1000 * near)
        )
    else:
        raise UsageError("add --focal-length to compute the circle, or --c-max to compute the focal length")
    rows = [(name.replace("_", " "), f"{value:.4g}") for name, value in result.items()]
    print_summary("optics", rows, result, as_json)
