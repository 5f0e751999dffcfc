"""``relblur calibrate``: what the data sheet of a camera does not say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..base.settings import DEPTH_PREFILTER
from .console import UsageError, one_line_errors, print_json, print_table, progress_bar, say
from .options import (
    AlignOption,
    CameraFile,
    DecimateOption,
    ExposureOption,
    First,
    Force,
    GammaOption,
    Json,
    LinearOption,
    PrefilterOption,
    Second,
    as_factor,
    numbers,
)

__all__ = ["calibrate"]


@one_line_errors
def calibrate(
    first: First,
    second: Second,
    camera: CameraFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Camera file to write.", show_default=False)
    ] = None,
    depth_file: Annotated[
        Path | None,
        typer.Option("--depth", help="Known depth of every pixel: 16-bit PNG in mm, or floats in m; 0 = unknown."),
    ] = None,
    distance: Annotated[
        float | None, typer.Option(help="Known distance of a flat target that faces the camera, m.")
    ] = None,
    plane: Annotated[
        list[str] | None, typer.Option(help="ROW,COLUMN,METRES on a flat target; three times or more.")
    ] = None,
    point: Annotated[list[str] | None, typer.Option(help="ROW,COLUMN,METRES of a single place; twice or more.")] = None,
    fit: Annotated[
        str, typer.Option(help="What to find: blur_constant, focus_first_m, focus_second_m, separated by commas.")
    ] = "blur_constant",
    align: AlignOption = "auto",
    exposure: ExposureOption = "auto",
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: DecimateOption = "auto",
    prefilter: PrefilterOption = DEPTH_PREFILTER,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the blur constant, and focus distances if asked, from a pair with known depths.

    Use the same --prefilter for 'relblur depth' afterwards.
    """
    from ..blur.estimate import estimate_blur
    from ..blur.unanswered import refuse_if_unanswered
    from ..depth.calibration import calibrate as fit_camera
    from ..depth.camera import Camera
    from ..files.staging import placing
    from ..files.targets import refuse_inputs, refuse_to_replace_file
    from ..photo.pipeline import prepare_pair

    refuse_inputs((output,), (first, second, camera, depth_file))
    refuse_to_replace_file(output, force)
    model = Camera.load(camera)
    pair = prepare_pair(
        first, second, align=align, exposure=exposure, linear=linear, gamma=gamma, decimate=as_factor(decimate)
    )
    known: dict[str, Any] = {}
    if depth_file is not None:
        known["depth_m"] = _read_depth(depth_file)[:: pair.factor, :: pair.factor]
    if distance is not None:
        known["depth_m"] = distance
    if plane:
        known["plane"] = _places(plane, "--plane", pair.factor)
    if point:
        known["points"] = _places(point, "--point", pair.factor)
    if len(known) != 1 or (depth_file is not None and distance is not None):
        raise UsageError("give exactly one of --depth, --distance, --plane and --point")
    one, two = model.circle_constants_px_m
    side = "auto" if model.kind != "aperture" else "first" if one < two else "second"
    with progress_bar(f"measuring blur, {pair.size}") as report:
        blur_map = estimate_blur(pair, sharper=side, prefilter=prefilter, progress=report)
    refuse_if_unanswered(blur_map.variance_difference, blur_map.flags)
    found = fit_camera(blur_map, model.decimated(pair.factor), fit=[name.strip() for name in fit.split(",")], **known)
    for note in pair.notes:
        say(note)
    fitted = found.camera.at_full_resolution(pair.factor)
    result = {
        "values": found.values,
        "stderr": found.stderr,
        "points": found.points,
        "median_depth_error": found.depth_error,
        "camera": fitted.as_dict(),
    }
    if output is not None:
        with placing(output, force=force) as file:
            fitted.save(file)
        say(f"camera file: {output}")
    if as_json:
        print_json(result)
        return
    rows = [(name, f"{value:.5g}", f"{found.stderr[name]:.2g}") for name, value in found.values.items()]
    rows += [("pixels used", str(found.points), ""), ("median depth error", f"{100 * found.depth_error:.2g} %", "")]
    print_table(f"{first.name} and {second.name}", ("", "value", "standard error"), rows)


def _read_depth(path: Path) -> Any:
    """Return known depth in m, NaN where the file says nothing."""
    import numpy as np

    from ..files.depth_formats import read_pfm
    from ..files.images import read_image
    from ..files.reading import read_bytes

    stored = read_pfm(read_bytes(path), str(path)) if path.suffix.lower() == ".pfm" else read_image(path)
    if stored.ndim != 2:
        raise UsageError(f"{path} has {stored.shape[2]} channels; a depth map has one")
    metres = stored / 1000 if np.issubdtype(stored.dtype, np.integer) else stored.astype(np.float64)
    return np.where(metres > 0, metres, np.nan)


def _places(texts: list[str], name: str, factor: int) -> list[tuple[float, float, float]]:
    triples = [numbers(text, name, 3) for text in texts]
    return [(row / factor, column / factor, z) for row, column, z in triples]
