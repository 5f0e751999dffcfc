"""Maps as figures: blur, depth, standard errors, flags, a surface in space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike
from ..base.arguments import as_choice, as_positive
from ..base.errors import InputError
from ..base.shown import percentages
from ..blur.blur_map import BlurMap
from ..blur.result import MapResult
from ..depth.depth_map import DepthMap
from ..stacks.stack_map import StackMap
from .axes import axes_in_space, axes_or_current, check_kind, draw_map, label_pixels
from .colours import ColourScale, Kind, flag_colours, flag_shares, opacity_of, photo, scale_for

__all__ = ["blur", "depth", "flags", "stack", "stderr", "surface"]

#: A surface has at most about this many cells: more take long to draw and look no smoother.
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

    Signed maps diverge from white at zero: red where second is the blurrier, blue where first is. The colours can be
    told apart with any kind of colour blindness.

    Parameters
    ----------
    ax : matplotlib axes, optional
        The current ones by default.
    quantity : {"sigma", "variance_difference"}
        px, or px^2, in which depth is affine.
    limit : float, optional
        End of the colour scale; by default 99 % of the values lie within. Give one to compare maps.
    colour_bar : bool
        Draw one beside the map, with its unit.

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
    values = blur_map.sigma if quantity == "sigma" else blur_map.variance_difference
    label = "relative blur σ (px)" if quantity == "sigma" else "variance difference s (px²)"
    scale = _scale(values, "sigma", limit)
    if scale.low < 0:
        label += ", > 0: second blurrier"
    faded = None if quantity != "sigma" else opacity_of(values, blur_map.sigma_stderr, blur_map.flags, scale)
    return draw_map(values, scale, axes_or_current(ax), label if colour_bar else "", faded)


def depth(depth_map: DepthMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw distance in metres, near points bright; return the image.

    ``limit`` is the far end of the colour scale, m.
    """
    depth_map = check_kind(depth_map, DepthMap)
    values = depth_map.depth_m
    scale = scale_for(values, "depth")
    if limit is not None:
        far = as_positive(limit, "limit", "m")
        scale = ColourScale(min(scale.low, 0.98 * far), far, scale.name, scale.logarithmic)
    faded = opacity_of(values, depth_map.depth_stderr_m, depth_map.flags, scale)
    return draw_map(values, scale, axes_or_current(ax), "distance (m)" if colour_bar else "", faded)


def stack(stack_map: StackMap, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw depth, height or frame in best focus, the first of them that the stack has; return the image.

    Two images whose camera is not known are drawn as relative blur. ``limit`` is the end of the colour scale.
    """
    name, unit, values, stderr = check_kind(stack_map, StackMap).best
    kind: Kind = "depth" if unit == "m" else "sigma" if unit == "px" else "level"
    scale = _scale(values, kind, limit)
    faded = opacity_of(values, stderr, stack_map.flags, scale)
    return draw_map(values, scale, axes_or_current(ax), f"{name} ({unit})" if colour_bar else "", faded)


def stderr(result: MapResult, *, ax: Any = None, limit: float | None = None, colour_bar: bool = True) -> Any:
    """Draw the standard error of a map, in the unit in which the map is drawn; return the image."""
    values, unit = _stderr_of(result)
    scale = _scale(values, "stderr", limit)
    return draw_map(values, scale, axes_or_current(ax), f"standard error ({unit})" if colour_bar else "")


def flags(result: MapResult, *, ax: Any = None, legend: bool = True) -> Any:
    """Draw which pixels are flagged, a colour a flag, with their shares in a legend; return the image.

    Where a pixel has several flags the last of :class:`relblur.Flag` shows.
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
        # Beside the map: it may not hide what it explains.
        here.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small")
    return image


def surface(
    result: BlurMap | DepthMap, *, ax: Any = None, image: ArrayLike | None = None, limit: float | None = None
) -> Any:
    """Draw a map as a surface seen from above; return it.

    Parameters
    ----------
    ax : 3-D axes, optional
        ``figure.add_subplot(projection="3d")``; those of a new figure by default.
    image : (H, W) or (H, W, 3) array, optional
        Photograph to lay over the surface; without it height is colour too.
    limit : float, optional
        End of the colour scale.
    """
    result = check_kind(result, BlurMap, DepthMap)
    here = axes_in_space(ax)
    is_depth = isinstance(result, DepthMap)
    values = result.depth_m if isinstance(result, DepthMap) else result.sigma
    scale = scale_for(values, "depth") if is_depth and limit is None else _scale(values, "sigma", limit)
    every = max(1, math.ceil(math.sqrt(values.size / MOST_CELLS)))
    height: AnyArray = values[::every, ::every].clip(*_span(values))
    colours = scale.apply(height) if image is None else _laid_over(image, values.shape)[::every, ::every]
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
    here.set_zlabel("distance (m)" if is_depth else "relative blur σ (px)")
    here.invert_yaxis()
    if is_depth:  # near points stand out
        here.invert_zaxis()
    widest = max(values.shape)
    here.set_box_aspect((values.shape[1] / widest, values.shape[0] / widest, 0.4))
    return drawn


def _stderr_of(result: MapResult) -> tuple[AnyArray, str]:
    result = check_kind(result, BlurMap, DepthMap, StackMap)
    return (result.best[3], result.best[1]) if isinstance(result, StackMap) else (result.stderr, result.UNIT)


def _scale(values: AnyArray, kind: Kind, limit: float | None) -> ColourScale:
    return scale_for(values, kind, None if limit is None else as_positive(limit, "limit"))


def _span(values: AnyArray) -> tuple[float, float]:
    """Where nearly all values lie: a few wild ones would flatten the surface."""
    known = values[np.isfinite(values)]
    return (float(np.percentile(known, 0.5)), float(np.percentile(known, 99.5))) if known.size else (0.0, 1.0)


def _laid_over(image: ArrayLike, shape: tuple[int, ...]) -> AnyArray:
    shown = photo(np.asarray(image))
    if shown.shape[:2] != shape or shown.ndim not in (2, 3):
        raise InputError(f"image is {shown.shape}, the map {shape}; pass one of the pair's images")
    return 255.0 * (np.repeat(shown[:, :, None], 3, axis=2) if shown.ndim == 2 else shown)
