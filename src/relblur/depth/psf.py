"""Point spread functions of a lens, as transfer functions for any circle of confusion.

In the Fourier domain no kernel is sampled, so a circle of 0.37 px is as exact as one of 37 px. Blur passes smoothly
through zero as a point moves through focus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..base._typing import AnyArray
from ..base.arguments import as_choice
from ..base.errors import InputError
from ..base.settings import DISC_BLUR_CONSTANT, PSF_NAMES
from .camera import Camera

__all__ = ["NAMES", "Psf", "PsfLike", "Transfer", "as_psf", "usual_psf"]

NAMES = PSF_NAMES

#: The name of a shape, or a picture of the aperture.
PsfLike = str | AnyArray

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

        The knots of the table scale with ``C``, so the position of each frequency between them does not depend on the
        circle. It is computed once, for one of each two mirrored rows.
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

    def __init__(self, picture: AnyArray) -> None:
        self._weights = picture / picture.sum()

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


def usual_psf(camera: Camera) -> str:
    """Return the default shape for a camera: the disc, unless the camera was calibrated for the Gaussian.

    A fitted ``blur_constant`` or ``variance_offset_px2`` belongs to the Gaussian that it was fitted with.
    """
    fitted = camera.blur_constant != DISC_BLUR_CONSTANT or camera.variance_offset_px2 != 0
    return "gaussian" if fitted else "disc"


def as_psf(psf: PsfLike, blur_constant: float) -> Psf:
    """Return the PSF of a name or of a picture of the aperture."""
    if isinstance(psf, str):
        return Gaussian(blur_constant) if as_choice(psf, "psf", PSF_NAMES) == "gaussian" else Disc()
    try:
        picture: Any = np.asarray(psf, dtype=np.float64)
    except (TypeError, ValueError):
        picture = np.zeros(())
    if picture.ndim != 2 or not np.isfinite(picture).all() or picture.min(initial=0) < 0 or picture.sum() <= 0:
        raise InputError(
            f"psf must be {', '.join(map(repr, PSF_NAMES))} or a two-dimensional picture of the aperture, finite and "
            f">= 0, with something > 0 in it; got {psf!r:.40}"
        )
    return Aperture(picture)
