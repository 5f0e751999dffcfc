"""``relblur decimate``: one image at a lower resolution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...base.settings import DECIMATE_BETA, DECIMATE_HALF_WIDTH
from ..terminal.console import one_line_errors, print_lines, say
from ..terminal.options import Force

__all__ = ["decimate"]


@one_line_errors
def decimate(
    image: Annotated[Path, typer.Argument(help="The image.", show_default=False)],
    factor: Annotated[int, typer.Argument(help="Keep every FACTOR-th row and column.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.", show_default=False)],
    half_width: Annotated[
        int,
        typer.Option("--half-width", "-L", min=1, help="L of equation 25 for a factor of 2; more for larger primes."),
    ] = DECIMATE_HALF_WIDTH,
    beta: Annotated[
        float, typer.Option(help="Shape of the Kaiser window: larger suppresses aliases more and blurs more.")
    ] = DECIMATE_BETA,
    force: Force = False,
) -> None:
    """Reduce an image's resolution without aliasing (the paper's equation 25)."""
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
        # The filter overshoots at edges; a file of integers cannot hold that.
        reduced = as_integers(reduced, stored.dtype)
    with placing(output, force=force) as file:
        write_image(file, reduced)
    say(f"{stored.shape[1]}x{stored.shape[0]} -> {reduced.shape[1]}x{reduced.shape[0]}")
    print_lines(output)
