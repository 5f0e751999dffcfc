"""Checks of values that users pass: numbers, words, lists of numbers, and arrays of other packages.

Only this module distinguishes kinds of arrays. It recognises other packages by the name of a type's module and does not
import them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._typing import AnyArray, ArrayLike, FloatArray
from .errors import InputError
from .pixels import NOT_FINITE_FROM

__all__ = [
    "MOST_COLOURS",
    "as_choice",
    "as_noise",
    "as_odd_size",
    "as_positive",
    "as_sigmas",
    "as_whole",
    "colour_axis",
    "is_whole",
    "plain_array",
    "shape_of",
    "times",
]

#: Largest number of channels of a colour image (RGBA).
MOST_COLOURS = 4

#: Modes of Pillow that are grey; the others become RGB.
_GREY = {"1": "L", "L": "L", "LA": "L", "La": "L", "I": "I", "I;16": "I;16", "I;16B": "I;16B", "F": "F"}


def as_choice(value: str, name: str, allowed: Sequence[str]) -> str:
    """Check that a word is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value


def as_positive(value: float, name: str, unit: str = "") -> float:
    """Check a finite number > 0."""
    in_unit = f" {unit}" if unit else ""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number{in_unit}, got {value!r}") from None
    if not np.isfinite(number) or number <= 0:
        raise InputError(f"{name} must be finite and > 0{in_unit}, got {number:g}")
    return number


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer of Python or NumPy; booleans are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def as_whole(value: Any, name: str, otherwise: str = "") -> int:
    """Check a whole number >= 1; ``otherwise`` is an alternative that the error message names."""
    if not is_whole(value) or value < 1:
        also = f" or {otherwise}" if otherwise else ""
        raise InputError(f"{name} must be a whole number >= 1{also}, got {value!r}")
    return int(value)


def as_odd_size(size: int, name: str, shape: tuple[int, int] | None = None) -> int:
    """Check the side of a window: an odd whole number, at most the image's shorter side."""
    if not is_whole(size) or size < 1 or size % 2 == 0:
        raise InputError(f"{name} must be an odd whole number >= 1, got {size!r}")
    if shape is not None and size > min(shape):
        largest = min(shape) - 1 + min(shape) % 2
        raise InputError(
            f"{name}={size} is larger than the image ({times(shape)}); use {name}={largest} or a larger image"
        )
    return int(size)


def as_sigmas(sigmas: ArrayLike | Sequence[float], name: str = "sigmas") -> FloatArray:
    """Check a list of standard deviations: positive, finite, strictly increasing."""
    try:
        array = np.asarray(sigmas, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size or not (np.isfinite(array) & (array > 0)).all() or (np.diff(array) <= 0).any():
        raise InputError(
            f"{name} must be a list of finite numbers > 0 px that increase, for example numpy.arange(0.1, 5.05, 0.1); "
            f"got {str(sigmas)[:100]}"
        )
    return array


def as_noise(noise: float | Sequence[float] | None) -> tuple[float, float] | None:
    """Check the noise of both images: one number, or one for each."""
    if noise is None:
        return None
    both = noise if isinstance(noise, (tuple, list)) else (noise, noise)
    if len(both) != 2:
        raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
    one, two = (as_positive(each, "noise", "(on the images' scale)") for each in both)
    if max(one, two) >= NOT_FINITE_FROM:
        raise InputError(
            f"noise must be below {NOT_FINITE_FROM:g}, as the values of an image are; got {max(one, two):g}"
        )
    return one, two


def times(shape: Sequence[int]) -> str:
    """Return a shape as text: 20x30x3."""
    return "x".join(str(n) for n in shape)


def plain_array(image: Any, name: str) -> AnyArray:
    """Return an image as a NumPy array; masked arrays stay masked, other objects raise a one-line error."""
    if isinstance(image, np.ndarray):
        return image
    if isinstance(image, (str, bytes, os.PathLike)):
        path = os.fsdecode(image)
        raise InputError(
            f"{name} is a path, {path!r}; read it with relblur.imread({path!r}), or give both paths to prepare_pair"
        )
    try:
        if _is_pillow(image):
            return _pillow_array(image, name)
        return np.asarray(image.detach() if _package_of(image) == "torch" else image)
    except Exception as error:  # ragged lists, arrays on another device; other packages raise any type
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{name} is a {type(image).__name__} that NumPy cannot read ({detail[:200]}); pass a NumPy array"
        ) from None


def shape_of(image: Any) -> tuple[int, ...]:
    """Return the shape of an image without converting it to an array; () for other objects."""
    if _is_pillow(image):
        return (image.height, image.width) if image.mode in _GREY else (image.height, image.width, 3)
    try:
        return tuple(int(length) for length in getattr(image, "shape", None) or np.shape(image))
    except (TypeError, ValueError):
        return ()


def colour_axis(image: Any, channel_axis: int | None) -> int | None:
    """Return the axis of the colour channels: as given, or the last one of (H, W, 3) and similar shapes.

    A picture whose other sides are as short is ambiguous and needs ``channel_axis``.
    """
    shape = shape_of(image)
    if channel_axis is None and len(shape) == 3 and shape[2] <= MOST_COLOURS < min(shape[:2]):
        return -1
    return channel_axis


def _package_of(image: Any) -> str:
    return type(image).__module__.partition(".")[0]


def _is_pillow(image: Any) -> bool:
    return _package_of(image) in ("PIL", "pillow_heif") and hasattr(image, "getbands")


def _pillow_array(picture: Any, name: str) -> AnyArray:
    """Return the intensities of a picture of Pillow, without an alpha channel."""
    mode = _GREY.get(picture.mode, "RGB")
    if picture.mode in ("LA", "RGBA"):
        warnings.warn(f"{name}: alpha channel dropped", stacklevel=3)
    array = np.asarray(picture if picture.mode == mode else picture.convert(mode))
    if array.dtype == np.int32 and array.size and array.min() >= 0 and array.max() <= 65535:
        array = array.astype(np.uint16)  # Pillow decodes 16-bit grey as int32
    return array
