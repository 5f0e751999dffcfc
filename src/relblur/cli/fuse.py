"""``relblur fuse``: one picture, sharp everywhere, from two or more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .console import UsageError, one_line_errors, print_lines, progress_bar, say
from .options import (
    AlignOption,
    DecimateOption,
    ExposureOption,
    Force,
    GammaOption,
    LinearOption,
    PictureFile,
    as_preparing,
)

__all__ = ["Images", "fuse"]

Images = Annotated[
    list[Path],
    typer.Argument(
        help="Two or more images of one scene, same size and viewpoint; or a folder, or a quoted pattern, 'dir/*.jpg'.",
        show_default=False,
    ),
]
#: What a fused picture can be written to.
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy")


@one_line_errors
def fuse(
    images: Images,
    output: PictureFile,
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: DecimateOption = "auto",
    force: Force = False,
) -> None:
    """Make one picture that is sharp everywhere, at full size.

    The images are aligned and brought to one exposure; what was done is said. Each counts at a pixel
    by the detail it has there and by the map of blur, which decides where there is none. The picture has
    the depth, tone curve, ICC profile and EXIF of one of the images; NPY holds linear light as floats.
    """
    from ..files.staging import placing
    from ..files.targets import refuse_inputs, refuse_to_replace_file
    from ..report.full_size import write_picture
    from ..stacks.estimate import estimate_stack

    check_picture(output)
    images = without_results(files_of_all(images))
    refuse_inputs((output,), images)
    refuse_to_replace_file(output, force)
    start = time.perf_counter()
    with progress_bar(f"fusing {len(images)} images") as report:
        stack = estimate_stack(images, **as_preparing(align, exposure, linear, gamma, decimate), progress=report)
    assert stack.fused is not None
    with placing(output, force=force) as file:
        write_picture(file, stack.fused, stack.form, f"sharp everywhere, from {_names(images)}")
    for note in stack.settings["notes"]:
        say(note)
    if stack.form is not None:
        say(stack.form.describe(output))
    size = f"{stack.fused.shape[1]}x{stack.fused.shape[0]}"
    say(f"{len(stack.order)} images, {size}, {time.perf_counter() - start:.1f} s")
    print_lines(output)


def without_results(images: list[Path]) -> list[Path]:
    """Leave out pictures that relblur made, by their metadata, if two others are there; report each."""
    from ..files.images import is_result

    made = [image for image in images if is_result(image)]
    if len(images) - len(made) < 2:
        return images
    for image in made:
        say(f"left out: {image}, a picture that relblur made")
    return [image for image in images if image not in made]


def _names(images: list[Path]) -> str:
    return ", ".join(image.name for image in images)


def check_picture(output: Path) -> None:
    """Refuse a name that says no format, before the work."""
    if output.suffix.lower() not in PICTURES:
        raise UsageError(f"-o {output} does not end in {', '.join(PICTURES)}; name a picture to write")


def files_of_all(arguments: list[Path]) -> list[Path]:
    """Return the images that files, folders and patterns mean; refuse one image, or the same one twice."""
    from ..report.batch import files_of

    images = [image for argument in arguments for image in files_of(argument)]
    check_images(images)
    return images


def check_images(images: list[Path]) -> None:
    """Refuse one image, or the same one twice."""
    if len(images) < 2:
        raise UsageError(f"got one image, {images[0]}; pass two or more of one scene")
    from ..files.targets import place_of

    seen = set()
    for image in images:
        place = place_of(image)
        if place in seen:
            raise UsageError(f"{image} is given twice, perhaps by another name; pass every image once")
        seen.add(place)
