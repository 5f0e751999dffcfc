"""The all-in-focus image: a weighted mean of all frames.

    picture = sum of w_k frame_k / sum of w_k,        w_k = exp(log weight of frame k)

The log weights come from the detail of the frames (:mod:`.choice`), or from a map of the frame in best focus. Frames
are read one at a time. They stay in memory until the mean is computed if they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray, PathLike, Progress
from ..base.errors import InputError
from ..filters.guided import enlarge
from ..images.disk import write_tiff
from .choice import detail_of, log_odds, sampling_step
from .frames import Frame, Frames

__all__ = [
    "fuse_by_detail",
    "fuse_by_index",
    "fuse_by_labels",
    "labels_by_detail",
    "labels_of",
    "prefer_at_outlines",
    "write_labels",
]

#: Least log weight of a frame; exp(-60) is negligible in single precision.
_LEAST_LOG = -60.0
#: Number of rows that are averaged together.
_ROWS = 64
#: Memory for aligned frames until the mean is computed, bytes.
_KEPT_BYTES = 1e9
#: Largest frames that are read while the previous one is used, px; larger ones would need too much memory.
_AHEAD_PIXELS = 16_000_000
#: Sides of the windows that distinguish a jump from a slope, px of the map: maps blur jumps to about 12 px.
_OUTLINE_PX, _AROUND_PX = 9, 25
#: Least difference between two surfaces at an outline, frames; neighbouring frames are too similar.
_LEAST_JUMP = 1.0
#: Standard deviation of the weight by distance from best focus, frames: usual, at preferred outlines, and for labels,
#: which select one frame.
_NEAR, _NEAR_PREFERRED, _LABEL = 0.75, 0.37, 0.05

#: Index of the preferred surface at every pixel of a map, and the outlines at which it is used.
Preference = tuple[FloatArray, BoolArray]
_Lit = tuple[AnyArray, BoolArray | None]


def fuse_by_detail(frames: Frames, progress: Progress, *, preferred: Preference | None = None) -> AnyArray:
    """Return the fused picture at full size, (H, W, C) float32, from the frames with the most detail at each pixel.

    At outlines ``preferred`` selects the frames.
    """
    count, top = len(frames.frames), frames.white
    step = sampling_step(frames.shape, count)
    channels = frames.frames[0].small.shape[2]
    keeps = 4 * count * frames.shape[0] * frames.shape[1] * channels <= _KEPT_BYTES
    kept: list[_Lit] = []
    levels: list[AnyArray] = []
    lights = _lights(frames)
    for number in range(count):
        light, inside = next(lights)
        detail = detail_of(light, top, step)
        levels = levels or [np.empty((count, *energy.shape), np.float32) for energy in detail]
        for level, energy in zip(levels, detail, strict=True):
            level[number] = energy
        if keeps:
            kept.append((light, inside))
        del light, inside  # before the next frame is read
        progress(0.5 * (number + 1) / count)
    odds = log_odds(levels)
    del levels
    odds -= odds.max(axis=0)
    np.maximum(odds, np.float32(_LEAST_LOG), out=odds)

    def log_weight(number: int) -> AnyArray:
        weight = enlarge(odds[number], frames.shape, step)
        if preferred is None:
            return weight
        index, outlines = preferred
        near = _log_nearness(index, _NEAR_PREFERRED, frames.frames[number])
        here = enlarge(outlines.astype(np.uint8), frames.shape, frames.factor, nearest=True) > 0
        return np.where(here, enlarge(near, frames.shape, frames.factor), weight)

    return _mixed(frames, kept or _lights(frames), log_weight, lambda share: progress(0.5 + 0.5 * share))


def fuse_by_index(frames: Frames, index: FloatArray, stderr: FloatArray, progress: Progress) -> AnyArray:
    """Return the fused picture by a map of the frame in best focus and its standard error, without the detail."""
    good = np.isfinite(index) & np.isfinite(stderr)
    return _nearest(frames, np.where(good, index, np.nan), np.hypot(_NEAR, np.where(good, stderr, 0)), progress)


def fuse_by_labels(frames: Frames, labels: AnyArray, progress: Progress) -> AnyArray:
    """Return the picture in which each pixel is from the frame of its label, an index in the order of focus."""
    if labels.shape != frames.shape:
        sizes = f"{labels.shape[1]}x{labels.shape[0]}, the images {frames.shape[1]}x{frames.shape[0]}"
        raise InputError(f"index is {sizes}; pass labels of the size of the images")
    first, *_, last = positions = frames.positions
    unknown = np.setdiff1d(np.unique(labels), positions)
    if unknown.size:
        raise InputError(f"index contains {unknown[0]}; labels are the indices of the frames, {first} to {last}")
    return _nearest(frames, labels.astype(np.float32), _LABEL, progress)


def _nearest(frames: Frames, index: FloatArray, spread: AnyArray | float, progress: Progress) -> AnyArray:
    """Return the picture of the frames nearest to an index, of the size of the map or of the images."""

    def log_weight(number: int) -> AnyArray:
        log = _log_nearness(index, spread, frames.frames[number])
        return log if log.shape == frames.shape else enlarge(log, frames.shape, frames.factor)

    return _mixed(frames, _lights(frames), log_weight, progress)


def prefer_at_outlines(index: FloatArray, prefer: str) -> Preference | None:
    """Return the index of the nearer or the farther surface, and the outlines at which it is used.

    At an outline the blurred edge of one surface covers the other, and both are visible. ``near`` selects the lowest
    index around, ``far`` the highest. An outline is a jump, not a slope: at least half of the range of the index within
    :data:`_AROUND_PX` is within :data:`_OUTLINE_PX`, and it is at least :data:`_LEAST_JUMP`.
    """
    import cv2

    good = np.isfinite(index)
    if prefer == "any" or not good.any():
        return None
    # The median removes outliers, which the extremes of a window would select.
    filled = cv2.medianBlur(np.where(good, index, np.median(index[good])).astype(np.float32), 5)
    (low, high), (lowest, highest) = (
        (np.asarray(cv2.erode(filled, window)), np.asarray(cv2.dilate(filled, window)))
        for window in (np.ones((side, side), np.uint8) for side in (_OUTLINE_PX, _AROUND_PX))
    )
    jump = good & (highest - lowest > _LEAST_JUMP) & (high - low >= (highest - lowest) / 2)
    inside, half = np.zeros_like(jump), _AROUND_PX // 2  # at the border a window contains half of a slope
    inside[half:-half, half:-half] = True
    jump &= inside
    return np.where(jump, lowest if prefer == "near" else highest, index), jump


def labels_of(index: AnyArray, frames: Frames) -> AnyArray:
    """Return the index in the order of focus of the frame nearest to the best focus at every pixel, unsigned."""
    positions = frames.positions
    best = np.where(np.isfinite(index), index, positions[(len(positions) - 1) // 2])
    at = np.clip(np.searchsorted((positions[1:] + positions[:-1]) / 2, best), 0, len(positions) - 1)
    return np.asarray(positions[at], np.uint8 if positions[-1] < 256 else np.uint16)


def labels_by_detail(frames: Frames) -> AnyArray:
    """Return the place of the frame with the most detail at every pixel, unsigned."""
    step, top = sampling_step(frames.shape, len(frames.frames)), frames.white
    details = [detail_of(light, top, step) for light, _ in _lights(frames)]
    odds = log_odds([np.stack(level) for level in zip(*details, strict=True)])
    return labels_of(enlarge(frames.positions[odds.argmax(axis=0)], frames.shape, step, nearest=True), frames)


def write_labels(path: PathLike, labels: AnyArray, frames: Frames) -> None:
    """Write labels as TIFF, with the names of the frames in its description."""
    names = {str(frame.position): name for frame, name in zip(frames.frames, frames.names, strict=True)}
    write_tiff(path, labels, {"quantity": "place of a frame in the order of focus", "frames": names})


def _log_nearness(index: FloatArray, spread: AnyArray | float, frame: Frame) -> AnyArray:
    """Return the log weight of a frame by its distance from the best focus; 0 without an index."""
    log = -np.square((index - frame.position) / spread) / 2
    return np.maximum(np.where(np.isfinite(index), log, 0), _LEAST_LOG).astype(np.float32)


def _lights(frames: Frames) -> Iterator[_Lit]:
    """Yield the aligned frames at full size; read the next one in a thread, unless they are very large."""
    if frames.shape[0] * frames.shape[1] > _AHEAD_PIXELS:
        yield from (frames.full(frame, fast=True) for frame in frames.frames)
        return
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(frames.full, frames.frames[0], fast=True)
        for frame in (*frames.frames[1:], None):
            lit = coming.result()
            if frame is not None:
                coming = ahead.submit(frames.full, frame, fast=True)
            yield lit


def _mixed(
    frames: Frames,
    lights: Iterable[_Lit],
    log_weight: Callable[[int], AnyArray],
    progress: Progress,
) -> AnyArray:
    """Return the weighted mean of the frames."""
    import cv2

    total: AnyArray = np.empty(0)
    mass: AnyArray = np.empty(0)
    lights = iter(lights)
    for number in range(len(frames.frames)):
        light, inside = next(lights)
        weight = np.asarray(log_weight(number), np.float32)
        if inside is not None:
            weight[~inside] = _LEAST_LOG
        cv2.exp(weight, dst=weight)
        if number == 0:
            total, mass = np.zeros_like(light), np.zeros_like(weight)
        mass += weight
        for top in range(0, len(light), _ROWS):  # products of a band fit into the cache
            rows = slice(top, top + _ROWS)
            total[rows] += weight[rows, :, None] * light[rows]
        del light, inside
        progress((number + 1) / len(frames.frames))
    for top in range(0, len(total), _ROWS):
        total[top : top + _ROWS] /= mass[top : top + _ROWS, :, None]
    return total
