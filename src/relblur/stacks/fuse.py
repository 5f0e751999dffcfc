"""One picture from many, sharp everywhere: each frame counts at a pixel by the detail it has there.

A frame's weight is the cube of its detail energy (:mod:`relblur.filters.detail`), times what the map says: how likely
this frame is the one in focus, given the map's error bar. So the pictures decide where they have texture, the map where
they have none, and where neither can tell, the frames are averaged: no seam. Frames come one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray, Progress
from ..blur.blur_map import BlurMap
from ..depth.refocus import DETAIL_POWER, log_odds_of_map
from ..filters.detail import detail_energy
from ..filters.guided import enlarge
from .frames import Frame, Frames

__all__ = ["fuse_frames", "prior_of_index", "prior_of_pair"]

#: What the map says of a frame, in nats, is limited: maps are wrong at outlines.
_MOST = 20.0
#: A frame this near to the best focus is as good as it, frames (standard deviation).
_NEAR = 0.75

#: Returns the logarithm of a frame's prior weight at the map's resolution.
Prior = Callable[[Frame], AnyArray]
Seen = Callable[[Frame, AnyArray], None]


def fuse_frames(frames: Frames, prior: Prior | None, progress: Progress, seen: Seen | None = None) -> AnyArray:
    """Return the fused picture at full size, (H, W, C) float32; ``seen`` gets each frame, in place at full size."""
    total: AnyArray = np.empty(0)
    mass: AnyArray = np.empty(0)
    top = _top(frames)
    for number, frame in enumerate(frames.frames):
        light, inside = frames.full(frame)
        if seen is not None:
            seen(frame, light)
        weight = _weight(light, inside, top)
        if prior is not None:
            weight += enlarge(np.maximum(prior(frame), -_MOST), frames.shape, frames.factor)
        np.exp(weight, out=weight)
        if number == 0:
            total, mass = weight[:, :, None] * light, weight
        else:
            for channel in range(light.shape[2]):
                total[:, :, channel] += weight * light[:, :, channel]
            mass += weight
        progress((number + 1) / len(frames.frames))
    total /= mass[:, :, None]
    return total


def prior_of_index(index: FloatArray, stderr: FloatArray) -> Prior:
    """Return what a map of the frame in best focus says of each frame."""
    known = np.isfinite(index) & np.isfinite(stderr)
    place = np.where(known, index, 0)
    spread = 2 * (_NEAR**2 + np.square(np.where(known, stderr, 0)))

    def prior(frame: Frame) -> AnyArray:
        return np.where(known, -np.square(place - frame.position) / spread, 0).astype(np.float32)

    return prior


def prior_of_pair(blur_map: BlurMap) -> Prior:
    """Return what a map of relative blur says of its first and second image."""
    half = np.clip(log_odds_of_map(blur_map.variance_difference, blur_map.variance_stderr) / 2, -_MOST, _MOST)

    def prior(frame: Frame) -> AnyArray:
        return np.asarray(half if frame.number == 0 else -half, np.float32)

    return prior


def _weight(light: AnyArray, inside: BoolArray | None, top: float) -> AnyArray:
    """Return the logarithm of a frame's own weight."""
    weight = detail_energy(np.sqrt(np.maximum(light.mean(axis=2), 0) / np.float32(top)))
    weight *= np.float32(DETAIL_POWER)
    if inside is not None:
        weight[~inside] = -60.0
    return np.asarray(weight)


def _top(frames: Frames) -> float:
    """Return the intensity that counts as white: 1, or more in pictures of a wider range."""
    brightest = max(float(np.percentile(frame.small, 99.5)) for frame in frames.frames)
    return brightest if brightest > 1 or 0 < brightest < 1e-3 else 1.0
