"""``relblur estimate``: relative blur of one pair, or of many."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.settings import MAX_SIGMA, PAPER_SIGMA_STEP
from .console import (
    EXIT_DATA,
    UsageError,
    load_in_background,
    one_line_errors,
    print_json,
    print_table,
    progress_bar,
    say,
)
from .options import (
    AlignOption,
    AsStoredOption,
    DecimateOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    Json,
    LinearOption,
    MethodOption,
    SchedulerOption,
    Second,
    SideOption,
    as_factor,
    stored_values,
)

if TYPE_CHECKING:
    from ..base._typing import FloatArray
    from ..blur.blur_map import BlurMap
    from ..blur.comparable_pair import ComparablePair

__all__ = ["estimate"]


@one_line_errors
def estimate(
    first: First,
    second: Second,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.", show_default=False)],
    method: MethodOption = "refined",
    sharper: SideOption = "auto",
    decimate: DecimateOption = "auto",
    max_sigma: Annotated[float, typer.Option(help="Largest blur to look for, px.")] = MAX_SIGMA,
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
    image is sharper where, flags, the blurrier image re-made from the sharper, and
    overview.png, which shows them side by side.

    FIRST and SECOND may also be two folders, whose files are paired by name, or two quoted
    patterns with a star, 'dir/*_near.png' 'dir/*_far.png'. Each pair then gets a folder of
    its own in the output; pairs that are done are not done again.

    With an output that ends in .zarr, FIRST and SECOND are Zarr, OME-Zarr or TIFF of any size: they
    are read in parts and the map is written in chunks; a run that was interrupted goes on.
    """
    from ..files.staging import filling
    from ..files.targets import refuse_inputs, refuse_to_replace
    from ..report.batch import is_batch
    from ..report.blur_report import REPORT_FILES, STEP_FILES, write_report, write_steps

    preparing = {
        "align": align,
        "exposure": exposure,
        "linear": linear,
        "gamma": gamma,
        "decimate": as_factor(decimate),
        "max_sigma": max_sigma,
    }
    asked = _Asked(
        preparing=stored_values(preparing) if as_stored else preparing,
        estimating={
            "method": method,
            "sharper": sharper,
            "sigmas": _sigmas(max_sigma),
            "window": window,
            "noise": noise,
            "prefilter": prefilter,
        },
    )
    if is_zarr_name(output) or is_zarr_name(first) or is_zarr_name(second):
        if save_steps is not None:
            raise UsageError("--save-steps is for pictures that are read whole; leave it out")
        _estimate_large((first, second), output, asked, (workers, scheduler), force, as_json)
        return
    if workers is not None or scheduler is not None:
        raise UsageError("--workers and --scheduler are for results that end in .zarr; relblur batch takes them too")
    if is_batch(first, second):
        if save_steps is not None:
            raise UsageError("--save-steps is for one pair; leave it out for folders and patterns")
        _estimate_many(first, second, output, asked, force, as_json)
        return
    wanted = [output / name for name in REPORT_FILES]
    refuse_to_replace(output, REPORT_FILES, force)  # before the work, not after it
    if save_steps is not None:
        wanted += [save_steps / name for name in STEP_FILES]
        refuse_to_replace(save_steps, STEP_FILES, force)
    refuse_inputs(wanted, (first, second))
    stages: dict[str, FloatArray] = {}
    pair, blur_map, seconds = _measure(first, second, asked, stages)
    with filling(output, force=force) as results:
        summary = {**write_report(results, pair, blur_map), "seconds": seconds}
        if save_steps is not None:
            with filling(save_steps, force=force) as steps:
                write_steps(steps, pair, blur_map, stages)
    for note in pair.notes:
        say(note)
    if save_steps is not None:
        say(f"steps: {save_steps}")
    if as_json:
        print_json(summary)
    else:
        size = f"{summary['width']}x{summary['height']}"
        print_table(f"{first.name} and {second.name}, {size}", ("", ""), _summary_rows(summary))
    say(f"look at {output / 'overview.png'}")


