"""Functions that the worker processes run; every result is sent to the server."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base._typing import AnyArray, Progress, UInt8Array
from ...base.children import Reporter
from ...base.options import Preparing, Stack
from ...base.pixels import as_integers
from ...blur.blur_map import BlurMap
from ...blur.comparable_pair import ComparablePair
from ...stacks.frames import Frames, frames_of_pair, read_frames
from ...stacks.fuse import write_labels
from ...stacks.images import stack_images
from ...stacks.stack_map import StackMap
from .files import SavedResult, open_paths
from .retouch import Stroke, labels_with, painted

if TYPE_CHECKING:
    from ...depth.camera import Camera
    from ...depth.depth_map import DepthMap

__all__ = ["LABELS", "Aligned"]

#: Side of the preview, px. Images of more values than this use a table as the tone curve for display.
_PREVIEW_PX, _LARGE = 1000, 6_000_000


@dataclass(frozen=True, eq=False)
class Aligned:
    """Aligned frames, small copies for display, and their names."""

    frames: Frames
    pictures: tuple[UInt8Array, ...]
    names: tuple[str, ...]
    white: float

    @classmethod
    def of(cls, frames: Frames) -> Aligned:
        """Return frames with small copies for display."""
        from ...plot.colours import white_of

        smalls = [frame.small for frame in frames.frames]
        white = white_of(*(small[::4, ::4] for small in smalls))
        pictures = tuple(_shown(small, frames.is_light, white) for small in smalls)
        return cls(frames, pictures, frames.names, white)


def preview(path: str, linear: bool, *, progress: Progress) -> UInt8Array:
    """Return a reduced image for display."""
    import cv2

    from ...images.planes import is_stack_file, open_stack
    from ...photo.photograph import read_photograph
    from ...plot.colours import white_of

    source = open_stack(path)[0] if is_stack_file(path) else path
    light = read_photograph(source, linear=linear, dtype=np.float32).light
    factor = max(1, max(light.shape) // _PREVIEW_PX)
    size = (light.shape[1] // factor, light.shape[0] // factor)
    small = np.asarray(cv2.resize(np.nan_to_num(light), size, interpolation=cv2.INTER_AREA))
    return _shown(small, linear, white_of(small))


def prepare(
    paths: Sequence[str], preparing: Mapping[str, Any], *, progress: Progress
) -> tuple[ComparablePair, Aligned]:
    """Return the prepared pair of two files, and its aligned frames."""
    from ...photo.pipeline import prepare_pair

    pair = prepare_pair(paths[0], paths[1], **preparing)
    progress(0.9)
    how = Preparing(**{name: preparing[name] for name in ("align", "exposure", "linear")})
    return pair, Aligned.of(frames_of_pair(list(paths), how, pair))


def read(paths: Sequence[str], names: Sequence[str], *, progress: Progress) -> SavedResult:
    """Read a saved result."""
    result = open_paths([Path(path) for path in paths], names)
    assert isinstance(result, SavedResult)
    return result


def estimate(choices: Mapping[str, Any], *, pair: ComparablePair, progress: Progress) -> BlurMap:
    """Return the map that ``relblur estimate`` makes."""
    from ...blur.estimate import estimate_blur
    from ...blur.result import refuse_empty_map

    result = estimate_blur(pair, progress=progress, **choices)
    refuse_empty_map(result.variance_difference, result.flags)
    return result


def stack(
    paths: Sequence[str],
    reading: Mapping[str, Any],
    focus_m: Sequence[float] | None,
    camera: Camera | None,
    *,
    progress: Reporter,
) -> StackMap:
    """Return the map that ``relblur stack`` makes, without the fused picture; send the aligned frames first."""
    from ...stacks.estimate import estimate_stack

    images = stack_images(paths[0] if len(paths) == 1 else list(paths), Preparing(**reading), Stack(focus_m=focus_m))
    frames = read_frames(images, lambda share: progress(0.3 * share))
    progress.partial(Aligned.of(frames))
    return estimate_stack(frames, camera=camera, fuse=False, progress=lambda share: progress(0.3 + 0.7 * share))


def remake(white: float, *, pair: ComparablePair, blur_map: BlurMap, progress: Progress) -> UInt8Array:
    """Return the blurrier image of a pair, re-made from the sharper one."""
    from ...blur.evaluate import resynthesize

    remade = resynthesize(pair.first, pair.second, blur_map, channel_axis=pair.channel_axis, dtype=np.float32)
    return _shown(remade, pair.is_light, white)


def fuse(
    prefer: str, labels: str | None, *, aligned: Aligned, measured: BlurMap | StackMap, progress: Progress
) -> tuple[AnyArray, UInt8Array]:
    """Return the fused picture at full size, as light and for display; by labels if their file is given."""
    from ...stacks.fuse import fuse_by_detail, fuse_by_labels, prefer_at_outlines

    frames = aligned.frames
    if labels is not None:
        light = fuse_by_labels(frames, _labels(labels), progress)
    else:
        preferred = prefer_at_outlines(measured.index, prefer) if isinstance(measured, StackMap) else None
        light = fuse_by_detail(frames, progress, preferred=preferred)
    return light, _shown(light, frames.is_light, aligned.white)


def frame(position: int, *, aligned: Aligned, progress: Progress) -> UInt8Array:
    """Return an aligned frame at full size, for display."""
    frames = aligned.frames
    chosen = next(each for each in frames.frames if each.position == position)
    return _shown(frames.full(chosen)[0], frames.is_light, aligned.white)


def measure_depth(camera: Camera, choices: Mapping[str, Any], *, pair: ComparablePair, progress: Progress) -> DepthMap:
    """Return the depth that ``relblur depth`` measures."""
    from ...blur.result import refuse_empty_map
    from ...depth.estimate import estimate_depth

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page reports the memory limit of the worker instead
        result = estimate_depth(pair, camera, progress=progress, **choices)
    refuse_empty_map(result.depth_m, result.flags)
    return result


def export(
    folder: str,
    strokes: Sequence[Stroke],
    *,
    pair: ComparablePair | None,
    aligned: Aligned | None,
    measured: BlurMap | StackMap,
    depth_map: DepthMap | None,
    light: AnyArray | None,
    progress: Progress,
) -> None:
    """Write the files of ``relblur estimate`` or ``stack``, the fused picture and its labels, and those of depth."""
    from ...report.full_size import write_heights, write_picture, write_relative_depth
    from ...report.result_files import write_blur_files, write_depth_files, write_stack_files
    from ...stacks.topography import surface_of

    target = Path(folder)
    frames = None if aligned is None else aligned.frames
    if frames is not None and light is not None:
        light = painted(light, strokes, _reader(frames), progress)
    if isinstance(measured, StackMap):
        if frames is not None and light is not None:
            measured = measured.with_picture(light, frames.form)
        files = (
            [Path(source) for source in frames.images.sources if isinstance(source, str)] if frames is not None else []
        )
        is_light = frames is None or frames.is_light
        write_stack_files(target, measured, is_light, images=files)
        if measured.step_um is not None and measured.known.any():
            write_heights(target, measured, surface_of(measured))
    elif pair is not None:
        write_blur_files(target, pair, measured)
        write_relative_depth(target, measured)
        if frames is not None and light is not None:
            write_picture(target / "fused.png", light, frames.form, "sharp everywhere, from two photographs")
    if frames is not None:
        _write_labels(target / LABELS, measured, frames, strokes)
    if depth_map is not None and pair is not None:
        (target / "depth").mkdir()
        write_depth_files(target / "depth", pair, depth_map)


#: File of labels: for every pixel the position of a frame in the order of focus.
LABELS = "labels.tif"


def _write_labels(path: Path, measured: BlurMap | StackMap, frames: Frames, strokes: Sequence[Stroke]) -> None:
    from ...filters.guided import enlarge
    from ...stacks.fuse import labels_of

    if isinstance(measured, StackMap):
        index = measured.full_size()[0] if measured.fused is not None else measured.index
    else:
        index = enlarge(
            (measured.variance_difference < 0).astype(np.float32), frames.shape, frames.factor, nearest=True
        )
    write_labels(path, labels_with(labels_of(index, frames), strokes), frames)


def _labels(path: str) -> AnyArray:
    from ...base.errors import InputError
    from ...images.images import read_image

    labels = read_image(path)
    if labels.ndim != 2 or labels.dtype.kind not in "ui":
        raise InputError(f"{path} has {labels.dtype} values of shape {labels.shape}; labels are (H, W) integers")
    return labels


def _reader(frames: Frames) -> Callable[[int], AnyArray]:
    """Return a function that reads the frame at a position, at full size; it caches two."""
    by_place = {frame.position: frame for frame in frames.frames}
    return lru_cache(2)(lambda place: frames.full(by_place[place])[0])


def _shown(image: AnyArray, is_light: bool, white: float) -> UInt8Array:
    """Return an image as 8-bit RGB for display."""
    from ...plot.colours import to_look_at

    if is_light and image.size > _LARGE:  # by a table of square roots, whose steps are finer than those of 8 bits
        table = as_integers(to_look_at(np.square(np.arange(4096) / 4095), True, 1.0), np.uint8)
        root = np.sqrt(np.fmax(image, 0, dtype=np.float32) * np.float32(1 / white))
        shown = table[(4095 * np.minimum(root, 1) + np.float32(0.5)).astype(np.uint16)]
    else:
        shown = as_integers(to_look_at(image, is_light, white), np.uint8)
    shown = shown[:, :, None] if shown.ndim == 2 else shown
    colour = np.repeat(shown, 3, axis=2) if shown.shape[2] == 1 else shown
    return np.ascontiguousarray(colour[:, :, :3])
