"""The solver of every map: residuals along one axis in, a surface with breaks and its standard error out.

A :class:`Volume` holds the residuals of a measurement at candidate values (levels) and the noise in them;
:func:`solve` returns the :class:`Field` that explains them.  The method and the names of its quantities are those of
``docs/method.md``.

``axis``         levels and values, interpolation between levels
``volume``       residuals, noise, support, limits: the input of the solver
``energy``       cost, score and information of the residuals at a map
``start``        a first map from the costs of all levels
``surface``      the prior: a piecewise affine surface with breaks
``grid``         windows, cells and edges of the pixel grid
``multigrid``    linear systems on the pixel grid
``loops``        the loops over pixels and levels, in NumPy and in C++
``noise``        noise of the residuals
``stiffness``    the stiffness of the prior, by a score test
``moves``        discrete moves between steps
``uncertainty``  the standard error, and the filled pixels
``solve``        the descent
"""

from .axis import AsinhAxis, Axis, RootAxis, UniformAxis
from .grid import box, box_any, cell_means, enlarged, fill, pairs
from .loops import CompiledLoops, Loops, choose_loops
from .noise import Noise
from .solve import Field, solve
from .uncertainty import filled, information_around, plain_variance, rims
from .volume import Support, Volume

__all__ = [
    "AsinhAxis",
    "Axis",
    "CompiledLoops",
    "Field",
    "Loops",
    "Noise",
    "RootAxis",
    "Support",
    "UniformAxis",
    "Volume",
    "box",
    "box_any",
    "cell_means",
    "choose_loops",
    "enlarged",
    "fill",
    "filled",
    "information_around",
    "pairs",
    "plain_variance",
    "rims",
    "solve",
]
