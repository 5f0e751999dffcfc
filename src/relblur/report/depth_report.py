"""What ``relblur depth`` leaves in a folder, and the picture of what a camera can do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import FloatArray
from ..base.errors import MissingDependencyError
from ..base.settings import ASSUMED_STDERR_PX2
from ..blur.blur_map import Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..depth.camera import Camera
from ..depth.depth_map import DepthMap
from ..depth.working_range import resolution_at, working_range_m
from ..files.depth_formats import point_cloud
from ..files.disk import PathLike, replacing
from .colours import photo, to_look_at
from .panels import Panel, panels_picture
from .plots import lines_picture

__all__ = ["DEPTH_FILES", "camera_picture", "depth_picture", "summarise_depth", "write_depth_report"]

DEPTH_FILES = (
    "overview.png",
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


def write_depth_report(
    folder: Path, pair: ComparablePair, depth_map: DepthMap, *, focal_length_px: float | None = None
) -> dict[str, Any]:
    """Write a depth map in every format, picture and summary into a fresh folder."""
    left_out = []
    for name in ("depth.npz", "depth_mm.png", "depth.tif", "depth.pfm", "depth.npy"):
        depth_map.save(folder / name)
    if focal_length_px is None and depth_map.camera.focal_length_px is None:
        left_out.append("points.ply (the camera file has no focal length: add --focal-px)")
    else:
        depth_map.save(
            folder / "points.ply", image=to_look_at(pair.first, pair.is_light), focal_length_px=focal_length_px
        )
    try:
        depth_map.save(folder / "depth.exr")
    except MissingDependencyError as error:
        left_out.append(f"depth.exr ({error})")
    depth_map.camera.save(folder / "camera.toml")
    depth_picture(folder / "overview.png", pair, depth_map, focal_length_px)
    summary = summarise_depth(depth_map)
    summary["left_out"] = left_out
    with replacing(folder / "summary.json") as stream:
        stream.write(json.dumps(summary, indent=2).encode())
    return summary


def summarise_depth(depth_map: DepthMap) -> dict[str, Any]:
    """Return the figures a person wants to see first."""
    depth, known = depth_map.depth_m, depth_map.known
    summary: dict[str, Any] = {
        "height": depth_map.shape[0],
        "width": depth_map.shape[1],
        "answered_fraction": float(known.mean()),
        "unflagged_fraction": float((known & (depth_map.flags == 0)).mean()),
        "depth_m_percentiles": None,
        "median_stderr_m": None,
        "flagged_fraction": {str(flag.name).lower(): float(has_flag(depth_map.flags, flag).mean()) for flag in Flag},
        "settings": dict(depth_map.settings),
    }
    if known.any():
        low, middle, high = np.percentile(depth[known], (5, 50, 95))
        summary["depth_m_percentiles"] = {"5": float(low), "50": float(middle), "95": float(high)}
        summary["median_stderr_m"] = float(np.median(depth_map.depth_stderr_m[known]))
    return summary


def depth_picture(
    path: PathLike, pair: ComparablePair, depth_map: DepthMap, focal_length_px: float | None = None, heading: str = ""
) -> None:
    """Draw pair, depth, standard error, flags and a view of the scene in space."""
    focal = focal_length_px or depth_map.camera.focal_length_px
    title = "the scene in space" if focal else "the scene in space (angle of view assumed)"
    points = point_cloud(depth_map.depth_m, focal or 1.2 * depth_map.shape[1])
    panels = [
        Panel("first", to_look_at(pair.first, pair.is_light)),
        Panel("second", to_look_at(pair.second, pair.is_light)),
        Panel("depth (m)", depth_map.depth_m, "depth"),
        Panel("standard error (m)", depth_map.depth_stderr_m, "stderr"),
        Panel("flags", depth_map.flags, "flags"),
        Panel(title, np.concatenate([points, _colours(pair)], axis=2), "points"),
    ]
    panels_picture(path, panels, heading=heading)


def camera_picture(path: PathLike, camera: Camera, stderr_px2: float = ASSUMED_STDERR_PX2) -> None:
    """Draw both circles of confusion and the depth resolution over the working range."""
    near, far = working_range_m(camera)
    far = min(far, 5 * max(z for z in (camera.focus_first_m, camera.focus_second_m, near) if np.isfinite(z)))
    depth: FloatArray = 1 / np.linspace(1 / near, 1 / far, 400)
    circles = np.abs(camera.circle_px(depth))
    per_mille = resolution_at(depth, camera, stderr_px2) / depth
    lines_picture(
        path,
        [
            ("circle of confusion, first (px)", depth, circles[0], "C0-"),
            ("circle of confusion, second (px)", depth, circles[1], "C1-"),
            (f"standard error of depth, mm per m (s known to {stderr_px2:g} px²)", depth, per_mille, "k--"),
        ],
        x_label="distance (m)",
        y_label="px, or mm per m",
        title="What this camera delivers",
    )


def _colours(pair: ComparablePair) -> FloatArray:
    image = photo(to_look_at(pair.first, pair.is_light))
    return image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
