"""``relblur range``: which points lie between the two distances in focus."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ...base.settings import DEPTH_PREFILTER
from ..terminal.console import one_line_errors, print_json, print_table, progress_bar, say
from ..terminal.options import (
    AlignOption,
    CameraFile,
    DecimateOption,
    ExposureOption,
    Force,
    GammaOption,
    Json,
    LinearOption,
    PrefilterOption,
    ReportOption,
    ResultFolder,
    as_preparing,
)
from .report import write_result_page

__all__ = ["find_range"]


@one_line_errors
def find_range(
    near: Annotated[Path, typer.Argument(help="Image focused on one end of the range.", show_default=False)],
    far: Annotated[Path, typer.Argument(help="Image focused on the other end.", show_default=False)],
    camera: CameraFile,
    output: ResultFolder,
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: DecimateOption = "auto",
    prefilter: PrefilterOption = DEPTH_PREFILTER,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Tell which points lie between the two distances in focus, and how probable that is.

    Focus a pair on the ends of the range that matters; NEAR is the camera file's first
    distance, FAR its second. Writes probability.tif, between.png (255 in the range, 0 outside,
    128 unknown) and overview.png. Flagged pixels (filled, clipped, invalid, at the limit) are
    unknown unless their error bar decides. The blur is taken for a disc, or for a Gaussian if
    the camera was calibrated for it.
    """
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map
    from ...depth.camera import Camera
    from ...depth.estimate import estimate_depth
    from ...depth.psf import usual_psf
    from ...depth.relation import check_two_planes, in_depth_range, relative_blur
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...photo.pipeline import prepare_pair
    from ...report.page import PAGE_FILE
    from ...report.result_files import RANGE_FILES, write_range_files

    names = (*RANGE_FILES, PAGE_FILE) if report else RANGE_FILES
    refuse_inputs((output / name for name in names), (near, far, camera))
    refuse_to_replace(output, names, force)  # before the work, not after it
    model = Camera.load(camera)
    check_two_planes(model)
    pair = prepare_pair(near, far, **as_preparing(align, exposure, linear, gamma, decimate))
    start = time.perf_counter()
    with progress_bar(f"estimating, {pair.size}") as tell:
        if usual_psf(model) == "gaussian":
            blur_map = estimate_blur(pair, prefilter=prefilter, progress=tell)
        else:
            blur_map = relative_blur(estimate_depth(pair, model, psf=usual_psf(model), progress=tell))
    refuse_empty_map(blur_map.variance_difference, blur_map.flags)
    found = in_depth_range(blur_map, model.decimated(pair.factor))
    seconds = time.perf_counter() - start
    with filling(output, force=force) as results:
        summary = {**write_range_files(results, pair, found), "seconds": seconds}
        if report:
            write_result_page(results / PAGE_FILE, found, (near, far, camera), pair)
    for note in pair.notes:
        say(note)
    if as_json:
        print_json(summary)
    else:
        rows = [
            ("range", f"{found.nearest_m:g} to {found.farthest_m:g} m"),
            ("pixels in it", f"{summary['between_fraction']:.1%}"),
            ("surer than 95 %, either way", f"{summary['sure_fraction']:.1%}"),
            ("unknown", f"{summary['unknown_fraction']:.1%}"),
            ("time", f"{seconds:.2f} s"),
        ]
        print_table(f"{near.name} and {far.name}, {pair.size}", ("", ""), rows)
    say(f"look at {output / (PAGE_FILE if report else 'overview.png')}")
