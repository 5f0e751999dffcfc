"""``relblur estimate``: relative blur of one pair, or of many."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...base.settings import MAX_SIGMA
from ..terminal.console import (
    UsageError,
    flags_in_words,
    load_in_background,
    one_line_errors,
    print_json,
    print_table,
    progress_bar,
    say,
    shares_in_words,
)
from ..terminal.options import (
    AlignOption,
    AsStoredOption,
    DecimateOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    JobsOption,
    Json,
    LinearOption,
    MethodOption,
    ReportOption,
    ResultFolder,
    SchedulerOption,
    Second,
    SideOption,
    as_preparing,
    stored_values,
    whole_numbers,
)
from .many import Manner, do_many
from .report import write_result_page

if TYPE_CHECKING:
    from ...base._typing import FloatArray
    from ...blur.blur_map import BlurMap
    from ...blur.comparable_pair import ComparablePair
    from ...images.reading import Plane

__all__ = ["estimate"]


@one_line_errors
def estimate(
    first: First,
    second: Second,
    output: ResultFolder,
    method: MethodOption = "refined",
    sharper: SideOption = "auto",
    decimate: DecimateOption = "auto",
    max_sigma: Annotated[
        float | None, typer.Option(help="Largest blur to look for, px.", show_default=f"{MAX_SIGMA:g}")
    ] = None,
    window: Annotated[
        int | None, typer.Option(help="Side of the window of neighbours, odd.", show_default="by method")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(help="Noise of the images, 0..1 scale, if known.", show_default="estimated"),
    ] = None,
    prefilter: Annotated[
        float, typer.Option(help="Blur both images by this many px first; 1.5 to 2 suits depth from a real lens.")
    ] = 0.0,
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    as_stored: AsStoredOption = False,
    save_steps: Annotated[
        Path | None,
        typer.Option("--save-steps", help="Folder for a picture of every stage.", show_default=False),
    ] = None,
    full_size: Annotated[
        bool,
        typer.Option(
            "--full-size", help="Also fused.png, second_aligned.png, sigma_full.tif at the photographs' size."
        ),
    ] = False,
    page: Annotated[
        str | None,
        typer.Option("--page", help="Page of files of many, from 1; two for FIRST and SECOND: 3,5.", show_default="1"),
    ] = None,
    jobs: JobsOption = 1,
    report: ReportOption = False,
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Zarr: processes on this machine.", show_default="this one", min=1),
    ] = None,
    scheduler: SchedulerOption = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Estimate the relative blur between two photographs of one scene.

    The files are read as linear light, aligned and brought to one exposure; what was done is
    said. Writes the map (blur_map.npz, sigma.tif, 16-bit sigma.png), its standard error, which
    image is sharper where, flags, the blurrier image re-made from the sharper, near and far at
    the photographs' size (relative_depth.png), and overview.png, which shows them side by side.

    FIRST and SECOND may also be two folders, whose files are paired by name, or two quoted
    patterns with a star, 'dir/*_near.png' 'dir/*_far.png'. Each pair then gets a folder of
    its own in the output; pairs that are done are not done again. summary.csv has a row for
    each, contact_sheet.png a picture.

    With an output that ends in .zarr, FIRST and SECOND are Zarr, OME-Zarr or TIFF of any size: they
    are read in parts and the map is written in chunks; a run that was interrupted goes on.
    """
    from ...report.batch import is_batch

    preparing = as_preparing(align, exposure, linear, gamma, decimate)
    preparing["max_sigma"] = MAX_SIGMA if max_sigma is None else max_sigma
    asked = _Asked(
        preparing=stored_values(preparing) if as_stored else preparing,
        estimating={
            "method": method,
            "sharper": sharper,
            "max_sigma": max_sigma,
            "window": window,
            "noise": noise,
            "prefilter": prefilter,
        },
    )
    if is_zarr_name(output) or is_zarr_name(first) or is_zarr_name(second):
        if save_steps is not None or page is not None:
            option = "--page" if save_steps is None else "--save-steps"
            raise UsageError(f"{option} is for pictures that are read whole; leave it out")
        _estimate_large((first, second), output, asked, (workers, scheduler), force, as_json)
        return
    if workers is not None or scheduler is not None:
        raise UsageError("--workers and --scheduler are for results that end in .zarr; relblur batch takes them too")
    if is_batch(first, second):
        if save_steps is not None:
            raise UsageError("--save-steps is for one pair; leave it out for folders and patterns")
        if full_size or page is not None:
            option = "--full-size" if full_size else "--page"
            raise UsageError(f"{option} is for one pair; leave it out for folders and patterns")
        _estimate_many((first, second), output, asked, Manner(jobs, report, force, as_json))
        return
    summary = _estimate_one((first, second), output, asked, _Extras(save_steps, full_size, report, page), force)
    if as_json:
        print_json(summary)
    else:
        size = f"{summary['width']}x{summary['height']}"
        print_table(f"{first.name} and {second.name}, {size}", ("", ""), _summary_rows(summary))
    say(f"look at {output / ('report.html' if report else 'overview.png')}")


