"""``relblur stack``: find the frame in focus at every pixel of a focal stack, its distance, and one sharp picture."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...base.options import Preparing, Stack
from ..terminal.console import UsageError, flags_in_words, print_message, print_summary, progress_bar
from ..terminal.options import AnyCameraFile, Force, Json, ReportOption, ResultFolder, numbers, option
from .frames import AlignOnlyOption, Images, align_frames, open_images
from .report import write_result_page

if TYPE_CHECKING:
    from ...stacks.images import StackImages
    from ...stacks.stack_map import StackMap

__all__ = ["stack"]

_OTHER = "fused_other.tif"


def stack(
    images: Images,
    output: ResultFolder,
    options: Stack,
    preparing: Preparing,
    camera: AnyCameraFile = None,
    align_only: AlignOnlyOption = False,
    apply_to: Annotated[
        Path | None,
        option(
            "--apply-to", "Images of another channel, fused by the same index: file or folder.", "FILE", Stack.PANEL
        ),
    ] = None,
    apply_channel: Annotated[
        int | None,
        option("--apply-channel", "Channel of that file, or of the stack's file.", "N", Stack.PANEL, min=0),
    ] = None,
    remove_tilt: Annotated[bool, option("--remove-tilt", "Subtract the plane fitted to the heights.")] = False,
    profile: Annotated[
        str | None,
        option("--profile", "Write a CSV of the height, depth or index along a line, px of the images.", "X0,Y0,X1,Y1"),
    ] = None,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the frame in best focus at every pixel of a focal stack, its distance, and one sharp picture.

        relblur stack shots/*.jpg -o stacked

    Frames may come in any order. Frames that do not fit are left out, and their names are printed. DIR gets stack.npz
    (all maps), index.tif (the fractional frame and its standard error at full size), fused.png, overview.png,
    index_colour.png, relative_depth.png and summary.json. Known distances in focus add depth_mm.png and depth.tif. A
    known step (--step-um, or from the file) adds height.ome.tif and height_16bit.tif, and Sa and Sq in the summary.
    """
    from ...depth.camera import Camera
    from ...images.results import filling, refuse_inputs, refuse_to_replace
    from ...report.page import PAGE_FILE
    from ...report.result_files import PROFILE_FILE, stack_files
    from ...stacks.estimate import estimate_stack

    shots, files = open_images(images, preparing, options)
    if align_only:
        align_frames(output, shots, files, force)
        return
    if remove_tilt and shots.step_um is None:
        raise UsageError("--remove-tilt needs heights; add --step-um, the distance between two frames")
    other = _other(shots, files, apply_to, apply_channel, preparing, options)
    names = stack_files(fuse=options.fuse, depth=True, heights=shots.step_um is not None)
    line = None if profile is None else numbers(profile, "--profile", 4)
    names += (*([PROFILE_FILE] if line else []), *([_OTHER] if other else []), *([PAGE_FILE] if report else []))
    refuse_to_replace(output, names, force)
    refuse_inputs((output / name for name in names), (*files, camera, apply_to, shots.motion))
    model = Camera.load(camera) if camera else None
    start = clock.perf_counter()
    with progress_bar(f"{len(shots)} images") as progress:
        arguments = options.arguments("channel", "time", "series", "focus_m", "step_um", "pixel_um", "motion")
        result = estimate_stack(shots, camera=model, **arguments, progress=progress, steps=True)
    with filling(output, force=force) as folder:
        summary = _write(folder, result, files, remove_tilt, line)
        if other is not None:
            _write_other(folder, result, other)
        if report:
            from ...plot.colours import to_look_at

            picture = None if result.fused is None else to_look_at(result.fused, preparing.linear)
            write_result_page(folder, result, files, summary, fused=picture)
    summary["seconds"] = clock.perf_counter() - start
    for note in (*result.settings["notes"], *(f"careful: {warning}" for warning in result.settings["model_warnings"])):
        print_message(note)
    size = f"map {summary['width']}x{summary['height']}"
    print_summary(f"{summary['frames']} frames, {size}", _rows(summary), summary, as_json)
    print_message(f"look at {output / ('report.html' if report else 'overview.png')}")


def _other(
    shots: StackImages, files: list[Path], path: Path | None, channel: int | None, preparing: Preparing, options: Stack
) -> StackImages | None:
    """Return the images of another channel, which are fused by the index of the stack; None without the options."""
    if path is None and channel is None:
        return None
    if not options.fuse:
        raise UsageError("--apply-to fuses another channel; leave --no-fuse out")
    if path is None and len(files) != 1:
        raise UsageError("--apply-channel alone is for one file of many planes; name the other images by --apply-to")
    other, _ = open_images([path or files[0]], preparing, replace(options, channel=channel, focus_m=None))
    if len(other) != len(shots):
        raise UsageError(f"--apply-to has {len(other)} images, the stack has {len(shots)}")
    return other


def _write(
    folder: Path, result: StackMap, files: list[Path], remove_tilt: bool, line: list[float] | None
) -> dict[str, Any]:
    """Write the maps, pictures and heights of a stack; return its summary."""
    from ...report.full_size import write_heights
    from ...report.result_files import write_profile, write_stack_files
    from ...report.summary import write_summary
    from ...stacks.topography import surface_of

    is_light = result.steps["frames"].is_light
    summary, surface = write_stack_files(folder, result, is_light, images=files), None
    if result.step_um is not None and result.known.any():
        surface = surface_of(result)
        surface = surface.levelled() if remove_tilt else surface
        summary["topography"] = write_heights(folder, result, surface)
        write_summary(folder, summary)
    if line is not None:
        write_profile(folder, result, line, surface)
    return summary


def _write_other(folder: Path, result: StackMap, other: StackImages) -> None:
    """Fuse another channel by the index of the stack, and write it."""
    from ...report.full_size import write_picture
    from ...stacks.frames import frames_of_channel
    from ...stacks.fuse import fuse_by_index

    frames = result.steps["frames"]
    light = fuse_by_index(frames_of_channel(frames, other), result.index, result.index_stderr, lambda share: None)
    processing = f"fused by the index of another channel, from {other.name(0)}"
    write_picture(folder / _OTHER, light, frames.form, processing, result.pixel_um)


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("pixels answered", f"{summary['answered_fraction']:.1%}")]
    if summary["dropped"]:
        rows.append(("images left out", ", ".join(each["name"] for each in summary["dropped"])))
    spans = (("index", "frame", ".2f"), ("depth_m", "depth, m", ".3f"), ("height_um", "height, µm", ".4g"))
    for key, name, form in spans:
        shares = summary.get(f"{key}_percentiles")
        if shares is not None:
            values = " / ".join(f"{shares[p]:{form}}" for p in ("5", "50", "95"))
            rows.append((f"{name}, 5 / 50 / 95 % of pixels", values))
    if summary["median_index_stderr"] is not None:
        rows.append(("median standard error, frames", f"{summary['median_index_stderr']:.3f}"))
    if (rough := summary.get("topography")) is not None:
        for name in ("Sa", "Sq"):
            value, error = (rough[f"{name.lower()}{part}_um"] for part in ("", "_stderr"))
            rows.append((f"{name}, µm", f"{value:.4g} ± {error:.2g}"))
    if summary["growth_px"] is not None:
        unit = "a frame" if summary["settings"]["focus_m"] is None else "per 1/m"
        rows.append(("blur grows by", f"{summary['growth_px']:.3g} px {unit}"))
    rows.append(("flags, each pixel once", flags_in_words(summary["flag_shares"])))
    return [*rows, ("time", f"{summary['seconds']:.1f} s")]
