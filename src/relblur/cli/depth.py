"""``relblur depth``: the distance of every pixel."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ..base.settings import DEPTH_PREFILTER, SideOfFocus
from ..depth.psf import NAMES
from .console import UsageError, load_in_background, one_line_errors, print_json, print_table, progress_bar, say
from .options import (
    AlignOption,
    CameraFile,
    DecimateOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    Json,
    LinearOption,
    PrefilterOption,
    ReportOption,
    Second,
    as_factor,
    numbers,
)
from .report import write_result_page

__all__ = ["depth"]


@one_line_errors
def depth(
    first: First,
    second: Second,
    camera: CameraFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.", show_default=False)],
    psf: Annotated[
        str, typer.Option(help=f"Shape of the blur: {', '.join(NAMES)}, or an image file of the aperture.")
    ] = "gaussian",
    depth_range: Annotated[
        str | None, typer.Option("--range", help="Nearest and farthest distance, m, such as 0.8,3.", show_default="all")
    ] = None,
    side: Annotated[
        SideOfFocus,
        typer.Option(
            help="Two apertures, one focus: on which side of it the scene lies.",
        ),
    ] = "behind",
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: DecimateOption = "auto",
    prefilter: PrefilterOption = DEPTH_PREFILTER,
    focal_px: Annotated[
        float | None, typer.Option(help="Sensor distance in px, for the point cloud.", show_default="from the camera")
    ] = None,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the distance of every pixel, in metres, with its standard error.

    Writes depth.npz (everything), depth_mm.png (16 bits), depth.tif, .pfm, .npy, .exr, a
    coloured point cloud points.ply, and overview.png with depth, error and a 3-D view.
    """
    from ..blur.unanswered import refuse_if_unanswered
    from ..depth.camera import Camera
    from ..depth.estimate import estimate_depth
    from ..files.images import read_image
    from ..files.staging import filling
    from ..files.targets import refuse_inputs, refuse_to_replace
    from ..photo.pipeline import prepare_pair
    from ..report.depth_report import DEPTH_FILES, write_depth_report
    from ..report.page import PAGE_FILE

    names = (*DEPTH_FILES, PAGE_FILE) if report else DEPTH_FILES
    refuse_inputs((output / name for name in names), (first, second, camera, Path(psf)))
    refuse_to_replace(output, names, force)  # before the work, not after it
    load_in_background("matplotlib.backends.backend_agg", "mpl_toolkits.mplot3d")
    model = Camera.load(camera)
    span = None
    if depth_range is not None:
        ends = numbers(depth_range, "--range", 2)
        span = (ends[0], ends[1])
    shape: Any = psf
    if psf not in NAMES:
        if not Path(psf).exists():
            raise UsageError(f"--psf must be {', '.join(NAMES)} or an image file; there is no file {psf}")
        picture = read_image(psf)
        shape = picture.mean(axis=2) if picture.ndim == 3 else picture
    pair = prepare_pair(
        first, second, align=align, exposure=exposure, linear=linear, gamma=gamma, decimate=as_factor(decimate)
    )
    start = time.perf_counter()
    with progress_bar(f"measuring depth, {pair.size}") as tell:
        found = estimate_depth(
            pair,
            model,
            psf=shape,
            depth_range_m=span,
            side=side,
            prefilter=prefilter,
            progress=tell,
        )
    seconds = time.perf_counter() - start
    refuse_if_unanswered(found.depth_m, found.flags)
    with filling(output, force=force) as results:
        summary = write_depth_report(results, pair, found, focal_length_px=focal_px)
        if report:
            write_result_page(results / PAGE_FILE, found, (first, second, camera), pair, summary)
    for note in pair.notes:
        say(note)
    summary["seconds"] = seconds
    for what in summary["left_out"]:
        say(f"relblur: note: left out: {what}")
    if as_json:
        print_json(summary)
    else:
        print_table(f"{first.name} and {second.name}, {pair.size}", ("", ""), _depth_rows(summary))
    say(f"look at {output / (PAGE_FILE if report else 'overview.png')}")


def _depth_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
        ("without any flag", f"{summary['unflagged_fraction']:.1%}"),
    ]
    percentiles = summary["depth_m_percentiles"]
    if percentiles is not None:
        spread = " / ".join(f"{percentiles[p]:.3f}" for p in ("5", "50", "95"))
        rows.append(("depth, 5 / 50 / 95 % of pixels", f"{spread} m"))
        rows.append(("median standard error", f"{1000 * summary['median_stderr_m']:.2g} mm"))
    flagged = {name: share for name, share in summary["flagged_fraction"].items() if share > 0}
    rows.append(("flagged", ", ".join(f"{name} {share:.1%}" for name, share in flagged.items()) or "none"))
    rows.append(("time", f"{summary['seconds']:.2f} s"))
    return rows