@dataclass(frozen=True)
class _Asked:
    """All that a result depends on beside the files: arguments of ``prepare_pair`` and of ``estimate_blur``."""

    preparing: dict[str, Any]
    estimating: dict[str, Any]


def _sigmas(max_sigma: float) -> list[float] | None:
    if max_sigma == MAX_SIGMA:
        return None
    if not PAPER_SIGMA_STEP <= max_sigma < 1000:
        raise UsageError(f"--max-sigma must be at least {PAPER_SIGMA_STEP} px and below 1000, got {max_sigma:g}")
    return [PAPER_SIGMA_STEP * (m + 1) for m in range(round(max_sigma / PAPER_SIGMA_STEP))]


def _measure(
    first: Path, second: Path, asked: _Asked, stages: dict[str, FloatArray] | None = None
) -> tuple[ComparablePair, BlurMap, float]:
    """Return the pair as it was compared, the map, and the seconds it took; stages in between go to ``stages``."""
    from ..blur.estimate import estimate_blur
    from ..blur.unanswered import refuse_if_unanswered
    from ..photo.pipeline import prepare_pair

    start = time.perf_counter()
    # For later: what estimates, writes and tells.
    load_in_background("relblur.blur.refined", "PIL.ImageDraw", "PIL.ImageFont", "tifffile", "rich.table")
    pair = prepare_pair(first, second, **asked.preparing)
    with progress_bar(f"estimating, {pair.size}") as report:
        blur_map = estimate_blur(pair, progress=report, steps=stages, **asked.estimating)
    refuse_if_unanswered(blur_map.variance_difference, blur_map.flags)
    return pair, blur_map, time.perf_counter() - start


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
    from ..blur.asked import Asked
    from ..cluster.large import estimate_large
    from ..cluster.runners import Here, started

    options = Asked(engine="auto", workers=None, direction="deviation", everywhere=False, **asked.estimating)
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


def _estimate_many(first: Path, second: Path, output: Path, asked: _Asked, force: bool, as_json: bool) -> None:
    """Estimate all pairs of two folders or patterns; exit code 3 if some failed."""
    from ..report.batch import Outcome, find_jobs, run_batch
    from ..report.blur_report import write_report

    jobs = find_jobs(first, second)

    def tell(behind: int, outcome: Outcome) -> None:
        say(f"{behind}/{len(jobs)} {outcome.name}: {outcome.state}{': ' if outcome.error else ''}{outcome.error}")

    def work(one: Path, two: Path, folder: Path) -> None:
        pair, blur_map, _ = _measure(one, two, asked)
        write_report(folder, pair, blur_map)
        for note in pair.notes:
            say(note)

    outcomes = run_batch(jobs, output, {**asked.preparing, **asked.estimating}, work, force=force, tell=tell)
    failed = [each for each in outcomes if each.state == "failed"]
    counts = {state: sum(each.state == state for each in outcomes) for state in ("done", "was done", "failed")}
    if as_json:
        print_json({**counts, "failures": {each.name: each.error for each in failed}})
    else:
        rows = [(state, str(count)) for state, count in counts.items()]
        print_table(f"{len(outcomes)} pairs, results in {output}", ("", "pairs"), rows)
        if failed:
            print_table("failed", ("pair", "why"), [(each.name, each.error) for each in failed])
    if failed:
        raise typer.Exit(EXIT_DATA)


def _resolution(settings: dict[str, Any]) -> str:
    chosen = str(settings["decimate_because"])
    return f"decimated by {settings['decimate']}, as asked" if chosen == "asked for" else chosen


def _summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("resolution", _resolution(summary["settings"])),
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
        ("first sharper", f"{summary['first_sharper_fraction']:.1%}"),
        ("second sharper", f"{summary['second_sharper_fraction']:.1%}"),
    ]
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
    flagged = {name: share for name, share in summary["flagged_fraction"].items() if share > 0}
    rows.append(("flagged", ", ".join(f"{name} {share:.1%}" for name, share in flagged.items()) or "none"))
    rows.append(("time", f"{summary['seconds']:.2f} s ({summary['settings']['engine']} engine)"))
    return rows