@dataclass(frozen=True)
class _Asked:
    """All that a result depends on beside the files: arguments of ``prepare_pair`` and of ``estimate_blur``."""

    preparing: dict[str, Any]
    estimating: dict[str, Any]


@dataclass(frozen=True)
class _Extras:
    """What is written beside the usual files."""

    steps: Path | None
    full_size: bool
    report: bool
    page: str | None = None


def _estimate_one(
    files: tuple[Path, Path], output: Path, asked: _Asked, extras: _Extras, force: bool
) -> dict[str, Any]:
    """Estimate one pair, write all of its files, say what was done, and return the summary."""
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.full_size import FULL_FILES, RELATIVE_DEPTH, write_full_size, write_relative_depth
    from ...report.page import PAGE_FILE
    from ...report.result_files import BLUR_FILES, write_blur_files
    from ...report.steps import STEP_FILES, write_steps
    from ...stacks.frames import Reading, frames_of_pair

    names = (*BLUR_FILES, RELATIVE_DEPTH, *(FULL_FILES if extras.full_size else ()))
    names += (PAGE_FILE,) if extras.report else ()
    wanted = [output / name for name in names]
    refuse_to_replace(output, names, force)  # before the work, not after it
    if extras.steps is not None:
        wanted += [extras.steps / name for name in STEP_FILES]
        refuse_to_replace(extras.steps, STEP_FILES, force)
    refuse_inputs(wanted, files)
    stages: dict[str, FloatArray] = {}
    images = _pages(files, extras.page)
    pair, blur_map, seconds = _measure(*images, asked, stages)
    with filling(output, force=force) as results:
        summary = {**write_blur_files(results, pair, blur_map), "seconds": seconds}
        kept = {name: value for name, value in asked.preparing.items() if name not in ("decimate", "max_sigma")}
        reading = Reading(**kept, decimate=pair.factor)
        if extras.full_size:
            write_full_size(results, frames_of_pair(images, reading, pair), blur_map)
        else:
            write_relative_depth(results, blur_map, images[0], reading, pair.factor)
        if extras.report:
            write_result_page(results / PAGE_FILE, blur_map, files, pair)
        if extras.steps is not None:
            with filling(extras.steps, force=force) as steps:
                write_steps(steps, pair, blur_map, stages)
    for note in _notes(pair, blur_map):
        say(note)
    if extras.steps is not None:
        say(f"steps: {extras.steps}")
    return summary


def _pages(files: tuple[Path, Path], page: str | None) -> tuple[Path | Plane, Path | Plane]:
    """Return the pages of two files that ``--page`` names, one for both or one for each."""
    if page is None:
        return files
    from ...images.planes import page_of

    wanted = whole_numbers(page, "--page")
    if len(wanted) > 2:
        raise UsageError(f"--page must be one number, or two for FIRST and SECOND, got {page!r}")
    return page_of(files[0], wanted[0]), page_of(files[1], wanted[-1])


def _estimate_many(files: tuple[Path, Path], output: Path, asked: _Asked, how: Manner) -> None:
    """Estimate every pair of two folders or patterns."""
    from ...report.result_files import write_blur_files

    def work(one: Path, two: Path, folder: Path) -> None:
        pair, blur_map, _ = _measure(one, two, asked, watched=how.jobs == 1)
        write_blur_files(folder, pair, blur_map)
        for note in _notes(pair, blur_map):
            say(note if how.jobs == 1 else f"{one.name}: {note}")

    heading = f"relative blur, method {asked.estimating['method']}: positive where the second is blurrier"
    made_with = {**asked.preparing, **asked.estimating}
    do_many(files, output, made_with, work, sheet=(_read_map, heading), how=how)


