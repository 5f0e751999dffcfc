"""``relblur estimate``: estimate the relative blur of one pair or many."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...base.options import Estimating, Preparing
from ...base.settings import MAX_SIGMA
from ..terminal.console import (
    UsageError,
    flags_in_words,
    load_in_background,
    one_line_errors,
    print_summary,
    progress_bar,
    say,
    shares_in_words,
)
from ..terminal.options import (
    OUTPUT,
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
    given,
    stored_values,
    takes_records,
    whole_numbers,
)
from .many import Manner, do_many
from .report import write_result_page

if TYPE_CHECKING:
    from ...blur.blur_map import BlurMap
    from ...blur.comparable_pair import ComparablePair
    from ...images.reading import Plane

__all__ = ["estimate"]


@one_line_errors
@takes_records
def estimate(
    first: First,
    second: Second,
    output: ResultFolder,
    estimating: Estimating,
    preparing: Preparing,
    as_stored: AsStoredOption = False,
    page: Annotated[
        str | None, given("--page", "Page of multi-page files, from 1; 3,5: one each for FIRST, SECOND.", "N")
    ] = None,
    report: ReportOption = False,
    full_size: Annotated[
        bool, given("--full-size", "Also write a fused picture and the maps at full size.", panel=OUTPUT)
    ] = False,
    force: Force = False,
    as_json: Json = False,
    jobs: JobsOption = 1,
    processes: ProcessesOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Estimate the relative blur between two photographs of one scene.

        relblur estimate near.jpg far.jpg -o result --report

    The files are read as linear light, aligned and brought to one exposure; every step is printed. DIR gets the map
    (blur_map.npz, sigma.tif, 16-bit sigma.png), its standard error, the sharper image and the flags of each pixel, and
    the blurrier image re-made from the sharper one. relative_depth.png shows near and far at full size, overview.png
    all pictures on one sheet.

    FIRST and SECOND may also be two folders, whose files are paired by name, or two quoted patterns,
    'dir/*_near.png' 'dir/*_far.png'. Each pair gets a folder in DIR, a row in summary.csv and a picture in
    contact_sheet.png. A second run skips finished pairs.

    If DIR ends in .zarr, FIRST and SECOND are Zarr, OME-Zarr or TIFF of any size. They are read and measured in parts,
    in --processes or by --scheduler. The same command continues an interrupted run.
    """
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.batch import is_batch
    from ...report.full_size import FULL_FILES, RELATIVE_DEPTH
    from ...report.page import PAGE_FILE
    from ...report.result_files import BLUR_FILES, write_blur_files

    preparing = stored_values(preparing) if as_stored else preparing
    alone = {"--page": page, "--full-size": full_size or None}
    alone_only = [option for option, value in alone.items() if value is not None]
    if any(map(is_zarr_name, (output, first, second))):
        if alone_only:
            raise UsageError(f"{alone_only[0]} is for pictures that are read whole; leave it out")
        summary = _estimate_large((first, second), output, preparing, estimating, (processes, scheduler), force)
        title = f"{first.name} and {second.name}, {summary['width']}x{summary['height']}"
        print_summary(title, _large_rows(summary), summary, as_json)
        say(f"the map is {output}")
        return
    if processes is not None or scheduler is not None:
        raise UsageError("--processes and --scheduler are for results that end in .zarr, and for 'relblur tools batch'")
    if is_batch(first, second):
        if alone_only:
            raise UsageError(f"{alone_only[0]} is for one pair; leave it out for folders and patterns")
        _estimate_many((first, second), output, preparing, estimating, Manner(jobs, report, force, as_json))
        return
    names = [*BLUR_FILES, RELATIVE_DEPTH, *(FULL_FILES if full_size else ()), *((PAGE_FILE,) if report else ())]
    refuse_to_replace(output, names, force)  # before the work
    refuse_inputs((output / name for name in names), (first, second))
    images = _pages((first, second), page)
    pair, blur_map, seconds = _measure(*images, preparing, estimating)
    with filling(output, force=force) as results:
        summary = {**write_blur_files(results, pair, blur_map), "seconds": seconds}
        _write_full_size(results, images, preparing, pair, blur_map, full_size)
        if report:
            write_result_page(results, blur_map, (first, second), summary, pair=pair)
    for note in _notes(pair, blur_map):
        say(note)
    size = f"{summary['width']}x{summary['height']}"
    print_summary(f"{first.name} and {second.name}, {size}", _summary_rows(summary), summary, as_json)
    say(f"look at {output / (PAGE_FILE if report else 'overview.png')}")


def _write_full_size(
    folder: Path,
    images: tuple[Path | Plane, Path | Plane],
    preparing: Preparing,
    pair: ComparablePair,
    blur_map: BlurMap,
    everything: bool,
) -> None:
    """Write the relative depth at the photographs' size, or all full-size files."""
    from ...report.full_size import write_full_size, write_relative_depth
    from ...stacks.frames import frames_of_pair

    frames = frames_of_pair(images, preparing, pair)
    if everything:
        write_full_size(folder, frames, blur_map)
    else:
        first = frames.full(frames.frames[0])[0] if pair.factor > 1 else None
        write_relative_depth(folder, blur_map, first, pair.factor)


