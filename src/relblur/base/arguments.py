"""Checks of plain arguments: numbers, words and lists of numbers that users pass beside images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._typing import ArrayLike, FloatArray
from .bad_pixels import NOT_FINITE_FROM
from .errors import InputError

__all__ = ["as_choice", "as_noise", "as_odd_size", "as_positive", "as_sigmas", "as_whole", "is_whole", "times"]


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
    """Tell whether a value is an integer of Python or NumPy; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def as_whole(value: Any, name: str, otherwise: str = "") -> int:
    """Check a whole number >= 1; the message names what else is allowed."""
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
        raise InputError(f"{name} must be numbers, got {sigmas!r}; for example numpy.arange(0.1, 5.05, 0.1)") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a non-empty one-dimensional list, got shape {array.shape}")
    if not np.isfinite(array).all() or (array <= 0).any():
        worst = array[~(np.isfinite(array) & (array > 0))][0]
        raise InputError(f"{name} must be finite and > 0 px, got {worst:g}; leave such values out")
    if (np.diff(array) <= 0).any():
        raise InputError(f"{name} must increase strictly; pass numpy.unique({name})")
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
    """Return a shape in words: 20x30x3."""
    return "x".join(str(n) for n in shape)
