"""Axes for figures, and images with a colour bar."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import InputError, MissingDependencyError
from ..blur.blur_map import BlurMap
from .colours import NO_ANSWER, ColourScale

__all__ = ["axes_in_space", "axes_or_current", "check_kind", "draw_map", "label_pixels"]


def axes_or_current(ax: Any = None) -> Any:
    """Return ``ax``, or pyplot's current axes."""
    if ax is None:
        return _pyplot().gca()
    if not hasattr(ax, "imshow"):
        raise InputError(f"ax must be axes of matplotlib, got {type(ax).__name__}; pass ax=figure.add_subplot()")
    return ax


def axes_in_space(ax: Any = None) -> Any:
    """Return ``ax``, or the 3-D axes of a new figure."""
    if ax is None:
        return _pyplot().figure().add_subplot(projection="3d")
    if not hasattr(ax, "plot_surface"):
        raise InputError("ax must have three dimensions; pass ax=figure.add_subplot(projection='3d')")
    return ax


def check_kind(result: Any, *kinds: type) -> Any:
    """Return a result as NumPy arrays (a lazy one is computed); refuse results of other types."""
    if not isinstance(result, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"a {expected} is needed for this figure, got {type(result).__name__}")
    return result.compute() if isinstance(result, BlurMap) else result


def draw_map(values: AnyArray, scale: ColourScale, ax: Any, label: str = "", opacity: AnyArray | None = None) -> Any:
    """Draw a map in the colours of a scale, with a colour bar if there is a label.

    Pixels without a value are grey. Pixels with an ``opacity`` below 1 are faded towards that grey.
    """
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    colours = ListedColormap(scale.colours / 255.0, name=scale.name).with_extremes(bad=NO_ANSWER)
    by_ratio = scale.logarithmic
    shown = np.ma.masked_invalid(values)
    if by_ratio:  # draw zero at the low end, not as "no answer"
        shown = np.ma.array(np.maximum(shown.data, 1e-12 * scale.high), mask=np.ma.getmaskarray(shown))
    norm = (LogNorm if by_ratio else Normalize)(vmin=scale.low, vmax=scale.high)
    image = ax.imshow(shown, cmap=colours, norm=norm, interpolation="nearest", alpha=opacity)
    if opacity is not None:
        ax.set_facecolor(NO_ANSWER)
    label_pixels(ax)
    if label:
        known = values[np.isfinite(values)]
        beyond = (bool((known < scale.low).any()), bool((known > scale.high).any()))
        extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
        bar = ax.figure.colorbar(image, ax=ax, label=label, extend=extend, fraction=0.046, pad=0.03)
        if by_ratio:
            ticks = scale.ticks(7)
            bar.set_ticks([value for value, _ in ticks], labels=[text for _, text in ticks])
            bar.minorticks_off()
    return image


def label_pixels(ax: Any) -> None:
    """Label the axes of an image as columns and rows in px."""
    ax.set_xlabel("column (px)")
    ax.set_ylabel("row (px)")


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependencyError("figures need matplotlib: pip install 'relblur[plot]'") from None
    return pyplot
