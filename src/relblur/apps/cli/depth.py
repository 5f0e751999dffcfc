"""``relblur depth``: measure the distance of every pixel, for one pair or many."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.options import Depth, Preparing
from ...base.settings import PSF_NAMES
from ..terminal.console import (
    UsageError,
    flags_in_words,
    print_message,
    print_summary,
    progress_bar,
)
from ..terminal.options import (
    CameraFile,
    First,
    Force,
    JobsOption,
    Json,
    ReportOption,
    ResultFolder,
    Second,
)
from .many import RunOptions, run_on_pairs
from .report import write_result_page

if TYPE_CHECKING:
    from ...blur.comparable_pair import ComparablePair
    from ...depth.camera import Camera
    from ...depth.depth_map import DepthMap

__all__ = ["depth"]

#: Fractions of pixels at the limits of the range, and of filled pixels, above which a warning is printed.
MUCH_AT_LIMIT, MUCH_FILLED = 0.1, 0.4


def depth(
    first: First,
    second: Second,
    camera: CameraFile,
    output: ResultFolder,
    options: Depth,
    preparing: Preparing,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
    jobs: JobsOption = 1,
) -> None:
    """Measure the distance of every pixel, in metres, with its standard error.

        relblur depth near.png far.png --camera cam.toml -o depth

    DIR gets depth.npz (all maps); the depth as depth_mm.png (16 bits), depth.tif, .pfm and .npy; a coloured
    point cloud, points.ply (y up, z towards the lens, with standard error and flags); the picture
    depth_colour.png; and overview.png, all pictures on one sheet.

    FIRST and SECOND may also be two folders or two quoted patterns, as for 'relblur estimate'. Each pair gets a folder
    in DIR, a row in summary.csv and a picture in contact_sheet.png.
    """
    from ...depth.camera import Camera
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.batch import is_batch
    from ...report.page import PAGE_FILE
    from ...report.result_files import DEPTH_FILES, write_depth_files

    model, psf_name = Camera.load(camera), options.psf
    options = _checked(options, model)
    shape = options.psf if isinstance(options.psf, str) else Path(psf_name).name
    if is_batch(first, second):

        def work(one: Path, two: Path, folder: Path) -> None:
            pair, depth_map, _ = _measure(one, two, model, options, preparing, show_progress=jobs == 1)
            write_depth_files(folder, pair, depth_map)
            for note in (*pair.notes, *_warnings(depth_map, model, options, pair, (one, two))):
                print_message(note if jobs == 1 else f"{one.name}: {note}")

        made_with: dict[str, Any] = {"camera": {name: str(value) for name, value in model.as_dict().items()}}
        made_with |= {**preparing.arguments(), **options.arguments("psf"), "psf": shape}
        heading = f"depth (m), {model.describe()}, psf {shape}"
        run_options, read = RunOptions(jobs, report, force, as_json), (camera, Path(psf_name))
        run_on_pairs(
            (first, second), output, made_with, work, sheet=(_read_map, heading), run_options=run_options, reads=read
        )
        return
    names = (*DEPTH_FILES, PAGE_FILE) if report else DEPTH_FILES
    refuse_inputs((output / name for name in names), (first, second, camera, Path(psf_name)))
    refuse_to_replace(output, names, force)  # before the measurement
    pair, depth_map, seconds = _measure(first, second, model, options, preparing)
    with filling(output, force=force) as results:
        summary = write_depth_files(results, pair, depth_map)
        if report:
            write_result_page(results, depth_map, (first, second, camera), summary, pair=pair)
    for note in (*pair.notes, *_warnings(depth_map, model, options, pair, (first, second))):
        print_message(note)
    summary["seconds"] = seconds
    for what in summary["left_out"]:
        print_message(f"relblur: note: not written: {what}")
    print_summary(f"{first.name} and {second.name}, {pair.size}", _depth_rows(summary), summary, as_json)
    pictures = (PAGE_FILE,) if report else ("overview.png", "depth_colour.png")
    print_message(f"look at {', '.join(str(output / name) for name in pictures)}")


def _checked(options: Depth, camera: Camera) -> Depth:
    """Return the options with the shape of the blur resolved; refuse wrong values before the images are read."""
    from ...base.arguments import as_positive
    from ...depth.estimate import check_depth_range
    from ...depth.psf import as_psf, usual_psf
    from ...images.images import read_image

    if options.depth_range_m is not None:
        check_depth_range(options.depth_range_m, camera, options.side)
    if options.prefilter:
        as_positive(options.prefilter, "--prefilter", "px")
    shape: Any = usual_psf(camera) if options.psf == "auto" else options.psf
    if shape not in PSF_NAMES:
        if not Path(shape).exists():
            raise UsageError(f"--psf must be auto, {', '.join(PSF_NAMES)} or an image file; there is no file {shape}")
        picture = read_image(shape)
        shape = picture.mean(axis=2) if picture.ndim == 3 else picture
    as_psf(shape, camera.blur_constant)
    return replace(options, psf=shape)


def _measure(
    first: Path, second: Path, camera: Camera, options: Depth, preparing: Preparing, *, show_progress: bool = True
) -> tuple[ComparablePair, DepthMap, float]:
    """Return the prepared pair, its depth map, and the time it took, s."""
    from ...blur.result import refuse_empty_map
    from ...depth.estimate import estimate_depth
    from ...photo.pipeline import prepare_pair

    start = time.perf_counter()
    pair = prepare_pair(first, second, **preparing.arguments())
    with progress_bar(f"measuring depth, {pair.size}", show_progress) as report:
        depth_map = estimate_depth(pair, camera, progress=report, **options.arguments())
    refuse_empty_map(depth_map.depth_m, depth_map.flags)
    return pair, depth_map, time.perf_counter() - start


def _warnings(
    depth_map: DepthMap, camera: Camera, options: Depth, pair: ComparablePair, files: tuple[Path, Path]
) -> list[str]:
    """Return the warnings about a depth map, as printed notes."""
    from ...base.shown import span
    from ...blur.blur_map import Flag, has_flag
    from ...depth.order import depth_order_warnings, file_order_warnings, image_order_warnings
    from ...depth.working_range import openings

    warnings = [*file_order_warnings(files, camera), *image_order_warnings(pair, camera)]
    warnings += depth_order_warnings(depth_map)
    at_limit = float(has_flag(depth_map.flags, Flag.AT_LIMIT | Flag.OUT_OF_RANGE).mean())
    filled = float(has_flag(depth_map.flags, Flag.FILLED).mean())
    if at_limit >= MUCH_AT_LIMIT:
        remedy = "a wider --range"
        if options.depth_range_m is None:
            wider = openings(depth_map.camera)
            remedy = f"--decimate {pair.factor * wider[0][0]}, which extends the range" if wider else "the camera file"
        near, far = (float(end) for end in depth_map.settings["depth_range_m"])
        warnings.append(
            f"{at_limit:.0%} of the pixels lie at the ends of the search ({span(near, far)}) or beyond: their "
            f"distance is unknown; try {remedy}"
        )
    if filled >= MUCH_FILLED:
        warnings.append(
            f"{filled:.0%} of the pixels have too little texture, so their distance comes from their neighbours "
            "(flag 'filled'): check their standard error"
        )
    return [f"relblur: note: {warning}" for warning in warnings]


def _read_map(folder: Path) -> DepthMap:
    from ...depth.depth_map import DepthMap

    return DepthMap.load(folder / "depth.npz")


def _depth_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("shape of the blur", str(summary["settings"]["psf"])),
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
        ("without any flag", f"{summary['unflagged_fraction']:.1%}"),
    ]
    percentiles = summary["depth_m_percentiles"]
    if percentiles is not None:
        spread = " / ".join(f"{percentiles[p]:.3f}" for p in ("5", "50", "95"))
        rows.append(("depth, 5 / 50 / 95 % of pixels", f"{spread} m"))
        rows.append(("median standard error", f"{1000 * summary['median_stderr_m']:.2g} mm"))
    rows.append(("flags, each pixel once", flags_in_words(summary["flag_shares"])))
    rows.append(("time", f"{summary['seconds']:.2f} s"))
    return rows
