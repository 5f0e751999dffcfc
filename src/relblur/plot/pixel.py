"""Figure of one pixel: the curve M(sigma) with its candidate roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..blur.pixel_curve import PixelCurve
from ..blur.pixel_curve import pixel_curve as compute_curve
from .axes import axes_or_current

__all__ = ["pixel_curve"]

#: Room for the legend above the curves (fraction of their height): curves may fill all of the axes.
LEGEND_ROOM = 0.4

#: Colours from the palette of Okabe and Ito, distinct for all types of colour vision.
FIRST, SECOND, CHOSEN = "#0072b2", "#d55e00", "#000000"


def pixel_curve(curve: PixelCurve | Any, *pair_and_place: Any, ax: Any = None, **options: Any) -> Any:
    """Draw M(sigma) of one pixel, the observed values, its roots and the chosen sigma; return the axes.

    Right of zero ``first`` is blurred and compared with ``second``, as if second were the blurrier. Left of zero
    ``second`` is blurred and compared with ``first``.

    Parameters
    ----------
    curve : PixelCurve, or first, second, row, column, or a ComparablePair, row, column
        Result of :func:`relblur.blur.pixel_curve.pixel_curve`, or the arguments of that function, such as
        ``blur_map=``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from relblur import plot, synth
    >>> sharp = np.random.default_rng(0).random((48, 48))
    >>> axes = plot.pixel_curve(sharp, synth.blur_with_map(sharp, 1.5), 20, 20)
    >>> axes.get_xlabel()
    'σ (px)    ← first is blurrier   |   second is blurrier →'
    """
    curve = curve if isinstance(curve, PixelCurve) else compute_curve(curve, *pair_and_place, **options)
    axes, sigma = axes_or_current(ax), curve.sigma
    m_left = np.where(sigma == 0, curve.second_value, curve.blurred)
    for side, values, observed, colour, names in (
        (sigma >= 0, curve.blurred, curve.second_value, FIRST, ("first blurred: M(σ)", "second, observed: R")),
        (sigma <= 0, m_left, curve.first_value, SECOND, ("second blurred: M(σ)", "first, observed: R")),
    ):
        axes.plot(sigma[side], values[side], color=colour, linewidth=1.6, label=names[0])
        axes.plot(sigma[side][[0, -1]], 2 * [observed], "--", color=colour, linewidth=1.1, label=names[1])
    if curve.roots.size:
        values = np.where(curve.roots < 0, curve.first_value, curve.second_value)
        label = f"candidate root{'s' if curve.roots.size > 1 else ''} ({curve.roots.size})"
        axes.plot(curve.roots, values, "o", color=CHOSEN, markerfacecolor="white", markersize=6, label=label)
    if np.isfinite(curve.chosen):
        observed = curve.first_value if curve.chosen < 0 else curve.second_value
        label = f"chosen: {curve.chosen:+.3f} ± {curve.chosen_stderr:.2g} px"
        look = {"fmt": "D", "color": CHOSEN, "markersize": 4.5, "capsize": 4, "zorder": 5}
        axes.errorbar([curve.chosen], [observed], xerr=[curve.chosen_stderr], label=label, **look)
    axes.axvline(0.0, color="0.75", linewidth=0.8, zorder=0)
    axes.set_xlabel("σ (px)    ← first is blurrier   |   second is blurrier →")
    axes.set_ylabel("value of the pixel")
    flags = f" ({', '.join(curve.flag_names)})" if curve.flags else ""
    axes.set_title(f"pixel at row {curve.row}, column {curve.column}{flags}", fontsize="medium")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + LEGEND_ROOM * (high - low))
    axes.legend(fontsize="x-small", ncols=2, loc="upper center", frameon=False, columnspacing=1.0)
    return axes
