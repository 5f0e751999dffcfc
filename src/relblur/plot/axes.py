"""Axes for figures, and images with a colour bar."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import InputError, MissingDependencyError
from ..blur.blur_map import BlurMap
from .colours import NO_ANSWER, ColourScale

__all__ = ["axes_or_current", "check_kind", "draw_map", "label_pixels"]


def axes_or_current(ax: Any = None) -> Any:
    """Return ``ax``, or pyplot's current axes."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise MissingDependencyError("figures need matplotlib: pip install 'relblur[plot]'") from None
        return pyplot.gca()
    if not hasattr(ax, "imshow"):
        raise InputError(f"ax must be axes of matplotlib, got {type(ax).__name__}; pass ax=figure.add_subplot()")
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
    axes = axes_or_current(ax)
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    colours = ListedColormap(scale.colours / 255.0, name=scale.name).with_extremes(bad=NO_ANSWER)
    shown = np.ma.masked_invalid(values)
    if scale.logarithmic:  # draw zero at the low end, not as "no answer"
        shown = np.ma.array(np.maximum(shown.data, 1e-12 * scale.high), mask=np.ma.getmaskarray(shown))
    norm = (LogNorm if scale.logarithmic else Normalize)(vmin=scale.low, vmax=scale.high)
    axes.set_facecolor(NO_ANSWER)
    image = axes.imshow(shown, cmap=colours, norm=norm, interpolation="nearest", alpha=opacity)
    label_pixels(axes)
    if label:
        known = values[np.isfinite(values)]
        beyond = 2 * int((known > scale.high).any()) + int((known < scale.low).any())
        extend = ("neither", "min", "max", "both")[beyond]
        bar = axes.figure.colorbar(image, ax=axes, label=label, extend=extend, fraction=0.046, pad=0.03)
        if scale.logarithmic:
            ticks = scale.ticks(7)
            bar.set_ticks([value for value, _ in ticks], labels=[text for _, text in ticks])
            bar.minorticks_off()
    return image


def label_pixels(ax: Any) -> None:
    """Label the axes of an image as columns and rows in px."""
    ax.set_xlabel("column (px)")
    ax.set_ylabel("row (px)")
