"""Heights of a stack: tilt and roughness (ISO 25178).

Tilt and roughness are those of the measured pixels: with an answer and without a flag. The errors of neighbouring
pixels are correlated, because each is measured from the square around it. The error is the same within squares of
:data:`CORRELATED_PX`, and independent between squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base._typing import BoolArray, FloatArray
from ..base.errors import InputError
from .stack_map import StackMap

__all__ = ["Roughness", "Surface", "surface_of"]

#: Side of the squares of one error, px of the map: the window that determines a pixel.
CORRELATED_PX = 9
#: Least number of measured pixels.
_LEAST_PIXELS = 10


class Roughness(NamedTuple):
    """Arithmetic (Sa) and root mean square (Sq) height of a surface about its mean, with standard errors."""

    sa_um: float
    sa_stderr_um: float
    sq_um: float
    sq_stderr_um: float
    pixels: int


@dataclass(frozen=True, eq=False)
class Surface:
    """Heights and their standard errors, micrometres.

    Attributes
    ----------
    height_um, stderr_um : (h, w)
    measured : (h, w) bool
        Pixels with an answer and without a flag.
    tilt : (float, float) or None
        Slope that was removed, micrometres a pixel, downwards and to the right.
    """

    height_um: FloatArray
    stderr_um: FloatArray
    measured: BoolArray
    tilt: tuple[float, float] | None = None

    def roughness(self) -> Roughness:
        """Return Sa and Sq over the measured pixels; NaN if there are too few.

        With ``m`` the mean height, ``Sa = mean |z - m|`` and ``Sq = sqrt(mean (z - m)^2)`` (ISO 25178-2, 4.1). Noise of
        the heights is part of both.
        """
        good = self.measured
        count = int(good.sum())
        if count < _LEAST_PIXELS:
            return Roughness(*4 * (float("nan"),), count)
        z = self.height_um - self.height_um[good].mean()
        sa, sq = float(np.abs(z[good]).mean()), float(np.sqrt(np.square(z[good]).mean()))
        sign = np.sign(z)
        by_sa = (sign - sign[good].mean()) / count
        by_sq = z / (count * max(sq, 1e-300))
        return Roughness(sa, self._error_of(by_sa), sq, self._error_of(by_sq), count)

    def _error_of(self, derivative: FloatArray) -> float:
        """Return the standard error of a figure from its derivative by each height."""
        errors = np.where(self.measured, derivative * self.stderr_um, 0.0)
        rows, columns = (-(-n // CORRELATED_PX) * CORRELATED_PX for n in errors.shape)
        padded = np.pad(errors, [(0, rows - errors.shape[0]), (0, columns - errors.shape[1])])
        blocks = rows // CORRELATED_PX, CORRELATED_PX, columns // CORRELATED_PX, CORRELATED_PX
        squares = padded.reshape(blocks).sum(axis=(1, 3))
        return float(np.sqrt(np.square(squares).sum()))

    def levelled(self) -> Surface:
        """Return the surface without the plane of least squares of its measured pixels."""
        good = self.measured
        if good.sum() < _LEAST_PIXELS:
            raise InputError(f"only {int(good.sum())} pixels are measured; the tilt cannot be fitted, do not remove it")
        rows, columns = np.mgrid[: good.shape[0], : good.shape[1]].astype(np.float64)
        terms = np.stack([np.ones(int(good.sum())), rows[good], columns[good]], axis=1)
        coefficients, *_ = np.linalg.lstsq(terms, self.height_um[good], rcond=None)
        offset, down, right = map(float, coefficients)
        plane = offset + down * rows + right * columns
        return Surface(self.height_um - plane, self.stderr_um, good, (down, right))


def surface_of(stack: StackMap, *, full_size: bool = False) -> Surface:
    """Return the heights of a stack, at the size of the map or of the images."""
    if stack.step_um is None:
        raise InputError("step_um is unknown; pass the distance between two frames in micrometres")
    index, stderr = stack.full_size() if full_size else (stack.index, stack.index_stderr)
    flags = stack.full_flags() if full_size else stack.flags
    height = np.asarray(index, np.float64) * stack.step_um
    return Surface(height, np.asarray(stderr, np.float64) * abs(stack.step_um), np.isfinite(height) & (flags == 0))
