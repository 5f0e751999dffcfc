"""What a field does where the data tell, and so what to expect of it where they are silent.

A thin plate that leaves the data goes on as it left, for ever: it overshoots.  How long to believe it can be read off
the rest of the image.  With the mean ``m`` of a field there, its variance ``V`` and the length ``L`` over which it
changes, ``L^2 = V / mean (df/dx)^2``, a stationary field of stiffness ``k`` has the term

    (k / L^2) (f - m)^2 / 2

beside ``k |grad f|^2 / 2``: it returns to its mean over the length L.  The term is added where the data are silent,
that is times the weight which a prior of variance V keeps against what a window of L x L says.

A mean that is small against its own spread is hardly one: slopes go on as zero rather than as the average of a desk
and a wall.  ``shrunk`` is the mean after James and Stein, nothing where it is less than one deviation.

The length is that along the axis on which the field changes the less: one that varies one way only (a ramp, a wall
seen at an angle, stripes) is continued the other way for ever.  Jumps do not count as change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..averages import box_any

Array = NDArray[np.float32]

#: A length of this many times the image is one that never ends.
_ENDLESS = 10.0


@dataclass(frozen=True)
class PriorMean:
    """Mean, variance and squared length (in cells) of a field.

    ``trust`` is 0 where the length is no longer than the one over which the prior smooths: what changes there is
    noise, and there is none.
    """

    mean: float
    spread: float
    length2: float
    trust: float = 1.0

    @property
    def shrunk(self) -> float:
        """The mean, shrunk towards zero as much as its spread asks for."""
        return max(1 - self.spread / (self.mean**2 + 1e-30), 0.0) * self.mean

    def pull(self, information: Array, stiffness: Array, powers: int) -> Array:
        """Return the weight of ``(f - mean)^2 / 2`` for each cell.

        Parameters
        ----------
        information : (rows, cols)
            On the field, of each cell.
        stiffness : (rows, cols)
            Weight of ``|grad f|^2 / 2``.
        powers : int
            The information of a window of side L is that of a cell times ``L^powers``: 2 for a level, 4 for a slope.
        """
        if not self.trust * self.length2 > 0:
            return np.zeros_like(stiffness)
        near = np.maximum(box_any(information, max(round(np.sqrt(self.length2)), 1)), 0)
        silent = 1 / (1 + near * np.float32(self.spread * self.length2 ** (powers / 2)))
        return np.asarray(silent * stiffness * np.float32(self.trust / self.length2))


def measure(
    field: Array,
    weight: Array,
    edges: tuple[Array, Array],
    steps: tuple[Array, Array],
    smooth: Array | None = None,
) -> PriorMean:
    """Measure the prior mean of a field of cells, and how far it reaches.

    Parameters
    ----------
    weight : (rows, cols)
        How much of each cell's value is its own.
    edges, steps : (down, right)
        Between the cells: the weight of the edge, 0 at a jump, and how much the field rises on it.
    smooth : (rows, cols), optional
        Square of the length over which the prior smooths, in cells.  Slopes have one: differences are noisy, and what
        they do within it says nothing.
    """
    total = float(weight.sum(dtype=np.float64)) + 1e-30
    mean = float((field * weight).sum(dtype=np.float64)) / total
    spread = float((np.square(field - np.float32(mean)) * weight).sum(dtype=np.float64)) / total
    change = min(
        float((np.square(step) * edge).sum(dtype=np.float64)) / (float(edge.sum(dtype=np.float64)) + 1e-30)
        for step, edge in zip(steps, edges, strict=True)
    )
    length2 = min(spread / (change + 1e-30), (_ENDLESS * max(weight.shape)) ** 2)
    noise = 0.0 if smooth is None else float((smooth * weight).sum(dtype=np.float64)) / total
    return PriorMean(mean, spread, length2, max(1 - noise / (length2 + 1e-30), 0.0))
