"""A scene in space, turned to and fro: an animation that shows depth without a second eye."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..base._typing import AnyArray, FloatArray, Progress, UInt8Array
from ..base.errors import InputError
from ..depth.depth_map import DepthMap
from ..files.depth_formats import point_cloud
from ..files.disk import replacing
from ..files.staging import placing

__all__ = ["write_rocking"]

FRAMES, SIDE_PX, SWING_DEGREES, FRAME_MS = 24, 480, 14.0, 60
#: Of a clip: about six seconds.
TURNS = 4
#: Angle of view of a camera that does not tell: focal length over the image's width.
ASSUMED_FOCAL = 1.2
_BACKGROUND = 18


def write_rocking(path: Path, depth_map: DepthMap, colours: UInt8Array, progress: Progress) -> None:
    """Write the points of a depth map, in the colours of an 8-bit RGB picture, as a GIF or MP4 by the path's suffix."""
    write = _write_mp4 if path.suffix == ".mp4" else _write_gif
    write(path, _frames(depth_map, colours, progress))


def _frames(depth_map: DepthMap, colours: UInt8Array, progress: Progress) -> Iterator[UInt8Array]:
    """Draw one turn to and fro."""
    points, shades = _points(depth_map, colours)
    middle = np.median(points, axis=0)
    # Even sides: H.264 has no others.
    size = (max(2, 2 * round(SIDE_PX * depth_map.shape[0] / depth_map.shape[1] / 2)), SIDE_PX)
    for number in range(FRAMES):
        angle = math.radians(SWING_DEGREES) * math.sin(2 * math.pi * number / FRAMES)
        yield _frame(points, shades, middle, angle, size)
        progress((number + 1) / FRAMES)


def _write_gif(path: Path, frames: Iterator[UInt8Array]) -> None:
    from PIL import Image

    drawn = [Image.fromarray(frame).quantize(128, dither=Image.Dither.NONE) for frame in frames]
    with replacing(path) as stream:
        drawn[0].save(
            stream, format="GIF", save_all=True, append_images=drawn[1:], duration=FRAME_MS, loop=0, optimize=False
        )


def _write_mp4(path: Path, frames: Iterator[UInt8Array]) -> None:
    """Write some turns: a clip does not start again by itself."""
    from ..video.clip import import_av
    from ..video.writing import CLIP_SUFFIXES, add_stream, encode, finish

    av = import_av()
    drawn = list(frames)
    codec, pixel_format, options = CLIP_SUFFIXES[".mp4"]
    with placing(path, force=True) as staged:
        container = av.open(str(staged), "w")
        stream = add_stream(container, codec, drawn[0].shape[:2], 1000 / FRAME_MS, options)
        stream.pix_fmt = pixel_format
        for number, frame in enumerate(drawn * TURNS):
            encode(container, stream, frame, number * FRAME_MS / 1000)
        finish(container, stream)


def _points(depth_map: DepthMap, colours: UInt8Array) -> tuple[FloatArray, UInt8Array]:
    """Return the known points, without the few that lie far from the rest, and their colours."""
    focal = depth_map.camera.focal_length_px or ASSUMED_FOCAL * depth_map.shape[1]
    step = max(1, math.ceil(math.sqrt(depth_map.depth_m.size / 400_000)))
    cloud = point_cloud(depth_map.depth_m, focal)[::step, ::step].reshape(-1, 3)
    known = np.isfinite(cloud).all(axis=1)
    if not known.any():
        raise InputError("the depth map has no point; measure depth first")
    low, high = np.percentile(cloud[known, 2], (0.5, 99.5))
    known &= (cloud[:, 2] >= low) & (cloud[:, 2] <= high)
    return cloud[known], colours[::step, ::step].reshape(-1, 3)[known]


def _frame(
    points: FloatArray, shades: UInt8Array, middle: FloatArray, angle: float, size: tuple[int, int]
) -> UInt8Array:
    """Draw points as squares, the near over the far, seen from the lens after a turn about the upright axis."""
    height, width = size
    x, y, z = (points - middle).T
    turned = np.cos(angle) * x + np.sin(angle) * z
    away = np.cos(angle) * z - np.sin(angle) * x + middle[2]
    reach = float(np.abs(points[:, 0] / points[:, 2]).max()) or 1.0
    focal = 0.92 * width / (2 * reach)
    away = np.maximum(away, 0.05 * middle[2])
    column = np.rint(focal * (turned + middle[0]) / away + width / 2).astype(int)
    row = np.rint(focal * (y + middle[1]) / away + height / 2).astype(int)
    order = np.argsort(-away, kind="stable")
    picture: AnyArray = np.full((height, width, 3), _BACKGROUND, np.uint8)
    size_px = max(1, math.ceil(width / math.sqrt(max(1.0, len(points) * width / height))))
    # Squares of one point stand together, so that of all that fall on a pixel the nearest is written last.
    across, down = (each.ravel() for each in np.meshgrid(np.arange(size_px), np.arange(size_px)))
    r = (row[order][:, None] + down).ravel()
    c = (column[order][:, None] + across).ravel()
    inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
    picture[r[inside], c[inside]] = np.repeat(shades[order], size_px**2, axis=0)[inside]
    return picture
