"""Files of blur maps: complete in NPZ, exports in OpenEXR, TIFF, NPY and PNG.

Arrays are written and read by name; :class:`~relblur.blur.blur_map.BlurMap` defines their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import FileError, InputError
from .archives import check_format, is_npz, read_npz
from .depth_formats import write_exr
from .disk import TIFF_SUFFIXES, PathLike, write_image, write_npz, write_tiff
from .reading import opened

__all__ = ["MAP_SUFFIXES", "read_map", "write_16_bit", "write_map"]

FORMAT = "relblur.BlurMap"
FORMAT_VERSION = 1

MAP_SUFFIXES = (".npz", ".exr", ".tif", ".tiff", ".npy", ".png")

#: The fields of a map; real numbers keep their precision.
FIELDS = ("variance_difference", "variance_stderr", "flags", "sharper")

_SIGN = "positive: second is blurrier"
_PAGES = ["sigma_px", "sigma_stderr_px"]
_SCALE = "sigma_px = offset_px + scale_px * value, signed, positive where second is blurrier; 0 = none"


def write_map(
    path: PathLike, fields: Mapping[str, AnyArray], sigma: AnyArray, sigma_stderr: AnyArray, settings: Mapping[str, Any]
) -> None:
    """Write the four fields of a map, and sigma with its standard error, in the format of the suffix."""
    suffix = Path(path).suffix.lower()
    about = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": dict(settings)}
    if suffix == ".npz":
        write_npz(path, fields, about)
    elif suffix == ".exr":
        write_exr(path, {**fields, "sigma": sigma, "sigma_stderr": sigma_stderr})
    elif suffix in TIFF_SUFFIXES:
        pages = np.stack([sigma, sigma_stderr]).astype(np.float32)
        write_tiff(path, pages, {**about, "pages": _PAGES, "sign": _SIGN})
    elif suffix == ".npy":
        write_image(path, sigma)
    elif suffix == ".png":
        write_16_bit(path, sigma, _SCALE)
    else:
        raise InputError(f"path ends in {suffix or 'nothing'!r}; a BlurMap goes to {', '.join(MAP_SUFFIXES)}")


def read_map(path: PathLike) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the fields of a map and its settings from an NPZ."""
    if not is_npz(path):
        with opened(path):  # a missing or an empty file has an error of its own
            raise FileError(f"{path} is not a complete BlurMap; only the .npz of BlurMap.save can be loaded")
    fields, about = read_npz(path)
    check_format(path, about, FORMAT, FORMAT_VERSION)
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise FileError(f"{path} lacks {missing[0]!r}; it is not a complete BlurMap, save it again")
    return {name: fields[name] for name in FIELDS}, about["settings"]


def write_16_bit(path: PathLike, quantity_px: FloatArray, meaning: str) -> None:
    """Write a map as 16-bit grey PNG: values 1..65535 span its range, 0 means "no answer".

    The text of the file contains ``meaning``, ``offset_px`` and ``scale_px``: quantity = offset + scale * value.
    """
    known = np.isfinite(quantity_px)
    low, high = (float(quantity_px[known].min()), float(quantity_px[known].max())) if known.any() else (0.0, 1.0)
    scale = (high - low) / 65534 or 1.0
    offset = low - scale
    values = np.zeros(quantity_px.shape, dtype=np.uint16)
    values[known] = np.rint((quantity_px[known] - offset) / scale).clip(1, 65535).astype(np.uint16)
    write_image(path, values, {"quantity": meaning, "offset_px": repr(offset), "scale_px": repr(scale)})
