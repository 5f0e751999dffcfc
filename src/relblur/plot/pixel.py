"""Figures of one pixel: the curve M(sigma) with its candidate roots, and the cost over its window."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import InputError
from ..blur.blur_map import signed_sigma
from ..blur.comparable_pair import ComparablePair
from ..blur.pixel_curve import PixelCurve
from ..blur.pixel_curve import pixel_curve as compute_curve
from .axes import axes_or_current

__all__ = ["pixel_cost", "pixel_curve"]

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
    curve = _curve(curve, pair_and_place, options)
    here = axes_or_current(ax)
    left, right = curve.sigma <= 0, curve.sigma >= 0
    m_left = np.where(curve.sigma == 0, curve.second_value, curve.blurred)[left]
    for side, values, observed, colour, names in (
        (right, curve.blurred[right], curve.second_value, FIRST, ("first blurred: M(σ)", "second, observed: R")),
        (left, m_left, curve.first_value, SECOND, ("second blurred: M(σ)", "first, observed: R")),
    ):
        here.plot(curve.sigma[side], values, color=colour, linewidth=1.6, label=names[0])
        ends = curve.sigma[side][[0, -1]]
        here.plot(ends, [observed, observed], color=colour, linestyle="--", linewidth=1.1, label=names[1])
    _mark_roots(here, curve)
    _mark_chosen(here, curve)
    here.axvline(0.0, color="0.75", linewidth=0.8, zorder=0)
    here.set_xlabel("σ (px)    ← first is blurrier   |   second is blurrier →")
    here.set_ylabel("value of the pixel")
    here.set_title(_title(curve), fontsize="medium")
    low, high = here.get_ylim()
    here.set_ylim(low, high + LEGEND_ROOM * (high - low))
    here.legend(fontsize="x-small", ncols=2, loc="upper center", frameon=False, columnspacing=1.0)
    return here


def pixel_cost(curve: PixelCurve | Any, *pair_and_place: Any, ax: Any = None, **options: Any) -> Any:
    """Draw the cost of each s in the window of a pixel, its minimum, and the value of the map; return the axes.

    Arguments as for :func:`pixel_curve`. The axis of s is proportional to sign(s) sqrt(abs(s)), so both small and large
    blur are legible.
    """
    curve = _curve(curve, pair_and_place, options)
    here = axes_or_current(ax)
    root = np.sqrt(np.maximum(curve.cost, 0))
    here.set_xscale("function", functions=(signed_sigma, lambda x: np.sign(x) * x**2))
    s = curve.variance_difference
    here.plot(s, root, color=FIRST, linewidth=1.6, label=f"{curve.window} x {curve.window} window")
    best = curve.window_sigma
    if np.isfinite(best):
        low = float(np.interp(best, curve.sigma, root))
        here.plot([np.sign(best) * best**2], [low], "v", color=FIRST, label=f"minimum: s = {best * abs(best):+.3g} px²")
    if np.isfinite(curve.chosen):
        low, middle, high = (
            float(np.sign(x) * x**2) for x in (curve.chosen + k * curve.chosen_stderr for k in (-1, 0, 1))
        )
        here.axvspan(low, high, color=CHOSEN, alpha=0.15, linewidth=0)
        here.axvline(middle, color=CHOSEN, linewidth=1.2, label=f"the map: s = {middle:+.3g} px²")
    top = float(np.abs(s).max())
    here.set_xlim(-top, top)
    ticks = np.sqrt(top) * np.array([-1, -0.6, -0.2, 0, 0.2, 0.6, 1])
    here.set_xticks(np.sign(ticks) * ticks**2)
    here.set_xticklabels([f"{value:.3g}" for value in np.sign(ticks) * ticks**2])
    here.minorticks_off()
    here.set_ylim(0, (1 + LEGEND_ROOM) * here.get_ylim()[1])
    here.set_xlabel("s (px²), positive: second is blurrier")
    here.set_ylabel("residual (rms) per unit of noise")
    here.set_title(_title(curve), fontsize="medium")
    marked = curve.chosen if np.isfinite(curve.chosen) else best
    named = [line for line in here.get_lines() if not line.get_label().startswith("_")]
    here.legend(handles=named, fontsize="small", loc="upper right" if marked < 0 else "upper left", frameon=False)
    return here


def _curve(curve: Any, rest: tuple[Any, ...], options: dict[str, Any]) -> PixelCurve:
    if isinstance(curve, PixelCurve):
        if rest or options:
            raise InputError("a computed PixelCurve takes no further arguments; leave them out")
        return curve
    if not (len(rest) == 3 or (len(rest) == 2 and isinstance(curve, ComparablePair))):
        raise InputError("pass a PixelCurve, or first, second, row and column, or a comparable pair, row and column")
    return compute_curve(curve, *rest, **options)


def _title(curve: PixelCurve) -> str:
    flags = f" ({', '.join(curve.flag_names)})" if curve.flags else ""
    return f"pixel at row {curve.row}, column {curve.column}{flags}"


def _mark_roots(ax: Any, curve: PixelCurve) -> None:
    if curve.roots.size:
        observed = np.where(curve.roots < 0, curve.first_value, curve.second_value)
        ax.plot(
            curve.roots,
            observed,
            "o",
            markerfacecolor="white",
            markeredgecolor=CHOSEN,
            markersize=6,
            linestyle="none",
            label=f"candidate root{'s' if curve.roots.size > 1 else ''} ({curve.roots.size})",
            zorder=4,
        )


def _mark_chosen(ax: Any, curve: PixelCurve) -> None:
    if not np.isfinite(curve.chosen):
        return
    observed = curve.first_value if curve.chosen < 0 else curve.second_value
    ax.errorbar(
        [curve.chosen],
        [observed],
        xerr=[curve.chosen_stderr],
        fmt="D",
        color=CHOSEN,
        markersize=4.5,
        capsize=4,
        label=f"chosen: {curve.chosen:+.3f} ± {curve.chosen_stderr:.2g} px",
        zorder=5,
    )
