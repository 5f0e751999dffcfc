"""``relblur estimate``: estimate the relative blur of one pair or many."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...base.options import Estimating, Preparing
from ...base.settings import MAX_SIGMA
from ..terminal.console import UsageError, flags_in_words, print_message, print_summary, progress_bar
from ..terminal.options import (
    AsStoredOption,
    First,
    Force,
    JobsOption,
    Json,
    ProcessesOption,
    ReportOption,
    ResultFolder,
    SchedulerOption,
    Second,
    numbers,
    option,
    stored_values,
)
from .many import RunOptions, run_on_pairs
from .report import write_result_page

if TYPE_CHECKING:
    from ...blur.blur_map import BlurMap
    from ...blur.comparable_pair import ComparablePair
    from ...images.reading import Plane

__all__ = ["estimate"]


def estimate(
    first: First,
    second: Second,
    output: ResultFolder,
    estimating: Estimating,
    preparing: Preparing,
    as_stored: AsStoredOption = False,
    page: Annotated[
        str | None, option("--page", "Page of multi-page files, from 1; 3,5: one each for FIRST, SECOND.", "N")
    ] = None,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
    jobs: JobsOption = 1,
    processes: ProcessesOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Estimate the relative blur between two photographs of one scene.

        relblur estimate near.jpg far.jpg -o result --report

    The files are read as linear light, aligned and brought to one exposure; every step is printed. DIR gets the map
    (blur_map.npz, sigma.tif with the standard error, 16-bit sigma.png), a picture of the flags, and the blurrier image
    re-made from the sharper one. relative_depth.png shows near and far at full size, overview.png all pictures on one
    sheet.

    FIRST and SECOND may also be two folders, whose files are paired by name, or two quoted patterns,
    'dir/*_near.png' 'dir/*_far.png'. Each pair gets a folder in DIR, a row in summary.csv and a picture in
    contact_sheet.png. A second run skips finished pairs.

    If DIR ends in .zarr, FIRST and SECOND are Zarr or OME-Zarr of any size. They are read and measured in parts, in
    --processes or by --scheduler.
    """
    from ...report.batch import is_batch

    preparing = stored_values(preparing) if as_stored else preparing
    files = (first, second)
    is_large = any(part.lower().endswith(".zarr") for path in (output, *files) for part in path.parts)
    if (is_large or is_batch(*files)) and page:
        raise UsageError("--page is for one pair that is read whole; leave it out")
    run_options = RunOptions(jobs, report, force, as_json)
    if is_large:
        _estimate_large(files, output, preparing, estimating, (processes, scheduler), run_options)
    elif processes is not None or scheduler is not None:
        raise UsageError("--processes and --scheduler are for results that end in .zarr, and for 'relblur tools batch'")
    elif is_batch(*files):
        _estimate_many(files, output, preparing, estimating, run_options)
    else:
        _estimate_one(files, output, preparing, estimating, run_options, page)


def _estimate_one(
    files: tuple[Path, Path],
    output: Path,
    preparing: Preparing,
    estimating: Estimating,
    run_options: RunOptions,
    page: str | None,
) -> None:
    """Estimate a pair that is read whole."""
    from ...images.planes import page_of
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.full_size import RELATIVE_DEPTH, write_relative_depth
    from ...report.page import PAGE_FILE
    from ...report.result_files import BLUR_FILES, write_blur_files
    from ...stacks.frames import frames_of_pair

    names = [*BLUR_FILES, RELATIVE_DEPTH, *((PAGE_FILE,) if run_options.report else ())]
    refuse_to_replace(output, names, run_options.force)  # before the measurement
    refuse_inputs((output / name for name in names), files)
    images: tuple[Path | Plane, Path | Plane] = files
    if page is not None:
        pages = numbers(page, "--page", kind=int)
        images = page_of(files[0], pages[0]), page_of(files[1], pages[-1])
    pair, blur_map, seconds = _measure(*images, preparing, estimating)
    with filling(output, force=run_options.force) as results:
        summary = {**write_blur_files(results, pair, blur_map), "seconds": seconds}
        frames = frames_of_pair(images, preparing, pair)
        light = frames.full(frames.frames[0])[0] if pair.factor > 1 else None
        write_relative_depth(results, blur_map, light, pair.factor)
        if run_options.report:
            write_result_page(results, blur_map, files, summary, pair=pair)
    for note in _notes(pair, blur_map):
        print_message(note)
    title = f"{files[0].name} and {files[1].name}, {summary['width']}x{summary['height']}"
    print_summary(title, _summary_rows(summary), summary, run_options.as_json)
    print_message(f"look at {output / (PAGE_FILE if run_options.report else 'overview.png')}")


