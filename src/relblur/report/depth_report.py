"""The files of ``relblur depth``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import MissingDependencyError
from ..blur.comparable_pair import ComparablePair
from ..depth.depth_map import DepthMap
from ..images.depth_formats import point_cloud
from ..images.disk import PathLike, write_image
from ..plot.colours import ColourScale, look_of, photo, scale_for
from ..plot.figures import scene_picture
from .panels import Panel, map_picture, pair_panels, panels_picture
from .summary import caption, summarise_depth, write_summary

__all__ = ["DEPTH_FILES", "depth_picture", "write_depth_report"]

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
#: Focal length over the image's width of a camera that has none.
_ASSUMED_FOCAL = 1.2


def write_depth_report(
    folder: Path, pair: ComparablePair, depth_map: DepthMap, *, focal_length_px: float | None = None
) -> dict[str, Any]:
    """Write a depth map in every format, pictures and a summary into a fresh folder; return the summary."""
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
    settings = depth_map.settings
    heading = caption(pair, settings, f"depth, psf {settings.get('psf', '?')}, {depth_map.camera.describe()}")
    view = depth_picture(folder / "overview.png", pair, depth_map, focal_length_px, heading)
    write_image(folder / "view.png", view)
    map_picture(folder / "depth_colour.png", _depth_panel(depth_map), heading)
    summary = {**summarise_depth(depth_map), "left_out": left_out, "notes": list(pair.notes)}
    write_summary(folder, summary)
    return summary


def depth_picture(
    path: PathLike, pair: ComparablePair, depth_map: DepthMap, focal_length_px: float | None = None, heading: str = ""
) -> AnyArray:
    """Draw pair, depth, standard error, flags and a view of the scene in space; return the view."""
    focal = focal_length_px or depth_map.camera.focal_length_px
    view = scene_picture(_points(pair, depth_map, focal or _ASSUMED_FOCAL * depth_map.shape[1]))
    panels = [
        *pair_panels(pair),
        _depth_panel(depth_map),
        Panel("standard error (m)", depth_map.depth_stderr_m, "stderr"),
        Panel("flags", depth_map.flags, "flags"),
        Panel("the scene in space" if focal else "the scene in space (angle of view assumed)", view),
    ]
    panels_picture(path, panels, heading=heading)
    return view


def _depth_panel(depth_map: DepthMap) -> Panel:
    scale, stderr, flags = _depth_scale(depth_map), depth_map.depth_stderr_m, depth_map.flags
    return Panel("depth (m)", depth_map.depth_m, "depth", scale=scale, stderr=stderr, flags=flags)


def _depth_scale(depth_map: DepthMap) -> ColourScale:
    """Return the colours of a depth map: those of its pixels without a flag, if there are enough."""
    sure = depth_map.known & (depth_map.flags == 0)
    enough = sure.sum() > _ENOUGH_UNFLAGGED * depth_map.known.sum()
    return scale_for(depth_map.depth_m[sure] if enough else depth_map.depth_m, "depth")


def _points(pair: ComparablePair, depth_map: DepthMap, focal_px: float) -> AnyArray:
    """Return (H, W, 6) positions and colours without uncertain points and far outliers."""
    scale, depth = _depth_scale(depth_map), depth_map.depth_m
    with np.errstate(invalid="ignore"):
        shown = depth_map.depth_stderr_m < _TOO_UNSURE * depth
        shown &= (depth >= 0.9 * scale.low) & (depth <= min(1.1 * scale.high, _DEEPEST * scale.low))
    points = point_cloud(np.where(shown, depth, np.nan), focal_px)
    image = photo(look_of(pair)(pair.first))
    colours = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    return np.concatenate([points, colours], axis=2)
