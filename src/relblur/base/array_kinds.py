"""What people call an image: arrays of NumPy and of other packages, pictures of Pillow; and paths, by mistake.

This is the one place where kinds of arrays are told apart. Other packages are recognised by the home of their types
and never imported.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from ._typing import AnyArray
from .errors import InputError

__all__ = ["colour_axis", "plain_array", "shape_of"]

#: An axis no longer than this may be that of colours: grey, grey and alpha, RGB, RGBA.
MOST_COLOURS = 4

#: Modes of Pillow whose numbers are not intensities, or not in the order that arrays have them.
_PALETTES = ("P", "PA")
_CONVERTED = {"1": "L", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB", "RGBX": "RGB", "RGBa": "RGBA", "La": "LA"}


def plain_array(image: Any, name: str) -> AnyArray:
    """Return an image as an array of NumPy, masked if it is masked, or say in one line why it cannot be had."""
    if isinstance(image, np.ndarray):
        return image
    if isinstance(image, (str, bytes, os.PathLike)):
        path = os.fsdecode(image)
        raise InputError(
            f"{name} is a path, {path!r}; read it with relblur.imread({path!r}), or give both paths to prepare_pair"
        )
    if _is_pillow(image):
        return _pillow_array(image, name)
    if _home(image) == "torch":
        image = _on_host(image, name)
    try:
        return np.asarray(image)
    except ValueError:
        raise InputError(f"{name} is ragged; all its rows must have one length") from None
    except Exception as error:  # whatever other packages raise
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        copy = f"{name}.get()" if _home(image) == "cupy" else f"numpy.asarray({name})"
        raise InputError(
            f"{name} is a {type(image).__name__} that NumPy cannot read ({detail[:200]}); pass a copy, {copy}"
        ) from None


def shape_of(image: Any) -> tuple[int, ...]:
    """Return the shape that the array of an image has, without making it; () for what is no image."""
    if _is_pillow(image):
        bands = 3 if image.mode in (*_PALETTES, "CMYK") else len(image.getbands())
        return (image.height, image.width) if bands == 1 else (image.height, image.width, bands)
    try:
        return tuple(int(length) for length in getattr(image, "shape", None) or np.shape(image))
    except (TypeError, ValueError):
        return ()


def colour_axis(image: Any, channel_axis: int | None) -> int | None:
    """Return the axis of the colour channels: as told, or the last one of (H, W, 3) and its like.

    A picture whose other sides are as short could be meant in another way; it has to be told.
    """
    shape = shape_of(image)
    if channel_axis is None and len(shape) == 3 and shape[2] <= MOST_COLOURS < min(shape[:2]):
        return -1
    return channel_axis


def _home(image: Any) -> str:
    return type(image).__module__.partition(".")[0]


def _is_pillow(image: Any) -> bool:
    return _home(image) in ("PIL", "pillow_heif") and hasattr(image, "getbands")


def _on_host(tensor: Any, name: str) -> Any:
    """Return a tensor as NumPy can read it: without its gradient, in the memory of the processor."""
    if tensor.device.type != "cpu":
        raise InputError(f"{name} is a tensor on {tensor.device}; pass {name}.cpu()")
    return tensor.detach()


def _pillow_array(picture: Any, name: str) -> AnyArray:
    """Return the intensities in a picture of Pillow; palettes are looked up, an alpha channel is dropped."""
    if picture.mode == "LAB":
        raise InputError(f"{name} is a picture in Lab colours; convert it with PIL.ImageCms")
    if picture.mode in _PALETTES:
        picture = picture.convert("RGB")
    elif picture.mode in _CONVERTED:
        picture = picture.convert(_CONVERTED[picture.mode])
    array = np.asarray(picture)
    if picture.mode in ("LA", "RGBA"):
        warnings.warn(f"{name}: alpha channel dropped", stacklevel=2)
        array = array[:, :, 0] if picture.mode == "LA" else array[:, :, :3]
    if array.dtype == np.int32 and array.size and array.min() >= 0 and array.max() <= 65535:
        array = array.astype(np.uint16)  # Pillow's way of giving 16-bit grey
    return array
