"""Public functions for files: ``imread``, ``save``, ``load``."""

from __future__ import annotations

import os

import numpy as np

from ..base._typing import AnyArray, ArrayLike, FloatArray
from ..base.deprecated import warn_of_old_call
from ..base.errors import InputError
from ..base.options import Reading
from ..base.pixels import as_integers
from ..base.tone import encode_srgb
from ..blur.blur_map import BlurMap
from ..blur.chunked import read_zarr_map
from ..blur.result import MapResult
from ..depth.depth_map import FORMAT as DEPTH_FORMAT
from ..depth.depth_map import DepthMap
from ..images.archives import is_npz, read_npz
from ..images.disk import PathLike, write_image
from ..images.zarr_arrays import is_zarr
from ..photo.photograph import read_photograph
from ..stacks.stack_map import FORMAT as STACK_FORMAT
from ..stacks.stack_map import StackMap, read_stack_map

__all__ = ["imread", "load", "save"]


def imread(
    path: PathLike, *, linear: bool = Reading.linear, gamma: float | None = Reading.gamma, return_info: bool = False
) -> FloatArray:
    """Read an image as linear light, float64: (H, W) grey or (H, W, 3) colour.

    Formats: PNG, JPEG, WebP, TIFF, AVIF, BMP, GIF (first frame), PGM, PPM, PFM, Radiance HDR and NPY. HEIC,
    OpenEXR and camera raw need the extras ``heif``, ``exr`` and ``raw``.

    Integers are scaled to 0..1, floats are as stored. The tone curve in the metadata (ICC profile, PNG chunk,
    EXIF) is undone. Without metadata, files of 8 bits are read as sRGB; files of 16 bits or floats and NPY files are
    read as linear light. The picture is rotated upright. An alpha channel is dropped with a warning.

    Parameters
    ----------
    linear : bool
        False keeps the stored values (integers divided by their full scale).
    gamma : float, optional
        Exponent of the tone curve to undo, instead of the file's curve: ``light = stored ** gamma``.
    return_info : bool
        Deprecated: :func:`relblur.read_photograph` returns the light with its curve, clipped pixels and noise.
    """
    photograph = read_photograph(path, linear=linear, gamma=gamma, dtype=np.float64)
    if return_info:
        warn_of_old_call("imread(return_info=True)", "relblur.read_photograph(path)", 2)
        return photograph.light, photograph  # type: ignore[return-value]
    return photograph.light


def save(path: PathLike, data: MapResult | ArrayLike, *, colour: bool = False) -> None:
    """Write an image, a :class:`BlurMap`, :class:`DepthMap` or :class:`StackMap`; the suffix determines the format.

    Integer images (uint8, uint16) are written unchanged, as are float images in TIFF and NPY files. Float images within
    0..1 can also be written as PNG (16 bits, linear) and JPEG (8 bits, sRGB curve). :func:`imread` returns the same
    light. For maps see :meth:`BlurMap.save`, :meth:`DepthMap.save` and :meth:`StackMap.save`. With ``colour`` a map
    becomes a colour-mapped PNG with a colour bar, for viewing.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError("path comes first: relblur.save('map.npz', blur_map)")
    if isinstance(data, MapResult):
        if colour:
            from .panels import map_picture, result_panels

            map_picture(path, result_panels(data)[0])
        else:
            data.save(path)
        return
    if colour:
        raise InputError("colour is for a map; leave it out to write an image")
    write_image(path, _storable(np.asarray(data), os.fspath(path)))


def load(path: PathLike) -> BlurMap | DepthMap | StackMap | FloatArray:
    """Read a map or an image that :func:`save` wrote.

    A Zarr map of ``relblur estimate`` is lazy.
    """
    if is_zarr(path):
        return read_zarr_map(path)
    if not is_npz(path):
        return imread(path)
    _, metadata = read_npz(path, names=())
    if metadata.get("format") == STACK_FORMAT:
        return read_stack_map(path)
    return DepthMap.load(path) if metadata.get("format") == DEPTH_FORMAT else BlurMap.load(path)


def _storable(array: AnyArray, path: str) -> AnyArray:
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3) or array.size == 0:
        raise InputError(f"data has shape {array.shape}; an image is (H, W) or (H, W, 3)")
    keeps_floats = path.lower().endswith((".npy", ".tif", ".tiff"))
    if array.dtype.kind not in ("fiu" if keeps_floats else "f") and array.dtype not in (np.uint8, np.uint16):
        raise InputError(f"data has dtype {array.dtype}; convert it to uint8, uint16 or float")
    if array.dtype.kind != "f" or keeps_floats:
        return array
    if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
        raise InputError(f"data must lie within 0..1 for {path}; scale it, or write .tif or .npy to keep floats")
    if path.lower().endswith(".png"):
        return as_integers(array, np.uint16)
    return as_integers(encode_srgb(array), np.uint8)