def _pages(files: tuple[Path, Path], page: str | None) -> tuple[Path | Plane, Path | Plane]:
    """Return the pages of two files selected by ``--page``: one number for both, or one for each."""
    if page is None:
        return files
    from ...images.planes import page_of

    numbers = whole_numbers(page, "--page")
    if len(numbers) > 2:
        raise UsageError(f"--page must be one number, or two for FIRST and SECOND, got {page!r}")
    return page_of(files[0], numbers[0]), page_of(files[1], numbers[-1])


def _estimate_many(
    files: tuple[Path, Path], output: Path, preparing: Preparing, estimating: Estimating, how: Manner
) -> None:
    """Estimate every pair of two folders or patterns."""
    from ...report.result_files import write_blur_files

    def work(one: Path, two: Path, folder: Path) -> None:
        pair, blur_map, _ = _measure(one, two, preparing, estimating, watched=how.jobs == 1)
        write_blur_files(folder, pair, blur_map)
        for note in _notes(pair, blur_map):
            say(note if how.jobs == 1 else f"{one.name}: {note}")

    heading = f"relative blur, method {estimating.method}: positive where the second is blurrier"
    made_with = {**preparing.arguments(), **estimating.arguments()}
    do_many(files, output, made_with, work, sheet=(_read_map, heading), how=how)


def _measure(
    first: Path | Plane,
    second: Path | Plane,
    preparing: Preparing,
    estimating: Estimating,
    *,
    watched: bool = True,
) -> tuple[ComparablePair, BlurMap, float]:
    """Return the prepared pair, its map, and the time it took, s."""
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map
    from ...photo.pipeline import prepare_pair

    start = time.perf_counter()
    # For the estimation, the results and the table.
    load_in_background("relblur.blur.dense.estimate", "PIL.ImageDraw", "PIL.ImageFont", "tifffile", "rich.table")
    largest = MAX_SIGMA if estimating.max_sigma is None else estimating.max_sigma
    pair = prepare_pair(first, second, **preparing.arguments(), max_sigma=largest)
    with progress_bar(f"estimating, {pair.size}", watched) as report:
        blur_map = estimate_blur(pair, progress=report, **estimating.arguments())
    refuse_empty_map(blur_map.variance_difference, blur_map.flags)
    return pair, blur_map, time.perf_counter() - start


def _notes(pair: ComparablePair, blur_map: BlurMap) -> list[str]:
    """Return the notes of the preparation and the warnings about the map."""
    return [*pair.notes, *(f"careful: {doubt}" for doubt in blur_map.settings.get("doubts", ()))]


def is_zarr_name(path: Path) -> bool:
    """Return whether a path names a Zarr, without opening it."""
    return any(part.lower().endswith(".zarr") for part in path.parts)


def _estimate_large(
    files: tuple[Path, Path],
    output: Path,
    preparing: Preparing,
    estimating: Estimating,
    where: tuple[int | None, str | None],
    force: bool,
) -> dict[str, Any]:
    """Estimate a pair that is read in parts; return the summary.

    ``where`` is the number of processes and the address of a scheduler. If both are None, this process does the work.
    """
    from ..cluster.large import estimate_large
    from ..cluster.runners import Here, started

    arguments = preparing.arguments()
    arguments["max_sigma"] = MAX_SIGMA if estimating.max_sigma is None else estimating.max_sigma
    start = time.perf_counter()
    with ExitStack() as stack:
        runner = Here() if where == (None, None) else stack.enter_context(started(*where))
        report = stack.enter_context(progress_bar("estimating"))
        done = estimate_large(files, output, arguments, estimating, runner, force=force, progress=report)
    for note in done.notes:
        say(note)
    if done.were_done:
        say(f"{done.were_done} of {done.chunks} chunks were finished by an earlier run")
    height, width = done.shape
    settings = dict(done.settings)
    return {
        "width": width, "height": height, "chunks": done.chunks, "settings": settings,
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def _large_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("resolution", _resolution(summary["settings"])), ("chunks", str(summary["chunks"]))]
    return [*rows, ("time", f"{summary['seconds']:.1f} s ({summary['settings']['engine']} engine)")]


def _read_map(folder: Path) -> BlurMap:
    from ...blur.blur_map import BlurMap

    return BlurMap.load(folder / "blur_map.npz")


def _resolution(settings: dict[str, Any]) -> str:
    because = str(settings["decimate_because"])
    return f"decimated by {settings['decimate']} (--decimate)" if because == "asked for" else because


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
        spread = " / ".join(f"{percentiles[p]:+.2f}" for p in ("5", "50", "95"))
        rows.append(("blur, 5 / 50 / 95 % of pixels", f"{spread} px"))
        rows.append(("median standard error", f"{summary['median_stderr_px']:.3f} px"))
    if summary["remade_mean_absolute_error"] is not None:
        rows.append(("re-made image, mean error", f"{summary['remade_mean_absolute_error']:.5f}"))
    rows.append(("flags, each pixel once", flags_in_words(summary["flag_shares"])))
    rows.append(("time", f"{summary['seconds']:.2f} s ({summary['settings']['engine']} engine)"))
    return rows
