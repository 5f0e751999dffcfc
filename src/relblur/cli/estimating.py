"""``relblur estimate`` and ``relblur evaluate``."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import (
    AlignName,
    AlignOption,
    ExposureName,
    ExposureOption,
    First,
    Force,
    GammaOption,
    Json,
    LinearOption,
    MethodName,
    MethodOption,
    Second,
    SideName,
    SideOption,
    whole_numbers,
)
from .talk import EXIT_DATA, UsageError, load_in_background, one_line_errors, print_json, print_table, progress_bar, say

if TYPE_CHECKING:
    from .._typing import BoolArray
    from ..pairs import FilePair
    from ..results import BlurMap

__all__ = ["estimate", "evaluate"]


@one_line_errors
def estimate(
    first: First,
    second: Second,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.", show_default=False)],
    method: MethodOption = MethodName.refined,
    sharper: SideOption = SideName.auto,
    decimate: Annotated[
        str,
        typer.Option(help="Reduce the resolution first: a whole factor, or auto to choose it by the blur found."),
    ] = "auto",
    max_sigma: Annotated[float, typer.Option(help="Largest blur to look for, px.")] = 5.0,
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
    align: AlignOption = AlignName.auto,
    exposure: ExposureOption = ExposureName.auto,
    linear: LinearOption = True,
    gamma: GammaOption = None,
    save_steps: Annotated[
        Path | None,
        typer.Option("--save-steps", help="Folder for a picture of every stage.", show_default=False),
    ] = None,
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
    """
    from ..batch import is_batch
    from ..report import REPORT_FILES, STEP_FILES, refuse_to_replace

    asked = _Asked(
        method=method.value,
        sharper=sharper.value,
        factor=_factor(decimate),
        max_sigma=max_sigma,
        sigmas=_sigmas(max_sigma),
        window=window,
        noise=noise,
        prefilter=prefilter,
        align=align.value,
        exposure=exposure.value,
        linear=linear,
        gamma=gamma,
    )
    if is_batch(first, second):
        if save_steps is not None:
            raise UsageError("--save-steps is for one pair; leave it out for folders and patterns")
        _estimate_many(first, second, output, asked, force, as_json)
        return
    refuse_to_replace(output, REPORT_FILES, force)  # before the work, not after it
    if save_steps is not None:
        refuse_to_replace(save_steps, STEP_FILES, force)
    summary = _estimate_one(first, second, output, asked, save_steps, force)
    if as_json:
        print_json(summary)
    else:
        size = f"{summary['width']}x{summary['height']}"
        print_table(f"{first.name} and {second.name}, {size}", ("", ""), _summary_rows(summary))
    say(f"look at {output / 'overview.png'}")


@dataclass(frozen=True)
class _Asked:
    """The options that a result depends on."""

    method: str
    sharper: str
    factor: int | None  #: None: choose it
    max_sigma: float
    sigmas: list[float] | None
    window: int | None
    noise: float | None
    prefilter: float
    align: str
    exposure: str
    linear: bool
    gamma: float | None


def _factor(text: str) -> int | None:
    if text == "auto":
        return None
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise UsageError(f"--decimate must be a whole number >= 1, or auto; got {text!r}")
    return int(text)


def _sigmas(max_sigma: float) -> list[float] | None:
    from ..settings import MAX_SIGMA, PAPER_SIGMA_STEP

    if max_sigma == MAX_SIGMA:
        return None
    if not PAPER_SIGMA_STEP <= max_sigma < 1000:
        raise UsageError(f"--max-sigma must be at least {PAPER_SIGMA_STEP} px and below 1000, got {max_sigma:g}")
    return [PAPER_SIGMA_STEP * (m + 1) for m in range(round(max_sigma / PAPER_SIGMA_STEP))]


