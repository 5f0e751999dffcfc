"""Maps as figures: blur, depth, stacks, standard errors, flags, a surface in space, a profile along a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, FloatArray
from ..base.arguments import as_choice, as_positive
from ..base.errors import InputError
from ..base.shown import percentages
from ..blur.blur_map import BlurMap
from ..blur.result import MapResult
from ..depth.depth_map import DepthMap
from ..stacks.stack_map import StackMap
from .axes import axes_in_space, axes_or_current, check_kind, draw_map, label_pixels
from .colours import ColourScale, Kind, MapView, flag_colours, flag_shares, photo, scale_for

__all__ = ["blur", "depth", "flags", "profile", "stack", "stderr", "surface"]

#: Maximum number of cells of a surface: more take longer to draw and look the same.
MOST_CELLS = 20_000


def blur(
    blur_map: BlurMap,
    *,
    ax: Any = None,
    quantity: str = "sigma",
    limit: float | None = None,
    colour_bar: bool = True,
) -> Any:
    """Draw relative blur; return the image.

    The colours diverge from white at zero: red where second is the blurrier, blue where first is. They are distinct
    for all types of colour vision. Filled pixels are faded by their standard error.

    Parameters
    ----------
    ax : matplotlib axes, optional
        The current axes by default.
    quantity : {"sigma", "variance_difference"}
        Blur in px, or variance difference in px^2. Depth is affine in the latter.
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
    blur_map = check_kind(blur_map, BlurMap)
    as_choice(quantity, "quantity", ("sigma", "variance_difference"))
    if quantity == "sigma":
        view, label = MapView.of(blur_map, _checked(limit)), "relative blur σ (px)"
        values, scale, opacity = view.values, view.scale, view.opacity
    else:
        values, opacity, label = blur_map.variance_difference, None, "variance difference s (px²)"
        scale = _scale(values, "sigma", limit)
    return draw_map(values, scale, axes_or_current(ax), f"{label}, > 0: second blurrier" if colour_bar else "", opacity)


