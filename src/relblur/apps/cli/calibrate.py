"""``relblur calibrate``: fit parameters of a camera to a pair with known distances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from ...base.options import Depth, Preparing
from ..terminal.console import UsageError, print_json, print_message, print_table, progress_bar
from ..terminal.options import OUTPUT, CameraFile, First, Force, Json, Only, Second, numbers, option

__all__ = ["calibrate"]

Psf = Literal["auto", "disc", "gaussian"]
KNOWN = "Known distances, one kind"
_FIT = (
    "Parameters to fit, separated by commas: blur_constant (size of the blur), focus_first_m, focus_second_m, "
    "variance_offset_px2 (blur in focus; --psf gaussian only)."
)
_PSF = "Shape of the blur. auto: disc; gaussian for two apertures, an offset or a calibrated blur_constant."


def calibrate(
    first: First,
    second: Second,
    camera: CameraFile,
    options: Annotated[Depth, Only("prefilter")],
    preparing: Preparing,
    distance: Annotated[
        float | None, option("--distance", "Distance of a flat target that faces the camera, m.", "M", KNOWN)
    ] = None,
    plane: Annotated[
        list[str] | None, option("--plane", "A point of a flat target; three or more.", "ROW,COLUMN,M", KNOWN)
    ] = None,
    point: Annotated[list[str] | None, option("--point", "A single point; two or more.", "ROW,COLUMN,M", KNOWN)] = None,
    depth_file: Annotated[
        Path | None,
        option("--depth", "Depth of every pixel: 16-bit PNG in mm, or floats in m; 0: unknown.", "FILE", KNOWN),
    ] = None,
    fit: Annotated[str, option("--fit", _FIT, "NAMES")] = "blur_constant",
    psf: Annotated[Psf, option("--psf", _PSF, "|".join(get_args(Psf)))] = "auto",
    output: Annotated[Path | None, option("--output,-o", "Camera file to write.", "FILE", OUTPUT)] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit the size of the blur, and focus distances, to a pair with known distances.

        relblur calibrate a.png b.png -c lens.toml --distance 2 -o cam.toml

    With a disc, the size of the blur is the circle of confusion, and the new camera file gets the f-number (or circle
    constant) that produces it. With a Gaussian it is blur_constant; use the same --prefilter for 'relblur depth'
    afterwards. A fit is refused if a value is at its limit or if the known distances do not determine it.
    """
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map
    from ...depth.calibration import calibrate as fit_camera
    from ...depth.calibration import calibrate_shape, check_fit
    from ...depth.camera import Camera
    from ...depth.order import file_order_warnings
    from ...depth.psf import usual_psf
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file
    from ...photo.pipeline import prepare_pair

    refuse_inputs((output,), (first, second, camera, depth_file))
    refuse_to_replace_file(output, force)
    model = Camera.load(camera)
    names = [name.strip() for name in fit.split(",")]
    if psf == "auto":
        only_gaussian = model.kind != "focus" or "variance_offset_px2" in names
        shape = "gaussian" if only_gaussian else usual_psf(model)
    else:
        shape = psf
    check_fit(names, model, is_gaussian=shape == "gaussian")
    known = _known(depth_file, distance, plane, point)
    pair = prepare_pair(first, second, **preparing.arguments())
    known = _at_resolution(known, pair.factor)
    with progress_bar(f"measuring blur, {pair.size}") as progress:
        if shape == "gaussian":
            blur_map = estimate_blur(pair, sharper=model.sharper, prefilter=options.prefilter, progress=progress)
            refuse_empty_map(blur_map.variance_difference, blur_map.flags)
            calibration = fit_camera(blur_map, model.decimated(pair.factor), fit=names, **known)
            fitted = calibration.camera.at_full_resolution(pair.factor)
        else:
            calibration = calibrate_shape(pair, model, known=known, fit=names, progress=progress)
            fitted = calibration.camera
    warnings = file_order_warnings((first, second), model)
    for note in (*pair.notes, *(f"relblur: note: {warning}" for warning in warnings)):
        print_message(note)
    if output is not None:
        with placing(output, force=force) as file:
            fitted.save(file)
        print_message(f"camera file: {output}")
    if as_json:
        about = {"psf": shape, "values": calibration.values, "stderr": calibration.stderr, "points": calibration.points}
        print_json({**about, "median_depth_error": calibration.depth_error, "camera": fitted.as_dict()})
        return
    rows = [(name, f"{value:.5g}", f"{calibration.stderr[name]:.2g}") for name, value in calibration.values.items()]
    if shape != "gaussian" and model.f_number is not None:
        rows.append(("that is", fitted.describe(), ""))
    rows += [
        ("pixels used", str(calibration.points), ""),
        ("median depth error", f"{100 * calibration.depth_error:.2g} %", ""),
    ]
    print_table(f"{first.name} and {second.name}, psf {shape}", ("", "value", "standard error"), rows)


def _known(
    depth_file: Path | None, distance: float | None, plane: list[str] | None, point: list[str] | None
) -> dict[str, Any]:
    """Return the known distances, at the full resolution."""
    given = [value for value in (depth_file, distance, plane, point) if value]
    if len(given) != 1:
        raise UsageError("give exactly one of --depth, --distance, --plane and --point")
    if plane:
        return {"plane": [numbers(text, "--plane", 3) for text in plane]}
    if point:
        return {"points": [numbers(text, "--point", 3) for text in point]}
    return {"depth_m": distance if depth_file is None else _read_depth(depth_file)}


def _at_resolution(known: dict[str, Any], factor: int) -> dict[str, Any]:
    """Return known distances for images decimated by a factor."""
    if "depth_m" not in known:
        return {name: [(row / factor, column / factor, z) for row, column, z in v] for name, v in known.items()}
    depth_m = known["depth_m"]
    return {"depth_m": depth_m if isinstance(depth_m, float) else depth_m[::factor, ::factor]}


def _read_depth(path: Path) -> Any:
    """Return known depth in m, NaN where the file has no value."""
    import numpy as np

    from ...images.images import read_image

    stored = read_image(path)
    if stored.ndim != 2:
        raise UsageError(f"{path} has {stored.shape[2]} channels; a depth map has one")
    metres = stored / 1000 if np.issubdtype(stored.dtype, np.integer) else stored.astype(np.float64)
    return np.where(metres > 0, metres, np.nan)
