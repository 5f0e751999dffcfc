"""``relblur range``: find the points between the two distances in focus."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ...base.options import Depth, Preparing
from ..terminal.console import print_message, print_summary, progress_bar
from ..terminal.options import CameraFile, Force, Json, Only, ResultFolder

__all__ = ["find_range"]


def find_range(
    near: Annotated[Path, typer.Argument(help="Image focused on one end of the range.", metavar="NEAR")],
    far: Annotated[Path, typer.Argument(help="Image focused on the other end.", metavar="FAR")],
    camera: CameraFile,
    output: ResultFolder,
    options: Annotated[Depth, Only("prefilter")],
    preparing: Preparing,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the points between the two distances in focus, with a probability.

        relblur range near.png far.png --camera cam.toml -o between

    Focus the pair on the ends of the range: NEAR at the camera file's first distance, FAR at its second. DIR gets
    probability.tif, between.png (255 in the range, 0 outside, 128 unknown) and overview.png. Flagged pixels (filled,
    clipped, invalid, at the limit) are unknown unless both ends of the range are more than three standard errors away.
    The blur is a disc, or a Gaussian if the camera was calibrated for it.
    """
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map
    from ...depth.camera import Camera
    from ...depth.estimate import estimate_depth
    from ...depth.psf import usual_psf
    from ...depth.relation import check_two_planes, in_depth_range, relative_blur
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...photo.pipeline import prepare_pair
    from ...report.result_files import RANGE_FILES, write_range_files

    refuse_inputs((output / name for name in RANGE_FILES), (near, far, camera))
    refuse_to_replace(output, RANGE_FILES, force)  # before the measurement
    model = Camera.load(camera)
    check_two_planes(model)
    pair = prepare_pair(near, far, **preparing.arguments())
    start = time.perf_counter()
    with progress_bar(f"estimating, {pair.size}") as report:
        if usual_psf(model) == "gaussian":
            blur_map = estimate_blur(pair, prefilter=options.prefilter, progress=report)
        else:
            depth_map = estimate_depth(pair, model, psf=usual_psf(model), progress=report)
            blur_map = relative_blur(depth_map)
    refuse_empty_map(blur_map.variance_difference, blur_map.flags)
    between = in_depth_range(blur_map, model.decimated(pair.factor))
    seconds = time.perf_counter() - start
    with filling(output, force=force) as results:
        summary = {**write_range_files(results, pair, between), "seconds": seconds}
    for note in pair.notes:
        print_message(note)
    rows = [
        ("range", f"{between.nearest_m:g} to {between.farthest_m:g} m"),
        ("pixels in it", f"{summary['between_fraction']:.1%}"),
        ("in or out with 95 % certainty", f"{summary['sure_fraction']:.1%}"),
        ("unknown", f"{summary['unknown_fraction']:.1%}"),
        ("time", f"{seconds:.2f} s"),
    ]
    print_summary(f"{near.name} and {far.name}, {pair.size}", rows, summary, as_json)
    print_message(f"look at {output / 'overview.png'}")