def _estimate_one(
    first: Path, second: Path, output: Path, asked: _Asked, save_steps: Path | None = None, force: bool = False
) -> dict[str, Any]:
    """Read a pair, estimate it, write everything, and return the summary."""
    from ..comparable import match_pair
    from ..pairs import read_light_pair
    from ..report import write_report, write_steps
    from ..resolution import ENOUGH_PIXELS, choose_resolution

    start = time.perf_counter()
    # For later: what estimates, writes and tells.
    load_in_background("relblur.refined", "PIL.ImageDraw", "PIL.ImageFont", "tifffile", "rich.table")
    pair = read_light_pair(first, second, linear=asked.linear, gamma=asked.gamma)
    full_size = pair.size
    # Motion and exposure look like blur. In a small picture they are removed before the blur is
    # looked at; a large one is looked at in a copy so small that motion hardly counts.
    small = pair.first.shape[0] * pair.first.shape[1] <= ENOUGH_PIXELS
    if small or asked.factor == 1:
        pair = match_pair(pair, align=asked.align, exposure=asked.exposure)
    blur_map, factor, chosen = None, asked.factor, None
    if factor is None:
        with ThreadPoolExecutor(1) as beside:
            looking = beside.submit(choose_resolution, pair.first, pair.second, asked.max_sigma, _usable(pair))
            if small:  # will hardly be reduced: no need to wait for the look
                blur_map = _estimate(pair, asked)
            choice = looking.result()
        factor, chosen = choice.factor, choice.describe()
    if factor > 1:
        blur_map, pair = None, pair.decimated(factor)
    if not (small or asked.factor == 1):
        pair = match_pair(pair, align=asked.align, exposure=asked.exposure)
    if blur_map is None:
        blur_map = _estimate(pair, asked)
    decimation = {"decimate": factor, "full_size": full_size, "decimate_because": chosen or "asked for"}
    blur_map = replace(blur_map, settings={**blur_map.settings, **decimation})
    seconds = time.perf_counter() - start
    summary = write_report(output, pair, blur_map, force=True)
    for note in pair.notes:
        say(note)
    if save_steps is not None:
        write_steps(save_steps, pair, blur_map, force=force)
        say(f"steps: {save_steps}")
    return {**summary, "seconds": seconds}


def _estimate(pair: FilePair, asked: _Asked) -> BlurMap:
    from ..comparable import noise_of
    from ..estimate import estimate_blur

    with progress_bar(f"estimating, {pair.size}") as report:
        return estimate_blur(
            pair.first,
            pair.second,
            sharper=asked.sharper,
            method=asked.method,
            sigmas=asked.sigmas,
            window=asked.window,
            noise=asked.noise if asked.noise is not None else noise_of(pair),
            prefilter=asked.prefilter,
            valid=pair.valid,
            clipped=pair.clipped_in_either,
            channel_axis=pair.channel_axis,
            progress=report,
        )


def _usable(pair: FilePair) -> BoolArray | None:
    if pair.clipped_in_either is None:
        return pair.valid
    return ~pair.clipped_in_either if pair.valid is None else pair.valid & ~pair.clipped_in_either


def _estimate_many(first: Path, second: Path, output: Path, asked: _Asked, force: bool, as_json: bool) -> None:
    """Estimate all pairs of two folders or patterns; exit code 3 if some failed."""
    from ..batch import Outcome, find_jobs, run_batch

    jobs = find_jobs(first, second)

    def tell(behind: int, outcome: Outcome) -> None:
        say(f"{behind}/{len(jobs)} {outcome.name}: {outcome.state}{': ' if outcome.error else ''}{outcome.error}")

    def work(one: Path, two: Path, folder: Path) -> None:
        _estimate_one(one, two, folder, asked)

    outcomes = run_batch(jobs, output, asdict(asked), work, force=force, tell=tell)
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


@one_line_errors
def evaluate(
    first: First,
    second: Second,
    method: MethodOption = MethodName.paper,
    sharper: SideOption = SideName.auto,
    decimate: Annotated[str, typer.Option(help="Factors, separated by commas: one row each.")] = "1,2,4",
    as_json: Json = False,
) -> None:
    """Score a pair by re-making each image from the other (the rows of the paper's Table I).

    e_first is the error of re-making the first image where it is the less sharp one, on a
    0..1 scale; 'unblurred' is the same error if nothing is blurred; 'explained' is the
    share of the difference explained on colour channels that the estimate has not seen.
    """
    from ..evaluate import evaluate_pair
    from ..pairs import read_pair

    factors = whole_numbers(decimate, "--decimate")
    pair = read_pair(first, second)  # stored values, as the paper scores them
    results: list[dict[str, Any]] = []
    with progress_bar("evaluating") as report:
        for done, factor in enumerate(factors):
            reduced = pair.decimated(factor)
            score = evaluate_pair(
                reduced.first,
                reduced.second,
                channel_axis=reduced.channel_axis,
                method=method.value,
                sharper=sharper.value,
                valid=reduced.valid,
            )
            results.append({"decimate": factor, "resolution": reduced.size, **score.as_dict()})
            report((done + 1) / len(factors))
    if as_json:
        print_json(results)
        return
    columns = ["resolution", "first sharper", "second sharper", "e_first", "e_second"]
    columns += ["unblurred e_first", "unblurred e_second", "explained"]
    rows = [
        (
            row["resolution"],
            f"{row['first_sharper_fraction']:.0%}",
            f"{row['second_sharper_fraction']:.0%}",
            *(f"{row[name]:.4f}" for name in ("e_first", "e_second", "unblurred_e_first", "unblurred_e_second")),
            f"{row['explained']:.3f}",
        )
        for row in results
    ]
    print_table(f"{first.name} and {second.name}, method {method.value}", columns, rows)


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
