"""A profile: the values of a map along a straight line, with their error band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.errors import InputError
from ..blur.blur_map import BlurMap
from ..depth.depth_map import DepthMap
from .axes import axes_or_current, check_kind

__all__ = ["profile"]


def profile(
    result: BlurMap | DepthMap,
    start: Sequence[float],
    stop: Sequence[float],
    *,
    ax: Any = None,
    truth: ArrayLike | None = None,
    label: str = "",
) -> Any:
    """Draw a map along a line, with a band of one standard error; return the line.

    Parameters
    ----------
    start, stop : (row, column)
        The ends of the line; the nearest pixels are read, one px apart.
    truth : (H, W) array, optional
        What is known to be there, in the map's unit, drawn dashed.
    label : str
        For a legend.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from relblur import BlurMap, plot
    >>> s = np.ones((8, 10))
    >>> line = plot.profile(BlurMap(s, 0 * s + 0.1, 0 * s, s), (4, 0), (4, 9))
    >>> len(line.get_xdata())
    10
    """
    result = check_kind(result, BlurMap, DepthMap)
    here = axes_or_current(ax)
    places, along = _places(start, stop, result.shape)
    if isinstance(result, BlurMap):
        values, error, name = result.sigma[places], result.sigma_stderr[places], "relative blur σ (px)"
    else:
        values, error, name = result.depth_m[places], result.depth_stderr_m[places], "distance (m)"
    (line,) = here.plot(along, values, linewidth=1.5, label=label or None)
    here.fill_between(along, values - error, values + error, color=line.get_color(), alpha=0.25, linewidth=0)
    if truth is not None:
        known = np.asarray(truth)
        if known.shape != result.shape:
            raise InputError(f"truth is {known.shape}, the map {result.shape}; pass the truth of the whole map")
        here.plot(along, known[places], color="0.15", linestyle="--", linewidth=1.2, label="truth")
    ends = [f"({row:g}, {column:g})" for row, column in (start, stop)]
    here.set_xlabel(f"px along the line {ends[0]} to {ends[1]}")
    here.set_ylabel(name)
    return line


def _places(start: Any, stop: Any, shape: tuple[int, int]) -> tuple[tuple[Any, Any], FloatArray]:
    """Return the pixels of a line and how far along it each lies."""
    ends = []
    for name, place in (("start", start), ("stop", stop)):
        try:
            row, column = (float(value) for value in place)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be (row, column), got {place!r}") from None
        if not (0 <= row <= shape[0] - 1 and 0 <= column <= shape[1] - 1):
            raise InputError(
                f"{name} = ({row:g}, {column:g}) lies outside the map of {shape[0]} rows and {shape[1]} columns"
            )
        ends.append((row, column))
    length = float(np.hypot(ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]))
    along = np.linspace(0.0, length, max(2, round(length) + 1))
    share = along / length if length > 0 else along
    rows, columns = (np.rint(a + share * (b - a)).astype(int) for a, b in zip(*ends, strict=True))
    return (rows, columns), along
