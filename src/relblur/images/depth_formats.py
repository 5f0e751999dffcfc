"""Depth in formats of other programs: 16-bit PNG in mm, PFM, PLY point clouds, OpenEXR."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..base._typing import AnyArray, ArrayLike, FloatArray
from ..base.errors import FileError, InputError, MissingDependencyError
from ..base.pixels import as_integers
from .disk import PathLike, replacing, write_image

__all__ = ["point_cloud", "write_exr", "write_pfm", "write_ply", "write_png_mm"]


def write_png_mm(path: PathLike, depth_m: FloatArray) -> None:
    """Write depth as 16-bit grey PNG in millimetres, 0 = no answer.

    One unit is 1 mm, or 10 mm, 100 mm and so on if the farthest point exceeds 65535 units. The text of the file states
    the unit (``scale_mm``).
    """
    mm = 1000 * depth_m
    known = np.isfinite(mm)
    scale = 1
    while known.any() and float(mm[known].max()) / scale > 65535:
        scale *= 10
    values = np.zeros(depth_m.shape, np.uint16)
    values[known] = np.rint(mm[known] / scale).clip(1, 65535).astype(np.uint16)
    text = {"quantity": "depth along the optical axis in mm = scale_mm * value; 0 = none", "scale_mm": str(scale)}
    write_image(path, values, text)


def write_pfm(path: PathLike, image: AnyArray) -> None:
    """Write a float32 plane as grey PFM."""
    import cv2

    _, content = cv2.imencode(".pfm", np.ascontiguousarray(image, np.float32))
    with replacing(path) as stream:
        stream.write(bytes(content))


def point_cloud(depth_m: FloatArray, focal_length_px: float) -> FloatArray:
    """Return (H, W, 3) positions in m of the pixels' centres; the optical axis meets the middle of the image."""
    if not focal_length_px > 0:
        raise InputError(f"focal_length_px must be > 0 px, got {focal_length_px!r}")
    height, width = depth_m.shape
    x = (np.arange(width) + 0.5 - width / 2) / focal_length_px
    y = (np.arange(height) + 0.5 - height / 2) / focal_length_px
    return np.stack([x[None, :] * depth_m, y[:, None] * depth_m, depth_m], axis=2)


def write_ply(
    path: PathLike,
    points_m: FloatArray,
    image: ArrayLike | None = None,
    scalars: Mapping[str, AnyArray] | None = None,
) -> None:
    """Write the finite points as binary PLY, with the colours of an image and scalars if they are given.

    Viewers use y up and z towards the viewer, so y and z of the points (down and away) change their signs. ``scalars``
    are named ``scalar_...``, as CloudCompare expects.
    """
    known = np.isfinite(points_m).all(axis=2)
    columns: dict[str, tuple[str, AnyArray]] = {
        name: ("<f4", sign * points_m[known][:, axis])
        for axis, (name, sign) in enumerate((("x", 1), ("y", -1), ("z", -1)))
    }
    if image is not None:
        colours = _as_8_bit_colour(image, known.shape)[known]
        columns |= {name: ("u1", colours[:, channel]) for channel, name in enumerate(("red", "green", "blue"))}
    columns |= {f"scalar_{name}": ("<f4", values[known]) for name, values in (scalars or {}).items()}
    rows = np.empty(int(known.sum()), dtype=[(name, kind) for name, (kind, _) in columns.items()])
    for name, (_, values) in columns.items():
        rows[name] = values
    kinds = {"<f4": "float", "u1": "uchar"}
    header = ["ply", "format binary_little_endian 1.0"]
    header += ["comment metres; x right, y up, z towards the lens: the distance is -z"]
    header += [
        f"element vertex {len(rows)}",
        *(f"property {kinds[kind]} {name}" for name, (kind, _) in columns.items()),
    ]
    with replacing(path) as stream:
        stream.write("\n".join([*header, "end_header", ""]).encode())
        stream.write(rows.tobytes())


def write_exr(path: PathLike, channels: Mapping[str, AnyArray]) -> None:
    """Write float32 planes as the channels of an OpenEXR file (needs the ``exr`` extra)."""
    try:
        import OpenEXR
    except ImportError:
        raise MissingDependencyError("OpenEXR files need the OpenEXR package: pip install 'relblur[exr]'") from None
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    planes = {name: np.ascontiguousarray(plane, dtype=np.float32) for name, plane in channels.items()}
    try:
        with replacing(path) as stream, tempfile.TemporaryDirectory() as folder:
            # The library writes to paths only.
            whole = Path(folder) / "map.exr"
            with OpenEXR.File(header, planes) as file:
                file.write(str(whole))
            stream.write(whole.read_bytes())
    except RuntimeError as error:  # raised by the library when a disk is full
        raise FileError(f"cannot write {path} by way of {tempfile.gettempdir()}: {error}; set TMPDIR") from None


def _as_8_bit_colour(image: ArrayLike, shape: tuple[int, ...]) -> AnyArray:
    """Return any image as (H, W, 3) bytes for display."""
    array = np.asarray(image)
    if array.shape[:2] != shape or array.ndim not in (2, 3):
        raise InputError(f"image has shape {array.shape}; it must show the same {shape[0]}x{shape[1]} pixels")
    if array.dtype == np.uint16:
        array = array // 257
    elif array.dtype != np.uint8:
        values = np.nan_to_num(array.astype(np.float64))
        array = as_integers(values / max(1.0, float(values.max())), np.uint8)
    colour = array if array.ndim == 3 else np.repeat(array[:, :, None], 3, axis=2)
    return colour.astype(np.uint8)
