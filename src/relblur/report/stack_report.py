"""The files of ``relblur stack``: maps, pictures, a summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import FloatArray
from ..files.depth_formats import write_png_mm
from ..files.disk import write_tiff
from ..plot.colours import to_look_at
from ..stacks.stack_map import StackMap
from .full_size import write_picture
from .panels import Panel, panels_picture
from .summary import write_summary

__all__ = ["stack_files", "write_stack_report"]


def stack_files(*, fuse: bool, depth: bool) -> tuple[str, ...]:
    """Return the names of what will be written."""
    names: tuple[str, ...] = ("overview.png", "stack.npz", "summary.json")
    names += ("index.tif", "fused.png") if fuse else ()
    return (*names, "depth_mm.png", "depth.tif") if depth else names


def write_stack_report(folder: Path, stack: StackMap, is_light: bool, *, depth: bool) -> dict[str, Any]:
    """Write a stack's maps, at full size where a fused picture leads them there, and its pictures."""
    stack.save(folder / "stack.npz")
    if stack.fused is not None:
        processing = f"sharp everywhere, from {len(stack.order)} photographs"
        write_picture(folder / "fused.png", stack.fused, stack.form, processing)
        index = _full_index(stack)
        if index is not None:
            _write_pages(folder / "index.tif", index, ["index", "index_stderr"])
    if depth and stack.depth_m is not None and stack.depth_stderr_m is not None:
        both = stack.full_depth() if stack.fused is not None else (stack.depth_m, stack.depth_stderr_m)
        write_png_mm(folder / "depth_mm.png", np.asarray(both[0], np.float64))
        _write_pages(folder / "depth.tif", both, ["depth_m", "depth_stderr_m"])
    panels_picture(folder / "overview.png", _panels(stack, is_light), columns=2, panel_width=6.5)
    summary = stack.summary()
    write_summary(folder, summary)
    return summary


def _full_index(stack: StackMap) -> tuple[FloatArray, FloatArray] | None:
    return stack.full_size() if stack.known.any() else None


def _write_pages(path: Path, pages: tuple[FloatArray, FloatArray], names: list[str]) -> None:
    write_tiff(path, np.stack(pages).astype(np.float32), {"pages": names})


def _panels(stack: StackMap, is_light: bool) -> list[Panel]:
    panels = []
    if stack.fused is not None:
        panels.append(Panel("sharp everywhere", to_look_at(stack.fused, is_light)))
    if stack.depth_m is not None and stack.depth_stderr_m is not None:
        told = stack.flags == 0  # a plain area of 25 m would leave no colours for the rest
        panels.append(Panel("depth (m), where no flag is", np.where(told, stack.depth_m, np.nan), "depth"))
        panels.append(Panel("its standard error (m)", np.where(told, stack.depth_stderr_m, np.nan), "stderr"))
    elif stack.known.any():
        panels.append(Panel("frame in best focus", stack.index, "level"))
        panels.append(Panel("standard error (frames)", stack.index_stderr, "stderr"))
    elif stack.blur_map is not None:
        panels.append(Panel("relative blur (px), positive: second is blurrier", stack.blur_map.sigma, "sigma"))
        panels.append(Panel("standard error (px)", stack.blur_map.sigma_stderr, "stderr"))
    return [*panels, Panel("flags", stack.flags, "flags")]
