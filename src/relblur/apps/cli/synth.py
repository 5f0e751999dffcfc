"""``relblur synth``: a pair whose blur is known."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..terminal.console import UsageError, one_line_errors, print_lines, say
from ..terminal.options import Force

__all__ = ["synth"]


class FieldName(str, Enum):
    """Sigma fields, as choices."""

    ramp = "ramp"
    steps = "steps"
    disc = "disc"
    sinusoid = "sinusoid"


class KernelName(str, Enum):
    """Families of Gaussians, as choices."""

    band_limited = "band_limited"
    sampled = "sampled"


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
    kernel: Annotated[
        KernelName, typer.Option(help="sampled: the paper's Gaussian; band_limited: also right below 0.8 px.")
    ] = KernelName.band_limited,
    as_stored: Annotated[
        bool, typer.Option("--as-stored", help="Blur the values in the file as they are, not the light they stand for.")
    ] = False,
    force: Force = False,
) -> None:
    """Make a pair with known relative blur from one sharp image.

    Writes first, second and truth.tif (signed sigma in px, positive where second is the
    blurrier). The paper's Fig. 1: --as-stored --kernel sampled, with --axis 0 and 1; estimate it
    with 'relblur estimate --method paper --sharper first --as-stored'.
    """
    import numpy as np

    from ... import synth as fields
    from ...images.disk import write_image, write_tiff
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...photo.tone_curves import encode_srgb
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
        FieldName.ramp: lambda: fields.ramp(shape, start, stop, axis),
        FieldName.steps: lambda: fields.steps(shape, (start, stop), period, axis),
        FieldName.disc: lambda: fields.disc(shape, start, stop),
        FieldName.sinusoid: lambda: fields.sinusoid(shape, (start + stop) / 2, (stop - start) / 2, period),
    }[field]()
    pair = fields.pair(sharp, truth, kernel=kernel.value, channel_axis=-1 if sharp.ndim == 3 else None)
    rng = np.random.default_rng(seed)
    with filling(output, force=force) as new:
        for name, blurred in zip(names, pair, strict=False):
            light = fields.degrade(blurred, noise=noise, rng=rng)
            gaps = np.isnan(light)
            if bits and gaps.any():  # integers hold no NaN; what is at their top is left out when it is read
                light[gaps] = 1.0
                say(f"{name}: {int(gaps.sum())} values are unknown and written as full scale, which counts as clipped")
            # 8 bits are read as sRGB, so light is written so; 16 bits and floats hold light itself.
            encoded = encode_srgb(light) if bits == 8 and not as_stored else light
            stored = fields.degrade(encoded, bits=bits or None)
            write_image(new / name, stored.astype(np.float32) if bits == 0 else stored)
        description = {"quantity": "signed relative blur in px, positive: second is blurrier"}
        write_tiff(new / "truth.tif", truth.astype(np.float32), description)
    print_lines(*(output / name for name in names))
