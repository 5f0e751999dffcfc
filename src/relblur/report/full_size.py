"""Result files at the full size of the photographs, enlarged from decimated maps.

``relative_depth.png``   relative depth in grey, without a camera
``height*.tif``          heights of a stack in micrometres
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..blur.blur_map import BlurMap
from ..filters.guided import guided_enlarge
from ..images.disk import PathLike, write_image, write_tiff
from ..images.scaled import write_ome_tiff
from ..photo.picture_form import FOR_SCREENS, PictureForm
from ..stacks.stack_map import StackMap
from ..stacks.topography import Surface, surface_of

__all__ = [
    "HEIGHT_FILES",
    "RELATIVE_DEPTH",
    "relative_depth",
    "write_heights",
    "write_picture",
    "write_relative_depth",
    "write_relative_depth_of_stack",
]

RELATIVE_DEPTH = "relative_depth.png"
HEIGHT_FILES = ("height.ome.tif", "height_16bit.tif")

#: Percent of the pixels of the relative depth that are clipped at black, and at white.
_BEYOND = 1.0


def write_picture(
    path: PathLike,
    light: AnyArray,
    form: PictureForm | None = None,
    processing: str = "",
    pixel_um: float | None = None,
) -> None:
    """Write a picture in the form of its photograph, or as 8-bit sRGB without a form."""
    (form or FOR_SCREENS).write(path, light, processing, pixel_um)


def relative_depth(s: FloatArray) -> AnyArray:
    """Return a map of s (affine in 1/distance) as 8-bit grey with an alpha channel.

    White is the side that is in focus in the first image. The range from 1 to 255 contains 98 % of the pixels. Pixels
    without a value are transparent.
    """
    known = np.isfinite(s)
    low, high = np.percentile(s[known], (_BEYOND, 100 - _BEYOND)) if known.any() else (0.0, 1.0)
    share = np.clip((np.where(known, s, low) - low) / max(float(high - low), 1e-12), 0, 1)
    grey = np.where(known, np.rint(1 + 254 * share), 0)
    return np.stack([grey, np.where(known, 255, 0)], axis=2).astype(np.uint8)


def write_relative_depth(folder: Path, blur_map: BlurMap, first: AnyArray | None = None, factor: int = 1) -> None:
    """Write the relative depth of a pair, enlarged along the outlines of the first photograph if its light is given."""
    s = blur_map.variance_difference
    if factor > 1 and first is not None:
        grey = np.sqrt(np.maximum(first.mean(axis=2), 0)).astype(np.float32)
        s, _ = guided_enlarge(s, blur_map.variance_stderr, grey, factor)
    _write_relative_depth(folder, s, "nearer to the distance in focus in the first image; affine in 1/distance")


def write_relative_depth_of_stack(folder: Path, stack: StackMap) -> None:
    """Write the relative depth of a stack, enlarged along the outlines of the fused picture if there is one."""
    index = stack.full_size()[0] if stack.fused is not None else stack.index
    _write_relative_depth(folder, -np.asarray(index, np.float64), "in focus in the first frame of the order")


def _write_relative_depth(folder: Path, s: FloatArray, white: str) -> None:
    write_image(folder / RELATIVE_DEPTH, relative_depth(s), {"quantity": f"white: {white}; transparent: no answer"})


def write_heights(folder: Path, stack: StackMap, surface: Surface) -> dict[str, Any]:
    """Write heights as float and 16-bit TIFF; return roughness and tilt.

    ``surface`` has the size of the map. The files are enlarged along the outlines of the fused picture if there is one.
    """
    full = surface_of(stack, full_size=True) if stack.fused is not None else surface_of(stack)
    factor = 1 if stack.fused is not None else stack.factor
    full = replace(full, height_um=_without_tilt(full.height_um, stack, surface, factor / stack.factor))
    pixel = None if stack.pixel_um is None else stack.pixel_um * factor
    pages = np.stack([full.height_um, full.stderr_um]).astype(np.float32)
    names = ["height (µm)", "standard error (µm)"]
    write_ome_tiff(folder / HEIGHT_FILES[0], pages, "CYX", channels=names, pixel_um=pixel)
    _write_16_bit(folder / HEIGHT_FILES[1], full.height_um, pixel)
    tilt = None if surface.tilt is None else [each / stack.factor for each in surface.tilt]
    return {**surface.roughness()._asdict(), "tilt_removed_um_per_px": tilt}


def _without_tilt(height: AnyArray, stack: StackMap, surface: Surface, factor: float) -> AnyArray:
    """Subtract the plane that was subtracted from ``surface``, from heights with pixels ``factor`` times as wide."""
    if surface.tilt is None or stack.height_um is None:
        return height
    down, right = surface.tilt

    def slope(shape: tuple[int, ...]) -> AnyArray:
        rows, columns = np.ogrid[: shape[0], : shape[1]]
        return down * rows + right * columns

    offset = np.nanmedian(stack.height_um - surface.height_um - slope(stack.shape))
    return np.asarray(height - offset - factor * slope(height.shape))


def _write_16_bit(path: Path, height: AnyArray, pixel_um: float | None) -> None:
    """Write heights as 1..65535 from least to largest (0 = no value); the description contains the scale."""
    known = np.isfinite(height)
    low, high = (float(height[known].min()), float(height[known].max())) if known.any() else (0.0, 1.0)
    scale = (high - low) / 65534 or 1.0
    values = np.where(known, np.rint((np.where(known, height, low) - low) / scale) + 1, 0).astype(np.uint16)
    meaning = "height_um = offset_um + scale_um * value; 0 = no answer"
    write_tiff(path, values, {"quantity": meaning, "offset_um": low - scale, "scale_um": scale}, pixel_um=pixel_um)
