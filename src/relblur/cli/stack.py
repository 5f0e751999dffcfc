"""``relblur stack``: which frame of a focal stack is in focus where, how far that is, and one sharp picture."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from ..depth.psf import NAMES
from .console import UsageError, flags_in_words, one_line_errors, print_json, print_table, progress_bar, say
from .fuse import Images, files_of_all, without_results
from .options import (
    AlignOption,
    AnyCameraFile,
    DecimateOption,
    ExposureOption,
    Force,
    GammaOption,
    Json,
    LinearOption,
    ResultFolder,
    as_preparing,
    numbers,
)

__all__ = ["stack"]


@one_line_errors
def stack(
    images: Images,
    output: ResultFolder,
    focus: Annotated[
        str | None,
        typer.Option("--focus", help="Distance in focus of each image, m: 0.35,0.5,...", show_default="from EXIF"),
    ] = None,
    camera: AnyCameraFile = None,
    psf: Annotated[str, typer.Option(help=f"Shape of the blur, with a camera: {', '.join(NAMES)}.")] = "disc",
    depth: Annotated[
        bool, typer.Option("--depth", help="Write depth in metres; fails if no distance in focus is known.")
    ] = False,
    fuse: Annotated[bool, typer.Option("--fuse/--no-fuse", help="Make the picture that is sharp everywhere.")] = True,
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: DecimateOption = "auto",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the frame in best focus at every pixel of a focal stack, the distance, and one sharp picture.

    Frames may come in any order; one that does not fit is left out, and that is said. Writes stack.npz (all maps),
    index.tif (the fractional frame and its standard error at full size), fused.png, overview.png and
    summary.json; with known distances in focus depth_mm.png and depth.tif too.
    """
    from ..depth.camera import Camera
    from ..files.staging import filling
    from ..files.targets import refuse_inputs, refuse_to_replace
    from ..report.stack_report import stack_files, write_stack_report
    from ..stacks.estimate import estimate_stack

    images = without_results(files_of_all(images))
    if psf not in NAMES:
        raise UsageError(f"--psf must be {' or '.join(NAMES)}, got {psf!r}")
    distances = None if focus is None else numbers(focus, "--focus", len(images))
    names = stack_files(fuse=fuse, depth=True)
    refuse_inputs((output / name for name in names), (*images, *([camera] if camera else [])))
    refuse_to_replace(output, names, force)
    model = Camera.load(camera) if camera else None
    start = time.perf_counter()
    with progress_bar(f"{len(images)} images") as report:
        found = estimate_stack(
            images,
            focus_m=distances,
            camera=model,
            psf=psf,
            **as_preparing(align, exposure, linear, gamma, decimate),
            fuse=fuse,
            progress=report,
        )
    if depth and found.depth_m is None:
        raise UsageError(
            "--depth needs the distance in focus of every image, and the files do not say it; "
            + ("add --focus and --camera" if len(images) == 2 else "add --focus 0.35,0.5,...")
        )
    with filling(output, force=force) as results:
        summary = write_stack_report(results, found, linear, depth=found.depth_m is not None)
    summary["seconds"] = time.perf_counter() - start
    for note in found.settings["notes"]:
        say(note)
    if as_json:
        print_json(summary)
    else:
        print_table(f"{summary['frames']} frames, map {summary['width']}x{summary['height']}", ("", ""), _rows(summary))
    say(f"look at {output / 'overview.png'}")


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("pixels answered", f"{summary['answered_fraction']:.1%}")]
    if summary["dropped"]:
        rows.append(("images left out", ", ".join(each["name"] for each in summary["dropped"])))
    spans = (("index_percentiles", "frame", ".2f"), ("depth_m_percentiles", "depth, m", ".3f"))
    for key, name, form in spans:
        if summary[key] is not None:
            values = " / ".join(f"{summary[key][p]:{form}}" for p in ("5", "50", "95"))
            rows.append((f"{name}, 5 / 50 / 95 % of pixels", values))
    if summary["median_index_stderr"] is not None:
        rows.append(("median standard error, frames", f"{summary['median_index_stderr']:.3f}"))
    if summary["growth_px"] is not None:
        rows.append(("blur grows by", f"{summary['growth_px']:.3g} px a frame" if summary["settings"]["focus_m"] is None
                     else f"{summary['growth_px']:.3g} px per 1/m"))  # fmt: skip
    rows.append(("flags, each pixel once", flags_in_words(summary["flag_shares"])))
    rows.append(("time", f"{summary['seconds']:.1f} s"))
    return rows