def depth(depth_map: DepthMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw distance in metres, near points bright; return the image.

    ``limit`` is the far end of the colour scale, m.
    """
    view = MapView.of(check_kind(depth_map, DepthMap))
    if limit is not None:
        far = as_positive(limit, "limit", "m")
        view = replace(view, scale=ColourScale(min(view.scale.low, 0.98 * far), far, view.scale.name, True))
    return _draw(view, ax, "distance (m)" if colour_bar else "")


def stack(stack_map: StackMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw the first available quantity of a stack (depth, height, frame in focus); return the image.

    A stack of two images without a known camera is drawn as relative blur. ``limit`` is the end of the colour scale.
    """
    view = MapView.of(check_kind(stack_map, StackMap), _checked(limit))
    return _draw(view, ax, view.label if colour_bar else "")


def stderr(result: MapResult, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw the standard error of a map, in the unit in which the map is drawn; return the image."""
    _, unit, _, values = check_kind(result, BlurMap, DepthMap, StackMap).best
    label = f"standard error ({unit})" if colour_bar else ""
    return draw_map(values, _scale(values, "stderr", limit), axes_or_current(ax), label)


def flags(result: MapResult, *, ax: Any = None, legend: bool = True) -> Any:
    """Draw the flags of the pixels in one colour each, with their shares in a legend; return the image.

    A pixel with several flags has the colour of the last one in :class:`relblur.Flag`.
    """
    result = check_kind(result, BlurMap, DepthMap, StackMap)
    here = axes_or_current(ax)
    image = here.imshow(flag_colours(result.flags), interpolation="nearest")
    label_pixels(here)
    if legend:
        from matplotlib.patches import Patch

        shown = flag_shares(result.flags)
        shares = percentages([share for _, _, share in shown])
        entries = [
            Patch(facecolor=colour, edgecolor="0.4", label=f"{name} {share}")
            for (name, colour, _), share in zip(shown, shares, strict=True)
        ]
        here.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small")
    return image


def surface(
    result: BlurMap | DepthMap, *, ax: Any = None, image: ArrayLike | None = None, limit: float | None = None
) -> Any:
    """Draw a map as a 3-D surface; return the surface.

    Parameters
    ----------
    ax : 3-D axes, optional
        Axes of ``figure.add_subplot(projection="3d")``, by default of a new figure.
    image : (H, W) or (H, W, 3) array, optional
        Photograph that colours the surface. Without it the colour is the height.
    limit : float, optional
        End of the colour scale.
    """
    view = MapView.of(check_kind(result, BlurMap, DepthMap), _checked(limit))
    here, values = axes_in_space(ax), view.values
    every = max(1, math.ceil(math.sqrt(values.size / MOST_CELLS)))
    known = values[np.isfinite(values)]
    span = np.percentile(known, (0.5, 99.5)) if known.size else (0.0, 1.0)  # outliers would compress the surface
    height: AnyArray = values[::every, ::every].clip(*span)
    colours = view.scale.apply(height) if image is None else _laid_over(image, values.shape)[::every, ::every]
    rows, columns = np.mgrid[: values.shape[0] : every, : values.shape[1] : every]
    drawn = here.plot_surface(
        columns,
        rows,
        np.ma.masked_invalid(height),
        facecolors=colours / 255.0,
        rcount=height.shape[0],
        ccount=height.shape[1],
        linewidth=0,
        antialiased=False,
        shade=image is None,
    )
    here.set_xlabel("column (px)")
    here.set_ylabel("row (px)")
    here.set_zlabel(_axis_label(result))
    here.invert_yaxis()
    if view.unit == "m":  # near points stand out
        here.invert_zaxis()
    widest = max(values.shape)
    here.set_box_aspect((values.shape[1] / widest, values.shape[0] / widest, 0.4))
    return drawn


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
    here = axes_or_current(ax)
    ends = [_end(name, place, result.shape) for name, place in (("start", start), ("stop", stop))]
    length = math.dist(*ends)
    along: FloatArray = np.linspace(0.0, length, max(2, round(length) + 1))
    share = along / length if length > 0 else along
    places = tuple(np.rint(a + share * (b - a)).astype(int) for a, b in zip(*ends, strict=True))
    values, error = result.value[places], result.stderr[places]
    (line,) = here.plot(along, values, linewidth=1.5, label=label or None)
    here.fill_between(along, values - error, values + error, color=line.get_color(), alpha=0.25, linewidth=0)
    if truth is not None:
        known = np.asarray(truth)
        if known.shape != result.shape:
            raise InputError(f"truth is {known.shape}, the map {result.shape}; pass the truth of the whole map")
        here.plot(along, known[places], color="0.15", linestyle="--", linewidth=1.2, label="truth")
    written = [f"({row:g}, {column:g})" for row, column in ends]
    here.set_xlabel(f"px along the line {written[0]} to {written[1]}")
    here.set_ylabel(_axis_label(result))
    return line


def _draw(view: MapView, ax: Any, label: str) -> Any:
    return draw_map(view.values, view.scale, axes_or_current(ax), label, view.opacity)


def _axis_label(result: MapResult) -> str:
    return "distance (m)" if isinstance(result, DepthMap) else "relative blur σ (px)"


def _end(name: str, place: Any, shape: tuple[int, int]) -> tuple[float, float]:
    """Return an end of a line; refuse an end outside the map."""
    try:
        row, column = (float(value) for value in place)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be (row, column), got {place!r}") from None
    if not (0 <= row <= shape[0] - 1 and 0 <= column <= shape[1] - 1):
        raise InputError(
            f"{name} = ({row:g}, {column:g}) lies outside the map of {shape[0]} rows and {shape[1]} columns"
        )
    return row, column


def _checked(limit: float | None) -> float | None:
    return None if limit is None else as_positive(limit, "limit")


def _scale(values: AnyArray, kind: Kind, limit: float | None) -> ColourScale:
    return scale_for(values, kind, _checked(limit))


def _laid_over(image: ArrayLike, shape: tuple[int, ...]) -> AnyArray:
    shown = photo(np.asarray(image))
    if shown.shape[:2] != shape or shown.ndim not in (2, 3):
        raise InputError(f"image is {shown.shape}, the map {shape}; pass one of the pair's images")
    return 255.0 * (np.repeat(shown[:, :, None], 3, axis=2) if shown.ndim == 2 else shown)
