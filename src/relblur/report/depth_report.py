"""What ``relblur depth`` leaves in a folder, and the picture of what a camera can do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import MissingDependencyError
from ..base.settings import ASSUMED_STDERR_PX2
from ..blur.blur_map import Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..depth.camera import Camera
from ..depth.depth_map import DepthMap
from ..depth.working_range import resolution_at, working_range_m
from ..files.depth_formats import point_cloud
from ..files.disk import PathLike, replacing
from .captions import caption, photo_titles
from .colours import ColourScale, flag_shares, look_of, photo, scale_for
from .panels import Panel, map_picture, panels_picture
from .plots import lines_picture, points_picture

__all__ = ["DEPTH_FILES", "camera_picture", "depth_picture", "depth_scale", "summarise_depth", "write_depth_report"]

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

#: The colours go by pixels without a flag where those are at least this share of the answered ones.
_ENOUGH_UNFLAGGED = 0.05
#: A view in space shows no point whose standard error is more than this share of its distance, and none farther than
#: so many times the nearest: a few far points would make the rest a speck.
_TOO_UNSURE, _DEEPEST = 0.15, 4.0


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
        depth_map.save(folder / "points.ply", image=look_of(pair)(pair.first), focal_length_px=focal_length_px)
    try:
        depth_map.save(folder / "depth.exr")
    except MissingDependencyError as error:
        left_out.append(f"depth.exr ({error})")
    depth_map.camera.save(folder / "camera.toml")
    heading = _heading(pair, depth_map)
    depth_picture(folder / "overview.png", pair, depth_map, focal_length_px, heading)
    scale = depth_scale(depth_map)
    map_picture(folder / "depth_colour.png", Panel("depth (m)", depth_map.depth_m, "depth", scale=scale), heading)
    title, points = _points(pair, depth_map, focal_length_px)
    points_picture(folder / "view.png", points, f"{title}\n{heading}")
    summary = summarise_depth(depth_map)
    summary["left_out"] = left_out
    summary["notes"] = list(pair.notes)
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
        # Each pixel counts once here, and they add up to 1.
        "flag_shares": {name: share for name, _, share in flag_shares(depth_map.flags)},
        "settings": dict(depth_map.settings),
    }
    if known.any():
        low, middle, high = np.percentile(depth[known], (5, 50, 95))
        summary["depth_m_percentiles"] = {"5": float(low), "50": float(middle), "95": float(high)}
        summary["median_stderr_m"] = float(np.median(depth_map.depth_stderr_m[known]))
    return summary


def depth_scale(depth_map: DepthMap) -> ColourScale:
    """Return the colours of a depth map: those of the pixels that can be believed, as far as there are any."""
    sure = depth_map.known & (depth_map.flags == 0)
    enough = sure.sum() > _ENOUGH_UNFLAGGED * depth_map.known.sum()
    return scale_for(depth_map.depth_m[sure] if enough else depth_map.depth_m, "depth")


def depth_picture(
    path: PathLike, pair: ComparablePair, depth_map: DepthMap, focal_length_px: float | None = None, heading: str = ""
) -> None:
    """Draw pair, depth, standard error, flags and a view of the scene in space."""
    title, points = _points(pair, depth_map, focal_length_px)
    titles, look = photo_titles(pair), look_of(pair)
    panels = [
        Panel(titles[0], look(pair.first)),
        Panel(titles[1], look(pair.second)),
        Panel("depth (m)", depth_map.depth_m, "depth", scale=depth_scale(depth_map)),
        Panel("standard error (m)", depth_map.depth_stderr_m, "stderr"),
        Panel("flags", depth_map.flags, "flags"),
        Panel(title, points, "points"),
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
        title=f"What this camera delivers: {camera.describe()}",
    )


def _heading(pair: ComparablePair, depth_map: DepthMap) -> str:
    settings = depth_map.settings
    return caption(pair, settings, f"depth, psf {settings.get('psf', '?')}, {depth_map.camera.describe()}")


def _points(pair: ComparablePair, depth_map: DepthMap, focal_length_px: float | None) -> tuple[str, AnyArray]:
    """Return a title and (H, W, 6) positions and colours; what is hardly known, and far outliers, are left out."""
    focal = focal_length_px or depth_map.camera.focal_length_px
    title = "the scene in space" if focal else "the scene in space (angle of view assumed)"
    scale = depth_scale(depth_map)
    with np.errstate(invalid="ignore"):
        shown = depth_map.depth_stderr_m < _TOO_UNSURE * depth_map.depth_m
        shown &= (depth_map.depth_m >= 0.9 * scale.low) & (
            depth_map.depth_m <= min(1.1 * scale.high, _DEEPEST * scale.low)
        )
    points = point_cloud(np.where(shown, depth_map.depth_m, np.nan), focal or 1.2 * depth_map.shape[1])
    image = photo(look_of(pair)(pair.first))
    colours = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    return title, np.concatenate([points, colours], axis=2)
