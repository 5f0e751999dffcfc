"""``relblur depth``: the distance of every pixel, of one pair or of many."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...base.settings import DEPTH_PREFILTER, SideOfFocus
from ...depth.psf import NAMES
from ..terminal.console import (
    UsageError,
    flags_in_words,
    one_line_errors,
    print_json,
    print_table,
    progress_bar,
    say,
)
from ..terminal.options import (
    AlignOption,
    CameraFile,
    DecimateOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    JobsOption,
    Json,
    LinearOption,
    PrefilterOption,
    ReportOption,
    ResultFolder,
    Second,
    as_preparing,
    numbers,
)
from .many import Manner, do_many
from .report import write_result_page

if TYPE_CHECKING:
    from ...blur.comparable_pair import ComparablePair
    from ...depth.camera import Camera
    from ...depth.depth_map import DepthMap

__all__ = ["depth"]

#: Shares of the pixels from which on people are told: at the ends of the range, or without texture of their own.
MUCH_AT_LIMIT, MUCH_FILLED = 0.1, 0.4


@one_line_errors
def depth(
    first: First,
    second: Second,
    camera: CameraFile,
    output: ResultFolder,
    psf: Annotated[
        str,
        typer.Option(
            help=f"Shape of the blur: {', '.join(NAMES)}, or an image file of the aperture; auto: disc, "
            "or gaussian if the camera was calibrated for it."
        ),
    ] = "auto",
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
    jobs: JobsOption = 1,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the distance of every pixel, in metres, with its standard error.

    Writes depth.npz (everything), depth_mm.png (16 bits), depth.tif, .pfm, .npy, .exr, a coloured
    point cloud points.ply (y up, z towards the lens, with standard error and flags), the pictures
    depth_colour.png and view.png, and overview.png with everything side by side.

    FIRST and SECOND may also be two folders or two quoted patterns, as for 'relblur estimate':
    each pair gets a folder of its own, summary.csv a row and contact_sheet.png a picture of each.
    """
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.batch import is_batch
    from ...report.page import PAGE_FILE
    from ...report.result_files import DEPTH_FILES, write_depth_files

    preparing = as_preparing(align, exposure, linear, gamma, decimate)
    asked = _check(camera, psf, depth_range, side, prefilter, focal_px, preparing)
    if is_batch(first, second):

        def work(one: Path, two: Path, folder: Path) -> None:
            pair, found, _ = _measure(one, two, asked, watched=jobs == 1)
            write_depth_files(folder, pair, found, focal_length_px=focal_px)
            for note in (*pair.notes, *_remarks(found, asked, pair, (one, two))):
                say(note if jobs == 1 else f"{one.name}: {note}")

        do_many(
            (first, second),
            output,
            asked.as_options(),
            work,
            sheet=(_read_map, f"depth (m), {asked.camera.describe()}, psf {asked.psf_name}"),
            how=Manner(jobs, report, force, as_json),
            reads=(camera, Path(psf)),
        )
        return
    names = (*DEPTH_FILES, PAGE_FILE) if report else DEPTH_FILES
    refuse_inputs((output / name for name in names), (first, second, camera, Path(psf)))
    refuse_to_replace(output, names, force)  # before the work, not after it
    pair, found, seconds = _measure(first, second, asked)
    with filling(output, force=force) as results:
        summary = write_depth_files(results, pair, found, focal_length_px=focal_px)
        if report:
            write_result_page(results / PAGE_FILE, found, (first, second, camera), pair, summary)
    for note in (*pair.notes, *_remarks(found, asked, pair, (first, second))):
        say(note)
    summary["seconds"] = seconds
    for what in summary["left_out"]:
        say(f"relblur: note: left out: {what}")
    if as_json:
        print_json(summary)
    else:
        print_table(f"{first.name} and {second.name}, {pair.size}", ("", ""), _depth_rows(summary))
    pictures = (PAGE_FILE,) if report else ("overview.png", "depth_colour.png", "view.png")
    say(f"look at {', '.join(str(output / name) for name in pictures)}")


@dataclass(frozen=True)
class _Asked:
    """All that a result depends on beside the files; everything is checked."""

    camera: Camera
    psf: Any
    psf_name: str
    span: tuple[float, float] | None
    side: SideOfFocus
    prefilter: float
    focal_px: float | None
    preparing: dict[str, Any]

    def as_options(self) -> dict[str, Any]:
        """Return what tells these results from others, as plain values."""
        about: dict[str, Any] = {"camera": {k: str(v) for k, v in self.camera.as_dict().items()}, "psf": self.psf_name}
        about |= {"range": list(self.span) if self.span else None, "side": self.side, "prefilter": self.prefilter}
        return {**self.preparing, **about, "focal_px": self.focal_px}


