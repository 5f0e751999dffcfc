"""Pictures at the full size of photographs whose map was made from fewer pixels.

``relative_depth.png``   near and far, without any camera
``fused.png``            sharp everywhere
``second_aligned.png``   the second photograph as it lies on the first
``sigma_full.tif``       relative blur and its standard error at every pixel, px of the photographs

Pictures have the depth, the tone curve, the profile and the EXIF data of the first photograph.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..blur.blur_map import BlurMap, signed_sigma, signed_sigma_stderr
from ..filters.guided import guided_enlarge
from ..images.disk import PathLike, write_image, write_tiff
from ..photo.picture_form import FOR_SCREENS, PictureForm
from ..stacks.frames import Frame, Frames, Reading
from ..stacks.fuse import fuse_frames, prior_of_pair

__all__ = [
    "FULL_FILES",
    "RELATIVE_DEPTH",
    "relative_depth",
    "with_alpha",
    "write_full_size",
    "write_picture",
    "write_relative_depth",
]

RELATIVE_DEPTH = "relative_depth.png"
FULL_FILES = ("fused.png", "second_aligned.png", "sigma_full.tif")

#: Black and white of the relative depth: this share of the pixels, percent, may lie beyond either.
_BEYOND = 1.0


def write_picture(
    path: PathLike,
    light: AnyArray,
    form: PictureForm | None = None,
    processing: str = "",
    pixel_um: float | None = None,
) -> None:
    """Write a picture like the photograph that it was made from, or else 8 bits as a screen expects them."""
    (form or FOR_SCREENS).write(path, light, processing, pixel_um)


def relative_depth(s: FloatArray) -> AnyArray:
    """Return 8-bit grey of a map of s, which is affine in 1/distance: white is the side in focus in the first image.

    255 and 1 are the ends of nearly all pixels, 0 stands for no answer.
    """
    known = np.isfinite(s)
    if not known.any():
        return np.zeros(s.shape, np.uint8)
    low, high = np.percentile(s[known], (_BEYOND, 100 - _BEYOND))
    share = np.clip((np.where(known, s, low) - low) / max(float(high - low), 1e-12), 0, 1)
    return np.where(known, np.rint(1 + 254 * share), 0).astype(np.uint8)


def with_alpha(grey: AnyArray) -> AnyArray:
    """Return grey with an alpha channel: transparent where it is 0, which stands for no answer."""
    return np.stack([grey, np.where(grey > 0, 255, 0)], axis=2).astype(np.uint8)


def write_relative_depth(
    folder: Path, blur_map: BlurMap, first: PathLike | None = None, reading: Reading | None = None, factor: int = 1
) -> None:
    """Write near and far at the size of the first photograph, its outlines followed; without it at the map's."""
    s = blur_map.variance_difference
    if factor > 1 and first is not None and reading is not None:
        s, _ = _enlarged(blur_map, reading.read(first, "first").light, factor)
    _write_relative_depth(folder, s)


def _write_relative_depth(folder: Path, s: FloatArray) -> None:
    meaning = "white: nearer to the distance in focus in the first image; affine in 1/distance; transparent: no answer"
    write_image(folder / RELATIVE_DEPTH, with_alpha(relative_depth(s)), {"quantity": meaning})


def write_full_size(folder: Path, frames: Frames, blur_map: BlurMap) -> None:
    """Write the fused picture, the second image in place, near and far, and the map at full size."""
    with ThreadPoolExecutor(1) as writer:  # packing a PNG takes as long as making the next picture
        writes = []

        def write(name: str, light: AnyArray, processing: str) -> None:
            writes.append(writer.submit(write_picture, folder / name, light, frames.form, processing))

        def seen(frame: Frame, light: AnyArray) -> None:
            if frame.number == 1:
                write("second_aligned.png", light, "second photograph, laid on the first")

        fused = fuse_frames(frames, prior_of_pair(blur_map), lambda share: None, seen)
        write("fused.png", fused, "sharp everywhere, from two photographs")
        s, stderr = _enlarged(blur_map, fused, frames.factor)
        del fused
        _write_relative_depth(folder, s)
        _write_sigma(folder, frames.factor, s, stderr)
        for done in writes:
            done.result()


def _write_sigma(folder: Path, factor: int, s: FloatArray, stderr: FloatArray) -> None:
    sigma, error = (np.float32(factor) * values for values in (signed_sigma(s), signed_sigma_stderr(s, stderr)))
    about: Mapping[str, Any] = {"pages": ["sigma_px", "sigma_stderr_px"], "sign": "positive: second is blurrier"}
    write_tiff(folder / "sigma_full.tif", np.stack([sigma, error]).astype(np.float32), about)


def _enlarged(blur_map: BlurMap, picture: AnyArray, factor: int) -> tuple[FloatArray, FloatArray]:
    grey = np.sqrt(np.maximum(picture.mean(axis=2), 0)).astype(np.float32)
    return guided_enlarge(blur_map.variance_difference, blur_map.variance_stderr, grey, factor)
