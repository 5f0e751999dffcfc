"""Maps as figures: blur, depth, stacks, standard errors, flags, a profile along a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base._typing import ArrayLike
from ..base.arguments import as_positive
from ..base.pixels import line_pixels
from ..base.shown import percentages
from ..blur.blur_map import BlurMap
from ..blur.result import MapResult
from ..depth.depth_map import DepthMap
from ..stacks.stack_map import StackMap
from .axes import axes_or_current, check_kind, draw_map, label_pixels
from .colours import MapView, flag_colours, flag_shares, scale_for

__all__ = ["blur", "depth", "flags", "profile", "stack", "stderr"]


def blur(blur_map: BlurMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw relative blur in px; return the image.

    The colours diverge from white at zero: red where second is the blurrier, blue where first is. They are distinct
    for all types of colour vision. Filled pixels are faded by their standard error.

    Parameters
    ----------
    ax : matplotlib axes, optional
        The current axes by default.
    limit : float, optional
        End of the colour scale, by default the 99th percentile. Pass the same limit to compare maps.
    colour_bar : bool
        Draw a colour bar with its unit beside the map.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from relblur import BlurMap, plot
    >>> s = np.linspace(-4, 4, 80).reshape(8, 10)
    >>> image = plot.blur(BlurMap(s, 0 * s + 0.1, 0 * s, np.sign(s)))
    >>> [round(float(end), 1) for end in image.get_clim()]
    [-2.0, 2.0]
    """
    return _draw(check_kind(blur_map, BlurMap), ax, limit, colour_bar)


def depth(depth_map: DepthMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw distance in metres, near points bright; return the image.

    ``limit`` is the far end of the colour scale, m.
    """
    return _draw(check_kind(depth_map, DepthMap), ax, limit, colour_bar)


def stack(stack_map: StackMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw the first available quantity of a stack (depth, height, frame in focus); return the image.

    ``limit`` is the end of the colour scale.
    """
    return _draw(check_kind(stack_map, StackMap), ax, limit, colour_bar)


def _draw(result: MapResult, ax: Any, limit: float | None, colour_bar: bool) -> Any:
    view = MapView.of(result, None if limit is None else as_positive(limit, "limit"))
    return draw_map(view.values, view.scale, ax, view.label if colour_bar else "", view.opacity)


def stderr(result: MapResult, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw the standard error of a map, in the unit in which the map is drawn; return the image."""
    _, unit, _, values = check_kind(result, BlurMap, DepthMap, StackMap).best
    scale = scale_for(values, "stderr", None if limit is None else as_positive(limit, "limit"))
    return draw_map(values, scale, ax, f"standard error ({unit})" if colour_bar else "")


def flags(result: MapResult, *, ax: Any = None, legend: bool = True) -> Any:
    """Draw the flags of the pixels in one colour each, with their shares in a legend; return the image.

    A pixel with several flags has the colour of the last one in :class:`relblur.Flag`.
    """
    result = check_kind(result, BlurMap, DepthMap, StackMap)
    axes = axes_or_current(ax)
    image = axes.imshow(flag_colours(result.flags), interpolation="nearest")
    label_pixels(axes)
    if legend:
        from matplotlib.patches import Patch

        shown = flag_shares(result.flags)
        shares = percentages([share for _, _, share in shown])
        entries = [
            Patch(facecolor=colour, edgecolor="0.4", label=f"{name} {share}")
            for (name, colour, _), share in zip(shown, shares, strict=True)
        ]
        axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small")
    return image


def profile(
    result: BlurMap | DepthMap,
    start: Sequence[float],
    stop: Sequence[float],
    *,
    ax: Any = None,
    truth: ArrayLike | None = None,
    label: str = "",
) -> Any:
    """Draw a map along a straight line, with a band of one standard error; return the line.

    Parameters
    ----------
    start, stop : (row, column)
        Ends of the line. It is sampled at the nearest pixels, one px apart.
    truth : (H, W) array, optional
        True values in the unit of the map, drawn dashed.
    label : str
        Label for a legend.

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
    along, places = line_pixels(start, stop, result.shape)
    axes = axes_or_current(ax)
    values, error = result.value[places], result.stderr[places]
    (line,) = axes.plot(along, values, linewidth=1.5, label=label or None)
    axes.fill_between(along, values - error, values + error, color=line.get_color(), alpha=0.25, linewidth=0)
    if truth is not None:
        axes.plot(along, np.asarray(truth)[places], color="0.15", linestyle="--", linewidth=1.2, label="truth")
    axes.set_xlabel("px along the line ({:g}, {:g}) to ({:g}, {:g})".format(*start, *stop))
    axes.set_ylabel(MapView.of(result).label)
    return line