def _measure(
    first: Path | Plane,
    second: Path | Plane,
    asked: _Asked,
    stages: dict[str, FloatArray] | None = None,
    *,
    watched: bool = True,
) -> tuple[ComparablePair, BlurMap, float]:
    """Return the pair as it was compared, the map, and the seconds it took; stages in between go to ``stages``."""
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map
    from ...photo.pipeline import prepare_pair

    start = time.perf_counter()
    # For later: what estimates, writes and tells.
    load_in_background("relblur.blur.dense.estimate", "PIL.ImageDraw", "PIL.ImageFont", "tifffile", "rich.table")
    pair = prepare_pair(first, second, **asked.preparing)
    with progress_bar(f"estimating, {pair.size}", watched) as report:
        blur_map = estimate_blur(pair, progress=report, steps=stages, **asked.estimating)
    refuse_empty_map(blur_map.variance_difference, blur_map.flags)
    return pair, blur_map, time.perf_counter() - start


def _notes(pair: ComparablePair, blur_map: BlurMap) -> list[str]:
    """Return what was done to the pair, and what makes one doubt that it differs by defocus only."""
    return [*pair.notes, *(f"careful: {doubt}" for doubt in blur_map.settings.get("doubts", ()))]


def is_zarr_name(path: Path) -> bool:
    """Tell whether a path means a Zarr, without opening it."""
    return path.suffix.lower() == ".zarr" or any(part.lower().endswith(".zarr") for part in path.parts)


def _estimate_large(
    files: tuple[Path, Path],
    output: Path,
    asked: _Asked,
    where: tuple[int | None, str | None],
    force: bool,
    as_json: bool,
) -> None:
    """Estimate a pair that is read in parts, here or on the workers of ``where`` (how many, of which scheduler)."""
    from ...blur.estimating import Estimating
    from ..cluster.large import estimate_large
    from ..cluster.runners import Here, started

    options = Estimating(**asked.estimating)
    start = time.perf_counter()
    with ExitStack() as stack:
        runner = Here() if where == (None, None) else stack.enter_context(started(*where))
        report = stack.enter_context(progress_bar("estimating"))
        done = estimate_large(files, output, asked.preparing, options, runner, force=force, progress=report)
    for note in done.notes:
        say(note)
    if done.were_done:
        say(f"{done.were_done} of {done.chunks} chunks were done by an earlier run")
    height, width = done.shape
    summary = {"width": width, "height": height, "chunks": done.chunks, "settings": dict(done.settings)}
    summary |= {"seconds": time.perf_counter() - start}
    if as_json:
        print_json(summary)
    else:
        rows = [("resolution", _resolution(dict(done.settings))), ("chunks", str(done.chunks))]
        rows.append(("time", f"{summary['seconds']:.1f} s ({done.settings['engine']} engine)"))
        print_table(f"{files[0].name} and {files[1].name}, {width}x{height}", ("", ""), rows)
    say(f"the map is {output}")


def _read_map(folder: Path) -> BlurMap:
    from ...blur.blur_map import BlurMap

    return BlurMap.load(folder / "blur_map.npz")


def _resolution(settings: dict[str, Any]) -> str:
    chosen = str(settings["decimate_because"])
    return f"decimated by {settings['decimate']}, as asked" if chosen == "asked for" else chosen


def _summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("resolution", _resolution(summary["settings"])),
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
    ]
    sides = ("first", "second", "neither")
    shares = shares_in_words([summary[f"{side}_sharper_fraction"] for side in sides])
    rows += [(f"{side} sharper", share) for side, share in zip(sides, shares, strict=True)]
    percentiles = summary["sigma_px_percentiles"]
    if percentiles is not None:
        rows.append(
            (
                "blur, 5 / 50 / 95 % of pixels",
                " / ".join(f"{percentiles[p]:+.2f}" for p in ("5", "50", "95")) + " px",
            )
        )
        rows.append(("median standard error", f"{summary['median_stderr_px']:.3f} px"))
    if summary["remade_mean_absolute_error"] is not None:
        rows.append(("re-made image, mean error", f"{summary['remade_mean_absolute_error']:.5f}"))
    rows.append(("flags, each pixel once", flags_in_words(summary["flag_shares"])))
    rows.append(("time", f"{summary['seconds']:.2f} s ({summary['settings']['engine']} engine)"))
    return rows
