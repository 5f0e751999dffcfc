"""``relblur fuse``: make one picture that is sharp everywhere from two or more."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...base.options import Preparing, Stack
from ..terminal.console import UsageError, one_line_errors, print_lines, progress_bar, say
from ..terminal.options import Force, Only, PictureFile, given, takes_records
from .frames import (
    AlignOnlyOption,
    Images,
    Input,
    align_frames,
    check_images,
    given_motion,
    open_images,
    write_motion,
)

if TYPE_CHECKING:
    from ...base._typing import AnyArray
    from ...stacks.frames import Frames
    from ...stacks.stack_map import StackMap

__all__ = ["check_images", "fuse"]

#: Formats of fused pictures.
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy")


@one_line_errors
@takes_records
def fuse(
    images: Images,
    output: PictureFile,
    options: Annotated[Stack, Only("channel", "time", "series", "prefer", "motion")],
    preparing: Preparing,
    align_only: AlignOnlyOption = False,
    index: Annotated[
        Path | None,
        given("--index", "Labels: the number of the frame that each pixel is taken from.", "FILE", Stack.PANEL),
    ] = None,
    save_index: Annotated[
        Path | None,
        given("--save-index", "Write the labels as TIFF; edit them and pass them to --index.", "FILE", Stack.PANEL),
    ] = None,
    force: Force = False,
) -> None:
    """Make one picture that is sharp everywhere, at full size.

        relblur fuse near.jpg middle.jpg far.jpg -o sharp.jpg

    The images are aligned and brought to one exposure; every step is printed. At each pixel and scale the picture is
    taken from the image with the most detail. It has the bit depth, tone curve, ICC profile and EXIF of one of the
    images; NPY contains linear light as floats.

    A label is the place of a frame in the order of focus, from 0. The picture of labels has the size of the images.
    """
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file
    from ...report.full_size import write_picture

    shots = open_images(images, options)
    if align_only:
        lengths = (getattr(shots.images, "step_um", None), getattr(shots.images, "pixel_um", None))
        align_frames(output, shots, preparing, options, lengths, force)
        return
    check_picture(output)
    if index is not None and (save_index is not None or options.prefer != "any"):
        raise UsageError("--index sets the frame of every pixel; leave --save-index and --prefer out")
    if save_index is not None and save_index.suffix.lower() not in (".tif", ".tiff"):
        raise UsageError(f"--save-index {save_index} does not end in .tif; labels are written as TIFF")
    refuse_inputs((output, save_index), (*shots.files, index))
    refuse_to_replace_file(output, force)
    refuse_to_replace_file(save_index, force)
    start = clock.perf_counter()
    with progress_bar(f"fusing {len(shots)} images") as report:
        light, frames, stack = _fused(shots, preparing, options, (index, save_index is not None), report)
    write_motion(options.motion, frames)
    with placing(output, force=force) as file:
        write_picture(
            file,
            light,
            frames.form,
            f"sharp everywhere, from {_names(shots.files)}",
            getattr(shots.images, "pixel_um", None),
        )
    if save_index is not None and stack is not None:
        with placing(save_index, force=force) as file:
            _write_labels(file, stack, frames)
    for note in frames.notes if stack is None else stack.settings["notes"]:
        say(note)
    if frames.form is not None:
        say(frames.form.describe(output))
    say(f"{len(frames.frames)} images, {light.shape[1]}x{light.shape[0]}, {clock.perf_counter() - start:.1f} s")
    print_lines(output)


def _fused(
    shots: Input, preparing: Preparing, options: Stack, how: tuple[Path | None, bool], progress: Any
) -> tuple[AnyArray, Frames, StackMap | None]:
    """Return the picture, its frames, and the stack map if one was needed.

    ``how`` is the file of labels, and whether a stack map is needed.
    """
    from ...stacks.frames import Reading, read_frames
    from ...stacks.fuse import fuse_by_detail, fuse_by_labels

    index, needs_map = how
    motion = given_motion(options.motion)
    if needs_map or options.prefer != "any":
        from ...stacks.estimate import estimate_stack

        prefer = options.prefer
        stack = estimate_stack(
            shots.images, **preparing.arguments(), prefer=prefer, motion=motion, progress=progress, steps=True
        )
        assert stack.fused is not None
        return stack.fused, stack.steps["frames"], stack
    from ...stacks.aligned import read_alignment

    placement = None if motion is None else read_alignment(motion, len(shots))
    reading = Reading(**preparing.arguments(), keeps_order=len(shots.files) == 1, placement=placement)
    frames = read_frames(list(shots.images), reading, None, lambda share: progress(share / 2))
    labels = None if index is None else _labels(index)

    def report(share: float) -> None:
        progress(0.5 + share / 2)

    light = fuse_by_detail(frames, report) if labels is None else fuse_by_labels(frames, labels, report)
    return light, frames, None


def _labels(path: Path) -> AnyArray:
    from ...images.images import read_image

    labels = read_image(path)
    if labels.ndim != 2 or labels.dtype.kind not in "ui":
        raise UsageError(f"--index {path} has {labels.dtype} values of shape {labels.shape}; labels are whole numbers")
    return labels


def _write_labels(path: Path, stack: StackMap, frames: Frames) -> None:
    """Write the number of the frame nearest to best focus at every pixel."""
    from ...filters.guided import enlarge
    from ...images.disk import write_tiff
    from ...stacks.frames import name_of
    from ...stacks.fuse import labels_of

    index = stack.full_size()[0] if stack.known.any() else enlarge(stack.placed()[0], frames.shape, frames.factor)
    names = {str(frame.position): name_of(frames.sources, frame.number) for frame in frames.frames}
    write_tiff(path, labels_of(index, frames), {"quantity": "place of a frame in the order of focus", "frames": names})


def _names(files: list[Path]) -> str:
    return ", ".join(file.name for file in files)


def check_picture(output: Path) -> None:
    """Refuse a name without the suffix of a picture, before the work."""
    if output.suffix.lower() not in PICTURES:
        raise UsageError(f"-o {output} does not end in {', '.join(PICTURES)}; name a picture to write")
