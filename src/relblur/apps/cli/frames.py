"""The images that ``stack`` and ``fuse`` take: files, folders, patterns, or one file of many planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..terminal.console import UsageError, say

if TYPE_CHECKING:
    from ...images.planes import PlaneStack
    from ...stacks.frames import Frames

__all__ = [
    "AlignOnlyOption",
    "ApplyChannelOption",
    "ApplyOption",
    "ChannelOption",
    "Images",
    "Input",
    "MotionOption",
    "PixelOption",
    "PreferOption",
    "SeriesOption",
    "StepOption",
    "TimeOption",
    "check_images",
    "open_images",
    "refuse_to_replace_aligned",
    "write_aligned",
]

Images = Annotated[
    list[Path],
    typer.Argument(
        help="Two or more images of one scene, same size and viewpoint; a folder; a quoted pattern, 'dir/*.jpg'; or "
        "one file of many planes: TIFF, OME-TIFF, OME-Zarr, GIF, WebP, MPO.",
        show_default=False,
    ),
]
ChannelOption = Annotated[
    int | None,
    typer.Option("--channel", help="A file of planes: its channel, from 0.", min=0, show_default="the first"),
]
TimeOption = Annotated[
    int | None, typer.Option("--time", help="A file of planes: its time, from 0.", min=0, show_default="the first")
]
SeriesOption = Annotated[
    int | None, typer.Option("--series", help="A file of planes: its series, from 0.", min=0, show_default="the first")
]
StepOption = Annotated[
    float | None,
    typer.Option(
        "--step-um", help="Distance between two frames, µm; they are then in order.", show_default="as the file says"
    ),
]
PixelOption = Annotated[
    float | None, typer.Option("--pixel-um", help="Side of a pixel, µm.", show_default="as the file says")
]
MotionOption = Annotated[
    Path | None,
    typer.Option("--motion", help="Alignment as JSON: used if the file is there, else written.", show_default=False),
]
AlignOnlyOption = Annotated[
    bool,
    typer.Option(
        "--align-only",
        help="Only write the aligned frames, in the numbers of their files: a folder of TIFF, or .ome.tif, .ome.zarr.",
    ),
]
PreferOption = Annotated[
    str,
    typer.Option("--prefer", help="At outlines, where two depths are visible: near (first frames), far, or any."),
]
ApplyOption = Annotated[
    Path | None,
    typer.Option(
        "--apply-to", help="Fuse this too, by the same index and alignment: a file of planes or a folder.",
        show_default=False,
    ),
]  # fmt: skip
ApplyChannelOption = Annotated[
    int | None,
    typer.Option("--apply-channel", help="Channel of that file; alone: of the stack's own.", min=0, show_default=False),
]


@dataclass(frozen=True)
class Input:
    """The images of a stack and the files that they are in."""

    images: list[Path] | PlaneStack
    files: list[Path]

    def __len__(self) -> int:
        return len(self.images)


def open_images(
    arguments: list[Path], channel: int | None = None, time: int | None = None, series: int | None = None
) -> Input:
    """Return the images that arguments mean: files, folders and patterns, or the planes of the only file."""
    from ...images.images import is_result
    from ...images.planes import is_stack_file, open_stack
    from ...report.batch import files_of

    if len(arguments) == 1 and is_stack_file(arguments[0]):
        planes = open_stack(arguments[0], channel=channel, time=time, series=series)
        return Input(planes, [arguments[0]])
    if (channel, time, series) != (None, None, None):
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
    """Refuse one image, or the same one twice."""
    if len(images) < 2:
        raise UsageError(f"got one image, {images[0]}; pass two or more of one scene, or a file of many planes")
    from ...images.results import place_of

    seen = set()
    for image in images:
        place = place_of(image)
        if place in seen:
            raise UsageError(f"{image} is given twice, perhaps by another name; pass every image once")
        seen.add(place)


def aligned_name(position: int, name: str) -> str:
    """Return the name of an aligned frame by its place in the order and the image that it was."""
    stem, _, number = name.removesuffix("]").partition("[")
    return f"{position:04d}_{Path(stem).stem}{f'_{number}' if number else ''}.tif"


def refuse_to_replace_aligned(output: Path, images: Sequence[str], force: bool) -> None:
    """Stop before the work if aligned frames would replace files."""
    from ...images.disk import TIFF_SUFFIXES
    from ...images.results import refuse_to_replace, refuse_to_replace_file

    if output.suffix.lower() in TIFF_SUFFIXES:
        refuse_to_replace_file(output, force)
        return
    is_zarr = output.suffix.lower() == ".zarr"
    places = [(place, each) for place in range(len(images)) for each in images]  # frames may be in another order
    names = ["zarr.json"] if is_zarr else [aligned_name(place, each) for place, each in places]
    refuse_to_replace(output, names, force)


def write_aligned(output: Path, frames: Frames, scale: tuple[float | None, float | None], force: bool) -> None:
    """Write frames in place at full depth; ``scale`` is their step and the side of a pixel, µm."""
    from ...images.disk import TIFF_SUFFIXES
    from ...images.results import filling, placing
    from ...images.scaled import write_ome_tiff, write_ome_zarr
    from ...photo.picture_form import FOR_SCREENS
    from ...stacks.frames import name_of

    form = frames.form or FOR_SCREENS
    named = [(aligned_name(f.position, name_of(frames.sources, f.number)), f) for f in frames.frames]
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
                    folder / name, frames.full(frame)[0], "aligned, of the exposure of the frame that stays", scale[1]
                )
