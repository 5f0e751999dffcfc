"""Files of ``relblur estimate``, ``depth``, ``range`` and ``stack``: maps, exports, pictures, a summary."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.pixels import line_pixels, unit_float
from ..blur.blur_map import BlurMap
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import observed_blurrier, resynthesize
from ..depth.depth_map import DepthMap
from ..depth.relation import DepthRange
from ..images.depth_formats import write_png_mm
from ..images.disk import write_image, write_tiff
from ..photo.picture_form import FOR_SCREENS
from ..plot.colours import look_of, to_look_at, white_of
from ..stacks.stack_map import StackMap
from ..stacks.topography import Surface
from .full_size import HEIGHT_FILES, RELATIVE_DEPTH, write_picture, write_relative_depth_of_stack
from .panels import Panel, map_picture, pair_panels, panels_picture, result_panels
from .saved import digest
from .summary import caption, stack_caption, summarise, summarise_range, write_summary

__all__ = [
    "BLUR_FILES",
    "DEPTH_FILES",
    "PROFILE_FILE",
    "RANGE_FILES",
    "stack_files",
    "write_blur_files",
    "write_depth_files",
    "write_profile",
    "write_range_files",
    "write_stack_files",
]

BLUR_FILES = (
    "overview.png",
    "sigma_colour.png",
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
    "depth.npz",
    "depth_mm.png",
    "depth.tif",
    "depth.pfm",
    "depth.npy",
    "points.ply",
    "camera.toml",
    "summary.json",
)
PROFILE_FILE = "profile.csv"
RANGE_FILES = ("overview.png", "probability.tif", "between.png", "summary.json")

#: Brightness of points outside the depth range, as a fraction of the original.
DIMMED = 0.2


def write_blur_files(folder: Path, pair: ComparablePair, blur_map: BlurMap) -> dict[str, Any]:
    """Write all files of a blur map into an empty folder; return the summary."""
    axis, heading, panels = pair.channel_axis, caption(pair, blur_map.settings), result_panels(blur_map)
    with ThreadPoolExecutor(1) as beside:  # compute in one thread, write and draw in the other
        remaking = beside.submit(resynthesize, pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
        for name in ("blur_map.npz", "sigma.tif", "sigma.png"):
            blur_map.save(folder / name)
        map_picture(folder / "sigma_colour.png", panels[0], heading)
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
    depth_map.camera.save(folder / "camera.toml")
    method = f"depth, psf {depth_map.settings.get('psf', '?')}, {depth_map.camera.describe()}"
    heading = caption(pair, depth_map.settings, method)
    panels = result_panels(depth_map)
    panels_picture(folder / "overview.png", [*pair_panels(pair), *panels], heading=heading)
    map_picture(folder / "depth_colour.png", panels[0], heading)
    summary = {**summarise(depth_map), "left_out": left_out, "notes": list(pair.notes)}
    write_summary(folder, summary)
    return summary


def write_range_files(folder: Path, pair: ComparablePair, depth_range: DepthRange) -> dict[str, Any]:
    """Write probabilities, decisions, a picture and a summary into an empty folder; return the summary."""
    span, probability = f"{depth_range.nearest_m:g} to {depth_range.farthest_m:g} m", depth_range.probability
    meaning = {"quantity": f"probability that the point lies at {span}; NaN where it is unknown"}
    write_tiff(folder / "probability.tif", probability.astype(np.float32), meaning)
    # Codes for other programs: 255 = in the range, 0 = outside, 128 = unknown.
    codes = np.where(np.isfinite(probability), np.where(depth_range.between, 255, 0), 128)
    write_image(folder / "between.png", codes.astype(np.uint8), {})
    first, second = pair_panels(pair)
    light = DIMMED + (1 - DIMMED) * np.nan_to_num(probability, nan=0.5)
    inside = (first.image + second.image) / 2 * (light[:, :, None] if first.image.ndim == 3 else light)
    maps = [Panel(f"probability of {span}", probability, "count", 1.0), Panel("the points in the range", inside)]
    panels_picture(folder / "overview.png", [first, second, *maps], columns=2, heading=f"points at {span}")
    summary = {**summarise_range(depth_range), "notes": list(pair.notes)}
    write_summary(folder, summary)
    return summary


def stack_files(*, fuse: bool, depth: bool, heights: bool = False) -> tuple[str, ...]:
    """Return the names of the files of a stack."""
    names: tuple[str, ...] = ("overview.png", "stack.npz", "summary.json", "index_colour.png", RELATIVE_DEPTH)
    names += ("index.tif", "fused.png") if fuse else ()
    names += HEIGHT_FILES if heights else ()
    return (*names, "depth_mm.png", "depth.tif") if depth else names


def write_stack_files(folder: Path, stack: StackMap, is_light: bool, *, images: Sequence[Path] = ()) -> dict[str, Any]:
    """Write the maps of a stack, pictures and a summary into an empty folder; return the summary.

    Maps are enlarged to full size along the outlines of the fused picture. ``images`` are the files of the stack; the
    summary contains their SHA-256.
    """
    heading, panels = stack_caption(stack), result_panels(stack)
    stack.save(folder / "stack.npz")
    if stack.depth_m is not None and stack.depth_stderr_m is not None:
        both = stack.full_depth() if stack.fused is not None else (stack.depth_m, stack.depth_stderr_m)
        write_png_mm(folder / "depth_mm.png", np.asarray(both[0], np.float64))
        _write_pages(folder / "depth.tif", both, ["depth_m", "depth_stderr_m"], stack.pixel_um)
    if stack.fused is not None:
        processing = f"sharp everywhere, from {len(stack.order)} photographs"
        write_picture(folder / "fused.png", stack.fused, stack.form, processing, stack.pixel_um)
        if stack.known.any():
            _write_pages(folder / "index.tif", stack.full_size(), ["index", "index_stderr"], stack.pixel_um)
        panels.insert(0, Panel("sharp everywhere", to_look_at(stack.fused, is_light)))
    write_relative_depth_of_stack(folder, stack)
    panels_picture(folder / "overview.png", panels, columns=2, heading=heading, panel_width=6.5)
    map_picture(folder / "index_colour.png", panels[-3], heading)
    files = [dict(zip(("name", "bytes", "sha256"), (path.name, *digest(path)), strict=True)) for path in images]
    summary = {**summarise(stack), "files": files}
    write_summary(folder, summary)
    return summary


def _write_pages(path: Path, pages: tuple[AnyArray, AnyArray], names: list[str], pixel_um: float | None) -> None:
    write_tiff(path, np.stack(pages).astype(np.float32), {"pages": names}, pixel_um=pixel_um)


def write_profile(folder: Path, stack: StackMap, line: Sequence[float], surface: Surface | None = None) -> None:
    """Write the height of a surface, the depth or the index along a line as CSV, with its standard error.

    ``line`` is (column, row, column, row) in px of the photographs. A row is a pixel of the map.
    """
    x0, y0, x1, y1 = line
    along, (rows, columns) = line_pixels((y0, x0), (y1, x1), stack.shape, stack.factor)
    if surface is not None:
        name, maps = "height_um", (surface.height_um, surface.stderr_um)
    else:
        name, maps = "index" if stack.depth_m is None else "depth_m", stack.best[2:]
    samples = [each[rows, columns] for each in (*maps, stack.flags == 0)]
    table = np.stack([*(stack.factor * each for each in (columns, rows, along)), *samples], axis=1)
    header = f"column,row,distance_px,{name},stderr,measured"
    np.savetxt(folder / PROFILE_FILE, table, "%.6g", ",", header=header, comments="")
