"""One picture from many, sharp everywhere: each frame counts at a pixel by the detail it has there.

A frame's weight is the cube of its detail energy (:mod:`relblur.filters.sharpness`), times the probability that this
frame is the one in focus, given the map's standard error. So the pictures decide where they have texture, the map where
they have none, and where neither can tell, the frames are averaged: no seam. Frames come one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray, Progress
from ..base.errors import InputError
from ..base.settings import PREFERENCES
from ..blur.blur_map import BlurMap
from ..depth.refocus import DETAIL_POWER, log_odds_of_map
from ..filters.guided import enlarge
from ..filters.sharpness import detail_energy
from .frames import Frame, Frames

__all__ = [
    "PREFERENCES",
    "fuse_by_labels",
    "fuse_frames",
    "labels_of",
    "prefer_at_outlines",
    "prior_of_index",
    "prior_of_pair",
]

#: What the map says of a frame, in nats, is limited: maps are wrong at outlines.
_MOST = 20.0
#: Weight of a frame that does not count, nats below that of one that does: exp(-60) is nothing in single precision.
_LEAST_LOG = 60.0
#: Sides of the windows that tell a jump of the index from a slope, px of the map: maps blur jumps to about 12 px.
_OUTLINE_PX, _AROUND_PX = 9, 25
#: Least difference between two surfaces at an outline, frames: neighbouring frames look alike.
_LEAST_JUMP = 1.0
#: Factor of the map's log weights at an outline where a surface is preferred: detail rarely outweighs it.
_SURER = 4.0
#: A frame this near to the best focus is as good as it, frames (standard deviation).
_NEAR = 0.75

#: Returns the logarithm of a frame's prior weight at the map's resolution.
Prior = Callable[[Frame], AnyArray]
Seen = Callable[[Frame, AnyArray], None]


def fuse_frames(
    frames: Frames, prior: Prior | None, progress: Progress, seen: Seen | None = None, *, by_detail: bool = True
) -> AnyArray:
    """Return the fused picture at full size, (H, W, C) float32; ``seen`` gets each frame, in place at full size.

    Without ``by_detail`` the prior alone decides.
    """
    total: AnyArray = np.empty(0)
    mass: AnyArray = np.empty(0)
    top = _top(frames)
    for number, frame in enumerate(frames.frames):
        light, inside = frames.full(frame)
        if seen is not None:
            seen(frame, light)
        weight = _weight(light, inside, top if by_detail else None)
        if prior is not None:
            most = _MOST if by_detail else _LEAST_LOG
            weight += enlarge(np.maximum(prior(frame), -most), frames.shape, frames.factor)
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


def prior_of_index(index: FloatArray, stderr: FloatArray, factor: FloatArray | None = None) -> Prior:
    """Return the log weight of each frame by a map of the frame in best focus, times a factor at each pixel."""
    known = np.isfinite(index) & np.isfinite(stderr)
    place = np.where(known, index, 0)
    spread = 2 * (_NEAR**2 + np.square(np.where(known, stderr, 0)))
    spread = spread if factor is None else spread / factor

    def prior(frame: Frame) -> AnyArray:
        return np.where(known, -np.square(place - frame.position) / spread, 0).astype(np.float32)

    return prior


def prefer_at_outlines(index: FloatArray, prefer: str) -> tuple[FloatArray, FloatArray | None]:
    """Return the index with the nearer or the farther surface at outlines, and by how much it counts more there.

    At an outline the blurred edge of one surface lies over the other: both are visible. ``near`` takes the lowest index
    around, ``far`` the highest. An outline is a jump, not a slope: at least half of the range of the index within
    :data:`_AROUND_PX` is within :data:`_OUTLINE_PX`, and it is at least :data:`_LEAST_JUMP`.
    """
    import cv2

    known = np.isfinite(index)
    if prefer == "any" or not known.any():
        return index, None
    # A median first: the extremes of a window would take outliers for surfaces.
    filled = cv2.medianBlur(np.where(known, index, np.median(index[known])).astype(np.float32), 5)

    def extremes(side: int) -> tuple[AnyArray, AnyArray]:
        window = np.ones((side, side), np.uint8)
        return np.asarray(cv2.erode(filled, window)), np.asarray(cv2.dilate(filled, window))

    (low, high), (lowest, highest) = extremes(_OUTLINE_PX), extremes(_AROUND_PX)
    jump = known & (highest - lowest > _LEAST_JUMP) & (high - low >= (highest - lowest) / 2)
    inside, half = np.zeros_like(jump), _AROUND_PX // 2  # at the border a window sees half of a slope
    inside[half:-half, half:-half] = True
    jump &= inside
    return np.where(jump, lowest if prefer == "near" else highest, index), np.where(jump, _SURER, 1.0)


def fuse_by_labels(frames: Frames, labels: AnyArray, progress: Progress) -> AnyArray:
    """Return the picture whose pixels come from the frame that ``labels`` names, its place in the order."""
    places = [frame.position for frame in frames.frames]
    if labels.shape != frames.shape:
        sizes = f"{labels.shape[1]}x{labels.shape[0]}, the images {frames.shape[1]}x{frames.shape[0]}"
        raise InputError(f"index is {sizes}; give labels of the size of the images")
    strange = np.setdiff1d(np.unique(labels), places)
    if strange.size:
        raise InputError(f"index holds {strange[0]}; labels are the places of the frames, {places[0]} to {places[-1]}")
    picture: AnyArray = np.empty(0)
    for number, frame in enumerate(frames.frames):
        light, _ = frames.full(frame)
        picture = np.zeros_like(light) if number == 0 else picture
        here = labels == frame.position
        picture[here] = light[here]
        progress((number + 1) / len(frames.frames))
    return picture


def labels_of(index: AnyArray, frames: Frames) -> AnyArray:
    """Return the place of the frame that is nearest to the best focus at every pixel, unsigned."""
    places = np.array([frame.position for frame in frames.frames])
    middle = places[(len(places) - 1) // 2]
    best = np.where(np.isfinite(index), index, middle)
    at = np.clip(np.searchsorted((places[1:] + places[:-1]) / 2, best), 0, len(places) - 1)
    return np.asarray(places[at], np.uint8 if places[-1] < 256 else np.uint16)


def prior_of_pair(blur_map: BlurMap) -> Prior:
    """Return what a map of relative blur says of its first and second image."""
    half = np.clip(log_odds_of_map(blur_map.variance_difference, blur_map.variance_stderr) / 2, -_MOST, _MOST)

    def prior(frame: Frame) -> AnyArray:
        return np.asarray(half if frame.number == 0 else -half, np.float32)

    return prior


def _weight(light: AnyArray, inside: BoolArray | None, top: float | None) -> AnyArray:
    """Return the logarithm of a frame's own weight; without ``top`` only whether it has light counts."""
    if top is None:
        weight = np.zeros(light.shape[:2], np.float32)
    else:
        weight = detail_energy(np.sqrt(np.maximum(light.mean(axis=2), 0) / np.float32(top)))
        weight *= np.float32(DETAIL_POWER)
    if inside is not None:
        weight[~inside] = -_LEAST_LOG
    return np.asarray(weight)


def _top(frames: Frames) -> float:
    """Return the intensity that counts as white: 1, or more in pictures of a wider range."""
    brightest = max(float(np.percentile(frame.small, 99.5)) for frame in frames.frames)
    return brightest if brightest > 1 or 0 < brightest < 1e-3 else 1.0
