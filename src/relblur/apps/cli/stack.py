"""``relblur stack``: which frame of a focal stack is in focus where, how far that is, and one sharp picture."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    AnyCameraFile,
    DecimateOption,
    ExposureOption,
    Force,
    GammaOption,
    Json,
    LinearOption,
    ReportOption,
    ResultFolder,
    as_preparing,
    numbers,
)
from .frames import (
    AlignOnlyOption,
    ApplyChannelOption,
    ApplyOption,
    ChannelOption,
    Images,
    Input,
    MotionOption,
    PixelOption,
    PreferOption,
    SeriesOption,
    StepOption,
    TimeOption,
    open_images,
    refuse_to_replace_aligned,
    write_aligned,
)
from .report import write_stack_page

if TYPE_CHECKING:
    from ...stacks.frames import Frames
    from ...stacks.stack_map import StackMap

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
    channel: ChannelOption = None,
    time: TimeOption = None,
    series: SeriesOption = None,
    step_um: StepOption = None,
    pixel_um: PixelOption = None,
    remove_tilt: Annotated[
        bool, typer.Option("--remove-tilt", help="Heights: take away the plane that fits the measured pixels.")
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="Heights along a line, as CSV: column,row,column,row.", show_default=False),
    ] = None,
    apply_to: ApplyOption = None,
    apply_channel: ApplyChannelOption = None,
    prefer: PreferOption = "any",
    motion: MotionOption = None,
    align_only: AlignOnlyOption = False,
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: DecimateOption = "auto",
    noise: Annotated[
        float | None, typer.Option(help="Noise of the images, 0..1 scale; few images only.", show_default="estimated")
    ] = None,
    max_sigma: Annotated[
        float | None, typer.Option(help="Largest blur to look for, px; few images only.", show_default="by method")
    ] = None,
    report: ReportOption = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the frame in best focus at every pixel of a focal stack, the distance, and one sharp picture.

    Frames may come in any order; one that does not fit is left out, and that is reported. Writes stack.npz (all maps),
    index.tif (the fractional frame and its standard error at full size), fused.png, overview.png, index_colour.png,
    relative_depth.png and summary.json; with known distances in focus depth_mm.png and depth.tif too. With a known
    step (--step-um, or as the file states it) height.ome.tif, height_16bit.tif, and Sa and Sq in the summary.
    """
    from ...depth.camera import Camera
    from ...images.results import refuse_inputs
    from ...stacks.estimate import estimate_stack

    given = open_images(images, channel, time, series)
    if psf not in NAMES:
        raise UsageError(f"--psf must be {' or '.join(NAMES)}, got {psf!r}")
    distances = None if focus is None else numbers(focus, "--focus", len(given))
    lengths = (step_um or getattr(given.images, "step_um", None), pixel_um or getattr(given.images, "pixel_um", None))
    preparing = as_preparing(align, exposure, linear, gamma, decimate)
    if align_only:
        align_frames(output, given, preparing, distances, lengths, motion, force)
        return
    other = _other(given, (apply_to, apply_channel), (time, series), fuse)
    asked = _Heights(lengths[0] is not None, remove_tilt, None if profile is None else _line(profile))
    names = _check_output(output, asked, fuse, report, force, *(["fused_other.tif"] if other else []))
    refuse_inputs((output / name for name in names), (*given.files, camera, apply_to))
    model = Camera.load(camera) if camera else None
    start, steps = clock.perf_counter(), dict[str, Any]()
    with progress_bar(f"{len(given)} images") as tell:
        found = estimate_stack(
            given.images,
            focus_m=distances,
            camera=model,
            psf=psf,
            **preparing,
            fuse=fuse,
            noise=noise,
            max_sigma=max_sigma,
            step_um=step_um,
            pixel_um=pixel_um,
            prefer=prefer,
            motion=motion if motion is not None and motion.exists() else None,
            progress=tell,
            steps=steps,
        )
    if depth and found.depth_m is None:
        raise UsageError(
            "--depth needs the distance in focus of every image, and the files do not say it; "
            + ("add --focus and --camera" if len(given) == 2 else "add --focus 0.35,0.5,...")
        )
    write_motion(motion, steps["frames"])
    summary = _write(output, found, steps["frames"], given, (asked, other, linear, report, force))
    summary["seconds"] = clock.perf_counter() - start
    _tell(found, summary, as_json)
    say(f"look at {output / ('report.html' if report else 'overview.png')}")


class _Heights:
    """Options of the height map."""

    def __init__(self, known: bool, level: bool, line: tuple[float, ...] | None) -> None:
        if (level or line is not None) and not known:
            raise UsageError("--remove-tilt and --profile need heights; add --step-um, the distance between two frames")
        self.known, self.level, self.line = known, level, line


def _line(text: str) -> tuple[float, ...]:
    return tuple(numbers(text, "--profile", 4))


