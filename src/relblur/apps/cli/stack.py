"""``relblur stack``: find the frame in focus at every pixel of a focal stack, its distance, and one sharp picture."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...base.options import Preparing, Stack
from ..terminal.console import UsageError, flags_in_words, one_line_errors, print_summary, progress_bar, say
from ..terminal.options import AnyCameraFile, Force, Json, ReportOption, ResultFolder, given, numbers, takes_records
from .frames import AlignOnlyOption, Images, Input, align_frames, given_motion, open_images, write_motion
from .report import write_result_page

if TYPE_CHECKING:
    from ...stacks.frames import Frames
    from ...stacks.stack_map import StackMap

__all__ = ["stack"]


@one_line_errors
@takes_records
def stack(
    images: Images,
    output: ResultFolder,
    options: Stack,
    preparing: Preparing,
    camera: AnyCameraFile = None,
    align_only: AlignOnlyOption = False,
    apply_to: Annotated[
        Path | None,
        given("--apply-to", "Images of another channel, fused by the same index: file or folder.", "FILE", Stack.PANEL),
    ] = None,
    apply_channel: Annotated[
        int | None,
        given("--apply-channel", "Channel of that file, or of the stack's file.", "N", Stack.PANEL, min=0),
    ] = None,
    depth: Annotated[
        bool, given("--depth", "Require depth in metres: stop if the focus distances are unknown.")
    ] = False,
    remove_tilt: Annotated[bool, given("--remove-tilt", "Subtract the plane fitted to the heights.")] = False,
    profile: Annotated[
        str | None, given("--profile", "Write a CSV of the heights along a line: column,row,column,row.", "VALUE")
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
    from ...images.results import refuse_inputs
    from ...stacks.estimate import estimate_stack

    shots = open_images(images, options)
    if options.focus_m is not None and len(options.focus_m) != len(shots):
        raise UsageError(f"--focus must be {len(shots)} numbers separated by commas, got {len(options.focus_m)}")
    planes = shots.images
    lengths = (
        options.step_um or getattr(planes, "step_um", None),
        options.pixel_um or getattr(planes, "pixel_um", None),
    )
    if align_only:
        align_frames(output, shots, preparing, options, lengths, force)
        return
    other = _other(shots, apply_to, apply_channel, options)
    heights = _Heights(lengths[0] is not None, remove_tilt, None if profile is None else _line(profile))
    names = _check_output(output, heights, options.fuse, report, force, *(["fused_other.tif"] if other else []))
    refuse_inputs((output / name for name in names), (*shots.files, camera, apply_to))
    model = Camera.load(camera) if camera else None
    start = clock.perf_counter()
    arguments = options.arguments("channel", "time", "series") | {"motion": given_motion(options.motion)}
    with progress_bar(f"{len(shots)} images") as progress:
        result = estimate_stack(
            planes, camera=model, **preparing.arguments(), **arguments, progress=progress, steps=True
        )
    if depth and result.depth_m is None:
        raise UsageError(
            "--depth needs the distance in focus of every image, which the files do not state; "
            + ("add --focus and --camera" if len(shots) == 2 else "add --focus 0.35,0.5,...")
        )
    write_motion(options.motion, result.steps["frames"])
    summary = _write(output, result, shots, heights, other, report, force)
    summary["seconds"] = clock.perf_counter() - start
    for note in (*result.settings["notes"], *(f"careful: {doubt}" for doubt in result.settings["doubts"])):
        say(note)
    size = f"map {summary['width']}x{summary['height']}"
    print_summary(f"{summary['frames']} frames, {size}", _rows(summary), summary, as_json)
    say(f"look at {output / ('report.html' if report else 'overview.png')}")


class _Heights:
    """Options of the height map."""

    def __init__(self, known: bool, level: bool, line: tuple[float, ...] | None) -> None:
        if (level or line is not None) and not known:
            raise UsageError("--remove-tilt and --profile need heights; add --step-um, the distance between two frames")
        self.known, self.level, self.line = known, level, line


def _line(text: str) -> tuple[float, ...]:
    return tuple(numbers(text, "--profile", 4))


def _check_output(
    output: Path, heights: _Heights, fuse: bool, report: bool, force: bool, *more: str
) -> tuple[str, ...]:
    """Return the names of all files that may be written; refuse to replace existing ones."""
    from ...images.results import refuse_to_replace
    from ...report.page import PAGE_FILE
    from ...report.result_files import stack_files

    names = stack_files(fuse=fuse, depth=True, heights=heights.known, profile=heights.line is not None)
    names += (*more, *([PAGE_FILE] if report else []))
    refuse_to_replace(output, names, force)
    return names


def _other(shots: Input, path: Path | None, channel: int | None, options: Stack) -> Input | None:
    """Return the images of another channel, to fuse by the index of the stack."""
    if path is None and channel is None:
        return None
    if not options.fuse:
        raise UsageError("--apply-to fuses another channel; leave --no-fuse out")
    if path is None and len(shots.files) != 1:
        raise UsageError("--apply-channel alone is for one file of many planes; name the other images by --apply-to")
    other = open_images([path or shots.files[0]], replace(options, channel=channel))
    if len(other) != len(shots):
        raise UsageError(f"--apply-to has {len(other)} images, the stack has {len(shots)}")
    return other


def _write(
    output: Path, result: StackMap, shots: Input, heights: _Heights, other: Input | None, report: bool, force: bool
) -> dict[str, Any]:
    """Write all files of a stack and return its summary."""
    from ...images.results import filling
    from ...plot.colours import to_look_at
    from ...report.full_size import write_heights
    from ...report.result_files import write_stack_files
    from ...report.summary import write_summary
    from ...stacks.topography import surface_of

    linear = result.steps["frames"].is_light
    with filling(output, force=force) as folder:
        depth = result.depth_m is not None
        summary = write_stack_files(folder, result, linear, depth=depth, images=shots.files)
        if heights.known and result.known.any():
            surface = surface_of(result)
            surface = surface.levelled() if heights.level else surface
            summary["topography"] = write_heights(folder, result, surface, heights.line)
            write_summary(folder, summary)
        if other is not None:
            _write_other(folder, result, result.steps["frames"], other)
        if report:
            picture = None if result.fused is None else to_look_at(result.fused, linear)
            write_result_page(folder, result, shots.files, summary, fused=picture)
    return summary


def _write_other(folder: Path, result: StackMap, frames: Frames, other: Input) -> None:
    """Fuse another channel by the index of the stack."""
    from ...report.full_size import write_picture
    from ...stacks.aligned import frames_of_channel
    from ...stacks.fuse import fuse_by_index

    channel = frames_of_channel(frames, list(other.images))
    light = fuse_by_index(channel, *result.placed(), lambda share: None)
    target = folder / "fused_other.tif"
    write_picture(
        target,
        light,
        frames.form,
        f"fused by the index of another channel, from {other.files[0].name}",
        result.pixel_um,
    )


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("pixels answered", f"{summary['answered_fraction']:.1%}")]
    if summary["dropped"]:
        rows.append(("images left out", ", ".join(each["name"] for each in summary["dropped"])))
    spans = (("index_percentiles", "frame", ".2f"), ("depth_m_percentiles", "depth, m", ".3f"),
             ("height_um_percentiles", "height, µm", ".4g"))  # fmt: skip
    for key, name, form in spans:
        if summary.get(key) is not None:
            values = " / ".join(f"{summary[key][p]:{form}}" for p in ("5", "50", "95"))
            rows.append((f"{name}, 5 / 50 / 95 % of pixels", values))
    if summary["median_index_stderr"] is not None:
        rows.append(("median standard error, frames", f"{summary['median_index_stderr']:.3f}"))
    if (rough := summary.get("topography")) is not None:
        rows += [
            (f"{name}, µm", f"{rough[f'{key}_um']:.4g} ± {rough[f'{key}_stderr_um']:.2g}")
            for name, key in (("Sa", "sa"), ("Sq", "sq"))
        ]
    if summary["growth_px"] is not None:
        rows.append(("blur grows by", f"{summary['growth_px']:.3g} px a frame" if summary["settings"]["focus_m"] is None
                     else f"{summary['growth_px']:.3g} px per 1/m"))  # fmt: skip
    rows.append(("flags, each pixel once", flags_in_words(summary["flag_shares"])))
    rows.append(("time", f"{summary['seconds']:.1f} s"))
    return rows