def _estimate_many(
    files: tuple[Path, Path], output: Path, preparing: Preparing, estimating: Estimating, run_options: RunOptions
) -> None:
    """Estimate every pair of two folders or patterns."""
    from ...blur.blur_map import BlurMap
    from ...report.result_files import write_blur_files

    def work(one: Path, two: Path, folder: Path) -> None:
        pair, blur_map, _ = _measure(one, two, preparing, estimating, show_progress=run_options.jobs == 1)
        write_blur_files(folder, pair, blur_map)
        for note in _notes(pair, blur_map):
            print_message(note if run_options.jobs == 1 else f"{one.name}: {note}")

    heading = f"relative blur, method {estimating.method}: positive where the second is blurrier"
    made_with = {**preparing.arguments(), **estimating.arguments()}
    sheet = (lambda folder: BlurMap.load(folder / "blur_map.npz"), heading)
    run_on_pairs(files, output, made_with, work, sheet=sheet, run_options=run_options)


def _measure(
    first: Path | Plane,
    second: Path | Plane,
    preparing: Preparing,
    estimating: Estimating,
    show_progress: bool = True,
) -> tuple[ComparablePair, BlurMap, float]:
    """Return the prepared pair, its map, and the time it took, s."""
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map
    from ...photo.pipeline import prepare_pair

    start = time.perf_counter()
    pair = prepare_pair(first, second, **preparing.arguments(), max_sigma=estimating.max_sigma or MAX_SIGMA)
    with progress_bar(f"estimating, {pair.size}", show_progress) as report:
        blur_map = estimate_blur(pair, progress=report, **estimating.arguments())
    refuse_empty_map(blur_map.variance_difference, blur_map.flags)
    return pair, blur_map, time.perf_counter() - start


def _notes(pair: ComparablePair, blur_map: BlurMap) -> list[str]:
    """Return the notes of the preparation and the warnings about the map."""
    return [*pair.notes, *(f"careful: {warning}" for warning in blur_map.settings.get("model_warnings", ()))]


def _estimate_large(
    files: tuple[Path, Path],
    output: Path,
    preparing: Preparing,
    estimating: Estimating,
    workers: tuple[int | None, str | None],
    run_options: RunOptions,
) -> None:
    """Estimate a pair that is read in parts.

    ``workers`` is the number of processes and the address of a scheduler. If both are None, this process does the work.
    """
    from ..cluster.large import estimate_large
    from ..cluster.runners import started

    arguments = preparing.arguments() | {"max_sigma": estimating.max_sigma or MAX_SIGMA}
    start = time.perf_counter()
    with ExitStack() as stack:
        client = None if workers == (None, None) else stack.enter_context(started(*workers))
        report = stack.enter_context(progress_bar("estimating"))
        blur_map, notes = estimate_large(
            files, output, arguments, estimating, client=client, force=run_options.force, progress=report
        )
    for note in notes:
        print_message(note)
    (height, width), settings = blur_map.shape, dict(blur_map.settings)
    seconds = time.perf_counter() - start
    summary: dict[str, Any] = {"width": width, "height": height, "settings": settings, "seconds": seconds}
    rows = [("resolution", _resolution(summary)), ("chunks", str(settings["chunks"])), ("time", _time(summary))]
    print_summary(f"{files[0].name} and {files[1].name}, {width}x{height}", rows, summary, run_options.as_json)
    print_message(f"the map is {output}")


def _resolution(summary: dict[str, Any]) -> str:
    settings = summary["settings"]
    because = str(settings["decimate_because"])
    return f"decimated by {settings['decimate']} (--decimate)" if because == "requested" else because


def _time(summary: dict[str, Any]) -> str:
    return f"{summary['seconds']:.2f} s ({summary['settings']['engine']} engine)"


def _summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    from ...base.shown import percentages

    sides = ("first", "second", "neither")
    shares = percentages([summary[f"{side}_sharper_fraction"] for side in sides])
    rows = [("resolution", _resolution(summary)), ("pixels answered", f"{summary['answered_fraction']:.1%}")]
    rows += [(f"{side} sharper", share) for side, share in zip(sides, shares, strict=True)]
    if (spread := summary["sigma_px_percentiles"]) is not None:
        values = " / ".join(f"{spread[p]:+.2f}" for p in ("5", "50", "95"))
        rows.append(("blur, 5 / 50 / 95 % of pixels", f"{values} px"))
        rows.append(("median standard error", f"{summary['median_stderr_px']:.3f} px"))
    if (error := summary["remade_mean_absolute_error"]) is not None:
        rows.append(("re-made image, mean error", f"{error:.5f}"))
    return [*rows, ("flags, each pixel once", flags_in_words(summary["flag_shares"])), ("time", _time(summary))]
