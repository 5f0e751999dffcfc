"""Input and aligned output of ``stack`` and ``fuse``: files, folders, patterns, or one file of many planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...base.options import Preparing, Stack
from ..terminal.console import UsageError, progress_bar, say

if TYPE_CHECKING:
    from ...images.planes import PlaneStack
    from ...stacks.frames import Frames

__all__ = [
    "AlignOnlyOption",
    "Images",
    "Input",
    "align_frames",
    "check_images",
    "given_motion",
    "open_images",
    "write_motion",
]

Images = Annotated[
    list[Path],
    typer.Argument(
        help="Two or more images of one scene, a folder, a quoted pattern 'dir/*.jpg', or one file of many planes: "
        "TIFF, OME-TIFF, OME-Zarr, GIF, WebP, MPO.",
        metavar="IMAGES...",
        show_default=False,
    ),
]
AlignOnlyOption = Annotated[
    bool,
    typer.Option(
        "--align-only",
        help="Only write the aligned frames at full depth: as a folder of TIFF, .ome.tif or .ome.zarr.",
        rich_help_panel=Stack.PANEL,
    ),
]


@dataclass(frozen=True)
class Input:
    """The images of a stack and the files that contain them."""

    images: list[Path] | PlaneStack
    files: list[Path]

    def __len__(self) -> int:
        return len(self.images)


def open_images(arguments: list[Path], options: Stack) -> Input:
    """Return the images of files, folders and patterns, or the planes of a single file."""
    from ...images.images import is_result
    from ...images.planes import is_stack_file, open_stack
    from ...report.batch import files_of

    if len(arguments) == 1 and is_stack_file(arguments[0]):
        planes = open_stack(arguments[0], channel=options.channel, time=options.time, series=options.series)
        return Input(planes, [arguments[0]])
    if (options.channel, options.time, options.series) != (None, None, None):
        raise UsageError("--channel, --time and --series are for one file of many planes; leave them out")
    images = [image for argument in arguments for image in files_of(argument)]
    check_images(images)
    made = [image for image in images if is_result(image)]
    if made and len(images) - len(made) >= 2:
        for image in made:
            say(f"left out: {image}, a picture that relblur made")
        images = [image for image in images if image not in made]
    return Input(images, images)


def check_images(images: Sequence[Path]) -> None:
    """Refuse a single image, and the same image given twice."""
    if len(images) < 2:
        raise UsageError(f"got one image, {images[0]}; pass two or more of one scene, or a file of many planes")
    from ...images.results import place_of

    seen = set()
    for image in images:
        place = place_of(image)
        if place in seen:
            raise UsageError(f"{image} is given twice, perhaps by another name; pass every image once")
        seen.add(place)


def _aligned_name(position: int, name: str) -> str:
    """Return the file name of an aligned frame: its place in the order and the name of its image."""
    stem, _, number = name.removesuffix("]").partition("[")
    return f"{position:04d}_{Path(stem).stem}{f'_{number}' if number else ''}.tif"


def _refuse_to_replace_aligned(output: Path, images: Sequence[str], force: bool) -> None:
    """Refuse to replace files by aligned frames, before the work."""
    from ...images.disk import TIFF_SUFFIXES
    from ...images.results import refuse_to_replace, refuse_to_replace_file

    if output.suffix.lower() in TIFF_SUFFIXES:
        refuse_to_replace_file(output, force)
        return
    is_zarr = output.suffix.lower() == ".zarr"
    places = [(place, each) for place in range(len(images)) for each in images]  # frames may be in another order
    names = ["zarr.json"] if is_zarr else [_aligned_name(place, each) for place, each in places]
    refuse_to_replace(output, names, force)


def _write_aligned(output: Path, frames: Frames, scale: tuple[float | None, float | None], force: bool) -> None:
    """Write aligned frames at full depth; ``scale`` is the step between frames and the side of a pixel, µm."""
    from ...images.disk import TIFF_SUFFIXES
    from ...images.results import filling, placing
    from ...images.scaled import write_ome_tiff, write_ome_zarr
    from ...photo.picture_form import FOR_SCREENS
    from ...stacks.frames import name_of

    form = frames.form or FOR_SCREENS
    named = [(_aligned_name(f.position, name_of(frames.sources, f.number)), f) for f in frames.frames]
    if output.suffix.lower() in TIFF_SUFFIXES:
        import numpy as np

        planes = np.stack([form.encoded(frames.full(frame)[0], ".tif") for frame in frames.frames])
        axes = "ZYX" if planes.ndim == 3 else "ZYXS"
        with placing(output, force=force) as file:
            write_ome_tiff(file, planes, axes, step_um=scale[0], pixel_um=scale[1])
    elif output.suffix.lower() == ".zarr":
        each = (form.encoded(frames.full(frame)[0], ".tif") for frame in frames.frames)
        with filling(output, force=force) as folder:
            write_ome_zarr(folder, each, len(frames.frames), name=output.name, step_um=scale[0], pixel_um=scale[1])
    else:
        with filling(output, force=force) as folder:
            for name, frame in named:
                form.write(
                    folder / name, frames.full(frame)[0], "aligned, with the exposure of the reference frame", scale[1]
                )


def given_motion(motion: str | Path | None) -> Path | None:
    """Return the file of a saved alignment, or None if it does not exist."""
    return Path(motion) if motion is not None and Path(motion).exists() else None


def write_motion(motion: str | Path | None, frames: Frames) -> None:
    """Write an alignment, unless its file exists."""
    if motion is None or given_motion(motion) is not None:
        return
    from ...stacks.aligned import write_alignment

    write_alignment(motion, frames)
    say(f"alignment: {motion}")


def align_frames(
    output: Path,
    given: Input,
    preparing: Preparing,
    options: Stack,
    lengths: tuple[float | None, float | None],
    force: bool,
) -> None:
    """Align frames and write them at full depth; ``lengths`` are the step and the side of a pixel, µm."""
    from ...images.results import refuse_inputs
    from ...stacks.aligned import read_alignment
    from ...stacks.frames import Reading, read_frames

    refuse_inputs((output,), given.files)
    _refuse_to_replace_aligned(output, [each.name for each in given.images], force)
    motion = given_motion(options.motion)
    placement = None if motion is None else read_alignment(motion, len(given))
    in_order = len(given.files) == 1 or lengths[0] is not None
    reading = Reading(**preparing.arguments(), keeps_order=in_order, placement=placement)
    distances = None if options.focus_m is None else list(options.focus_m)
    with progress_bar(f"aligning {len(given)} images") as report:
        frames = read_frames(list(given.images), reading, distances, report)
    write_motion(options.motion, frames)
    _write_aligned(output, frames, lengths, force)
    for note in frames.notes:
        say(note)
    say(f"{len(frames.frames)} aligned frames: {output}")
