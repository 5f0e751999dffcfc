"""``relblur fuse``: make one picture that is sharp everywhere from two or more."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ...base.options import Preparing, Stack
from ..terminal.console import UsageError, print_lines, print_message, progress_bar
from ..terminal.options import Force, Only, PictureFile, option
from .frames import AlignOnlyOption, Images, align_frames, check_images, open_images

if TYPE_CHECKING:
    from ...base._typing import AnyArray, Progress
    from ...stacks.frames import Frames
    from ...stacks.images import StackImages

__all__ = ["check_images", "check_picture", "fuse"]

#: Formats of fused pictures.
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy")


def fuse(
    images: Images,
    output: PictureFile,
    options: Annotated[Stack, Only("channel", "time", "series", "prefer", "motion")],
    preparing: Preparing,
    align_only: AlignOnlyOption = False,
    index: Annotated[
        Path | None,
        option(
            "--index", "Labels: for each pixel, the position of a frame in the order of focus.", "FILE", Stack.PANEL
        ),
    ] = None,
    save_index: Annotated[
        Path | None,
        option("--save-index", "Write the labels as TIFF; edit them and pass them to --index.", "FILE", Stack.PANEL),
    ] = None,
    force: Force = False,
) -> None:
    """Make one picture that is sharp everywhere, at full size.

        relblur fuse near.jpg middle.jpg far.jpg -o sharp.jpg

    The images are aligned and brought to one exposure; every step is printed. At each pixel and scale the picture is
    taken from the image with the most detail. It has the bit depth, tone curve, ICC profile and EXIF of one of the
    images; NPY contains linear light as floats.

    A label is the position of a frame in the order of focus, from 0. The picture of labels has the size of the images.
    """
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file
    from ...report.full_size import write_picture

    shots, files = open_images(images, preparing, options)
    if align_only:
        align_frames(output, shots, files, force)
        return
    check_picture(output)
    if index is not None and (save_index is not None or options.prefer != "any"):
        raise UsageError("--index sets the frame of every pixel; leave --save-index and --prefer out")
    if save_index is not None and save_index.suffix.lower() not in (".tif", ".tiff"):
        raise UsageError(f"--save-index {save_index} does not end in .tif; labels are written as TIFF")
    refuse_inputs((output, save_index), (*files, index, shots.motion))
    refuse_to_replace_file(output, force)
    refuse_to_replace_file(save_index, force)
    start = clock.perf_counter()
    with progress_bar(f"fusing {len(shots)} images") as report:
        if save_index is None and options.prefer == "any":
            light, frames, notes = _fused(shots, index, report)
        else:
            light, frames, notes = _fused_with_labels(shots, options.prefer, save_index, force, report)
    processing = f"sharp everywhere, from {', '.join(file.name for file in files)}"
    with placing(output, force=force) as file:
        write_picture(file, light, frames.form, processing, shots.pixel_um)
    for note in notes:
        print_message(note)
    print_message(
        f"{len(frames.frames)} images, {light.shape[1]}x{light.shape[0]}, {clock.perf_counter() - start:.1f} s"
    )
    print_lines(output)


def _fused(shots: StackImages, index: Path | None, progress: Progress) -> tuple[AnyArray, Frames, Sequence[str]]:
    """Fuse by detail or by labels; return the picture, the frames, and notes."""
    from ...images.images import read_image
    from ...stacks.frames import read_frames
    from ...stacks.fuse import fuse_by_detail, fuse_by_labels

    def report(share: float) -> None:
        progress(0.5 + share / 2)

    frames = read_frames(shots, lambda share: progress(share / 2))
    if index is None:
        return fuse_by_detail(frames, report), frames, frames.notes
    labels = read_image(index)
    if labels.ndim != 2 or labels.dtype.kind not in "ui":
        raise UsageError(f"--index {index} has {labels.dtype} values of shape {labels.shape}; labels are whole numbers")
    return fuse_by_labels(frames, labels, report), frames, frames.notes


def _fused_with_labels(
    shots: StackImages, prefer: str, save_index: Path | None, force: bool, progress: Progress
) -> tuple[AnyArray, Frames, Sequence[str]]:
    """Fuse and write labels, by a stack map or by the detail of two images; return the picture, frames and notes."""
    from ...images.results import placing
    from ...stacks.estimate import estimate_stack
    from ...stacks.fuse import labels_by_detail, labels_of, write_labels

    stack = None
    if len(shots) == 2 and prefer == "any":
        picture, frames, notes = _fused(shots, None, progress)
    else:
        stack = estimate_stack(shots, prefer=prefer, progress=progress, steps=True)
        assert stack.fused is not None
        picture, frames, notes = stack.fused, stack.steps["frames"], stack.settings["notes"]
    if save_index is not None:
        labels = labels_by_detail(frames) if stack is None else labels_of(stack.full_size()[0], frames)
        with placing(save_index, force=force) as file:
            write_labels(file, labels, frames)
    return picture, frames, notes


def check_picture(output: Path) -> None:
    """Raise an error if the file name has no suffix of a picture."""
    if output.suffix.lower() not in PICTURES:
        raise UsageError(f"-o {output} does not end in {', '.join(PICTURES)}; name a picture to write")