def _check(
    camera: Path,
    psf: str,
    depth_range: str | None,
    side: SideOfFocus,
    prefilter: float,
    focal_px: float | None,
    preparing: dict[str, Any],
) -> _Asked:
    """Refuse what will be refused before anything is read."""
    from ...base.arguments import as_positive
    from ...depth.camera import Camera
    from ...depth.estimate import check_depth_range
    from ...depth.psf import as_psf, usual_psf
    from ...images.images import read_image

    model = Camera.load(camera)
    span = None
    if depth_range is not None:
        ends = numbers(depth_range, "--range", 2)
        span = (ends[0], ends[1])
        check_depth_range(span, model, side)
    shape: Any = usual_psf(model) if psf == "auto" else psf
    if shape not in NAMES:
        if not Path(psf).exists():
            raise UsageError(f"--psf must be auto, {', '.join(NAMES)} or an image file; there is no file {psf}")
        picture = read_image(psf)
        shape = picture.mean(axis=2) if picture.ndim == 3 else picture
    as_psf(shape, model.blur_constant)
    if focal_px is not None:
        as_positive(focal_px, "--focal-px", "px")
    if prefilter != 0:
        as_positive(prefilter, "--prefilter", "px")
    name = shape if isinstance(shape, str) else Path(psf).name
    return _Asked(model, shape, name, span, side, prefilter, focal_px, preparing)


def _measure(
    first: Path, second: Path, asked: _Asked, *, watched: bool = True
) -> tuple[ComparablePair, DepthMap, float]:
    """Return the pair as it was compared, its depth, and the seconds it took."""
    from ...blur.result import refuse_empty_map
    from ...depth.estimate import estimate_depth
    from ...photo.pipeline import prepare_pair

    start = time.perf_counter()
    pair = prepare_pair(first, second, **asked.preparing)
    with progress_bar(f"measuring depth, {pair.size}", watched) as report:
        found = estimate_depth(
            pair,
            asked.camera,
            psf=asked.psf,
            depth_range_m=asked.span,
            side=asked.side,
            prefilter=asked.prefilter,
            progress=report,
        )
    refuse_empty_map(found.depth_m, found.flags)
    return pair, found, time.perf_counter() - start


def _remarks(found: DepthMap, asked: _Asked, pair: ComparablePair, files: tuple[Path, Path]) -> list[str]:
    """Return in words what gives reason to doubt a map."""
    from ...blur.blur_map import Flag, has_flag
    from ...depth.order import depth_order_warnings, file_order_warnings, image_order_warnings
    from ...depth.working_range import openings

    doubts = [*file_order_warnings(files, asked.camera), *image_order_warnings(pair, asked.camera)]
    doubts += depth_order_warnings(found)
    at_limit = float(has_flag(found.flags, Flag.AT_LIMIT | Flag.OUT_OF_RANGE).mean())
    filled = float(has_flag(found.flags, Flag.FILLED).mean())
    near, far = (float(end) for end in found.settings["depth_range_m"])
    if at_limit >= MUCH_AT_LIMIT:
        farthest = "infinity" if math.isinf(far) else f"{far:.3g} m"
        remedy = "a wider --range" if asked.span is not None else "the camera file, and whether its distances are right"
        wider = [] if asked.span is not None else openings(found.camera)
        if wider:
            factor = pair.factor * wider[0].factor
            remedy = f"--decimate {factor}, which opens the range to {wider[0].nearest_m:.3g} m and on"
        doubts.append(
            f"{at_limit:.0%} of the pixels lie at the ends of what was looked at ({near:.3g} m to {farthest}) or "
            f"beyond: their distance is not known; try {remedy}"
        )
    if filled >= MUCH_FILLED:
        doubts.append(
            f"{filled:.0%} of the pixels have too little texture of their own and took their distance from around "
            "(flag 'filled'): trust their standard error, not their value"
        )
    return [f"relblur: note: {doubt}" for doubt in doubts]


def _read_map(folder: Path) -> DepthMap:
    from ...depth.depth_map import read_depth_map

    return read_depth_map(folder / "depth.npz")


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
