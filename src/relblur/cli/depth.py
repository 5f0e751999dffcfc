"""``relblur depth``, ``relblur calibrate`` and ``relblur camera``."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..settings import ASSUMED_STDERR_PX2, DEPTH_PREFILTER
from .options import (
    AlignName,
    AlignOption,
    ExposureName,
    ExposureOption,
    First,
    Force,
    GammaOption,
    Json,
    LinearOption,
    Second,
    numbers,
)
from .talk import UsageError, load_in_background, one_line_errors, print_json, print_table, progress_bar, say

if TYPE_CHECKING:
    from ..camera import Camera
    from ..pairs import FilePair

__all__ = ["calibrate", "camera", "depth"]


class SideOfFocus(str, Enum):
    """Where the scene lies, as choices."""

    behind = "behind"
    front = "front"


CameraFile = Annotated[
    Path, typer.Option("--camera", "-c", help="Camera file, TOML or JSON ('relblur camera' makes one).")
]
Decimate = Annotated[int, typer.Option(min=1, help="Reduce the resolution first, by this factor.")]
PrefilterOption = Annotated[float, typer.Option(help="Gaussian only: blur both images by this many px first.")]


@one_line_errors
def depth(
    first: First,
    second: Second,
    camera: CameraFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.", show_default=False)],
    psf: Annotated[
        str, typer.Option(help="Shape of the blur: gaussian, disc, or an image file of the aperture.")
    ] = "gaussian",
    depth_range: Annotated[
        str | None, typer.Option("--range", help="Nearest and farthest distance, m, such as 0.8,3.", show_default="all")
    ] = None,
    side: Annotated[
        SideOfFocus, typer.Option(help="Two apertures, one focus: on which side of it the scene lies.")
    ] = SideOfFocus.behind,
    align: AlignOption = AlignName.auto,
    exposure: ExposureOption = ExposureName.auto,
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: Decimate = 1,
    prefilter: PrefilterOption = DEPTH_PREFILTER,
    focal_px: Annotated[
        float | None, typer.Option(help="Sensor distance in px, for the point cloud.", show_default="from the camera")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the distance of every pixel, in metres, with its standard error.

    Writes depth.npz (everything), depth_mm.png (16 bits), depth.tif, .pfm, .npy, .exr, a
    coloured point cloud points.ply, and overview.png with depth, error and a 3-D view.
    """
    from ..decoding import read_image
    from ..depth_report import DEPTH_FILES, write_depth_report
    from ..matching import estimate_depth
    from ..report import refuse_to_replace

    load_in_background("matplotlib.backends.backend_agg", "mpl_toolkits.mplot3d")
    shown, pair, model = _read(first, second, camera, _Reading(align.value, exposure.value, linear, gamma), decimate)
    span = None
    if depth_range is not None:
        ends = numbers(depth_range, "--range", 2)
        span = (ends[0], ends[1])
    shape: Any = psf
    if psf not in ("gaussian", "disc"):
        if not Path(psf).exists():
            raise UsageError(f"--psf must be gaussian, disc or an image file; there is no file {psf}")
        picture = read_image(psf)
        shape = picture.mean(axis=2) if picture.ndim == 3 else picture
    refuse_to_replace(output, DEPTH_FILES, force)
    start = time.perf_counter()
    with progress_bar(f"measuring depth, {pair.size}") as report:
        found = estimate_depth(
            pair.first,
            pair.second,
            model,
            psf=shape,
            depth_range_m=span,
            side=side.value,
            prefilter=prefilter,
            valid=pair.valid,
            clipped=pair.clipped_in_either,
            channel_axis=pair.channel_axis,
            progress=report,
        )
    seconds = time.perf_counter() - start
    summary = write_depth_report(output, shown, found, focal_length_px=focal_px, force=True)
    for note in pair.notes:
        say(note)
    summary["seconds"] = seconds
    for what in summary["left_out"]:
        say(f"relblur: note: left out: {what}")
    if as_json:
        print_json(summary)
    else:
        print_table(f"{first.name} and {second.name}, {pair.size}", ("", ""), _depth_rows(summary))
    say(f"look at {output / 'overview.png'}")


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
    align: AlignOption = AlignName.auto,
    exposure: ExposureOption = ExposureName.auto,
    linear: LinearOption = True,
    gamma: GammaOption = None,
    decimate: Decimate = 1,
    prefilter: PrefilterOption = DEPTH_PREFILTER,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the blur constant, and focus distances if asked, from a pair with known depths.

    Use the same --prefilter and --decimate for 'relblur depth' afterwards.
    """
    from ..calibration import calibrate as fit_camera
    from ..errors import OutputExistsError
    from ..estimate import estimate_blur

    if output is not None and output.exists() and not force:
        raise OutputExistsError(f"{output} would be replaced; add --force or choose another name")
    _, pair, model = _read(first, second, camera, _Reading(align.value, exposure.value, linear, gamma), decimate)
    known: dict[str, Any] = {}
    if depth_file is not None:
        known["depth_m"] = _read_depth(depth_file)[::decimate, ::decimate]
    if distance is not None:
        known["depth_m"] = distance
    if plane:
        known["plane"] = _places(plane, "--plane", decimate)
    if point:
        known["points"] = _places(point, "--point", decimate)
    if len(known) != 1 or (depth_file is not None and distance is not None):
        raise UsageError("give exactly one of --depth, --distance, --plane and --point")
    one, two = model.circle_constants_px_m
    side = "auto" if model.kind != "aperture" else "first" if one < two else "second"
    with progress_bar(f"measuring blur, {pair.size}") as report:
        blur_map = estimate_blur(
            pair.first,
            pair.second,
            sharper=side,
            prefilter=prefilter,
            valid=pair.valid,
            clipped=pair.clipped_in_either,
            channel_axis=pair.channel_axis,
            progress=report,
        )
    found = fit_camera(blur_map, model, fit=[name.strip() for name in fit.split(",")], **known)
    for note in pair.notes:
        say(note)
    fitted = found.camera
    result = {
        "values": found.values,
        "stderr": found.stderr,
        "points": found.points,
        "median_depth_error": found.depth_error,
        "camera": fitted.as_dict(),
    }
    if output is not None:
        fitted.save(output)
        say(f"camera file: {output}")
    if as_json:
        print_json(result)
        return
    rows = [(name, f"{value:.5g}", f"{found.stderr[name]:.2g}") for name, value in found.values.items()]
    rows += [("pixels used", str(found.points), ""), ("median depth error", f"{100 * found.depth_error:.2g} %", "")]
    print_table(f"{first.name} and {second.name}", ("", "value", "standard error"), rows)


@one_line_errors
def camera(
    file: Annotated[Path | None, typer.Argument(help="Camera file to check.", show_default=False)] = None,
    focal_length: Annotated[float | None, typer.Option("--focal-length", "-f", help="mm")] = None,
    f_number: Annotated[str | None, typer.Option("--f-number", "-N", help="Such as 2.8; 2.8,8 for two.")] = None,
    pixel_pitch: Annotated[float | None, typer.Option("--pixel-pitch", "-p", help="um")] = None,
    sensor_width: Annotated[float | None, typer.Option(help="mm; with --image-width instead of the pitch.")] = None,
    image_width: Annotated[int | None, typer.Option(help="Width of the image before decimation, px.")] = None,
    circle_constant: Annotated[
        str | None, typer.Option(help="c of C = c |1/z - 1/focus|, px m, instead of all these; two for two apertures.")
    ] = None,
    focus: Annotated[
        str | None, typer.Option(help="Distances in focus, m: FIRST,SECOND, or one for two apertures.")
    ] = None,
    blur_constant: Annotated[float | None, typer.Option(help="sigma / circle's diameter.")] = None,
    decimation: Annotated[int | None, typer.Option(help="The images were decimated by this factor.")] = None,
    exif: Annotated[
        list[Path] | None, typer.Option(help="Photograph to take fields from; twice for first and second.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Camera file to write.")] = None,
    plot: Annotated[Path | None, typer.Option(help="PNG to draw the table into.")] = None,
    stderr: Annotated[float, typer.Option(help="Standard error of s to assume, px^2.")] = ASSUMED_STDERR_PX2,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are already there.")] = False,
    as_json: Json = False,
) -> None:
    """Make or check a camera file; tell the range and resolution it can deliver.

    For example: relblur camera -f 35 -N 2.8 -p 6 --focus 1,2 -o cam.toml --plot cam.png
    """
    from ..camera import Camera
    from ..errors import OutputExistsError
    from ..inputs import as_positive
    from ..working_range import resolution_table, working_range_m

    for target in (output, plot):
        if target is not None and target.exists() and not force:
            raise OutputExistsError(f"{target} would be replaced; add --force or choose another name")
    given: dict[str, Any] = {"focal_length_mm": focal_length, "pixel_pitch_um": pixel_pitch}
    given |= {"blur_constant": blur_constant, "decimation": decimation, "image_width_px": image_width}
    given["f_number"] = _one_or_two(f_number, "--f-number")
    given["coc_constant_px_m"] = _one_or_two(circle_constant, "--circle-constant")
    planes = _one_or_two(focus, "--focus")
    if planes is not None:
        both = planes if isinstance(planes, tuple) else (planes, planes)
        given |= {"focus_first_m": both[0], "focus_second_m": both[1]}
    if sensor_width is not None and not exif:
        if image_width is None:
            raise UsageError("--sensor-width needs --image-width: together they give the pixel pitch")
        given["pixel_pitch_um"] = 1000 * as_positive(sensor_width, "--sensor-width", "mm") / image_width
    given = {name: value for name, value in given.items() if value is not None}
    if exif:
        if len(exif) > 2:
            raise UsageError(f"--exif takes one or two photographs, got {len(exif)}")
        model = Camera.from_exif(*exif, sensor_width_mm=sensor_width, **given)
    elif file is not None:
        model = Camera.from_dict({**Camera.load(file).as_dict(), **given}, str(file))
    elif given:
        model = Camera.from_dict(given, "the camera on the command line")
    else:
        raise UsageError("name a camera file, or describe one: relblur camera -f 35 -N 2.8 -p 6 --focus 1,2")
    if output is not None:
        model.save(output)
        say(f"camera file: {output}")
    if plot is not None:
        from ..depth_report import camera_picture

        camera_picture(plot, model, stderr)
        say(f"plot: {plot}")
    near, far = working_range_m(model)
    table = resolution_table(model, stderr_px2=stderr)
    if as_json:
        about = {"camera": model.as_dict(), "kind": model.kind, "nearest_m": near, "farthest_m": far}
        print_json({**about, "table": [vars(row) for row in table]})
        return
    rows = [
        (
            f"{row.depth_m:.3f}",
            f"{row.circle_first_px:.2f}",
            f"{row.circle_second_px:.2f}",
            f"{row.variance_difference_px2:+.2f}",
            f"{row.resolution_mm:.2g}",
            f"{row.resolution_mm / row.depth_m / 10:.2g} %",
        )
        for row in table
    ]
    farthest = "infinity" if math.isinf(far) else f"{far:.3g} m"
    title = f"{model.kind} pair, measures {near:.3g} m to {farthest}; resolution if s is known to {stderr:g} px^2"
    columns = ("distance, m", "circle 1, px", "circle 2, px", "s, px^2", "resolution, mm", "of distance")
    print_table(title, columns, rows)


@dataclass(frozen=True)
class _Reading:
    """How the files become a comparable pair."""

    align: str
    exposure: str
    linear: bool
    gamma: float | None


def _read(first: Path, second: Path, camera: Path, how: _Reading, factor: int) -> tuple[FilePair, FilePair, Camera]:
    """Return the pair to look at, the pair to measure, and the camera for it."""
    from ..camera import Camera
    from ..comparable import match_pair
    from ..pairs import FilePair, read_light_pair, read_pair

    model = Camera.load(camera).decimated(factor)
    stored = read_pair(first, second)
    pair = read_light_pair(first, second, linear=how.linear, gamma=how.gamma).decimated(factor)
    pair = match_pair(pair, align=how.align, exposure=how.exposure)
    shown = stored if factor == 1 else FilePair(stored.first[::factor, ::factor], stored.second[::factor, ::factor])
    return shown, pair, model


def _read_depth(path: Path) -> Any:
    """Return known depth in m, NaN where the file says nothing."""
    import numpy as np

    from ..decoding import read_image
    from ..depth_files import read_pfm
    from ..files import read_bytes

    stored = read_pfm(read_bytes(path), str(path)) if path.suffix.lower() == ".pfm" else read_image(path)
    if stored.ndim != 2:
        raise UsageError(f"{path} has {stored.shape[2]} channels; a depth map has one")
    metres = stored / 1000 if np.issubdtype(stored.dtype, np.integer) else stored.astype(np.float64)
    return np.where(metres > 0, metres, np.nan)


def _places(texts: list[str], name: str, factor: int) -> list[tuple[float, float, float]]:
    triples = [numbers(text, name, 3) for text in texts]
    return [(row / factor, column / factor, z) for row, column, z in triples]


def _one_or_two(text: str | None, name: str) -> float | tuple[float, float] | None:
    if text is None:
        return None
    values = numbers(text, name)
    if len(values) > 2:
        raise UsageError(f"{name} takes one number or two separated by a comma, got {text!r}")
    return values[0] if len(values) == 1 else (values[0], values[1])


def _depth_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
        ("without any flag", f"{summary['unflagged_fraction']:.1%}"),
    ]
    percentiles = summary["depth_m_percentiles"]
    if percentiles is not None:
        spread = " / ".join(f"{percentiles[p]:.3f}" for p in ("5", "50", "95"))
        rows.append(("depth, 5 / 50 / 95 % of pixels", f"{spread} m"))
        rows.append(("median standard error", f"{1000 * summary['median_stderr_m']:.2g} mm"))
    flagged = {name: share for name, share in summary["flagged_fraction"].items() if share > 0}
    rows.append(("flagged", ", ".join(f"{name} {share:.1%}" for name, share in flagged.items()) or "none"))
    rows.append(("time", f"{summary['seconds']:.2f} s"))
    return rows
