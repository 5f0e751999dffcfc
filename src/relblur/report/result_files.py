"""The files of ``relblur estimate``, ``depth``, ``range`` and ``stack``: maps, exports, pictures, a summary."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import MissingDependencyError
from ..base.pixels import unit_float
from ..blur.blur_map import BlurMap
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import observed_blurrier, resynthesize
from ..depth.depth_map import DepthMap
from ..depth.relation import DepthRange
from ..images.depth_formats import point_cloud, write_png_mm
from ..images.disk import write_image, write_tiff
from ..images.map_formats import write_16_bit
from ..photo.picture_form import FOR_SCREENS
from ..plot.colours import MapView, look_of, photo, to_look_at, white_of
from ..plot.figures import scene_picture
from ..stacks.stack_map import StackMap
from .full_size import HEIGHT_FILES, PROFILE_FILE, RELATIVE_DEPTH, write_picture, write_relative_depth_of_stack
from .panels import Panel, map_picture, pair_panels, panels_picture, result_panels
from .saved import digest
from .summary import caption, stack_caption, summarise, summarise_range, write_summary

__all__ = [
    "BLUR_FILES",
    "DEPTH_FILES",
    "RANGE_FILES",
    "depth_picture",
    "files_of_stack",
    "stack_files",
    "write_blur_files",
    "write_depth_files",
    "write_range_files",
    "write_stack_files",
]

BLUR_FILES = (
    "overview.png",
    "sigma_colour.png",
    "stderr.png",
    "sharper.png",
    "flags.png",
    "remade.png",
    "sigma.png",
    "sigma.tif",
    "blur_map.npz",
    "summary.json",
)
DEPTH_FILES = (
    "overview.png",
    "depth_colour.png",
    "view.png",
    "depth.npz",
    "depth_mm.png",
    "depth.tif",
    "depth.pfm",
    "depth.npy",
    "points.ply",
    "depth.exr",
    "camera.toml",
    "summary.json",
)
RANGE_FILES = ("overview.png", "probability.tif", "between.png", "summary.json")

#: Limits for points in a 3-D view: standard error (fraction of the distance), and distance (multiple of the nearest). A
#: few far points would shrink the rest of the scene.
_UNCERTAIN, _DEEPEST = 0.15, 4.0
#: Assumed focal length of a camera without one, as a multiple of the image width.
_ASSUMED_FOCAL = 1.2
#: Brightness of points outside the depth range, as a fraction of the original.
DIMMED = 0.2


def write_blur_files(folder: Path, pair: ComparablePair, blur_map: BlurMap) -> dict[str, Any]:
    """Write all files of a blur map into an empty folder; return the summary."""
    axis, heading, panels = pair.channel_axis, caption(pair, blur_map.settings), result_panels(blur_map)
    with ThreadPoolExecutor(1) as beside:  # compute on one core, write and draw on the other
        remaking = beside.submit(resynthesize, pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
        for name in ("blur_map.npz", "sigma.tif", "sigma.png"):
            blur_map.save(folder / name)
        map_picture(folder / "sigma_colour.png", panels[0], heading)
        meaning = "standard error of sigma in px = offset_px + scale_px * value; 0 = none"
        write_16_bit(folder / "stderr.png", blur_map.sigma_stderr, meaning)
        # Codes for other programs: 255 = first is sharper, 0 = second is sharper, 128 = neither.
        write_image(folder / "sharper.png", np.choose(blur_map.sharper + 1, [0, 128, 255]).astype(np.uint8), {})
        map_picture(folder / "flags.png", panels[2], heading)
        remade = remaking.result()
    observed = observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)
    error = _difference(remade, observed, blur_map)
    unblurred = _difference(unit_float(pair.first), unit_float(pair.second), blur_map)
    shown = Panel("the blurrier image re-made: |error|, of the full scale", error, "error")
    panels_picture(folder / "overview.png", [*pair_panels(pair), *panels, shown], heading=heading)
    # The re-made image for display, with the ICC profile and EXIF data of the first photograph.
    light = np.nan_to_num(remade) / white_of(pair.first, pair.second)
    form = FOR_SCREENS if pair.form is None else pair.form.for_screens()
    form.write(folder / "remade.png", light, "the blurrier image at each pixel, re-made from the sharper")
    errors = {
        f"{name}_mean_absolute_error": _mean(each) for name, each in (("remade", error), ("unblurred", unblurred))
    }
    summary = {**summarise(blur_map), "notes": list(pair.notes), **errors}
    write_summary(folder, summary)
    return summary


def _difference(image: AnyArray, observed: AnyArray, blur_map: BlurMap) -> FloatArray:
    """Return the absolute difference of two images, the mean of the channels; NaN where there is no answer."""
    error = np.abs(image - observed)
    error = error.mean(axis=2) if error.ndim == 3 else error
    error[~np.isfinite(blur_map.sigma)] = np.nan
    return np.asarray(error)


def _mean(values: FloatArray) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def write_depth_files(folder: Path, pair: ComparablePair, depth_map: DepthMap) -> dict[str, Any]:
    """Write a depth map in every format, pictures and a summary into an empty folder; return the summary."""
    left_out = []
    for name in ("depth.npz", "depth_mm.png", "depth.tif", "depth.pfm", "depth.npy"):
        depth_map.save(folder / name)
    if depth_map.camera.focal_length_px is None:
        left_out.append("points.ply (the camera file has no focal length)")
    else:
        depth_map.save(folder / "points.ply", image=look_of(pair)(pair.first))
    try:
        depth_map.save(folder / "depth.exr")
    except MissingDependencyError as error:
        left_out.append(f"depth.exr ({error})")
    depth_map.camera.save(folder / "camera.toml")
    method = f"depth, psf {depth_map.settings.get('psf', '?')}, {depth_map.camera.describe()}"
    heading = caption(pair, depth_map.settings, method)
    view = depth_picture(folder / "overview.png", pair, depth_map, heading)
    write_image(folder / "view.png", view)
    map_picture(folder / "depth_colour.png", result_panels(depth_map)[0], heading)
    summary = {**summarise(depth_map), "left_out": left_out, "notes": list(pair.notes)}
    write_summary(folder, summary)
    return summary


def depth_picture(path: Path, pair: ComparablePair, depth_map: DepthMap, heading: str = "") -> AnyArray:
    """Write a picture of pair, depth, standard error, flags and a 3-D view of the scene; return the view."""
    focal = depth_map.camera.focal_length_px
    view = scene_picture(_points(pair, depth_map, focal or _ASSUMED_FOCAL * depth_map.shape[1]))
    title = "the scene in space" if focal else "the scene in space (angle of view assumed)"
    panels_picture(path, [*pair_panels(pair), *result_panels(depth_map), Panel(title, view)], heading=heading)
    return view


def _points(pair: ComparablePair, depth_map: DepthMap, focal_px: float) -> AnyArray:
    """Return (H, W, 6) positions and colours without uncertain points and far outliers."""
    scale, depth = MapView.of(depth_map).scale, depth_map.depth_m
    with np.errstate(invalid="ignore"):
        shown = depth_map.depth_stderr_m < _UNCERTAIN * depth
        shown &= (depth >= 0.9 * scale.low) & (depth <= min(1.1 * scale.high, _DEEPEST * scale.low))
    points = point_cloud(np.where(shown, depth, np.nan), focal_px)
    image = photo(look_of(pair)(pair.first))
    colours = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    return np.concatenate([points, colours], axis=2)


def write_range_files(folder: Path, pair: ComparablePair, found: DepthRange) -> dict[str, Any]:
    """Write probabilities, decisions, a picture and a summary into an empty folder; return the summary."""
    span = f"{found.nearest_m:g} to {found.farthest_m:g} m"
    known = np.isfinite(found.probability)
    meaning = {"quantity": f"probability that the point lies at {span}; NaN where it is unknown"}
    write_tiff(folder / "probability.tif", found.probability.astype(np.float32), meaning)
    # Codes for other programs: 255 = in the range, 0 = outside, 128 = unknown.
    write_image(folder / "between.png", np.where(known, np.where(found.between, 255, 0), 128).astype(np.uint8), {})
    photographs = pair_panels(pair)
    mean = (photo(photographs[0].image) + photo(photographs[1].image)) / 2
    light = DIMMED + (1 - DIMMED) * np.nan_to_num(found.probability, nan=0.5)
    panels = [
        *photographs,
        Panel(f"probability of {span}", found.probability, "count", 1.0),
        Panel("the points in the range", mean * (light[:, :, None] if mean.ndim == 3 else light)),
    ]
    panels_picture(folder / "overview.png", panels, columns=2, heading=f"points at {span}")
    summary = {**summarise_range(found), "notes": list(pair.notes)}
    write_summary(folder, summary)
    return summary


def stack_files(*, fuse: bool, depth: bool, heights: bool = False, profile: bool = False) -> tuple[str, ...]:
    """Return the names of the files of a stack."""
    names: tuple[str, ...] = ("overview.png", "stack.npz", "summary.json", "index_colour.png", RELATIVE_DEPTH)
    names += ("index.tif", "fused.png") if fuse else ()
    names += HEIGHT_FILES if heights else ()
    names += (PROFILE_FILE,) if profile else ()
    return (*names, "depth_mm.png", "depth.tif") if depth else names


def write_stack_files(
    folder: Path, stack: StackMap, is_light: bool, *, depth: bool, images: Sequence[Path] = ()
) -> dict[str, Any]:
    """Write the maps of a stack, pictures and a summary into an empty folder; return the summary.

    Maps are enlarged to full size along the outlines of the fused picture. ``images`` are the files of the stack; the
    summary contains their SHA-256.
    """
    stack.save(folder / "stack.npz")
    if stack.fused is not None:
        processing = f"sharp everywhere, from {len(stack.order)} photographs"
        write_picture(folder / "fused.png", stack.fused, stack.form, processing, stack.pixel_um)
        if stack.known.any():
            _write_pages(folder / "index.tif", stack.full_size(), ["index", "index_stderr"], stack.pixel_um)
    if depth and stack.depth_m is not None and stack.depth_stderr_m is not None:
        both = stack.full_depth() if stack.fused is not None else (stack.depth_m, stack.depth_stderr_m)
        write_png_mm(folder / "depth_mm.png", np.asarray(both[0], np.float64))
        _write_pages(folder / "depth.tif", both, ["depth_m", "depth_stderr_m"], stack.pixel_um)
    write_relative_depth_of_stack(folder, stack)
    heading, panels = stack_caption(stack), result_panels(stack)
    fused = [] if stack.fused is None else [Panel("sharp everywhere", to_look_at(stack.fused, is_light))]
    panels_picture(folder / "overview.png", [*fused, *panels], columns=2, heading=heading, panel_width=6.5)
    map_picture(folder / "index_colour.png", panels[0], heading)
    summary = {**summarise(stack), "files": files_of_stack(images)}
    write_summary(folder, summary)
    return summary


def _write_pages(path: Path, pages: tuple[AnyArray, AnyArray], names: list[str], pixel_um: float | None) -> None:
    write_tiff(path, np.stack(pages).astype(np.float32), {"pages": names}, pixel_um=pixel_um)


def files_of_stack(images: Sequence[Path]) -> list[dict[str, Any]]:
    """Return name, size and SHA-256 of files; size and SHA-256 of a folder (Zarr) are None."""
    digests = [(path.name, *digest(path)) for path in images]
    return [{"name": name, "bytes": size, "sha256": sha256} for name, size, sha256 in digests]