def _check_output(output: Path, asked: _Heights, fuse: bool, report: bool, force: bool, *more: str) -> tuple[str, ...]:
    """Return the names of what may be written; refuse to replace files."""
    from ...images.results import refuse_to_replace
    from ...report.page import PAGE_FILE
    from ...report.result_files import stack_files

    names = stack_files(fuse=fuse, depth=True, heights=asked.known, profile=asked.line is not None)
    names += (*more, *([PAGE_FILE] if report else []))
    refuse_to_replace(output, names, force)
    return names


def _other(
    given: Input, apply: tuple[Path | None, int | None], at: tuple[int | None, int | None], fuse: bool
) -> Input | None:
    """Return the images to fuse by the same index."""
    path, channel = apply
    if path is None and channel is None:
        return None
    if not fuse:
        raise UsageError("--apply-to fuses another channel; leave --no-fuse out")
    if path is None and len(given.files) != 1:
        raise UsageError("--apply-channel alone is for one file of many planes; name the other images by --apply-to")
    other = open_images([path or given.files[0]], channel, *at)
    if len(other) != len(given):
        raise UsageError(f"--apply-to has {len(other)} images, the stack has {len(given)}")
    return other


def align_frames(
    output: Path,
    given: Input,
    preparing: dict[str, Any],
    distances: list[float] | None,
    lengths: tuple[float | None, float | None],
    motion: Path | None,
    force: bool,
) -> None:
    """Align frames and write them at full depth."""
    from ...images.results import refuse_inputs
    from ...stacks.aligned import read_alignment
    from ...stacks.frames import Reading, read_frames

    refuse_inputs((output,), given.files)
    refuse_to_replace_aligned(output, [each.name for each in given.images], force)
    placement = read_alignment(motion, len(given)) if motion is not None and motion.exists() else None
    reading = Reading(**preparing, keeps_order=len(given.files) == 1 or lengths[0] is not None, placement=placement)
    with progress_bar(f"aligning {len(given)} images") as tell:
        frames = read_frames(list(given.images), reading, distances, tell)
    write_motion(motion, frames)
    write_aligned(output, frames, lengths, force)
    for note in frames.notes:
        say(note)
    say(f"{len(frames.frames)} aligned frames: {output}")


def write_motion(motion: Path | None, frames: Frames) -> None:
    """Write an alignment, if its file is not there."""
    if motion is None or motion.exists():
        return
    from ...stacks.aligned import write_alignment

    write_alignment(motion, frames)
    say(f"alignment: {motion}")


def _write(
    output: Path, found: StackMap, frames: Frames, given: Input, asked: tuple[_Heights, Input | None, bool, bool, bool]
) -> dict[str, Any]:
    """Write all files of a stack and return its summary."""
    from ...images.results import filling
    from ...plot.colours import to_look_at
    from ...report.full_size import write_heights
    from ...report.page import PAGE_FILE
    from ...report.result_files import write_stack_files
    from ...report.summary import write_summary
    from ...stacks.topography import surface_of

    heights, other, linear, report, force = asked
    with filling(output, force=force) as folder:
        depth = found.depth_m is not None
        summary = write_stack_files(folder, found, linear, depth=depth, images=given.files)
        if heights.known and found.known.any():
            surface = surface_of(found)
            surface = surface.levelled() if heights.level else surface
            summary["topography"] = write_heights(folder, found, surface, heights.line)
            write_summary(folder, summary)
        if other is not None:
            _write_other(folder, found, frames, other)
        if report:
            picture = None if found.fused is None else to_look_at(found.fused, linear)
            write_stack_page(folder / PAGE_FILE, found, given.files, picture, summary)
    return summary


def _write_other(folder: Path, found: StackMap, frames: Frames, other: Input) -> None:
    """Fuse another channel by the index of the stack."""
    from ...report.full_size import write_picture
    from ...stacks.aligned import frames_of_channel
    from ...stacks.fuse import fuse_frames, prior_of_index, prior_of_pair

    channel = frames_of_channel(frames, list(other.images))
    of_index = found.blur_map is None or bool(found.known.any())
    pair = found.blur_map
    prior = prior_of_index(found.index, found.index_stderr) if of_index or pair is None else prior_of_pair(pair)
    light = fuse_frames(channel, prior, lambda share: None, by_detail=False)
    target = folder / "fused_other.tif"
    write_picture(
        target, light, frames.form, f"fused by the index of another channel, from {other.files[0].name}", found.pixel_um
    )


def _tell(found: StackMap, summary: dict[str, Any], as_json: bool) -> None:
    for note in found.settings["notes"]:
        say(note)
    for doubt in found.settings["doubts"]:
        say(f"careful: {doubt}")
    if as_json:
        print_json(summary)
    else:
        print_table(f"{summary['frames']} frames, map {summary['width']}x{summary['height']}", ("", ""), _rows(summary))


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
