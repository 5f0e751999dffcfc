"""Input and aligned output of ``stack`` and ``fuse``: files, folders, patterns, or one file of many planes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...base.options import Preparing, Stack
from ..terminal.console import UsageError, print_message, progress_bar
from ..terminal.options import option

if TYPE_CHECKING:
    from ...stacks.images import StackImages

__all__ = ["AlignOnlyOption", "Images", "align_frames", "check_images", "open_images"]

Images = Annotated[
    list[Path],
    typer.Argument(
        help="Two or more images of one scene (stack: three), a folder, a quoted pattern 'dir/*.jpg', or one file of "
        "many planes: TIFF, OME-TIFF, OME-Zarr, GIF, WebP, MPO.",
        metavar="IMAGES...",
        show_default=False,
    ),
]
_ALIGN = "Only write the aligned frames at full depth: as a folder of TIFF, .ome.tif or .ome.zarr."
AlignOnlyOption = Annotated[bool, option("--align-only", _ALIGN, panel=Stack.PANEL)]


def open_images(arguments: list[Path], preparing: Preparing, options: Stack) -> tuple[StackImages, list[Path]]:
    """Return the images of files, folders and patterns, or the planes of one file; return the files too."""
    from ...images.images import is_result
    from ...images.planes import is_stack_file, open_stack
    from ...report.batch import files_of
    from ...stacks.images import stack_images

    if len(arguments) == 1 and is_stack_file(arguments[0]):
        planes = open_stack(arguments[0], channel=options.channel, time=options.time, series=options.series)
        return stack_images(planes, preparing, options), arguments
    if (options.channel, options.time, options.series) != (None, None, None):
        raise UsageError("--channel, --time and --series are for one file of many planes; leave them out")
    files = [image for argument in arguments for image in files_of(argument)]
    check_images(files)
    made = [file for file in files if is_result(file)]
    if made and len(files) - len(made) >= 2:
        for file in made:
            print_message(f"left out: {file}, a result of relblur")
        files = [file for file in files if file not in made]
    if options.focus_m is not None and len(options.focus_m) != len(files):
        raise UsageError(f"--focus must be {len(files)} numbers separated by commas, got {len(options.focus_m)}")
    return stack_images(files, preparing, options), files


def check_images(images: Sequence[Path]) -> None:
    """Refuse a single image, and the same image given twice."""
    from ...images.results import place_of

    if len(images) < 2:
        raise UsageError(f"got one image, {images[0]}; pass two or more of one scene, or a file of many planes")
    seen = set()
    for image in images:
        place = place_of(image)
        if place in seen:
            raise UsageError(f"{image} is given twice, perhaps by another name; pass every image once")
        seen.add(place)


def align_frames(output: Path, images: StackImages, files: list[Path], force: bool) -> None:
    """Align frames and write them at full depth: to one OME-TIFF, to OME-Zarr, or to a folder of TIFF."""
    from ...images.disk import TIFF_SUFFIXES
    from ...images.results import filling, placing, refuse_inputs, refuse_to_replace, refuse_to_replace_file
    from ...images.scaled import write_ome_tiff, write_ome_zarr
    from ...photo.picture_form import FOR_SCREENS
    from ...stacks.frames import read_frames

    is_tiff, is_zarr = output.suffix.lower() in TIFF_SUFFIXES, output.suffix.lower() == ".zarr"
    refuse_inputs((output,), (*files, images.motion))
    if is_tiff:
        refuse_to_replace_file(output, force)
    else:  # the order of the frames is not known yet
        names = [_aligned_name(place, name) for place in range(len(images)) for name in images.names]
        refuse_to_replace(output, ["zarr.json"] if is_zarr else names, force)
    with progress_bar(f"aligning {len(images)} images") as report:
        frames = read_frames(images, report)
    form = frames.form or FOR_SCREENS
    scale: dict[str, Any] = {"step_um": images.step_um, "pixel_um": images.pixel_um}
    encoded = (form.encoded(frames.full(frame)[0], ".tif") for frame in frames.frames)
    if is_tiff:
        import numpy as np

        planes = np.stack(list(encoded))
        with placing(output, force=force) as file:
            write_ome_tiff(file, planes, "ZYX" if planes.ndim == 3 else "ZYXS", **scale)
    else:
        with filling(output, force=force) as folder:
            if is_zarr:
                write_ome_zarr(folder, encoded, len(frames.frames), name=output.name, **scale)
            else:
                for frame, name in zip(frames.frames, frames.names, strict=True):
                    target = folder / _aligned_name(frame.position, name)
                    form.write(
                        target, frames.full(frame)[0], "aligned, with the exposure of one frame", images.pixel_um
                    )
    for note in frames.notes:
        print_message(note)
    print_message(f"{len(frames.frames)} aligned frames: {output}")


def _aligned_name(position: int, name: str) -> str:
    """Return the file name of an aligned frame: its position in the order, and the name of its image."""
    stem, _, number = name.removesuffix("]").partition("[")
    return f"{position:04d}_{Path(stem).stem}{f'_{number}' if number else ''}.tif"
