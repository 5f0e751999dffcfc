"""The loops of the refined estimator: what an engine has to offer.

Everything that touches each pixel more than a few times stands behind these functions of whole arrays.  They know
nothing of the estimator: what is computed, and why, is said in ``likelihood``, ``prior`` and ``discrete``, which call
them.  Two engines offer them:

``plain``      NumPy and OpenCV, written to be read: they define the answer
``compiled``   numba: the same to rounding, fused and shared out among threads

Both keep one contract.  Arrays given are float32 and contiguous.  A loop writes to nothing that it is given, but for
what its docstring names.  What it returns is the caller's, but for what its docstring says is *lent*: that is valid
until the same loop is called again.  The numbers do not depend on the threads of the ``team``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ...filters.level_axis import LevelAxis
    from .likelihood.noise import ResidualNoise
    from .likelihood.stack import ResidualStack
    from .prior.prior import Edges, Pull
    from .team import ThreadTeam

__all__ = ["ENGINES", "Loops"]

Array = NDArray[np.float32]

#: Engines that offer them, and the module of this package whose ``make_loops`` gives them to a team of threads.
ENGINES = {"opencv": "plain.loops", "numba": "compiled.loops"}


class Loops(Protocol):
    """The hot loops of one estimate."""

    @property
    def team(self) -> ThreadTeam:
        """The threads that run them."""

    # -- the residual stack at a map ``s`` ----------------------------------------------------------------------------

    def variance(self, stack: ResidualStack, noise: ResidualNoise, s: Array, misfit: Array) -> Array:
        """Return the variance ``v`` of the residuals."""

    def evidence(
        self, stack: ResidualStack, noise: ResidualNoise, s: Array, misfit: Array, weight: Array, trust: Array
    ) -> tuple[Array, Array, Array]:
        """Return information, score, and the mean of ``e^2`` over the channels."""

    def deflate(self, square: Array, mean: Array, w: Array, g: Array) -> Array:
        """Return the sandwich ratio ``25 square / mean``, 1 to 50; ``w`` and ``g`` are divided by it in place."""

    def leave_out(self, power: Array, ceiling: Array, w: Array, variance: Array) -> Array:
        """Return ``e^2``, at most 20 times the ceiling, as it would be without each pixel's own datum."""

    def settle(
        self,
        stack: ResidualStack,
        noise: ResidualNoise,
        s: Array,
        near: Array,
        far: Array,
        ceiling: Array,
        misfit: Array,
    ) -> None:
        """Overwrite the misfit by ``0.7 near + 0.3 far``, within bounds, without the noise passed on."""

    def cost(self, stack: ResidualStack, s: Array, weight: Array, variance: Array, inflation: Array) -> Array:
        """Return the robust negative log-likelihood of each pixel."""

    def best_fit(self, stack: ResidualStack, factors: NDArray[np.float64]) -> Array:
        """Return the least 5 x 5 mean of ``e^2`` over the levels, each level's times its factor."""

    # -- the coordinate ``z``: ``s`` itself, or its root if ``is_sigma`` ----------------------------------------------

    def place(self, z: Array, is_sigma: bool, axis: LevelAxis) -> tuple[Array, Array]:
        """Return ``s`` of a map (``z`` itself if it is ``s``), and the change of ``z`` for a relative blur of 1."""

    def carry(self, w: Array, g: Array, z: Array) -> tuple[Array, Array]:
        """Return information and score of sigma from those of ``s``."""

    def move(self, z: Array, delta: Array, scale: Array, limits: tuple[float, float]) -> Array:
        """Return the map after the step ``delta``, or as much of it as can be trusted, within limits."""

    def neighbour_plane(
        self, z: Array, slope: Array, offset: tuple[int, int], limits: tuple[float, float], is_sigma: bool
    ) -> tuple[Array, Array]:
        """Return the planes of the pixels ``offset`` away continued to here, as ``z`` and as ``s``; both are lent."""

    # -- labels: volumes over (levels, rows, cols) of cells of 2 x 2 pixels -------------------------------------------

    def label_cost(self, stack: ResidualStack, weight: Array, base: Array, ratio: NDArray[np.float64]) -> Array:
        """Return the costs of the levels, where the residual of level k has the variance ``base ratio[k]``."""

    def change_on_cells(self, stack: ResidualStack, k: int) -> Array:
        """Return the sum over channels and cells of ``(e_k+1 - e_k)^2``; may be called by several threads."""

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Return the costs aggregated along rows and columns, both ways."""

    def sublevel(self, total: Array, tie: Array) -> Array:
        """Return the fractional level of least cost; ``tie`` is added to the levels' costs, which are used up."""

    # -- the prior ----------------------------------------------------------------------------------------------------

    def posterior_variance(self, w: Array, mu: Array) -> Array:
        """Return ``min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``: the error of the best window."""

    def link(self, z: Array, slope: Array, variance: Array, mu: Array, tolerance: Array) -> Edges:
        """Return the weights of the edges of the pixel grid; they are lent."""

    def solve_step(
        self,
        z: Array,
        slope: Array,
        w: Array,
        g: Array,
        pull: Pull | None,
        edges: Edges,
        variance: Array,
        steps: int,
    ) -> Array:
        """Return the Gauss-Newton step of likelihood and prior together."""

    def cells(
        self, z: Array, w: Array, g: Array, edges: Edges, variance: Array, mu: Array
    ) -> tuple[tuple[Array, Array, Array, Array, Array], tuple[Array, Array, Array, Array]]:
        """Return what the slopes are found from, on cells of 4 x 4 pixels.

        First the sums of ``w`` and ``g`` and the means of lambda, ``mu`` and ``z``; then how open the way to the right
        is and how much ``z`` rises on it, and the same downwards.
        """

    def solve_slopes(
        self, blocks: tuple[Array, Array, Array], tie: tuple[Array, Array], b: Array, start: Array, steps: int
    ) -> Array:
        """Return the map and the slopes of the cells, (3, rows, cols), that solve the coupled system, from a start.

        ``blocks`` are weight, edges to the right and below of the three components; ``tie`` (below, to the right) is
        what ties the map to its slopes.
        """

    def block_sums(self, w: Array, g: Array, scale: Array, side: int) -> NDArray[np.float64]:
        """Return the sums of ``g``, ``w`` and ``w scale^2`` over blocks, (3, rows, cols)."""
