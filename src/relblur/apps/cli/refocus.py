"""``relblur refocus``: make the photograph that a camera focused at another distance would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...base.options import Preparing
from ..terminal.console import UsageError, print_lines, print_message, progress_bar
from ..terminal.options import AnyCameraFile, First, Force, PictureFile, Second
from .fuse import check_images, check_picture

if TYPE_CHECKING:
    from ...blur.blur_map import BlurMap
    from ...depth.depth_map import DepthMap

__all__ = ["refocus"]

#: Percentage of the pixels assumed to lie between the two distances in focus, without a camera file.
_BETWEEN = 95


def refocus(
    first: First,
    second: Second,
    at: Annotated[
        float,
        typer.Option("--at", help="Focus: m with a camera file, else 0 (as FIRST) to 1.", metavar="NUMBER"),
    ],
    output: PictureFile,
    preparing: Preparing,
    camera: AnyCameraFile = None,
    aperture: Annotated[
        float, typer.Option(help="Aperture over that of the photographs: 2 blurs twice as much.", metavar="NUMBER")
    ] = 1.0,
    force: Force = False,
) -> None:
    """Make a photograph that is focused at another distance, at full size.

        relblur refocus near.jpg far.jpg --at 0.5 -o middle.jpg

    Each pixel is taken from the sharper of the two images and blurred as the new focus requires. Without a camera file
    the two distances in focus count as the ends of the scene, 0 and 1.
    """
    import numpy as np

    from ...blur.estimate import estimate_blur
    from ...depth.camera import Camera
    from ...depth.estimate import estimate_depth
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file
    from ...photo.pipeline import prepare_pair
    from ...report.full_size import write_picture
    from ...stacks.frames import frames_of_pair
    from ...stacks.refocus import refocus_frames

    check_picture(output)
    check_images([first, second])
    refuse_inputs((output,), (first, second, *([camera] if camera else [])))
    refuse_to_replace_file(output, force)
    model = Camera.load(camera) if camera else None
    if model is None and not 0 <= at <= 1:
        raise UsageError(f"--at must lie between 0 (as first) and 1 (as second) without a camera file, got {at:g}")
    pair = prepare_pair(first, second, **preparing.arguments())
    with progress_bar(f"refocusing, {pair.size}") as report:
        if model is None:
            depth, focus_m = _as_depth(estimate_blur(pair, progress=report), at, pair.factor)
        else:
            depth, focus_m = estimate_depth(pair, model, progress=report), at
    picture = refocus_frames(frames_of_pair((first, second), preparing, pair), depth, focus_m, aperture=aperture)
    with placing(output, force=force) as file:
        processing = f"focused at {at:g}{' m' if model else ''}, from {first.name}, {second.name}"
        write_picture(file, np.asarray(picture), pair.form, processing)
    for note in pair.notes:
        print_message(note)
    print_lines(output)


def _as_depth(blur_map: BlurMap, at: float, factor: int) -> tuple[DepthMap, float]:
    """Return depth and the new focus, m, for an assumed camera focused at 1 m and 2 m."""
    import numpy as np

    from ...depth.camera import Camera
    from ...depth.relation import blur_to_depth

    s = np.abs(blur_map.variance_difference)
    largest = float(np.percentile(s[np.isfinite(s)], _BETWEEN))
    # In the focal planes |s| = k^2 (u_1 - u_2)^2, with u_1 - u_2 = 1/2 per m.
    growth = 2 * max(largest, 0.01) ** 0.5
    camera = Camera(coc_constant_px_m=4.0 * growth * factor, focus_first_m=1.0, focus_second_m=2.0, decimation=factor)
    near, far = camera.focus_per_m
    return blur_to_depth(blur_map, camera), 1 / (near + at * (far - near))
