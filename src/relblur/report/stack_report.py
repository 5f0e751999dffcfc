"""What ``relblur stack`` leaves in a folder: maps, pictures, heights, a summary."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..images.depth_formats import write_png_mm
from ..images.disk import replacing, write_image, write_tiff
from ..images.scaled import write_ome_tiff
from ..plot.colours import to_look_at
from ..stacks.stack_map import StackMap
from ..stacks.topography import Surface, profile, surface_of
from .full_size import RELATIVE_DEPTH, relative_depth, with_alpha, write_picture
from .panels import Panel, map_picture, panels_picture
from .provenance import digest
from .summary import KINDS, write_summary

__all__ = ["files_of_stack", "stack_files", "write_heights", "write_stack_report"]

#: Names of files that a heading shows at most.
_MOST_NAMES = 4
HEIGHT_FILES = ("height.ome.tif", "height_16bit.tif")
PROFILE_FILE = "profile.csv"


def stack_files(*, fuse: bool, depth: bool, heights: bool = False, profile: bool = False) -> tuple[str, ...]:
    """Return the names of what will be written."""
    names: tuple[str, ...] = ("overview.png", "stack.npz", "summary.json", "index_colour.png", RELATIVE_DEPTH)
    names += ("index.tif", "fused.png") if fuse else ()
    names += HEIGHT_FILES if heights else ()
    names += (PROFILE_FILE,) if profile else ()
    return (*names, "depth_mm.png", "depth.tif") if depth else names


def write_stack_report(
    folder: Path, stack: StackMap, is_light: bool, *, depth: bool, images: Sequence[Path] = ()
) -> dict[str, Any]:
    """Write a stack's maps, at full size where a fused picture leads them there, and its pictures.

    ``images`` are the files it was made from; the summary has their SHA-256.
    """
    stack.save(folder / "stack.npz")
    known = bool(stack.known.any())
    if stack.fused is not None:
        processing = f"sharp everywhere, from {len(stack.order)} photographs"
        write_picture(folder / "fused.png", stack.fused, stack.form, processing, stack.pixel_um)
        if known:
            _write_pages(folder / "index.tif", stack.full_size(), ["index", "index_stderr"], stack.pixel_um)
    if depth and stack.depth_m is not None and stack.depth_stderr_m is not None:
        both = stack.full_depth() if stack.fused is not None else (stack.depth_m, stack.depth_stderr_m)
        write_png_mm(folder / "depth_mm.png", np.asarray(both[0], np.float64))
        _write_pages(folder / "depth.tif", both, ["depth_m", "depth_stderr_m"], stack.pixel_um)
    _write_relative_depth(folder, stack)
    heading = heading_of(stack)
    panels_picture(folder / "overview.png", _panels(stack, is_light), columns=2, heading=heading, panel_width=6.5)
    map_picture(folder / "index_colour.png", _best_panel(stack), heading)
    summary = {**stack.summary(), "files": files_of_stack(images)}
    write_summary(folder, summary)
    return summary


def files_of_stack(images: Sequence[Path]) -> list[dict[str, Any]]:
    """Return name, size and SHA-256 of files; those of a folder (Zarr) are not known."""
    found = []
    for path in images:
        size, sha256 = digest(path)
        found.append({"name": path.name, "bytes": size, "sha256": sha256})
    return found


def heading_of(stack: StackMap) -> str:
    """Return two lines about a stack: its files, and how it was measured."""
    names = [str(name) for name in stack.settings.get("images", ())]
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], "...", names[-1]]
    parts = [f"{len(stack.places)} frames", f"method {stack.settings.get('method', '?')}"]
    parts.append(f"map {stack.shape[1]}x{stack.shape[0]} px")
    if stack.factor > 1:
        parts.append(f"every {stack.factor}th pixel")
    if stack.step_um is not None:
        parts.append(f"step {stack.step_um:.4g} µm")
    if stack.pixel_um is not None:
        parts.append(f"pixel {stack.pixel_um:.4g} µm")
    parts.append(f"relblur {stack.settings.get('relblur', '')}".strip())
    return f"{', '.join(names)}\n{', '.join(parts)}"


def write_heights(folder: Path, stack: StackMap, surface: Surface, line: tuple[float, ...] | None) -> dict[str, Any]:
    """Write heights as float and 16-bit TIFF, a profile along ``line`` (column, row, column, row); return figures.

    ``surface`` has the pixels of the map; files at full size follow the outlines of the fused picture.
    """
    full = surface_of(stack, full_size=True) if stack.fused is not None else surface_of(stack)
    factor = 1 if stack.fused is not None else stack.factor
    height = full.height_um
    if surface.tilt is not None:
        height = height - _plane_of(surface, stack, full.height_um.shape, factor)
        full = Surface(height, full.stderr_um, full.measured, surface.tilt)
    pixel = None if stack.pixel_um is None else stack.pixel_um * factor
    pages = np.stack([height, full.stderr_um]).astype(np.float32)
    names = ["height (µm)", "standard error (µm)"]
    write_ome_tiff(folder / HEIGHT_FILES[0], pages, "CYX", channels=names, pixel_um=pixel)
    _write_16_bit(folder / HEIGHT_FILES[1], height, pixel)
    if line is not None:
        _write_profile(folder / PROFILE_FILE, profile(full, line[:2], line[2:], pixel), pixel is not None)
    tilt = None if surface.tilt is None else [each / stack.factor for each in surface.tilt]
    return {**surface.roughness().as_dict(), "tilt_removed_um_per_px": tilt}


def _plane_of(surface: Surface, stack: StackMap, shape: tuple[int, ...], factor: int) -> AnyArray:
    """Return the plane that was taken from a surface, on the pixels of a picture of ``factor`` px each."""
    assert surface.tilt is not None
    assert stack.height_um is not None
    down, right = surface.tilt
    offset = float(np.nanmedian(stack.height_um - surface.height_um - _slope(surface.tilt, stack.shape, 1.0)))
    return offset + _slope((down, right), shape, factor / stack.factor)


def _slope(tilt: tuple[float, float], shape: tuple[int, ...], scale: float) -> AnyArray:
    rows, columns = (scale * np.arange(n, dtype=np.float64) for n in shape)
    return np.asarray(tilt[0] * rows[:, None] + tilt[1] * columns)


def _write_16_bit(path: Path, height: AnyArray, pixel_um: float | None) -> None:
    """Write heights as 1..65535 between the least and the largest; 0 is no answer, the description has the scale."""
    known = np.isfinite(height)
    low, high = (float(height[known].min()), float(height[known].max())) if known.any() else (0.0, 1.0)
    scale = (high - low) / 65534 or 1.0
    values = np.where(known, np.rint((np.where(known, height, low) - low) / scale) + 1, 0).astype(np.uint16)
    meaning = "height_um = offset_um + scale_um * value; 0 = no answer"
    write_tiff(path, values, {"quantity": meaning, "offset_um": low - scale, "scale_um": scale}, pixel_um=pixel_um)


def _write_profile(path: Path, samples: dict[str, Any], in_um: bool) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["distance_um" if in_um and name == "distance" else name for name in samples])
    for row in zip(*samples.values(), strict=True):
        writer.writerow([f"{value:.6g}" for value in row])
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())


def _write_relative_depth(folder: Path, stack: StackMap) -> None:
    """Write near and far as grey with an alpha channel, at the size of the images if the fused picture leads there."""
    if stack.known.any():
        index = stack.full_size()[0] if stack.fused is not None else stack.index
        grey = relative_depth(-np.asarray(index, np.float64))
        meaning = "white: in focus in the first frame of the order; transparent: no answer"
    else:
        assert stack.blur_map is not None
        grey = relative_depth(stack.blur_map.variance_difference)
        meaning = "white: nearer to the distance in focus in the first image; transparent: no answer"
    write_image(folder / RELATIVE_DEPTH, with_alpha(grey), {"quantity": meaning})


def _write_pages(path: Path, pages: tuple[AnyArray, AnyArray], names: list[str], pixel_um: float | None) -> None:
    write_tiff(path, np.stack(pages).astype(np.float32), {"pages": names}, pixel_um=pixel_um)


def _best_panel(stack: StackMap) -> Panel:
    name, unit, values, stderr = stack.best
    title = f"{name} ({unit})" + (", positive: second is blurrier" if unit == "px" else "")
    return Panel(title, values, KINDS.get(unit, "level"), stderr=stderr, flags=stack.flags)


def _panels(stack: StackMap, is_light: bool) -> list[Panel]:
    panels = []
    if stack.fused is not None:
        panels.append(Panel("sharp everywhere", to_look_at(stack.fused, is_light)))
    unit, stderr = stack.best[1], stack.best[3]
    return [*panels, _best_panel(stack), Panel(f"standard error ({unit})", stderr, "stderr"),
            Panel("flags", stack.flags, "flags")]  # fmt: skip
