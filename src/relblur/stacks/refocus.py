"""A pair at full size with another focus, from a depth map of fewer pixels."""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray
from ..base.pixels import without_gaps
from ..depth.depth_map import DepthMap
from ..depth.refocus import refocus
from ..filters.guided import guided_enlarge
from .frames import Frames

__all__ = ["refocus_frames"]


def refocus_frames(frames: Frames, depth_map: DepthMap, focus_m: float, *, aperture: float = 1.0) -> AnyArray:
    """Return the picture that the camera would have taken focused at ``focus_m``, from two frames at full size.

    ``depth_map`` contains every ``factor``-th pixel, and the camera of that resolution.
    """
    first, second = (frames.full(frame)[0] for frame in frames.frames)
    if frames.factor > 1:
        grey = np.sqrt(np.maximum((first + second).mean(axis=2), 0)).astype(np.float32)
        u = 1 / depth_map.depth_m
        u, error = guided_enlarge(u, depth_map.depth_stderr_m * np.square(u), grey, frames.factor)
        good = np.isfinite(u) & (u > 0)
        depth = 1 / (without_gaps(u, good) if not good.all() else u)
        full = depth_map.camera.at_full_resolution(frames.factor)
        depth_map = DepthMap(depth, error * np.square(depth), np.zeros(depth.shape, np.uint8), full)
    return np.asarray(refocus(first, second, depth_map, focus_m, aperture=aperture, channel_axis=-1), np.float32)
