"""Point spread functions of a lens, as transfer functions for any circle of confusion.

In the Fourier domain no kernel is sampled, so a circle of 0.37 px is as exact as one of 37 px. Blur passes smoothly
through zero as a point moves through focus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.arguments import as_choice
from ..base.errors import InputError
from ..base.settings import DISC_BLUR_CONSTANT, PSF_NAMES
from .camera import Camera

__all__ = ["NAMES", "Psf", "PsfLike", "Transfer", "as_psf", "usual_psf"]


#: A kernel as an array (the shape of the aperture), or a function of the circle's signed diameter in px.
PsfLike = str | AnyArray | Callable[[float], AnyArray]

#: Transfer function for the signed diameter of a circle of confusion in px (positive behind the focal plane).
Transfer = Callable[[float], AnyArray]

#: Number of entries of the table over the frequencies: its error is 1e-6.
_KNOTS = 4096


class Psf(Protocol):
    """A shape of blur, scaled by the circle of confusion."""

    name: str

    def transfer_on(self, rows: AnyArray, columns: AnyArray) -> Transfer:
        """Return a function from circle to transfer function, (rows, columns), at frequencies in cycles per px."""


class Gaussian:
    """A Gaussian of standard deviation ``kappa`` times the circle's diameter."""

    name = "gaussian"

    def __init__(self, blur_constant: float) -> None:
        self._kappa = blur_constant

    def transfer_on(self, rows: AnyArray, columns: AnyArray) -> Transfer:
        """Return ``exp(-2 pi^2 sigma^2 f^2)``."""

        def transfer(circle_px: float) -> AnyArray:
            half = -2 * (np.pi * self._kappa * circle_px) ** 2
            return np.asarray(np.exp(half * rows**2)[:, None] * np.exp(half * columns**2))

        return transfer


class Disc:
    """A uniform disc, the geometric blur of a round aperture."""

    name = "disc"

    def transfer_on(self, rows: AnyArray, columns: AnyArray) -> Transfer:
        """Return ``2 J1(x) / x``, ``x = pi C f``, from a table up to the largest ``f``.

        The knots of the table scale with ``C``, so the position of each frequency between them is the same for all
        circles. It is computed once, and once for a row and its mirror image.
        """
        from scipy.special import j1

        distances, folded = np.unique(np.abs(rows), return_inverse=True)
        largest = float(np.hypot(distances[-1], np.abs(columns).max()))
        position = np.hypot(distances[:, None], columns) * ((_KNOTS - 1) / max(largest, 1e-30))
        before = np.minimum(position.astype(np.int32), _KNOTS - 2)
        share = position - before

        def transfer(circle_px: float) -> AnyArray:
            knots = np.linspace(0, max(np.pi * abs(circle_px) * largest, 1e-9), _KNOTS)
            values = np.divide(2 * j1(knots), knots, out=np.ones_like(knots), where=knots > 0)
            table = np.diff(values).take(before)
            table *= share
            table += values.take(before)
            return np.asarray(table[folded])

        return transfer


class Aperture:
    """The shape of an aperture, given as a picture that spans the circle's diameter."""

    name = "array"

    def __init__(self, shape: AnyArray) -> None:
        picture = np.asarray(shape)
        if picture.ndim != 2 or picture.size == 0:
            raise InputError(f"psf must be a two-dimensional picture of the aperture, got shape {picture.shape}")
        weights = picture.astype(np.float64)
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise InputError("psf must be finite and >= 0 everywhere, with something > 0 in it")
        self._weights = weights / weights.sum()

    def transfer_on(self, rows: AnyArray, columns: AnyArray) -> Transfer:
        """Return the transform of the picture, its longer side scaled to the circle; mirrored in front of focus."""
        height, width = self._weights.shape

        def transfer(circle_px: float) -> AnyArray:
            cell = circle_px / max(height, width)
            # The picture is the blur behind the focal plane. In front the rays have not crossed: the cell is negative.
            y = (np.arange(height) - (height - 1) / 2) * cell
            x = (np.arange(width) - (width - 1) / 2) * cell
            across = np.exp(-2j * np.pi * np.outer(rows, y)) * np.sinc(rows * cell)[:, None]
            along = np.exp(-2j * np.pi * np.outer(x, columns)) * np.sinc(columns * cell)
            return np.asarray(across @ self._weights @ along)

        return transfer


class FromFunction:
    """A PSF from a function that returns the kernel for a signed diameter of the circle."""

    name = "callable"

    def __init__(self, make: Callable[[float], AnyArray]) -> None:
        self._make = make
        self._kernel(1.0)  # reject a wrong function before the work

    def _kernel(self, circle_px: float) -> FloatArray:
        kernel = np.asarray(self._make(circle_px), dtype=np.float64)
        if kernel.ndim != 2 or kernel.shape[0] % 2 == 0 or kernel.shape[1] % 2 == 0:
            raise InputError(f"psf({circle_px:g}) must return a 2-D kernel with odd sides, got shape {kernel.shape}")
        if not np.isfinite(kernel).all() or kernel.sum() <= 0:
            raise InputError(f"psf({circle_px:g}) must return finite values with a sum > 0")
        return kernel / kernel.sum()

    def transfer_on(self, rows: AnyArray, columns: AnyArray) -> Transfer:
        """Return the transform of the kernel, centred."""

        def transfer(circle_px: float) -> AnyArray:
            kernel = self._kernel(circle_px)
            y = np.arange(kernel.shape[0]) - kernel.shape[0] // 2
            x = np.arange(kernel.shape[1]) - kernel.shape[1] // 2
            across, along = np.exp(-2j * np.pi * np.outer(rows, y)), np.exp(-2j * np.pi * np.outer(x, columns))
            return np.asarray(across @ kernel @ along)

        return transfer


#: Constructors of the named shapes, from a camera's ``blur_constant``.
_NAMED: dict[str, Callable[[float], Psf]] = dict(zip(PSF_NAMES, (Gaussian, lambda _: Disc()), strict=True))

NAMES = PSF_NAMES


def usual_psf(camera: Camera) -> str:
    """Return the default shape for a camera: the disc, unless the camera was calibrated for the Gaussian.

    A fitted ``blur_constant`` or ``variance_offset_px2`` belongs to the Gaussian that it was fitted with.
    """
    fitted = camera.blur_constant != DISC_BLUR_CONSTANT or camera.variance_offset_px2 != 0
    return "gaussian" if fitted else "disc"


def as_psf(psf: PsfLike, blur_constant: float) -> Psf:
    """Return the PSF of a name, an array or a function."""
    if isinstance(psf, str):
        return _NAMED[as_choice(psf, "psf", PSF_NAMES)](blur_constant)
    if callable(psf):
        return FromFunction(psf)
    try:
        picture: Any = np.asarray(psf)
    except ValueError:
        raise InputError("psf is ragged; a picture of the aperture has rows of one length") from None
    if not (np.issubdtype(picture.dtype, np.number) or picture.dtype == bool) or np.iscomplexobj(picture):
        raise InputError(f"psf must be {', '.join(map(repr, PSF_NAMES))}, an array or a function; got {psf!r:.40}")
    return Aperture(picture)
