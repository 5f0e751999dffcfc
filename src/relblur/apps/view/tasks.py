"""What the worker processes do. Every function takes ``progress``; all that it returns is sent back to the server."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base._typing import AnyArray, Progress, UInt8Array
from ...base.pixels import as_integers
from ...blur.blur_map import BlurMap
from ...blur.comparable_pair import ComparablePair
from .source import SavedResult, read_result

if TYPE_CHECKING:
    from ...blur.window.stream import Stream
    from ...depth.camera import Camera
    from ...depth.depth_map import DepthMap

__all__ = [
    "Prepared",
    "estimate",
    "export_blur",
    "export_depth",
    "measure_depth",
    "pictures",
    "prepare",
    "quick",
    "read",
]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A comparable pair, and both images as a screen shows them, on one scale."""

    pair: ComparablePair
    first: UInt8Array
    second: UInt8Array
    white: float  #: light that is shown as white


def prepare(first: str, second: str, preparing: Mapping[str, Any], *, progress: Progress) -> Prepared:
    """Read two files and make them comparable."""
    from ...photo.pipeline import prepare_pair
    from ...plot.colours import white_of

    pair = prepare_pair(first, second, **preparing)
    progress(0.9)
    white = white_of(pair.first[::4, ::4], pair.second[::4, ::4])
    return Prepared(pair, _shown(pair.first, pair, white), _shown(pair.second, pair, white), white)


def read(path: str, *, progress: Progress) -> SavedResult:
    """Read a result."""
    return read_result(Path(path))


_streams: dict[tuple[Any, ...], Stream] = {}


def quick(choices: Mapping[str, Any], max_sigma: float, *, pair: ComparablePair, progress: Progress) -> BlurMap:
    """Return a map at once: the window of a Stream, or without compiled code that of the plain method."""
    from ...blur.estimate import estimate_blur
    from ...kernels.compiled import why_not_compiled

    window, side = max(3, choices["window"]), choices["sharper"]
    side = pair.sharper if side == "auto" else side
    limit = min(max_sigma, min(pair.shape) / 2)
    window = min(window, min(pair.shape) - 1 + min(pair.shape) % 2)
    if choices["prefilter"] or window < 3 or why_not_compiled() is not None:
        return estimate_blur(pair, **{**choices, "method": "window", "window": window})
    from ...blur.window.stream import Stream

    key = (id(pair), side, window, limit)
    if key not in _streams:
        for old in _streams.values():
            old.close()
        _streams.clear()
        _streams[key] = Stream(pair.first.shape, sharper=side, window=window, max_sigma=limit, valid=pair.valid)
    found = _streams[key].process(*(np.nan_to_num(image) for image in (pair.first, pair.second))).copy()
    progress(1.0)
    return BlurMap(
        found.variance_difference,
        found.variance_stderr,
        found.flags,
        found.sharper,
        {**found.settings, **pair.settings},
    )


def estimate(choices: Mapping[str, Any], *, pair: ComparablePair, progress: Progress) -> BlurMap:
    """Return the map that ``relblur estimate`` makes."""
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map

    found = estimate_blur(pair, progress=progress, **choices)
    refuse_empty_map(found.variance_difference, found.flags)
    return found


def pictures(white: float, *, pair: ComparablePair, blur_map: BlurMap, progress: Progress) -> dict[str, UInt8Array]:
    """Return the blurrier image re-made from the sharper, and the picture that is sharp everywhere."""
    from ...blur.evaluate import resynthesize
    from ...depth.refocus import all_in_focus

    axis = pair.channel_axis
    remade = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
    progress(0.7)
    fused = all_in_focus(pair.first, pair.second, blur_map, channel_axis=axis)
    return {"remade": _shown(remade, pair, white), "fused": _shown(fused, pair, white)}


def measure_depth(camera: Camera, choices: Mapping[str, Any], *, pair: ComparablePair, progress: Progress) -> DepthMap:
    """Return the depth that ``relblur depth`` measures."""
    from ...blur.result import refuse_empty_map
    from ...depth.estimate import estimate_depth

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of sizes; the page tells the memory's limit itself
        found = estimate_depth(pair, camera, progress=progress, **choices)
    refuse_empty_map(found.depth_m, found.flags)
    return found


def export_blur(folder: str, *, pair: ComparablePair, blur_map: BlurMap, progress: Progress) -> list[str]:
    """Write the files of ``relblur estimate`` and return their names."""
    from ...report.full_size import write_relative_depth
    from ...report.result_files import write_blur_files

    write_blur_files(Path(folder), pair, blur_map)
    write_relative_depth(Path(folder), blur_map)
    return sorted(each.name for each in Path(folder).iterdir())


def export_depth(folder: str, *, pair: ComparablePair, depth_map: DepthMap, progress: Progress) -> list[str]:
    """Write the files of ``relblur depth`` and return their names."""
    from ...report.result_files import write_depth_files

    write_depth_files(Path(folder), pair, depth_map)
    return sorted(each.name for each in Path(folder).iterdir())


def _shown(image: AnyArray, pair: ComparablePair, white: float) -> UInt8Array:
    """Return an image as 8-bit RGB for a screen."""
    from ...plot.colours import to_look_at

    shown = as_integers(to_look_at(image, pair.is_light, white), np.uint8)
    colour = shown if shown.ndim == 3 else np.repeat(shown[:, :, None], 3, axis=2)
    return np.ascontiguousarray(colour[:, :, :3])
