"""The quantity that is affine where the scene is a plane, and in which the prior therefore works.

With u = 1 / z affine over a plane, and blur ``sigma_i = k |u - u_i|`` for focus at ``1 / u_i``:

* two focus settings: ``s = sigma_2^2 - sigma_1^2`` is affine in ``u``. Either image may be the sharper, and ``s``
  passes through zero: the coordinate is ``s`` itself.
* one image given as the sharper everywhere (all in focus, a small aperture: the paper's L-Image): its own blur is
  negligible, and ``sigma = k |u - u_2|`` is affine, not its square: the coordinate is ``sigma``.

Information and score follow by the chain rule: ``w_z = w (ds/dz)^2``, ``g_z = g ds/dz``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..loops import Loops

Array = NDArray[np.float32]

#: A step may change s by half of sqrt(s^2 + C^2): the linearisation is not good for more.
TRUST = np.float32(0.5)


@dataclass(frozen=True)
class Coordinate:
    """A monotonic function of ``s``.

    Attributes
    ----------
    is_sigma : bool
        ``z = sqrt(s)`` (s > 0) instead of ``z = s``.
    first_stiffness, most_stiffness : float
        log10 of the prior's strength ``mu`` (inverse variance of the curvature of ``z``) at the start, and at most.
        Sigma may be much stiffer: nothing but the scene bends it, while ``s`` of a plane is only affine as long as the
        lens is the ideal one.
    """

    is_sigma: bool
    first_stiffness: float
    most_stiffness: float

    def of(self, s: Array) -> Array:
        """Return ``z`` of ``s``."""
        return np.sqrt(s) if self.is_sigma else s

    def to_s(self, z: Array) -> Array:
        """Return ``s`` of ``z``."""
        return z * z if self.is_sigma else z

    def limits(self, bounds: tuple[float, float]) -> tuple[float, float]:
        """Return the range of ``z`` for one of ``s``."""
        low, high = (float(self.of(np.array(bound, np.float32))) for bound in bounds)
        return low, high

    def gain(self, z: Array) -> Array:
        """Return ``ds/dz``."""
        return 2 * z if self.is_sigma else np.ones_like(z)

    def carry(self, w: Array, g: Array, z: Array, loops: Loops) -> tuple[Array, Array]:
        """Return information and score of ``z`` from those of ``s``."""
        return loops.carry(w, g, z) if self.is_sigma else (w, g)


VARIANCE = Coordinate(is_sigma=False, first_stiffness=4.0, most_stiffness=6.5)
SIGMA = Coordinate(is_sigma=True, first_stiffness=5.0, most_stiffness=9.0)
